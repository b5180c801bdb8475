#!/usr/bin/env python3
"""Checks the prose of comments, pages, descriptions and flags.

usage: prose.py [--worst] [ROOT [PATH...]]

Prints the counts that CONTRIBUTING.md limits, and exits with 1 if one exceeds
its limit. --worst prints each place that adds to a count, as FILE:LINE: MESSAGE.
PATH restricts the files: a file, or a folder with all files below it.

A text is one comment, one paragraph, list item or table cell of a page, one
summary or description of a .td file, one docstring, or one string literal of
the product. Fenced and indented code, `code spans`, *quoted words* of a page and
usage tables are not prose.
"""

import argparse
import ast
import collections
import pathlib
import re
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

# `last` is the last line of the text.
Text = collections.namedtuple("Text", "line last kind text")
Place = collections.namedtuple("Place", "path line rule message")

FOLDERS = ["compiler", "dialects", "models", "passes", "runtime", "test", "tools"]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
C_LIKE = {".cpp", ".h", ".c", ".cu", ".td", ".inc", ".fbs", ".js"}
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
            block.append(match["rest"].rstrip())
        elif block:
            yield first, block
            block = []


ITEM = r"(?:[-*]|\d+\.)\s+"
# The indentation that makes code, relative to the text around it.
CODE_INDENT = {"page": 4, "comment": 2, "docstring": 2}


def without_code(lines, indent):
    """Replaces fenced and indented code by empty lines. Indented code follows an
    empty line, or a line that ends in a colon, and is indented by at least
    `indent` columns more than the text or list item before it. Outside of pages
    three spaces in a line make it a row of a table."""
    plain, in_fence, in_code, base, before = [], False, False, None, ""
    for line in lines:
        text = line.strip()
        column = len(line) - len(line.lstrip())
        if text.startswith("```"):
            in_fence = not in_fence
            plain.append("")
            continue
        if in_fence or not text:
            plain.append("")
            before = ""
            continue
        item = re.match(ITEM, text)
        base = column if base is None else base
        starts = not before or before.endswith(":")
        is_row = indent == CODE_INDENT["comment"] and re.search(r"\S {3,}\S", text)
        in_code = bool(is_row) or (column >= base + indent and (in_code or starts)
                                   and (in_code or not item))
        plain.append("" if in_code else line)
        if not in_code:
            base = column + (len(item[0]) if item else 0)
        before = text
    return plain


def paragraphs(block, first):
    """Paragraphs and list items: first line, last line, text."""
    current, start = [], first
    for number, line in enumerate(list(block) + [""], first):
        stripped = line.strip()
        is_item = re.match(ITEM, stripped)
        if (not stripped or is_item or stripped.startswith("#")) and current:
            yield start, number - 1, " ".join(current)
            current = []
        if stripped:
            if not current:
                start = number
            current.append(re.sub(rf"^{ITEM}|^#+ ", "", stripped))
            if stripped.startswith("#"):
                yield start, number, current[0]
                current = []


def block_texts(lines, first, kind):
    """The texts of a page or description: paragraphs, list items, table cells."""
    lines = without_code(lines, CODE_INDENT.get(kind, CODE_INDENT["comment"]))
    plain = ["" if line.lstrip().startswith("|") else line for line in lines]
    for start, last, text in paragraphs(plain, first):
        yield Text(start, last, kind, text)
    for number, line in enumerate(lines, first):
        if line.lstrip().startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            for cell in line.strip().strip("|").split("|"):
                yield Text(number, number, kind, cell.strip())


def td_texts(source):
    for match in re.finditer(
            r"let (?:summary|description) = (?:\[\{(.*?)\}\]|((?:\"[^\"]*\"\s*)+))"
            r"|\bsummary = \"([^\"]*)\"", source, re.S):
        number = source.count("\n", 0, match.start()) + 1
        body = match[1]
        if body is None:
            last = source.count("\n", 0, match.end()) + 1
            yield Text(number, last, "description",
                       (match[2] or match[3]).replace('"', ""))
            continue
        yield from block_texts(body.split("\n"), number, "description")


