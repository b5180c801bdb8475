"""Measures classes: how many functions and data members they have, and over how many source
files the functions are spread. Reads C++ in the layout that clang-format gives."""

import collections
import pathlib
import re

FUNCTIONS = 30
DATA_MEMBERS = 15
SOURCE_FILES = 3

# Classes that exceed a limit and may: file, class, and why.
EXCEPTIONS = [
    # Vocabularies: each function emits one instruction or op, and none depends on another.
    ("compiler/Codegen/KernelBuilder.h", "KernelBuilder", "a function for each instruction"),
    ("compiler/Codegen/CPU/builder/CpuBuilder.h", "CpuBuilder", "a function for each instruction"),
    ("compiler/Codegen/GPU/GpuBuilder.h", "GpuBuilder", "a function for each instruction"),
    ("passes/support/SlotBody.h", "SlotBody", "a function for each integer op"),
    ("passes/lower/ExecLowering.h", "LoweringContext", "a function for each thing a lowering asks"),
    # Kernels: the members are the values of one kernel, the functions its steps.
    ("compiler/Codegen/CPU/attention/AttentionBlock.h", "AttentionBlock", "one kernel"),
    ("compiler/Codegen/CPU/attention/AttentionLayout.h", "AttentionLayout", "sizes of one kernel"),
    ("compiler/Codegen/CPU/attention/AttentionRuns.h", "AttentionRuns", "one kernel"),
    ("compiler/Codegen/GPU/attention/AttentionTensor.h", "AttentionTensor", "one kernel"),
    ("compiler/Codegen/GPU/sampling/SampleRow.h", "SampleRow", "one kernel"),
    ("passes/round/EndingChain.cpp", "ChainWriter", "the values of one loop"),
    # Grammars: a function for each rule.
    ("runtime/jinja/run/Evaluator.h", "Evaluator", "a function for each kind of node"),
    ("runtime/jinja/parse/ExprParser.h", "ExprParser", "a function for each rule"),
    # Machines: what one interface of a device needs.
    ("runtime/device/cpu/CpuDevice.cpp", "CpuExecutable", "one memory for each space"),
    ("runtime/device/cpu/WorkerPool.h", "WorkerPool", "one protocol between threads"),
    ("runtime/device/cuda/CudaExecutable.h", "CudaExecutable", "the whole Executable interface"),
    # Public: a function for each call.
    ("runtime/include/mtp/session.h", "Session", "a function for each call"),
]

OPENING = re.compile(r"^( *)(?:template <.*> )?(class|struct) (?:\[\[\w+\]\] )?"
                     r"((?:\w+::)*\w+)\b[^;(]*\{$")
DEFINITION = re.compile(r"^(?![\s#/}])[^=;]*?((?:\w+::)+)(?:~?\w+|operator[^(]*)\(")


class Class:
    def __init__(self, path, line, name, is_plain):
        self.path, self.line, self.name, self.is_plain = path, line, name, is_plain
        self.functions = self.members = 0
        self.files = set()


def without_comments(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def without_arguments(text):
    """Drops template arguments, innermost first."""
    text = text.replace("->", "  ").replace("operator<=>", "operator")
    text = text.replace("operator<", "operator")
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


def statements(text):
    """The statements of a class body; those in braces are left out."""
    depth, current, closes = 0, "", False
    for letter in text:
        if letter in "({":
            depth += 1
            current += letter if depth == 1 else ""
        elif letter in ")}":
            depth -= 1
            current += letter if depth == 0 else ""
            closes = depth == 0 and letter == "}"
            # A function's body ends its statement.
            if closes and re.search(r"\)[^={]*\{\}$|:[^=]*\)[^=]*\{\}$", current):
                yield current
                current = ""
        elif depth == 0:
            if letter == ";":
                yield current
                current = ""
            else:
                current += letter


def count(body, found):
    text = re.sub(r"\b(public|private|protected):", "", "\n".join(body))
    for statement in statements(text):
        statement = " ".join(without_arguments(statement).split())
        statement = re.sub(r"^template ", "", statement)
        if not statement or re.match(
                r"(using|typedef|friend|static_assert|enum|class|struct|union|static const)\b",
                statement):
            continue
        before = re.split(r"[={]", statement.replace("operator==", "operator"))[0]
        if "(" in before:
            found.functions += not re.search(r"= (default|delete)$", statement)
        elif not statement.startswith("static"):
            found.members += 1 + re.sub(r"\{[^}]*\}|\([^)]*\)", "", statement).count(",")


def classes(path, lines):
    """The classes that a file defines."""
    clean = [without_comments(line) for line in lines]
    outer = []
    for number, line in enumerate(clean):
        opening = OPENING.match(line)
        if not opening:
            continue
        indent = opening[1]
        end = number + 1
        while end < len(clean) and not clean[end].startswith(indent + "}"):
            end += 1
        outer = [(name, last) for name, last in outer if last > number]
        name = "::".join([name for name, _ in outer] + [opening[3]])
        outer.append((opening[3], end))
        body = clean[number + 1:end]
        is_plain = opening[2] == "struct" and not any(
            re.match(r" *(private|protected):", inner) for inner in body)
        found = Class(path, number + 1, name, is_plain)
        count(body, found)
        yield found


def definitions(lines):
    """Names of the classes of which a source file defines functions."""
    names = set()
    for number, line in enumerate(lines):
        match = DEFINITION.match(line)
        if match and not line.rstrip().endswith(";"):
            names.add(match[1][:-2])
    return names


def places(files, exceptions=()):
    """Where classes are too large: (path, line, message). `files` are pairs of a path and its
    lines."""
    excepted = {(path, name) for path, name, _ in exceptions}
    known = collections.defaultdict(list)
    for path, lines in files:
        for found in classes(path, lines):
            known[found.name].append(found)
    for path, lines in files:
        if not path.endswith(".cpp"):
            continue
        for name in definitions(lines):
            while name and name not in known:
                name = name.partition("::")[2]
            # Of several classes of a name, the one that stands nearest.
            folder = pathlib.PurePath(path).parent
            for found in known.get(name, []):
                if pathlib.PurePath(found.path).parent == folder or len(known[name]) == 1:
                    found.files.add(path)
    for group in known.values():
        for found in group:
            if (found.path, found.name) in excepted:
                continue
            for have, most, what in [
                    (found.functions, FUNCTIONS, "functions"),
                    (0 if found.is_plain else found.members, DATA_MEMBERS, "data members"),
                    (len(found.files), SOURCE_FILES, "source files")]:
                if have > most:
                    yield found.path, found.line, (
                        f"expected at most {most} {what} of a class, got {have} of {found.name}")
