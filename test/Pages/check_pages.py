#!/usr/bin/env python3
"""Checks the pages of the tree, and runs the commands that they show.

usage: check_pages.py [ROOT]
       check_pages.py --run BUILD [ROOT]

Without --run it checks

  - that the target and the anchor of each link exist
  - that paths in `code spans` exist, except on the pages of PAST
  - the length of pages: LIMITS
  - that each block of code in README.md files has a language
  - that the files and functions named in the tables of ARCHITECTURE.md exist

With --run it runs the blocks with the language `sh` of all README.md files. The
blocks of a page run one after another in a temporary folder, which has links to the
folders of the tree and a link `build` to BUILD. BUILD/bin is in PATH. A block that
cannot run has a reason after its language, as in

    ```sh not run: needs a GPU

The test prints all blocks with a reason.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = ["compiler", "dialects", "models", "passes", "runtime", "test", "tools"]
TOP = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md"]
# Largest number of lines, for the first pattern that a path matches.
LIMITS = [(r"README\.md", 200), (r".*/README\.md", 120), (r".*/ARCHITECTURE\.md", 250)]
# Pages about the past, and about other projects.
PAST = ["CHANGELOG.md", "DESIGN.md", "MEASURED.md"]
SECONDS = 300  # for the blocks of a page together

Block = collections.namedtuple("Block", "line info lines")


def pages(root):
    for name in TOP:
        if (root / name).exists():
            yield name
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.md")):
            yield path.relative_to(root).as_posix()


def is_readme(path):
    return pathlib.PurePath(path).name == "README.md"


def split(source):
    """The lines outside of fenced blocks, with numbers, and the blocks."""
    lines, blocks, block = [], [], None
    for number, line in enumerate(source.split("\n"), 1):
        fence = re.match(r"\s*```(.*)", line)
        if fence and block is None:
            block = Block(number, fence[1].strip(), [])
            blocks.append(block)
        elif fence:
            block = None
        elif block is not None:
            block.lines.append(line)
        else:
            lines.append((number, line))
    return lines, blocks


def anchors(source):
    """The anchors of a page's headings, as GitHub makes them."""
    found = collections.Counter()
    for _, line in split(source)[0]:
        heading = re.match(r"#+ +(.*)", line)
        if heading:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = found[anchor]
            found[anchor] += 1
            yield f"{anchor}-{count}" if count else anchor


def links(source):
    """Lines and targets of the links of a page."""
    lines, _ = split(source)
    # A link's text may go over a line's end, its target may not.
    for number, line in lines:
        line = re.sub(r"`[^`]*`", "", line)
        for match in re.finditer(r"\]\(([^()\s]*(?:\([^()]*\))?[^()\s]*)\)", line):
            yield number, match[1]
        match = re.match(r" {0,3}\[[^\]]+\]: +(\S+)", line)
        if match:
            yield number, match[1]


def check_links(root, path, source):
    for number, link in links(source):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (root / path).parent / name if name else root / path
        if not target.exists():
            yield number, f"expected a link to a file, got '{link}'"
        elif not target.resolve().is_relative_to(root):
            yield number, f"expected a link into the tree, got '{link}'"
        elif anchor and anchor not in set(anchors(target.read_text(encoding="utf-8"))):
            yield number, f"expected a link to a heading, got '{link}'"


def check_paths(root, path, source):
    """Code spans that begin with a folder of the tree; they may lack a suffix."""
    if pathlib.PurePath(path).name in PAST:
        return
    for number, line in split(source)[0]:
        for name in re.findall(r"`([^`\s]+)`", line):
            if (re.fullmatch(rf"({'|'.join(FOLDERS)})/[\w./-]+", name)
                    and not (root / name).exists() and not any(root.glob(name + ".*"))):
                yield number, f"expected a path of the tree, got '{name}'"


def check_length(path, source):
    for pattern, limit in LIMITS:
        if re.fullmatch(pattern, path):
            count = source.count("\n")
            if count > limit:
                yield 1, f"expected at most {limit} lines, got {count}"
            return


def check_blocks(path, source):
    if is_readme(path):
        for block in split(source)[1]:
            if not re.match(r"[a-z]", block.info):
                yield block.line, "expected a language after ```, got none"
            elif re.match(r"sh\b", block.info) and not re.fullmatch(
                    r"sh( not run: .+)?", block.info):
                yield block.line, f"expected 'sh not run: REASON', got '{block.info}'"


def check_stops(root, path, source):
    """Rows with a file and names: each name is a word of that file."""
    if pathlib.PurePath(path).name != "ARCHITECTURE.md":
        return
    for number, line in split(source)[0]:
        spans = re.findall(r"`([^`]+)`", line)
        files = [s for s in spans if re.fullmatch(r"[\w/.-]+/[\w.-]+\.\w+", s)]
        if not line.startswith("|") or not files or not all(
                (root / name).is_file() for name in files):
            continue
        text = "".join((root / name).read_text(encoding="utf-8", errors="replace")
                       for name in files)
        for name in spans:
            last = re.split(r"::|\.", name)[-1].removesuffix("()")
            if (name not in files and re.fullmatch(r"[\w:.]+(\(\))?", name)
                    and not re.search(rf"\b{last}\b", text)):
                yield number, f"expected a name of {', '.join(files)}, got '{name}'"


def check(root):
    for path in pages(root):
        source = (root / path).read_text(encoding="utf-8")
        for number, message in [
                *check_links(root, path, source), *check_paths(root, path, source),
                *check_length(path, source), *check_blocks(path, source),
                *check_stops(root, path, source)]:
            yield f"{path}:{number}: {message}"


def script(block):
    """The commands of a block. If lines begin with `$ `, only they are commands."""
    lines = block.lines
    if any(line.startswith("$ ") for line in lines):
        kept = []
        for line in lines:
            if line.startswith("$ ") or (kept and kept[-1].endswith("\\")):
                kept.append(line.removeprefix("$ "))
        lines = kept
    return "\n".join(lines) + "\n"


def run_page(root, build, path, blocks):
    """Returns a message for the first block that fails, or None."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for top in FOLDERS:
            (folder / top).symlink_to(root / top)
        (folder / "build").symlink_to(build)
        environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}",
                           HOME=name)
        for block in blocks:
            try:
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", script(block)], cwd=folder,
                    env=environment, capture_output=True, text=True, errors="replace",
                    stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return f"{path}:{block.line}: expected an end within {SECONDS} s"
            if done.returncode != 0:
                return (f"{path}:{block.line}: expected exit status 0, got "
                        f"{done.returncode}\n{done.stdout}{done.stderr}")
    return None


def run(root, build):
    """Runs the blocks of all README.md files; returns messages of failures."""
    failures, count = [], 0
    for path in filter(is_readme, pages(root)):
        source = (root / path).read_text(encoding="utf-8")
        blocks = [b for b in split(source)[1] if re.match(r"sh\b", b.info)]
        for block in blocks:
            if block.info != "sh":
                print(f"{path}:{block.line}: {block.info.removeprefix('sh ')}")
        runnable = [b for b in blocks if b.info == "sh"]
        count += len(runnable)
        failure = runnable and run_page(root, build, path, runnable)
        if failure:
            failures.append(failure)
    print(f"{count} blocks run")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", metavar="BUILD", type=pathlib.Path)
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[2])
    args = parser.parse_args()
    root = args.root.resolve()
    messages = run(root, args.run.resolve()) if args.run else list(check(root))
    for message in messages:
        print(message)
    if messages:
        print(f"{len(messages)} places of pages are wrong", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
