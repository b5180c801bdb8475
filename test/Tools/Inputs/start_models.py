"""start_models.py [--change FILE] MODELS COMMAND...: starts COMMAND, which compiles a model into
the empty cache MODELS, twice at once; kills it; and interrupts it. --change changes FILE while it
is compiled, and prints what the command writes to standard error."""
import os, pathlib, signal, subprocess, sys, time


def children(process):
    try:
        text = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def program(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            sys.exit(f"expected {what} within {seconds} s")
        time.sleep(0.01)
    return result


def start():
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def compiling():
    """A start whose mtpc runs, and the number of that process."""
    process = start()

    def mtpc():
        return [child for child in children(process) if program(child) == "mtpc"]
    return process, wait_for("mtpc", mtpc)[0]


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"expected {what} to be {wanted}, got {got}")


def stored():
    return [path.name for path in models.iterdir() if path.name != "digests"]


def clear():
    subprocess.run([command[0], "--cache", "clear"], stdout=subprocess.DEVNULL, check=True)
    expect("the cache", stored(), [])


def two_at_once():
    first, child = compiling()
    os.kill(child, signal.SIGSTOP)
    second = start()
    line = second.stderr.readline()
    if "waits for another process" not in line:
        sys.exit(f"expected a second start that waits, got {line}")
    os.kill(child, signal.SIGCONT)
    (text, errors), (other, others) = first.communicate(), second.communicate()
    expect("both texts", other, text)
    expect("the compilation", "compiled in" in errors and "compiled in" not in others, True)
    expect("the load", "loads the artifact" in others, True)
    expect("the ends", (first.returncode, second.returncode), (0, 0))
    print("one compiles, the other waits")


def killed():
    clear()
    process, child = compiling()
    process.kill()
    process.wait()
    wait_for("an end of mtpc", lambda: not is_running(child))
    expect("an artifact", [name for name in stored() if name.endswith(".bin")], [])
    process = start()
    _, errors = process.communicate()
    expect("the next start", "compiled in" in errors and process.returncode == 0, True)
    expect("the files", sorted(name.split(".")[1] for name in stored()), ["bin", "txt"])
    print("a killed start leaves nothing that is used")


def interrupted(number):
    clear()
    process, child = compiling()
    process.send_signal(number)
    process.communicate()
    expect("the end", process.returncode, -number)
    expect("mtpc", is_running(child), False)
    expect("the cache", stored(), [])
    print(f"{number.name} ends the programs")


def changed(path):
    process, child = compiling()
    os.utime(path)
    print(process.communicate()[1])
    expect("the cache", len(stored()), before)


arguments = sys.argv[1:]
change = None
if arguments[0] == "--change":
    change = arguments[1]
    del arguments[:2]
models, command = pathlib.Path(arguments[0]), arguments[1:]
# It would be ignored if this script runs in the background.
signal.signal(signal.SIGINT, signal.SIG_DFL)
if change:
    before = len(stored())
    changed(change)
else:
    two_at_once()
    killed()
    interrupted(signal.SIGINT)
    interrupted(signal.SIGTERM)
