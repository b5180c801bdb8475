#!/usr/bin/env python3
"""Prints the folder of nanobind's CMake package: of this Python, or of tools/setup --packages."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "test"))
import packages

if not packages.find("nanobind"):
    sys.exit("find_nanobind.py: error: expected nanobind, found none")
import nanobind

print(nanobind.cmake_dir())
