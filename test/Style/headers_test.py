#!/usr/bin/env python3
"""Tests each topic of headers.py in a comment that omits it and in one that has it."""

import unittest

import headers

HEAD = "//===- a.h -===//\n//\n{}\n//\n//===-===//\n\n#ifndef A\n#define A\n\n"
FILE = "// Threads: any.\n// Units: tokens.\n// Ownership: the caller's.\n// Shapes: one."


class Headers(unittest.TestCase):
    def check(self, code, file=FILE):
        return [message for _, message in headers.check(HEAD.format(file) + code)]

    def left_out(self, topic, code, file=FILE):
        self.assertEqual(self.check(code, file), [f"expected the {topic} of 'f'"])

    def kept(self, code, file=FILE):
        self.assertEqual(self.check(code, file), [])

    def test_a_comment(self):
        self.assertEqual(self.check("void f();\n"), ["expected a comment of 'f'"])
        self.kept("/// Does.\nvoid f();\n")
        self.kept("void f(); /* null is fine */\n")

    def test_a_comment_is_of_what_stands_together(self):
        self.kept("/// Both.\nvoid f();\nvoid g();\n")
        self.assertEqual(self.check("/// One.\nvoid f();\n\nvoid g();\n"),
                         ["expected a comment of 'g'"])

    def test_the_line(self):
        found = headers.check(HEAD.format(FILE) + "\nvoid f(int a,\n       int b);\n")
        self.assertEqual([line for line, _ in found], [14])

    def test_errors_are_each_functions_own(self):
        file = FILE + "\n// Errors: NotFound."
        for result in ("Status", "Result<bool>", "mtp_status", "static Result<bool>"):
            self.left_out("errors", f"/// Does.\n{result} f();\n", file)
            self.kept(f"/// Does. NotFound when there is none.\n{result} f();\n")
        self.kept("/// Does. Fails for null alone.\nmtp_status f(void);\n")

    def test_ownership(self):
        file = FILE.replace("Ownership", "Own")
        for code in ("const A *f();", "A &f();", "std::string_view f();",
                     "void f(const A *a);", "void f(std::string_view a);"):
            self.left_out("ownership", f"/// Does.\n{code}\n", file)
            self.kept(f"/// Does.\n{code}\n")
            self.kept(f"/// Does. It outlives a.\n{code}\n", file)

    def test_a_view_says_itself_how_long(self):
        for code in ("const char *f(void);", "void f(const float **row);"):
            self.left_out("ownership", f"/// Does.\n{code}\n")
            self.kept(f"/// Does. Valid until the next call.\n{code}\n")

    def test_shapes(self):
        file = FILE.replace("Shapes", "Shape")
        for code in ("void f(const int32_t *ids);", "std::vector<A> f();"):
            self.left_out("shapes", f"/// Does.\n{code}\n", file)
            self.kept(f"/// Does, for each.\n{code}\n", file)

    def test_units(self):
        file = FILE.replace("Units", "Unit")
        for code in ("void f(size_t a);", "double f();", "void f(A a, uint32_t b = 0);"):
            self.left_out("units", f"/// Does.\n{code}\n", file)
            self.kept(f"/// In seconds.\n{code}\n", file)

    def test_threads(self):
        self.left_out("threads", "/// Does.\nvoid f();\n", FILE.replace("Threads", "T"))

    def test_a_class_may_say_it(self):
        code = "/// {}\nclass A {{\npublic:\n  /// Does.\n  void f();\n}};\n"
        file = FILE.replace("Threads", "T")
        self.left_out("threads", code.format("Is."), file)
        self.kept(code.format("Threads: one."), file)

    def test_what_is_private_is_not_public(self):
        self.kept("/// Is.\nclass A {\n  void f();\npublic:\n  ~A();\n"
                  "  A(const A &) = delete;\nprivate:\n  int g(int a);\n};\n")

    def test_bodies_and_values_are_no_declarations(self):
        self.kept("/// Is.\ninline A f(B b = {}) {\n  return g(b);\n}\n"
                  "/// Is.\nstruct C {\n  int a = h(1);\n};\n"
                  "typedef void (*fn)(int a);\n")

    def test_an_operator(self):
        self.assertEqual(self.check("struct A {\n  A &operator()(int a);\n};\n"),
                         ["expected a comment of 'operator()'"])


if __name__ == "__main__":
    unittest.main()
