"""interrupt.py COMMAND...: interrupts a command while it prints numbers.

Expects that the command ends by the signal, after a line of fewer numbers than requested.
"""

import signal
import subprocess
import sys

# If this script runs in the background, the signal would be ignored.
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
