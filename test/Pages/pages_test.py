#!/usr/bin/env python3
"""Breaks each rule of check_pages.py once, and keeps it once."""

import pathlib
import tempfile
import unittest

import check_pages


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name in check_pages.FOLDERS:
            (self.root / name).mkdir()

    def check(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return list(check_pages.check(self.root))

    def broken(self, path, text, message):
        self.assertEqual(self.check(path, text), [f"{path}:{message}"])

    def kept(self, path, text):
        self.assertEqual(self.check(path, text), [])

    def test_links_have_a_target(self):
        self.kept("test/A.md", "# A\n")
        self.kept("README.md", "[a](test/A.md) [b](https://b.c/d) `[c](d)`\n")
        self.broken("README.md", "\n[a](test/B.md)\n",
                    "2: expected a link to a file, got 'test/B.md'")
        self.broken("README.md", "[a]: test/B.md\n",
                    "1: expected a link to a file, got 'test/B.md'")
        self.broken("README.md", "[a](..)\n", "1: expected a link into the tree, got '..'")
        self.kept("README.md", "```text\n[a](test/B.md)\n```\n")

    def test_links_have_a_heading(self):
        self.kept("test/A.md", "# A `b_c`, [d](#e): f\n\n## E\n\n## E\n")
        self.kept("README.md", "[a](test/A.md#a-b_c-d-f) [b](test/A.md#e-1)\n")
        self.broken("README.md", "[a](test/A.md#e-2)\n",
                    "1: expected a link to a heading, got 'test/A.md#e-2'")
        self.broken("README.md", "[a](#b)\n", "1: expected a link to a heading, got '#b'")

    def test_pages_have_a_length(self):
        for path, limit in (("README.md", 200), ("test/README.md", 120),
                            ("runtime/ARCHITECTURE.md", 250)):
            self.kept(path, "\n" * limit)
            self.broken(path, "\n" * (limit + 1),
                        f"1: expected at most {limit} lines, got {limit + 1}")
            self.kept(path, "")
        self.kept("test/MEASURED.md", "\n" * 999)

    def test_blocks_have_a_language(self):
        self.kept("README.md", "```sh\ntrue\n```\n\n```text\na\n```\n")
        self.kept("test/A.md", "```\na\n```\n")
        self.broken("README.md", "```\na\n```\n",
                    "1: expected a language after ```, got none")
        self.kept("README.md", "```sh not run: needs a GPU\na\n```\n")
        self.broken("README.md", "```sh slow\na\n```\n",
                    "1: expected 'sh not run: REASON', got 'sh slow'")

    def test_stops_exist(self):
        self.kept("runtime/A.cpp", "void A::f() {}\n")
        path = "runtime/ARCHITECTURE.md"
        self.kept(path, "| a | `runtime/A.cpp` | `A::f` | `f()` |\n")
        self.broken(path, "| a | `runtime/A.cpp` | `A::g` |\n",
                    "1: expected a name of runtime/A.cpp, got 'A::g'")
        self.broken(path, "| a | `runtime/B.cpp` | `A::g` |\n",
                    "1: expected a path of the tree, got 'runtime/B.cpp'")

    def test_paths_exist(self):
        (self.root / "runtime/A.cpp").write_text("")
        self.kept("README.md", "`runtime/A` `runtime/A.cpp` `runtime/` `runtime/*.h`\n")
        self.broken("README.md", "\n`runtime/B`\n",
                    "2: expected a path of the tree, got 'runtime/B'")
        self.kept("README.md", "")
        self.kept("runtime/MEASURED.md", "`runtime/B`\n")

    def run_page(self, text):
        self.check("README.md", text)
        return check_pages.run(self.root, self.root / "build")

    def test_commands_run(self):
        tool = self.root / "build/bin/tool"
        tool.parent.mkdir(parents=True)
        tool.write_text("#!/bin/sh\necho \"$1\" > out\n")
        tool.chmod(0o755)
        (self.root / "models/a").write_text("a")
        text = "```sh\ntool a\n```\n\n```sh\n$ cat out models/a build/bin/tool\nb\n```\n"
        self.assertEqual(self.run_page(text), [])
        self.assertFalse((self.root / "out").exists())

    def test_commands_fail(self):
        found = self.run_page("\n```sh\necho b\nfalse\ntrue\n```\n")
        self.assertEqual(found, ["README.md:2: expected exit status 0, got 1\nb\n"])
        self.assertEqual(len(self.run_page("```sh\nfalse | true\n```\n")), 1)
        self.assertEqual(self.run_page("```sh not run: a\nfalse\n```\n"), [])
        self.assertEqual(self.run_page("```text\nfalse\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
