#!/usr/bin/env python3
"""Stands for the tests of the Python package in a build without it."""

import os
import sys

print("skipped: the build has no Python package, which needs Python's headers and nanobind; "
      "tools/setup --packages installs them, then run cmake on the build folder again")
sys.exit(1 if os.environ.get("MTP_REQUIRE_PACKAGES") else 77)
