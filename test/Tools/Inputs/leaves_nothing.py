"""leaves_nothing.py FOLDER COMMAND...: ends a command that would write to the empty FOLDER, and
checks that it is still empty."""
import os, subprocess, sys, time

with subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL) as process:
    time.sleep(0.7)
    process.terminate()
if process.returncode != -15:
    sys.exit(f"expected an end by SIGTERM, got {process.returncode}")
if left := os.listdir(sys.argv[1]):
    sys.exit(f"expected an empty folder, got {left}")
print("nothing is left")
