"""kill_while_writing.py OUTPUT COMMAND...: kills COMMAND while one of its files is half
written, and checks that OUTPUT and its folder have not changed."""
import os, subprocess, sys, time

output, command = sys.argv[1], sys.argv[2:]
folder = os.path.dirname(os.path.abspath(output))
OLD = b"the artifact of yesterday"


def is_writing(pid):
    """Returns whether the process has written to a file that it made in the folder."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        target = os.readlink(path)
        new = target.endswith("(deleted)") or ".tmp" in target
        if target.startswith(folder + "/") and new and os.stat(path).st_blocks * 512 > 1 << 20:
            return True
    return False


def attempt():
    """Returns whether the command was killed in the middle."""
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            try:
                if is_writing(process.pid):
                    break
            except OSError:
                pass  # it ended, or closed the file, between two looks
            time.sleep(0.001)
        process.kill()
        return process.wait() == -9


def has_unnamed_files():
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return True
    except OSError:
        return False


# On other systems the half-written file has a name of its own, which remains after a kill.
ALLOWED = "\0" if has_unnamed_files() else os.path.basename(output) + ".tmp"
killed = 0
for _ in range(20):
    with open(output, "wb") as f:
        f.write(OLD)
    before = set(os.listdir(folder))
    if not attempt():
        continue
    killed += 1
    after = {n for n in os.listdir(folder) if not n.startswith(ALLOWED) or n in before}
    if after != before or open(output, "rb").read() != OLD:
        sys.exit(f"expected the folder as it was, got {sorted(after)}")
    if killed == 3:
        sys.exit(0)
sys.exit(f"expected to kill it 3 times, got {killed}")
