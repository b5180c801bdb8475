#!/usr/bin/env python3
"""Breaks each rule of prose.py and changes.py once, and keeps each rule in a case
close to a violation."""

import pathlib
import subprocess
import tempfile
import unittest

import changes
import prose

LONG = "One " + "word " * prose.LONGEST + "more."
SHORT = "One " + "word " * (prose.LONGEST - 2) + "more."


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def places(self, path, text):
        """Lines and rules of the places of a file."""
        self.write(path, text)
        found, _ = prose.survey(self.root, [path])
        return [(place.line, place.rule) for place in found]


class Rules(Tree):
    def test_pages_at_the_top(self):
        for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
            self.assertEqual(self.places(page, "Rows for nobody.\n"),
                             [(1, "nobody, somebody")])

    def test_long_sentences(self):
        self.assertEqual(self.places("README.md", SHORT + "\n"), [])
        self.assertEqual(self.places("README.md", "\n" + LONG + "\n"),
                         [(2, "long in pages")])
        self.assertEqual(self.places("runtime/a.h", f"// {LONG}\n"), [(1, "long in code")])
        self.assertEqual(self.places("test/a.py", f'"""{LONG}"""\n'),
                         [(1, "long in code")])
        self.assertEqual(self.places("passes/P.td", f'let summary = "{LONG}";\n'),
                         [(1, "long in code")])

    def test_openings_of_doc_comments(self):
        for opening in ("What", "Of", "Where", "The same", "Those", "Who"):
            self.assertIn((1, "openings"),
                          self.places("runtime/a.h", f"/// {opening} a slot has.\n"))
        self.assertEqual(self.places("runtime/a.h", "/// Whatever a slot has.\n"), [])
        self.assertEqual(self.places("runtime/a.h", "// What a slot has.\n"), [])
        self.assertEqual(self.places("runtime/a.h", "/// Pages.\n///\n/// Of a slot.\n"), [])

    def test_words(self):
        for rule, words in (("nobody, somebody", ("Nobody", "somebody")), ("who", ("who",)),
                            ("behind", ("behind",)),
                            ("so many, as many", ("so many", "as many"))):
            for word in words:
                self.assertEqual(self.places("README.md", f"A row {word} is it.\n"),
                                 [(1, rule)])
                self.assertEqual(self.places("README.md", f"A row `{word}` is it.\n"), [])
                self.assertEqual(self.places("README.md", f"Not *{word}* for code.\n"), [])
        self.assertEqual(self.places("README.md", "The **row behind** it.\n"),
                         [(1, "behind")])
        self.assertEqual(self.places("README.md", "The whole row.\n"), [])
        self.assertEqual(self.places("README.md", "Use --rows-behind N, not WHO.\n"), [])

    def test_strings_of_the_product(self):
        text = 'f("expected rows behind the others");\n'
        self.assertEqual(self.places("tools/a.cpp", text), [(1, "behind")])
        self.assertEqual(self.places("tools/a.cpp", "\n\n// A\n" + text), [(4, "behind")])
        self.assertEqual(self.places("test/a.cpp", text), [])
        self.assertEqual(self.places("tools/a.cpp", f'f("{LONG}");\n'), [])

    def test_limits(self):
        self.write("README.md", SHORT + "\n")
        self.assertEqual(prose.check(self.root), [])
        self.write("README.md", "Rows of nobody at all.\n" + "Rows are behind it. " * 41
                   + "\n\n" + "A row who is it. " * 21 + "\n\n" + "As many as that. " * 21
                   + "\n\n" + (LONG + " ") * 10)
        self.write("runtime/a.h", f"// {LONG}\n" + "\n/// Of it.\n" * 51)
        self.assertEqual(
            [message.split(":")[0] for message in prose.check(self.root)],
            ["long in pages", "long in code", "openings", "nobody, somebody", "who",
             "behind", "so many, as many"])


