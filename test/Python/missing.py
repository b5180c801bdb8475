#!/usr/bin/env python3
"""Stands for the tests of the Python package in a build without it.

usage: missing.py BUILD [--expected]

--expected: the build leaves the package out because of its sanitizers.
"""

import os
import sys

if "--expected" in sys.argv:
    print("skipped: builds with sanitizers have no Python package")
    sys.exit(77)
print("skipped: the build has no Python package, which needs Python's headers and nanobind; "
      "tools/setup --packages installs them, then run cmake on the build folder again")
sys.exit(1 if os.environ.get("MTP_REQUIRE_PACKAGES") else 77)
