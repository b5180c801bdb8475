"""Finds constants that affect only speed outside of runtime/schema/Tunables.h.

A place is a constant with a number whose name has one of WORDS: a constexpr, a static const or a
const of a file. It is kept if its
comment says "Semantic:", or if it reads a tunable."""

import re

FOLDERS = ("compiler/Codegen/", "passes/exec/", "runtime/exec/")
WORDS = {"rows", "chunk", "prefetch", "ahead", "threshold", "blocks"}
BEGIN = re.compile(r"\s*(?:(?:static |inline )*constexpr|(?:static |inline )+const|(?<!\s)const)\b")
TYPE = re.compile(r"\s*[\w:]+(?:<[^=;]*>)?(?: \*const)?\s+(?=\w)")
DECLARATOR = re.compile(r"(\w+)(?:\[[^\]]*\])? ?(?:= ?({[^}]*}|[^,;{]*)|({[^}]*}))")


def words(name):
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def comment_at(lines, number):
    """The comment in front of and beside line `number`."""
    first = number
    while first > 0 and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    return " ".join(lines[first:number] + [lines[number].partition("//")[2]])


def places(path, lines):
    """The line and message of each constant that belongs to Tunables.h."""
    if not path.startswith(FOLDERS) or not path.endswith((".cpp", ".h")):
        return
    for number, line in enumerate(lines):
        begin = BEGIN.match(line)
        if not begin:
            continue
        text, last = line[begin.end():].partition("//")[0], number
        while ";" not in text and last + 1 < len(lines):
            last += 1
            text += lines[last].partition("//")[0]
        kind = TYPE.match(text)
        if not kind or "(" in text.partition("=")[0].partition("{")[0]:
            continue
        if "Semantic:" in comment_at(lines, number):
            continue
        for name, *values in DECLARATOR.findall(text[kind.end():]):
            value = "".join(values)
            found = sorted(words(name) & WORDS)
            if found and "tunable::" not in value and re.search(r"\b\d", value):
                yield number + 1, (f"expected '{name}' in runtime/schema/Tunables.h or a comment "
                                   f"'Semantic: ...', since it has '{found[0]}' in its name")
