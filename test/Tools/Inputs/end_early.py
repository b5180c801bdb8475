"""end_early.py COMMAND...: ends a command that prints JSON at its end, by SIGINT and by
SIGTERM, and checks that it prints its results so far and ends by the signal."""
import json, signal, subprocess, sys, time


def attempt(number, delay):
    """Returns whether the command was interrupted; before it has results it prints nothing."""
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True) as process:
        time.sleep(delay)
        process.send_signal(number)
        text = process.stdout.read()
        status = process.wait()
    if status == 0:
        return False
    if status != -number:
        sys.exit(f"expected an end by signal {number}, got {status}")
    if not text:
        return False
    sequence = json.loads(text)["sequences"][0]
    if sequence["finish"] != "cancelled":
        sys.exit(f"expected a cancelled sequence, got {sequence['finish']}")
    return len(sequence["output_ids"]) > 0


# A script in the background would ignore the signal.
signal.signal(signal.SIGINT, signal.SIG_DFL)
for number in (signal.SIGINT, signal.SIGTERM):
    if not any(attempt(number, 0.05 * 1.5**turn) for turn in range(12)):
        sys.exit(f"signal {number}: expected what there is, got nothing")
print("both print what there is")
