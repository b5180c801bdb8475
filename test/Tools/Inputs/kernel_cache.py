"""Compiles a model with many states of the kernel cache: kernel_cache.py MTPC MODEL DIR.

Checks that every artifact has the bytes of one that was compiled without a cache.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

mtpc, model, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
cache = work / "cache"
work.mkdir()


def command(out, *flags):
    return [mtpc, model, "--random-weights", "-o", str(out), *flags]


def compile_model(name, *flags, folder=cache, expect_warning=None, env=None):
    """Compiles once, and compares the artifact with the reference."""
    out = work / f"{name}.bin"
    if folder:
        flags = (f"--kernel-cache={folder}", *flags)
    done = subprocess.run(command(out, *flags), capture_output=True, text=True,
                          env={**os.environ, **(env or {})})
    if done.returncode != 0:
        sys.exit(f"{name}: mtpc failed: {done.stderr}")
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    if expect_warning is None and warnings:
        sys.exit(f"{name}: expected no warning, got {warnings}")
    if expect_warning is not None and (len(warnings) != 1
                                       or expect_warning not in warnings[0]):
        sys.exit(f"{name}: expected one warning with '{expect_warning}', got {warnings}")
    check(name, out)


def check(name, out):
    if name != "reference" and out.read_bytes() != (work / "reference.bin").read_bytes():
        sys.exit(f"{name}: the artifact differs from one without a cache")


def entries():
    found = sorted(path for path in cache.rglob("*") if path.is_file())
    if not found:
        sys.exit("expected entries in the cache, found none")
    return found


compile_model("reference", folder="off")
compile_model("cold")
first = [(path, path.stat().st_ino) for path in entries()]
compile_model("warm")
if [(path, path.stat().st_ino) for path in entries()] != first:
    sys.exit("a warm compilation wrote entries anew")
compile_model("one-thread", "--jobs=1", folder=work / "one")
compile_model("many-threads", "--jobs=7", folder=work / "many")

for path in entries():
    os.truncate(path, path.stat().st_size // 2)
compile_model("truncated")
for path in entries():
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
compile_model("changed")
for path in entries():
    path.write_bytes(b"MTPKERN0" + path.read_bytes()[8:])
compile_model("another-version")
for path in entries():
    path.chmod(0o666)
compile_model("entries-for-all")

cache.chmod(0o777)
compile_model("folder-for-all", expect_warning="may write to it")
cache.chmod(0o700)
if os.geteuid() == 0:
    for path in entries():
        os.chown(path, 1, 1)
    compile_model("entries-of-another")
    os.chown(cache, 1, 1)
    compile_model("folder-of-another", expect_warning="to belong to user 0, got user 1")
    os.chown(cache, 0, 0)
compile_model("read-only", folder="/proc/mtpc", expect_warning="cannot create '/proc/mtpc'")
# A home folder that is not writable, and none.
compile_model("home", folder=None, expect_warning="cannot create",
              env={"HOME": "/proc/home", "XDG_CACHE_HOME": "", "MTPC_KERNEL_CACHE": ""})
compile_model("no-home", folder=None,
              env={"HOME": "", "XDG_CACHE_HOME": "", "MTPC_KERNEL_CACHE": ""})

shutil.rmtree(cache)
both = [subprocess.Popen(command(work / f"both{i}.bin", f"--kernel-cache={cache}"))
        for i in range(2)]
if any(process.wait() for process in both):
    sys.exit("both: mtpc failed")
for i in range(2):
    check(f"both{i}", work / f"both{i}.bin")

shutil.rmtree(cache)
for tenths in range(1, 6):
    process = subprocess.Popen(command(work / "killed.bin", f"--kernel-cache={cache}"))
    time.sleep(tenths / 10)
    process.send_signal(signal.SIGKILL)
    process.wait()
    compile_model(f"killed-{tenths}")
