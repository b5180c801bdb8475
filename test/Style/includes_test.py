#!/usr/bin/env python3
"""Tests includes.py on trees with rings of includes and on trees without."""

import unittest

import includes


def tree(**files):
    """Returns files with includes of the given paths. `__` stands for a slash,
    a last `_` before the extension for a dot."""
    result = {}
    for name, targets in files.items():
        stem, extension = name.replace("__", "/").rsplit("_", 1)
        result[f"{stem}.{extension}"] = [f'#include "{t}"' for t in targets]
    return result


class Includes(unittest.TestCase):
    def folders(self, **files):
        return list(includes.check_folders(includes.find(tree(**files))))

    def rings(self, **files):
        return list(includes.check_rings(includes.find(tree(**files))))

    def test_two_folders(self):
        self.assertEqual(
            self.folders(a__x_h=["b/y.h"], a__z_h=["b/y.h"], b__y_h=[], b__w_h=["a/z.h"]),
            [("b/w.h", 1, "expected no include of 'a/z.h', because 'a/x.h' includes 'b/y.h'")])

    def test_folders_in_one_direction(self):
        self.assertEqual(self.folders(a__x_h=["b/y.h"], b__y_h=["b/w.h"], b__w_h=[]), [])

    def test_a_folder_and_its_subfolder(self):
        found = self.folders(a__x_h=["a/b/y.h"], a__b__y_h=[], a__b__w_h=["a/x.h"])
        self.assertEqual([place[:2] for place in found], [("a/x.h", 1)])

    def test_names_beside(self):
        self.assertEqual(len(self.folders(a__x_h=["b/y.h"], a__b__y_h=["../x.h"])), 1)

    def test_three_files(self):
        found = self.rings(a__x_h=["a/y.h"], a__y_h=["a/z.h"], a__z_h=["a/x.h"], a__w_h=["a/x.h"])
        self.assertEqual(found, [("a/x.h", 1, "expected no ring of includes, got one of "
                                              "a/x, a/y, a/z")])

    def test_a_header_and_its_source_are_one(self):
        self.assertEqual(len(self.rings(a__x_h=[], a__x_cpp=["a/y.h"], a__y_h=["a/x.h"])), 1)
        self.assertEqual(self.rings(a__x_h=["a/y.h"], a__x_cpp=["a/x.h", "a/y.h"], a__y_h=[]), [])

    def test_dialects_may_have_rings(self):
        self.assertEqual(self.rings(dialects__MTP__IR__x_h=["dialects/MTP/IR/y.h"],
                                    dialects__MTP__IR__y_h=["dialects/MTP/IR/x.h"]), [])

    def test_guards(self):
        def guard(line):
            return [m for _, m in includes.check_guard("tools/mtp-run/A.h", ["// A", line])]
        self.assertEqual(guard("#ifndef MTP_TOOLS_MTP_RUN_A_H"), [])
        self.assertEqual(guard("#ifndef TOOLS_A_H"),
                         ["expected the guard MTP_TOOLS_MTP_RUN_A_H, got 'TOOLS_A_H'"])
        self.assertEqual(guard("#pragma once"), [])

    def test_sizes(self):
        files = [f"a/{n}.cpp" for n in range(includes.FOLDER_FILES)]
        self.assertEqual(list(includes.check_sizes(files)), [])
        self.assertEqual(list(includes.check_sizes(files + ["a/b.md"])),
                         [("a", 1, "expected at most 40 files, got 41")])

    def test_sizes_without_cases(self):
        files = [f"test/Passes/{n}.mlir" for n in range(50)]
        files += [f"test/E2E/{n}_test.cpp" for n in range(50)]
        self.assertEqual(list(includes.check_sizes(files)), [])


if __name__ == "__main__":
    unittest.main()
