#!/usr/bin/env python3
"""Checks that every bug of sources.py and formats.py can still be inserted. Otherwise only
a build of minutes would show it."""
import pathlib, unittest

from formats import FORMATS
from sources import SOURCES

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Sources(unittest.TestCase):
    def test_each_file_holds_its_text_once(self):
        for mutant, (name, old, new) in {**SOURCES, **FORMATS}.items():
            with self.subTest(mutant):
                path = ROOT / name
                self.assertTrue(path.is_file(), f"expected a file {name}")
                count = path.read_text().count(old)
                self.assertEqual(count, 1, f"expected '{old}' once in {name}, got it {count} times")

    def test_each_text_is_replaced(self):
        for mutant, (_, old, new) in {**SOURCES, **FORMATS}.items():
            with self.subTest(mutant):
                self.assertNotEqual(old, new)


if __name__ == "__main__":
    unittest.main()
