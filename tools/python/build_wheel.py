#!/usr/bin/env python3
"""Makes the wheel of an existing build, with all libraries that it needs.

usage: build_wheel.py BUILD OUTPUT

Compiles nothing. auditwheel copies LLVM's and other libraries into the wheel and names its
platform, manylinux_2_36_x86_64. Needs the packages of tools/setup --packages.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
PLATFORM = "manylinux_2_36_x86_64"
MEGABYTES = 150

sys.path.append(str(TREE / "test"))
import packages


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"build_wheel.py: error: {' '.join(command)} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: build_wheel.py BUILD OUTPUT")
    build, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    for name in ("scikit_build_core", "auditwheel"):
        packages.skip_without(name)
    folder = packages.folder()
    environment = dict(os.environ, PYTHONPATH=str(folder),
                       PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    python = [sys.executable, "-B", "-m"]
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output) as work:
        run([*python, "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
             "--wheel-dir", work, "--config-settings", f"build-dir={work}/build",
             "--config-settings", f"cmake.define.MTP_BUILD_DIR={build}",
             str(TREE / "tools" / "python")], environment)
        made, = pathlib.Path(work).glob("*.whl")
        run([*python, "auditwheel", "repair", "--plat", PLATFORM, "--wheel-dir", str(output),
             str(made)], environment)
        prefix = "-".join(made.name.split("-")[:4])
    wheel, = output.glob(f"{prefix}-{PLATFORM}.whl")
    size = wheel.stat().st_size / 1e6
    if size > MEGABYTES:
        sys.exit(f"build_wheel.py: error: expected at most {MEGABYTES} MB, got {size:.1f}")
    print(f"{wheel} ({size:.1f} MB)")


if __name__ == "__main__":
    main()
