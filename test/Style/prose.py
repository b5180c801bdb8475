#!/usr/bin/env python3
"""Checks the prose of comments, pages, descriptions and flags.

usage: prose.py [--worst] [ROOT [PATH...]]

Prints the counts that CONTRIBUTING.md limits. --worst prints each place that
adds to a count, as FILE:LINE: MESSAGE. PATH restricts the files: a file, or a
folder with all files below it.

A text is one comment, one paragraph, list item or table cell of a page, one
summary or description of a .td file, one docstring, or one string literal of
the product. Code fences and `code spans` are not prose.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

LONGEST = 35  # words in a sentence
SHORTEST = 4  # words; what has fewer is a label
OPENINGS = r"(What|Of|Where|The same|Those|Who)\b"
# Words with the largest number of uses in the whole tree.
WORDS = {
    "nobody, somebody": (r"\b(nobody|somebody)\b", 0),
    "who": (r"\bwho\b", 20),
    "behind": (r"\bbehind\b", 40),
    "so many, as many": (r"\b(so|as) many\b", 20),
}
LONG_SHARE = 0.02  # of sentences in pages, and of other sentences
OPENINGS_LIMIT = 50

Text = collections.namedtuple("Text", "line kind text")
Place = collections.namedtuple("Place", "path line rule message")

FOLDERS = ["compiler", "dialects", "models", "passes", "runtime", "test", "tools"]
PAGES = ["README.md", "CONTRIBUTING.md"]
C_LIKE = {".cpp", ".h", ".c", ".cu", ".td", ".inc", ".fbs"}
HASH_LIKE = {".py", ".sh", ".cmake", ".txt"}


def comments(lines, mark):
    """Blocks of whole-line comments that start with `mark`."""
    block, first = [], 0
    for number, line in enumerate(lines + [""], 1):
        stripped = line.strip()
        match = re.match(mark + r"(?P<rest>.*)$", stripped)
        is_rule = match and (re.match(r"=+-|-\*-|=|!", match["rest"].strip()))
        if match and not is_rule:
            if not block:
                first = number
            block.append(match["rest"].strip())
        elif block:
            yield first, block
            block = []


def paragraphs(block, first):
    """Paragraphs and list items of a comment or page, with their lines."""
    current, start, in_code = [], first, False
    for number, line in enumerate(list(block) + [""], first):
        stripped = line.strip()
        if stripped.startswith("```"):
            in_code = not in_code
            stripped = ""
        elif in_code:
            continue
        is_item = re.match(r"([-*]|\d+\.)\s+", stripped)
        if (not stripped or is_item or stripped.startswith("#")) and current:
            yield start, " ".join(current)
            current = []
        if stripped:
            if not current:
                start = number
            current.append(re.sub(r"^([-*]|\d+\.)\s+|^#+ ", "", stripped))
            if stripped.startswith("#"):
                yield start, current[0]
                current = []


def page_texts(lines):
    rows = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("|"):
            rows.append((number, line))
    plain = ["" if line.lstrip().startswith("|") else line for line in lines]
    for number, text in paragraphs(plain, 1):
        yield Text(number, "page", text)
    for number, row in rows:
        if not re.fullmatch(r"[|\s:-]+", row):
            for cell in row.strip().strip("|").split("|"):
                yield Text(number, "page", cell.strip())


def td_texts(source):
    for match in re.finditer(
            r"let (?:summary|description) = (?:\[\{(.*?)\}\]|((?:\"[^\"]*\"\s*)+))"
            r"|\bsummary = \"([^\"]*)\"", source, re.S):
        number = source.count("\n", 0, match.start()) + 1
        body = match[1]
        if body is None:
            yield Text(number, "description", (match[2] or match[3]).replace('"', ""))
            continue
        for line, text in paragraphs(body.split("\n"), number):
            yield Text(line, "description", text)


def docstrings(source):
    for match in re.finditer(r'^\s*(?:r?)"""(.*?)"""', source, re.S | re.M):
        number = source.count("\n", 0, match.start(1)) + 1
        for line, text in paragraphs(match[1].split("\n"), number):
            yield Text(line, "docstring", text)


def strings(source):
    for match in re.finditer(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', source):
        text = " ".join(re.findall(r'"((?:\\.|[^"\\])*)"', match[0]))
        if text.count(" ") > 2:
            yield Text(source.count("\n", 0, match.start()) + 1, "string",
                       text.replace("\\n", " "))


def texts(path, source):
    """All texts of a file."""
    suffix = pathlib.PurePath(path).suffix
    lines = source.split("\n")
    if suffix == ".md":
        yield from page_texts(lines)
        return
    if suffix in C_LIKE:
        for first, block in comments(lines, r"///(?!/)<?"):
            parts = list(paragraphs(block, first))
            for index, (number, text) in enumerate(parts):
                yield Text(number, "doc" if index == 0 else "comment", text)
        for first, block in comments(lines, r"//(?!/)"):
            for number, text in paragraphs(block, first):
                yield Text(number, "comment", text)
        for number, line in enumerate(lines, 1):
            match = re.match(r"[^\"]*\S.*[;,{})] +//+<? (.*)", line)
            if match:
                yield Text(number, "comment", match[1])
    if suffix == ".td":
        yield from td_texts(source)
    elif suffix in C_LIKE and not path.startswith("test/"):
        code = re.sub(r"^\s*(//|#\s*include).*$", "", source, flags=re.M)
        yield from strings(code)
    if suffix in HASH_LIKE or suffix == "":
        for first, block in comments(lines, r"#(?!!)"):
            for number, text in paragraphs(block, first):
                yield Text(number, "comment", text)
    if suffix == ".py":
        yield from docstrings(source)


def sentences(text):
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [s for s in re.split(r"(?<=[.!?])[)\"']?\s+(?=[A-Z0-9`(\"x])", text)
            if words_in(s) >= SHORTEST]


def words_in(sentence):
    return len(re.findall(r"\S*\w\S*", sentence))


def check_text(path, text):
    """The places of one text that add to a count."""
    for sentence in sentences(text.text):
        count = words_in(sentence)
        if count > LONGEST and text.kind != "string":
            rule = "long in pages" if text.kind == "page" else "long in code"
            yield Place(path, text.line, rule,
                        f"expected at most {LONGEST} words in a sentence, got "
                        f"{count}: '{sentence[:60]}...'")
    if text.kind == "doc" and re.match(OPENINGS, text.text):
        yield Place(path, text.line, "openings",
                    "expected a noun or a third-person verb at the start of a "
                    f"doc comment, got '{text.text[:40]}'")
    prose = re.sub(r"`[^`]*`", "", text.text)
    for rule, (pattern, _) in WORDS.items():
        for match in re.finditer(pattern, prose, re.I):
            yield Place(path, text.line, rule,
                        f"expected another word, got '{match[0]}' in "
                        f"'{prose[max(0, match.start() - 30):match.end() + 20]}'")


def files(root):
    for name in PAGES:
        if (root / name).exists():
            yield name
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            script = path.parent == root / "tools" and path.suffix == ""
            if path.is_file() and (script or path.suffix in
                                   C_LIKE | HASH_LIKE | {".md"}):
                yield path.relative_to(root).as_posix()


def survey(root, paths):
    """Places, and the number of sentences."""
    places, count = [], collections.Counter()
    for path in files(root):
        if paths and not any(path == p or path.startswith(p.rstrip("/") + "/")
                             for p in paths):
            continue
        source = (root / path).read_text(encoding="utf-8", errors="replace")
        for text in texts(path, source):
            if text.kind != "string":
                count[text.kind == "page"] += len(sentences(text.text))
            places += check_text(path, text)
    return places, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--worst", action="store_true")
    parser.add_argument("root", nargs="?", default=".")
    parser.add_argument("paths", nargs="*")
    args = parser.parse_args()
    places, count = survey(pathlib.Path(args.root).resolve(), args.paths)
    if args.worst:
        for place in places:
            print(f"{place.path}:{place.line}: {place.message}")
    by_rule = collections.Counter(place.rule for place in places)
    for rule, is_page in (("long in pages", True), ("long in code", False)):
        share = 100 * by_rule[rule] / max(count[is_page], 1)
        print(f"{rule}: {by_rule[rule]} of {count[is_page]} sentences "
              f"({share:.1f} %, at most {100 * LONG_SHARE:.0f} %)")
    print(f"openings: {by_rule['openings']} (at most {OPENINGS_LIMIT})")
    for rule, (_, limit) in WORDS.items():
        print(f"{rule}: {by_rule[rule]} (at most {limit})")


if __name__ == "__main__":
    sys.exit(main())
