#!/usr/bin/env python3
"""Checks artifact_table.py: rows differ, and rows and tests name each other."""
import pathlib
import re
import unittest

import module_edits
from artifact_table import BOTH, ROWS

HERE = pathlib.Path(__file__).resolve().parent
NAMES = {row.name for row in ROWS}
# Users other than tests of this folder.
OTHERS = {"ptxas", "kit"}
# Names before an artifact's name in a test's source.
CALLS = re.compile(r'(?:Plans|OnDevice)\{\s*"([^"]+)"|'
                   r'(?:onCpu|onGpu|loadArtifact|artifactPath)\(\s*"([^"]+)"')


def users():
    """Returns the tests of this folder, by their names in rows."""
    return ([path.name[:-len("_test.cpp")] for path in HERE.glob("*_test.cpp")]
            + [path.name for path in HERE.glob("*.test")])


def rows_of(test):
    return {row.name for row in ROWS if test in row.tests.split()}


def literals(test):
    """Returns the strings of a C++ test."""
    return set(re.findall(r'"([^"\\\n]*)"', (HERE / f"{test}_test.cpp").read_text()))


def artifacts_of(test):
    """Returns the artifacts that a lit test names."""
    text = (HERE / test).read_text()
    return {name for names in re.findall(r"%\{artifacts\} ([^\s;&|]+)", text)
            for name in names.split(",")}


class Table(unittest.TestCase):
    def test_names_differ(self):
        self.assertEqual(len(NAMES), len(ROWS))

    def test_no_two_rows_make_the_same(self):
        known = {}
        for row in ROWS:
            key = (row.model, frozenset(row.importing.split()), frozenset(row.compiling.split()),
                   row.edit)
            self.assertNotIn(key, known, f"{row.name}: expected a row that differs from "
                                         f"{known.get(key)}, got equal model and flags")
            known[key] = row.name

    def test_edits_exist(self):
        for row in ROWS:
            # Not made of a file alone, see artifacts.py.
            if row.edit not in ("", "single"):
                self.assertTrue(callable(getattr(module_edits, row.edit, None)), row)

    def test_rows_name_tests(self):
        for row in ROWS:
            self.assertTrue(row.tests, f"{row.name}: expected a test that uses it, got none")
            for test in row.tests.split():
                self.assertIn(test, [*users(), *OTHERS], row.name)

    def test_tests_name_rows(self):
        suffixes = {name.partition(".")[2] for name in NAMES} - {""}
        for test in users():
            used = artifacts_of(test) if test.endswith(".test") else literals(test) & NAMES
            self.assertEqual(used, rows_of(test), f"{test}: the artifacts of its source and rows")

    def test_artifacts_of_tests_exist(self):
        suffixes = {name.partition(".")[2] for name in NAMES} - {""}
        for path in HERE.glob("*_test.cpp"):
            named = {one or other for one, other in CALLS.findall(path.read_text())}
            named |= {text for text in literals(path.name[:-len("_test.cpp")])
                      if text.partition(".")[0] and text.partition(".")[2] in suffixes}
            self.assertEqual(named - NAMES, set(), f"{path.name}: expected artifacts of the table")

    def test_kits_have_plans_for_gpus(self):
        for row in ROWS:
            if set(row.tests.split()) & OTHERS:
                self.assertIn(BOTH, row.compiling, row.name)


if __name__ == "__main__":
    unittest.main()