def is_usage(text):
    """Whether the text is a command, or a table of commands and flags."""
    return re.match(r"usage:|(python3 )?\S+\.py\b", text)


def docstrings(source):
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef,
                                 ast.AsyncFunctionDef)) or not ast.get_docstring(node):
            continue
        constant = node.body[0].value
        lines = constant.value.split("\n")
        margin = min((len(line) - len(line.lstrip()) for line in lines[1:]
                      if line.strip()), default=0)
        lines = lines[:1] + [line[margin:] for line in lines[1:]]
        plain = without_code(lines, CODE_INDENT["docstring"])
        for first, last, text in paragraphs(plain, constant.lineno):
            if not is_usage(text):
                yield Text(first, last, "docstring", text)


def strings(source):
    for match in re.finditer(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*', source):
        text = " ".join(re.findall(r'"((?:\\.|[^"\\])*)"', match[0]))
        if text.count(" ") > 2:
            yield Text(source.count("\n", 0, match.start()) + 1,
                       source.count("\n", 0, match.end()) + 1, "string",
                       text.replace("\\n", " "))


def comment_texts(lines, mark, kind="comment"):
    for first, block in comments(lines, mark):
        plain = without_code(block, CODE_INDENT["comment"])
        for index, (start, last, text) in enumerate(paragraphs(plain, first)):
            yield Text(start, last, "comment" if index else kind, text)


def is_python(path, source):
    return path.endswith(".py") or source.startswith("#!/usr/bin/env python3")


def texts(path, source):
    """All texts of a file."""
    suffix = pathlib.PurePath(path).suffix
    lines = source.split("\n")
    if suffix == ".md":
        yield from block_texts(lines, 1, "page")
        return
    if suffix in C_LIKE:
        yield from comment_texts(lines, r"///(?!/)<?", "doc")
        yield from comment_texts(lines, r"//(?!/)")
        for number, line in enumerate(lines, 1):
            match = re.match(r"[^\"]*\S.*[;,{})] +//+<? (.*)", line)
            if match:
                yield Text(number, number, "comment", match[1])
    if suffix == ".td":
        yield from td_texts(source)
    elif suffix in C_LIKE and not path.startswith("test/"):
        code = re.sub(r"^[ \t]*(//|#\s*include).*$", "", source, flags=re.M)
        yield from strings(code)
    if suffix in HASH_LIKE or suffix == "":
        yield from comment_texts(lines, r"#(?!!)")
    if is_python(path, source):
        yield from docstrings(source)


def sentences(text):
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return [s for s in re.split(r"(?<=[.!?])[)\"']?\s+(?=[A-Z0-9`(\"x]|--)", text)
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
    if text.kind == "page":
        prose = re.sub(r"(?<![*\w])\*[^*]+\*(?!\*)", "", prose)
    for rule, (pattern, _) in WORDS.items():
        for match in re.finditer(rf"(?<!-){pattern}(?!-)", prose, re.I):
            if match[0].isupper():  # stands for a value, as in usage: TOOL WHO
                continue
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


def over_limits(places, count):
    """A message for each count, and whether the count exceeds its limit."""
    by_rule = collections.Counter(place.rule for place in places)
    for rule, is_page in (("long in pages", True), ("long in code", False)):
        share = by_rule[rule] / max(count[is_page], 1)
        yield share > LONG_SHARE, (
            f"{rule}: {by_rule[rule]} of {count[is_page]} sentences "
            f"({100 * share:.1f} %, at most {100 * LONG_SHARE:.0f} %)")
    yield (by_rule["openings"] > OPENINGS_LIMIT,
           f"openings: {by_rule['openings']} (at most {OPENINGS_LIMIT})")
    for rule, (_, limit) in WORDS.items():
        yield by_rule[rule] > limit, f"{rule}: {by_rule[rule]} (at most {limit})"


def check(root):
    """The counts of the whole tree that exceed their limits."""
    return [message for is_over, message in over_limits(*survey(root, [])) if is_over]


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
    messages = list(over_limits(places, count))
    for _, message in messages:
        print(message)
    return any(is_over for is_over, _ in messages)


if __name__ == "__main__":
    sys.exit(main())