class Texts(Tree):
    def texts(self, path, text):
        return [(t.line, t.last, t.text) for t in prose.texts(path, text)]

    def test_code_of_pages(self):
        page = "One:\n\n    a = b\n\n    c\n\nTwo\n\n```sh\nrows behind\n```\n"
        self.assertEqual(self.texts("a.md", page), [(1, 1, "One:"), (7, 7, "Two")])

    def test_lists_of_pages(self):
        page = "1. One\n   more\n\n   again\n\n       code\n\n   - Two\n     more\n"
        self.assertEqual(self.texts("a.md", page),
                         [(1, 2, "One more"), (4, 4, "again"), (8, 9, "Two more")])

    def test_tables_of_pages(self):
        self.assertEqual(self.texts("a.md", "| a | b |\n|---|---|\n| c | d |\n"),
                         [(1, 1, "a"), (1, 1, "b"), (3, 3, "c"), (3, 3, "d")])

    def test_code_of_comments(self):
        text = "// One\n// more:\n//   a = b;\n//   c;\n// - Two\n//   more\n"
        self.assertEqual(self.texts("a.h", text), [(1, 2, "One more:"), (5, 6, "Two more")])

    def test_docstrings(self):
        text = ('"""One\nmore.\n\nusage: a.py FILE\n\n  a.py FILE   does it\n'
                '  a.py --b    does that\n\nTwo\n"""\n')
        self.assertEqual(self.texts("a.py", text),
                         [(1, 2, "One more."), (9, 9, "Two")])

    def test_tables_of_docstrings_and_descriptions(self):
        self.assertEqual(self.texts("a.py", '"""One:\n\na   b c\n      d\ne   f\n\nTwo"""\n'),
                         [(1, 1, "One:"), (7, 7, "Two")])
        self.assertEqual(self.texts("a.td", "let description = [{\n  | a | b |\n  }];\n"),
                         [(2, 2, "a"), (2, 2, "b")])

    def test_docstrings_of_functions(self):
        text = 'def f():\n    """One\n    more.\n    """\n'
        self.assertEqual(self.texts("a.py", text), [(2, 3, "One more.")])

    def test_other_strings_of_python(self):
        text = 'A = """one\n"""\ncode behind = 1\nB = """\ntwo\n"""\n'
        self.assertEqual(self.texts("a.py", text), [])

    def test_descriptions(self):
        text = "let description = [{\n    One\n    more.\n\n    Two.\n      \n  }];\n"
        self.assertEqual(self.texts("a.td", text),
                         [(2, 3, "One more."), (5, 5, "Two.")])


class Changes(Tree):
    def setUp(self):
        super().setUp()
        self.git("init", "-q", "-b", "main")
        self.write("README.md", "Rows are behind it.\n\nTwo rows.\n")
        self.commit("[docs] Add a page")

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a",
                        *arguments], check=True, capture_output=True)

    def commit(self, subject):
        self.git("add", ".")
        self.git("commit", "-q", "-m", subject)

    def found(self):
        return [(path, line) for path, line, _ in changes.check(self.root)]

    def test_the_first_commit_is_no_change(self):
        self.assertEqual(self.found(), [])

    def test_the_last_commit_of_main(self):
        self.write("README.md", "Rows are behind it.\n\nThree rows.\n")
        self.commit("[docs] Change a page")
        self.assertEqual(self.found(), [])
        self.write("README.md", "Rows are still behind it.\n\nThree rows.\n")
        self.commit("[docs] Change a page")
        self.assertEqual(self.found(), [("README.md", 1)])
        self.write("README.md", "Rows are still behind it.\n\nFour rows.\n")
        self.commit("[docs] Change a page")
        self.assertEqual(self.found(), [])

    def test_all_commits_of_a_branch(self):
        self.git("checkout", "-q", "-b", "branch")
        self.write("runtime/a.h", "/// What it is.\n\n// " + LONG + "\n")
        self.commit("[runtime] Add a header")
        self.write("runtime/b.h", "int b;\n")
        self.commit("[runtime] Add a header")
        self.assertEqual(self.found(), [("runtime/a.h", 1), ("runtime/a.h", 3)])

    def test_the_working_tree(self):
        self.write("README.md", "Rows are behind it.\n\nRows for nobody.\n")
        self.write("runtime/a.h", "// Rows so many.\n")
        self.write("README.md", "Rows are behind it.\n\nRows for nobody.\n")
        self.git("commit", "-q", "--allow-empty", "-m", "[docs] Add nothing")
        self.assertEqual(self.found(), [("README.md", 3), ("runtime/a.h", 1)])

    def test_moved_files_are_unchanged(self):
        self.write("runtime/a.h", "// Rows behind.\n" * 20)
        self.commit("[runtime] Add a header")
        self.git("mv", "runtime/a.h", "runtime/b.h")
        self.commit("[runtime] Move a header")
        self.assertEqual(self.found(), [])

    def test_subjects(self):
        self.git("commit", "-q", "--allow-empty", "-m", "[nowhere] Add nothing")
        self.assertEqual(len(self.found()), 1)

    def test_each_rule_of_subjects(self):
        def errors(subject):
            return len(list(changes.subject_errors(subject)))
        self.assertEqual(errors("[exec] Free pages of cancelled sequences"), 0)
        self.assertEqual(errors("[exec] " + "A" * 65), 0)
        self.assertEqual(errors("[exec] " + "A" * 66), 1)
        self.assertEqual(errors("Free pages"), 1)
        self.assertEqual(errors("[exec] free pages"), 1)
        self.assertEqual(errors("[nowhere] Free pages"), 1)
        self.assertEqual(errors("[exec] Free pages; fix a bug"), 1)

    def test_areas_are_those_of_contributing(self):
        page = pathlib.Path(__file__).parents[2] / "CONTRIBUTING.md"
        _, _, after = page.read_text().partition("The list:\n\n```text\n")
        self.assertEqual(set(after.partition("```")[0].split()), changes.AREAS)


if __name__ == "__main__":
    unittest.main()
