#!/usr/bin/env python3
"""Breaks each rule of check_style.py once, in a tree of its own, and keeps each
rule once in a case close to a violation."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_style
import classes
import labels

LABELLED_TD = """def A_Op : A_Op<"op"> {
  let description = [{
    Constraints:
    - (C1) rows are as many
      as slots.
  }];
}
"""
OTHER_LABELS = """def A_OpAttr : AttrDef<A_Dialect, "Op"> {
  let mnemonic = "op";
  let description = [{
    - (C1) odd.
  }];
}
def A_FormatAttr : A_Attr<"Format", "format"> {
  let description = [{
    - (C1) even.
  }];
}
def A_Dialect : Dialect {
  let name = "a";
  let description = [{
    - (module_c1) one.
  }];
}
"""
LONG_BODY = "  f();\n" * check_style.FUNCTION_LINES


class CheckStyle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def check(self, path, text, exceptions=()):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return [f"{name}:{line}: {message}" for name, line, message
                in check_style.check(self.root, exceptions)]

    def broken(self, path, text, message):
        self.assertEqual(self.check(path, text), [f"{path}:{message}"])

    def kept(self, path, text):
        self.assertEqual(self.check(path, text), [])

    def test_conflicts_are_resolved(self):
        mark = "<" * 7 + " HEAD\n"
        self.kept("README.md", mark[1:])
        self.broken("README.md", "a\n" + mark, "2: expected no mark of a conflict")
        self.kept("README.md", "")
        self.broken("test/a/b.test", mark, "1: expected no mark of a conflict")

    def test_the_root_holds_parts_and_pages(self):
        def git(*arguments):
            subprocess.run(["git", "-C", self.root, *arguments], check=True)
        git("init", "-q")
        self.kept("README.md", "")
        self.kept("package.whl", "")
        git("add", ".")
        self.broken("package.whl", "",
                    "1: expected no other file or folder at the root")

    def test_dialects_know_no_passes(self):
        self.broken("dialects/A/A.cpp", '\n#include "passes/P.h"\n',
                    "2: expected no include of 'passes/P.h' in dialects")

    def test_passes_know_no_compiler(self):
        self.broken("passes/P.cpp", '#include "compiler/Driver/Compile.h"\n',
                    "1: expected no include of 'compiler/Driver/Compile.h' in passes")

    def test_rooms_of_passes_share_support_alone(self):
        self.kept("passes/round/P.cpp", '#include "passes/support/S.h"\n')
        self.broken("passes/round/P.cpp", '#include "passes/model/M.h"\n',
                    "1: expected no include of 'passes/model/M.h' in passes/round")

    def test_support_of_passes_knows_no_room(self):
        self.broken("passes/support/S.cpp", '#include "passes/exec/E.h"\n',
                    "1: expected no include of 'passes/exec/E.h' in passes/support")

    def test_gpu_kernels_know_no_other_room(self):
        path = "compiler/Codegen/GPU/attention/A.cpp"
        self.kept(path, '#include "compiler/Codegen/GPU/Kernels.h"\n')
        self.broken(path, '#include "compiler/Codegen/GPU/target/T.h"\n',
                    "1: expected no include of 'compiler/Codegen/GPU/target/T.h' "
                    "in compiler/Codegen/GPU/attention")

    def test_the_compiler_knows_no_device(self):
        self.broken("compiler/C.h", '#include "runtime/device/Device.h"\n',
                    "1: expected no include of 'runtime/device/Device.h' in compiler")

    def test_the_compiler_knows_the_schema_and_status(self):
        self.kept("compiler/C.h", '#include "runtime/schema/KvPage.h"\n'
                  '#include "runtime/core/Status.h"\n#include "mlir/IR/Value.h"\n')

    def test_the_runtime_knows_no_compiler(self):
        self.broken("runtime/exec/E.cpp", '#include "dialects/MTP/IR/MTPOps.h"\n',
                    "1: expected no include of 'dialects/MTP/IR/MTPOps.h' in runtime")

    def test_the_runtime_knows_no_llvm(self):
        for include in ('"llvm/ADT/StringRef.h"', "<mlir/IR/Value.h>"):
            name = include.strip('<>"')
            self.broken("runtime/core/C.cpp", f"#include {include}\n",
                        f"1: expected no header of LLVM in runtime, got '{name}'")

    def test_the_runtimes_tools_know_no_llvm(self):
        self.broken("tools/mtp-run/M.cpp", '#include "llvm/ADT/StringRef.h"\n',
                    "1: expected no header of LLVM in tools/mtp-run, "
                    "got 'llvm/ADT/StringRef.h'")

    def test_the_schema_knows_nothing(self):
        self.broken("runtime/schema/S.h", '#include "runtime/core/Status.h"\n',
                    "1: expected no include of 'runtime/core/Status.h' "
                    "in runtime/schema")

    def test_public_headers_know_public_headers(self):
        self.broken("runtime/include/mtp/a.h", '#include "runtime/core/Status.h"\n',
                    "1: expected no include of 'runtime/core/Status.h' "
                    "in runtime/include")

    def test_nothing_but_tests_knows_tests(self):
        self.broken("tools/mtp-run/M.cpp", '#include "test/Runtime/support/FakeModel.h"\n',
                    "1: expected no include of 'test/Runtime/support/FakeModel.h' in tools")

    def test_includes_start_at_the_root(self):
        self.broken("passes/P.cpp", '#include "Passes.h"\n',
                    "1: expected an include from the root, got 'Passes.h'")

    def test_tests_may_include_what_is_beside_them(self):
        (self.root / "test/Runtime").mkdir(parents=True)
        (self.root / "test/Runtime/Fake.h").write_text("")
        self.kept("test/Runtime/a_test.cpp", '#include "Fake.h"\n')

    def test_lines_have_a_limit(self):
        self.kept("passes/P.cpp", "// " + "x" * 77 + "\n")
        self.broken("passes/P.cpp", "// " + "x" * 78 + "\n",
                    "1: expected at most 80 columns, got 81")
        self.kept("passes/P.cpp", "// https://" + "x" * 78 + "\n")
        self.broken("tools/a.py", "#" * 101, "1: expected at most 100 columns, got 101")

    def test_scripts_without_a_suffix_count(self):
        (self.root / "passes").mkdir()
        self.broken("tools/build", "#" * 81, "1: expected at most 80 columns, got 81")

    def test_functions_have_a_limit(self):
        limit = check_style.FUNCTION_LINES
        self.kept("passes/P.cpp", "void f() {\n" + LONG_BODY[14:] + "}\n")
        self.broken("passes/P.cpp", "\nvoid f(int a,\n       int b) {\n" + LONG_BODY
                    + "}\n", f"2: expected at most {limit} lines in a function, "
                    f"got {limit + 3}")
        self.broken("passes/P.cpp", "struct A {\n  void f() {\n" + LONG_BODY
                    + "  }\n};\n", f"2: expected at most {limit} lines in a "
                    f"function, got {limit + 2}")

    def test_classes_have_limits(self):
        limit, members = classes.FUNCTIONS, classes.DATA_MEMBERS
        def text(kind, functions, data, private=""):
            return (f"{kind} A {{\n" + "  int f() const { return 0; }\n" * functions + private
                    + "  int a, b = f(1, 2);\n  std::function<void(int, int)> c;\n"
                    + "  std::map<int, int> d;\n" * (data - 3)
                    + "  static int e;\n  enum class E { F, G };\n  A() = default;\n};\n")
        self.kept("passes/P.h", text("class", limit, members))
        self.broken("passes/P.h", text("class", limit + 1, 3),
                    f"1: expected at most {limit} functions of a class, got {limit + 1} of A")
        self.broken("passes/P.h", text("class", 1, members + 1),
                    f"1: expected at most {members} data members of a class, got "
                    f"{members + 1} of A")
        self.broken("passes/P.h", text("struct", 1, members + 1, "private:\n"),
                    f"1: expected at most {members} data members of a class, got "
                    f"{members + 1} of A")
        self.kept("passes/P.h", text("struct", 1, members + 1))
        for name in "abc":
            self.kept(f"passes/{name}.cpp", "int A::f(int a,\n         int b) {\n}\n")
        self.assertEqual(self.check("passes/d.cpp", "Result<int>\nA::g() {\n}\n"),
                         ["passes/P.h:1: expected at most 3 source files of a class, got 4 of A"])

    def test_files_have_a_limit(self):
        self.broken("passes/P.cpp", "\n" * 601, "1: expected at most 600 lines, got 601")

    def test_errors_are_values(self):
        for code in ("throw 1;", "std::abort();", "exit(1);"):
            found = self.check("runtime/core/C.cpp", f"void f() {{ {code} }}\n")
            self.assertEqual(len(found), 1, code)
        self.kept("runtime/core/C.cpp", '// We throw nothing.\nint a = g("exit(1)");\n')

    def test_tunables_have_a_table(self):
        def message(line, name, word):
            return (f"{line}: expected '{name}' in runtime/schema/Tunables.h or a comment "
                    f"'Semantic: ...', since it has '{word}' in its name")
        path = "compiler/Codegen/CPU/A.cpp"
        self.broken(path, "\nstatic constexpr int64_t passRows = 128;\n",
                    message(2, "passRows", "rows"))
        self.broken(path, "class A {\n  static constexpr int64_t kWide = 2,\n"
                    "                           kLoadsAhead = 4;\n};\n",
                    message(2, "kLoadsAhead", "ahead"))
        self.broken(path, "constexpr int64_t kRowBlocks[] = {1, 2};\n",
                    message(1, "kRowBlocks", "blocks"))
        for kind in ("static const int64_t", "const unsigned", "constexpr std::array<int, 2>",
                     "static constexpr llvm::SmallVector<int>\n   "):
            self.broken(path, f"{kind} kChunkSizes = {{64, 128}};\n",
                        message(1, "kChunkSizes", "chunk"))
        self.kept(path, "void f() {\n  const int64_t rows = shape[0];\n}\n"
                  "static const Shape rowsOf(int of = 4);\n"
                  "const Type &blocks(int of = 4);\n")
        self.kept(path, "/// Rows of a tile. Semantic: registers have 16.\n"
                  "static constexpr int64_t tileRows = 16;\n"
                  "static constexpr int64_t bytes = tileRows * 64, moreRows = tileRows;\n"
                  "static constexpr int64_t aheadOf = mtp::tunable::kAhead.value * 2;\n"
                  "static constexpr int64_t arrowSize = 3, rowCount = 1;\n"
                  "constexpr int64_t rows(int64_t n) { return 2 * n; }\n")
        self.kept(path, "")
        self.kept("passes/round/P.cpp", "constexpr int64_t kRows = 4;\n")

    def dialect(self, case):
        """Writes a dialect of one constraint and a test, and checks them."""
        self.td = self.root / "dialects/A/IR/AOps.td"
        self.td.parent.mkdir(parents=True)
        self.td.write_text(LABELLED_TD)
        self.case = self.root / "test/Dialect/A/invalid.mlir"
        self.case.parent.mkdir(parents=True)
        self.case.write_text(case)
        return self.check("README.md", "")

    def test_labels_have_a_case(self):
        self.assertEqual(self.dialect("// op_c1\n// expected-error @+1\n"), [])

    def test_another_label_is_no_case(self):
        self.assertEqual(
            self.dialect("// op_c11\n// expected-error @+1\n"),
            ["dialects/A/IR/AOps.td:4: expected a test case for 'op_c1'",
             "test/Dialect/A/invalid.mlir:1: expected a label of the .td, "
             "got 'op_c11'"])

    def test_a_case_is_negative(self):
        self.assertEqual(
            self.dialect("// op_c1\n// -----\n// expected-error @+1\n"),
            ["dialects/A/IR/AOps.td:4: expected a test case for 'op_c1'"])

    def test_a_table_has_the_labels(self):
        self.dialect("// op_c1\n// expected-error @+1\n")
        file = self.root / "docs/A.md"
        subprocess.run([sys.executable, labels.__file__, "--table",
                        self.root / "dialects/A", file], check=True)
        self.assertIn("\n| op_c1 | rows are as many as slots |\n", file.read_text())

    def test_labels_of_the_td(self):
        self.dialect("")
        self.td.write_text(LABELLED_TD + OTHER_LABELS)
        self.assertEqual(
            [(c.label, c.text) for c in labels.constraints(self.root / "dialects/A")],
            [("op_c1", "rows are as many as slots."), ("op_attr_c1", "odd."),
             ("format_c1", "even."), ("module_c1", "one.")])

    def test_prose_is_checked(self):
        self.kept("README.md", "Rows of nobody.\n")
        done = subprocess.run([sys.executable, check_style.__file__, self.root],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout),
                         (1, "prose:1: nobody, somebody: 1 (at most 0)\n"))

    def test_exceptions_are_of_a_place_and_a_rule(self):
        exceptions = [("passes/*.cpp", "80 columns")]
        line = "#" * 81 + "\n"
        self.assertEqual(self.check("passes/P.cpp", line, exceptions), [])
        self.assertEqual(len(self.check("compiler/C.cpp", line, exceptions)), 1)


if __name__ == "__main__":
    unittest.main()
