"""What the tests of the Python package share: the package of the build and its models.

usage of a test: NAME_test.py BUILD [unittest's arguments]
"""

import os
import pathlib
import subprocess
import sys
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
BUNDLED = TREE / "models" / "bundled" / "hf"

sys.path.append(str(TREE / "test"))
import packages


def begin():
    """Takes BUILD from the command line, and makes its package and its programs available."""
    build = pathlib.Path(sys.argv.pop(1)).resolve()
    packages.skip_without("numpy")
    sys.path.insert(0, str(build / "python"))
    # For child processes. The packages' folder depends on the cache's.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(build / "python"), str(packages.folder())])
    # Tests share what they compile, with each other and with later runs.
    os.environ["XDG_CACHE_HOME"] = str(build / "test" / "Python" / "cache")
    os.environ["PATH"] = f"{build / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return build


def bundled(drafter="lookup:1,3", **options):
    """Returns the bundled model with 3 drafts by a lookup."""
    import mtpc

    return mtpc.compile(BUNDLED, drafter=drafter, k=3, max_batch=4, max_context=512,
                        threads=1, **options)


def run_tool(*arguments):
    """Returns what a program prints."""
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def main():
    unittest.main(verbosity=2)
