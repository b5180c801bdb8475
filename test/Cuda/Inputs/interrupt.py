"""interrupt.py COMMAND...: interrupts a command that prints numbers as it goes.

Expects that it ends by the signal, behind a line of fewer numbers than it was asked for.
"""

import signal
import subprocess
import sys

# Where this script runs in a background it would be ignored.
signal.signal(signal.SIGINT, signal.SIG_DFL)
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
text = ""
while len(text.split()) < 3:
    piece = process.stdout.read(1)
    if not piece:
        sys.exit(f"ended with {process.wait()} before it was interrupted")
    text += piece
process.send_signal(signal.SIGINT)
rest, _ = process.communicate(timeout=300)
text += rest
if process.returncode != -signal.SIGINT:
    sys.exit(f"expected an end by SIGINT, got {process.returncode}")
if not text.endswith("\n") or len(text.split()) >= 400:
    sys.exit(f"expected a line of what there was, got {text!r}")
print("interrupted")
