#!/usr/bin/env python3
"""Checks the rules of CONTRIBUTING.md that clang-format does not know.

usage: check_style.py [ROOT]

Prints one line per place that breaks a rule, as FILE:LINE: what was expected
and what was found, and exits with 1 if there is any. Rules:

  - which part may include which, and that includes start at the root of the tree
  - the length of lines, functions and files
  - the size of classes: functions, data members, and source files that define them
    (classes.py)
  - neither half throws or ends the process
  - each constraint that a dialect's .td files label has a negative test case of
    that name (labels.py)
  - a function of a public header says what its signature leaves open: units,
    shapes, ownership, errors, threads (headers.py)
  - what git tracks at the root: the parts and the pages, nothing else
  - no two folders include each other, no files include each other in a ring,
    and include guards have one form (includes.py)
  - no page or test has a conflict marker of git
  - constants that affect only speed are in runtime/schema/Tunables.h (tunables.py)
  - the prose of the whole tree (prose.py) and of each change (changes.py)
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

import changes
import classes
import headers
import includes
import labels
import prose
import tunables

FOLDERS = ["compiler", "dialects", "models", "passes", "runtime", "test", "tools"]

# What a part may include of this tree, the longest name that fits first. Tests
# may include all.
COMPILER_SIDE = ["compiler", "passes", "dialects", "runtime/core",
                 "runtime/cache", "runtime/utf8", "runtime/tokenizer",
                 "runtime/chat", "runtime/artifact", "runtime/json", "runtime/profile",
                 "runtime/schema"]
PASSES = ["passes/Passes.h", "passes/Passes.h.inc", "dialects",
          "runtime/schema"]
# A room of the GPU's kernels: its own headers, and what all kernels stand on.
GPU_KERNELS = ["compiler/Codegen/GPU/GpuBuilder.h",
               "compiler/Codegen/GPU/Kernels.h", "compiler/Codegen/Rows",
               "compiler/Codegen/AttentionParams.h",
               "compiler/Codegen/ProductParams.h",
               "dialects", "runtime/schema"]
# A session's rooms, of which none knows the session.
EXEC_BASE = ["runtime/exec/program", "runtime/artifact", "runtime/core",
             "runtime/device", "runtime/schema", "mtp"]
# The rooms of the template library. Each may use the rooms above it.
JINJA = {room: [f"runtime/jinja/{used}" for used in uses] +
         ["runtime/core", "runtime/json", "runtime/utf8"]
         for room, uses in {
             "value": ["value"],
             "builtins": ["builtins", "value"],
             "parse": ["parse", "builtins", "value"],
             "run": ["run", "parse", "builtins", "value"]}.items()}
# The rooms of the grammar library. Each may use the rooms above it.
GRAMMAR = {room: [f"runtime/grammar/{used}" for used in uses] +
           ["runtime/core", "runtime/json", "runtime/utf8"]
           for room, uses in {
               "core": ["core"],
               "automaton": ["automaton", "core"],
               "gbnf": ["gbnf", "automaton", "core"],
               "regex": ["regex", "automaton", "core"],
               "schema": ["schema", "regex", "automaton", "core"],
               "machine": ["machine", "automaton", "core"],
               "mask": ["mask", "machine", "automaton", "core"],
               "matcher": ["matcher", "mask", "machine", "automaton", "core"]}.items()}
MAY_INCLUDE = {
    "runtime/include": ["mtp"],
    "runtime/schema": ["runtime/schema"],
    "runtime": ["runtime", "mtp"],
    "runtime/exec/program": EXEC_BASE,
    "runtime/exec/memory": EXEC_BASE + ["runtime/exec/memory"],
    **{f"runtime/exec/{room}":
       EXEC_BASE + ["runtime/exec/memory", f"runtime/exec/{room}"]
       for room in ["schedule", "launch"]},
    "runtime/cache": ["runtime/cache", "runtime/core", "mtp"],
    "runtime/saved": ["runtime/saved", "runtime/cache", "runtime/core", "mtp"],
    "runtime/json": ["runtime/json", "runtime/core"],
    "runtime/utf8": ["runtime/utf8", "runtime/core", "mtp/utf8.h"],
    "runtime/tokenizer": ["runtime/tokenizer", "runtime/utf8", "runtime/core",
                          "runtime/schema", "mtp"],
    **{f"runtime/jinja/{room}": uses for room, uses in JINJA.items()},
    "runtime/jinja/run": JINJA["run"] + ["mtp/render_options.h"],
    "runtime/grammar": ["runtime/grammar", "runtime/core", "runtime/utf8"],
    **{f"runtime/grammar/{room}": uses for room, uses in GRAMMAR.items()},
    "runtime/constraint": ["runtime/constraint", "runtime/grammar",
                           "runtime/core", "mtp"],
    "runtime/constraint/answers": ["runtime/constraint", "runtime/calls",
                                   "runtime/chat", "runtime/grammar",
                                   "runtime/core", "mtp"],
    "runtime/calls": ["runtime/calls", "runtime/chat", "runtime/grammar",
                      "runtime/json", "runtime/core", "mtp"],
    "runtime/chat": ["runtime/chat", "runtime/jinja", "runtime/utf8",
                     "runtime/core", "mtp"],
    "runtime/chat/tools": ["runtime/chat/tools", "runtime/json", "runtime/utf8",
                           "runtime/core", "mtp"],
    "dialects": ["dialects", "runtime/schema"],
    "passes": ["passes", "dialects", "runtime/schema"],
    **{f"passes/{room}": [f"passes/{room}", "passes/support"] + PASSES
       for room in ["model", "round", "control", "lower", "exec", "support"]},
    "compiler": COMPILER_SIDE,
    **{f"compiler/Codegen/GPU/{room}":
       [f"compiler/Codegen/GPU/{room}"] + GPU_KERNELS
       for room in ["attention", "products", "sampling"]},
    "tools/mtp-import": COMPILER_SIDE + ["tools/compiler-support"],
    "tools/mtp-fill": ["compiler/Artifact", "runtime/core", "tools/support"],
    "tools/mtp-opt": COMPILER_SIDE + ["tools/compiler-support"],
    "tools/mtpc": COMPILER_SIDE + ["tools/compiler-support", "tools/mtpc",
                                   "runtime/profile"],
    "tools/compiler-support": COMPILER_SIDE + ["tools/compiler-support"],
    "tools/cmake": ["dialects", "runtime/schema", "tools/cmake"],
    "tools/gpu-check": ["tools/gpu-check"],
    "tools": ["runtime", "mtp", "tools"],
    "models": ["models"],
    "test": FOLDERS + ["mtp"],
}
# Parts whose folders may include their own headers by name alone.
BESIDE = ["test", "tools/gpu-check"]
# Parts that must build without LLVM.
NO_LLVM = ["runtime", "tools/mtp-run", "tools/mtp-bench", "tools/mtp-dump",
           "tools/mtp-fill", "tools/mtp-serve", "tools/mtp-tune", "tools/start",
           "tools/support"]
LLVM = {"llvm", "mlir", "lld", "clang"}
EXTERNAL = LLVM | {"flatbuffers", "gtest"}

AT_THE_ROOT = set(FOLDERS) | {
    ".ci", ".clang-format", ".clang-tidy", ".gitignore", "CHANGELOG.md", "CMakeLists.txt",
    "CMakePresets.json", "CONTRIBUTING.md", "README.md"}

COLUMNS = {".cpp": 80, ".h": 80, ".c": 80, ".td": 80, ".py": 100,
           ".js": 100, ".css": 100, ".html": 100}
FUNCTION_LINES = 50
FILE_LINES = 600

# Places that break a rule and may: a pattern of paths, a part of the message.
EXCEPTIONS = [
    # Scripts that made data once, and no test runs.
    ("test/oracle/*.py", "100 columns"),
    ("models/bundled/*.py", "100 columns"),
    # Programs for machines with a GPU, outside of the build.
    ("tools/gpu-check/*", "lines in a function"),
    # The C interface in one header, most of which is documentation.
    ("runtime/include/mtp/mtp.h", "600 lines"),
    # Tests of sessions, which are divided with the session itself.
    ("test/Runtime/artifact/plan_test.cpp", "lines"),
    ("test/Runtime/kv_cache_test.cpp", "lines in a function"),
    ("test/Runtime/slot_state_test.cpp", "lines in a function"),
    ("test/Runtime/stop_test.cpp", "lines in a function"),
    # Divided after its move to test/Tokenizer.
    ("test/*/tokenizer_tables_test.cpp", "lines"),
]


def part_of(path, parts):
    """The longest of `parts` that `path` lies in, or None."""
    fitting = [p for p in parts if path == p or path.startswith(p + "/")]
    return max(fitting, key=len, default=None)


def check_includes(root, path, lines):
    part = part_of(path, MAY_INCLUDE)
    for number, line in enumerate(lines, 1):
        match = re.match(r'#\s*include\s+(["<])([^">]+)', line)
        if not match:
            continue
        quoted, name = match[1] == '"', match[2]
        top = name.split("/")[0]
        if top in LLVM and part_of(path, NO_LLVM):
            yield number, (f"expected no header of LLVM in "
                           f"{part_of(path, NO_LLVM)}, got '{name}'")
        ours = top in FOLDERS or top == "mtp"
        beside = part in BESIDE and (root / path).parent.joinpath(name).exists()
        if quoted and not ours and not beside and top not in EXTERNAL:
            yield number, f"expected an include from the root, got '{name}'"
        if ours and not part_of(name, MAY_INCLUDE[part]):
            yield number, f"expected no include of '{name}' in {part}"


def check_lines(path, lines):
    limit = COLUMNS.get(pathlib.PurePath(path).suffix)
    if path.startswith("tools/") and "." not in pathlib.PurePath(path).name:
        limit = 80
    for number, line in enumerate(lines, 1):
        if limit and len(line) > limit and not re.search(r"https?://", line):
            yield number, f"expected at most {limit} columns, got {len(line)}"
    if limit and len(lines) > FILE_LINES:
        yield 1, f"expected at most {FILE_LINES} lines, got {len(lines)}"


def functions(lines):
    """The first line of each function, and its number of lines. Functions have the
    layout that clang-format gives: a signature starts in column 0 (2 in a class),
    and its body ends with the first brace in that column."""
    number = 0
    while number < len(lines):
        first = number
        signature = re.match(r"( {2})?(?!namespace|extern|struct|class|enum|union"
                             r"|[#/}]|.* R\"\()[^\s(]+[^(]*\(", lines[first])
        number += 1
        if not signature:
            continue
        last = first
        while last < len(lines) and lines[last] and lines[last][-1] not in "{;}":
            last += 1
        if last == len(lines) or not lines[last].endswith("{"):
            continue
        brace = (signature[1] or "") + "}"
        end = last
        while end < len(lines) and lines[end] != brace:
            end += 1
        yield first + 1, end - first + 1
        number = end + 1


def check_functions(path, lines):
    if not path.endswith((".cpp", ".h", ".c")):
        return
    for first, count in functions(lines):
        if count > FUNCTION_LINES:
            yield first, (f"expected at most {FUNCTION_LINES} lines in a "
                          f"function, got {count}")


def check_endings(path, lines):
    if not path.startswith(("runtime/", "compiler/", "passes/", "dialects/")):
        return
    # What stops there is a program that reads a result unasked (MTP_CHECK_RESULTS).
    if not path.endswith((".cpp", ".h")) or path == "runtime/include/mtp/result.h":
        return
    for number, line in enumerate(lines, 1):
        code = re.sub(r'"(\\.|[^"\\])*"|//.*', "", line)
        match = re.search(r"\bthrow [^;]*;|\b(abort|exit|terminate)\(", code)
        if match:
            yield number, f"expected an error as a value, got '{match[0]}'"


def check_labels(root):
    for folder in labels.dialects(root):
        for path, number, message in labels.places(folder):
            yield path.relative_to(root).as_posix(), number, message


def check_headers(root):
    for path in headers.public_headers(root):
        for number, message in headers.check(path.read_text(encoding="utf-8")):
            yield path.relative_to(root).as_posix(), number, message


def check_root(root):
    """Nothing where `root` is no repository of its own, as in an archive."""
    if not (root / ".git").exists():
        return
    tracked = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files"],
        check=True, capture_output=True, text=True).stdout
    for name in {path.split("/")[0] for path in tracked.splitlines()}:
        if name not in AT_THE_ROOT:
            yield name, 1, "expected no other file or folder at the root"


def check_conflicts(root):
    for folder in [".", *FOLDERS]:
        walk = (root / folder).glob if folder == "." else (root / folder).rglob
        for path in sorted(p for s in (".md", ".test", ".txt", ".mlir") for p in walk("*" + s)):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, 1):
                if re.match(r"(<{7}|>{7}) ", line):
                    yield (path.relative_to(root).as_posix(), number,
                           "expected no mark of a conflict")


def check_classes(root):
    files = []
    for source in sources(root):
        path = source.relative_to(root).as_posix()
        if source.suffix in (".h", ".cpp") and not path.startswith(
                ("test/", "tools/gpu-check/")):
            files.append((path, source.read_text(encoding="utf-8").splitlines()))
    yield from classes.places(files, classes.EXCEPTIONS)


def sources(root):
    suffixes = set(COLUMNS)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            script = path.parent == root / "tools" and "." not in path.name
            if path.is_file() and (path.suffix in suffixes or script):
                yield path


def check(root, exceptions):
    """All places that break a rule, but for those that are excepted."""
    found = [*check_labels(root), *check_headers(root), *check_root(root),
             *check_conflicts(root), *check_classes(root),
             *includes.check(root, sources(root))]
    for source in sources(root):
        path = source.relative_to(root).as_posix()
        lines = source.read_text(encoding="utf-8").splitlines()
        places = list(check_lines(path, lines))
        if source.suffix in (".cpp", ".h", ".c"):
            places += check_includes(root, path, lines)
            places += check_functions(path, lines)
            places += check_endings(path, lines)
            places += tunables.places(path, lines)
        found += [(path, number, message) for number, message in places]
    return [
        (path, number, message) for path, number, message in found
        if not any(fnmatch.fnmatchcase(path, pattern) and part in message
                   for pattern, part in exceptions)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                        else pathlib.Path(__file__).parents[2])
    root = root.resolve()
    found = check(root, EXCEPTIONS) + list(changes.check(root))
    found += [("prose", 1, message) for message in prose.check(root)]
    for path, number, message in sorted(found):
        print(f"{path}:{number}: {message}")
    if found:
        print(f"{len(found)} places break the rules of CONTRIBUTING.md",
              file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
