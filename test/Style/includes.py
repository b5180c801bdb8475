#!/usr/bin/env python3
"""Finds includes that form cycles, and folders that are too large.
check_style.py runs the checks.

  - No two folders include each other.
  - No source files include each other, in a ring of any length. A header and
    the source file of its name count as one. The dialects are excepted, whose
    generated code makes rings, and so are tests.
  - A header has an include guard MTP_<PATH>_H.
  - A folder has at most FOLDER_FILES files, not counting a file per test case
    or test input.
"""

import collections
import pathlib
import posixpath
import re
import subprocess

Include = collections.namedtuple("Include", "path line target")

INCLUDE = re.compile(r'#\s*include\s+"([^"]+)"')
FOLDER_FILES = 40
RINGS_EXCEPTED = ["dialects/Exec/IR", "dialects/MTP/IR", "test"]


def find(files):
    """Returns the includes of `files`, a dictionary from paths to lines, that
    name one of the files: from the root, beside the file, or public."""
    found = []
    for path, lines in sorted(files.items()):
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            beside = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), match[1]))
            for target in (match[1], beside, "runtime/include/" + match[1]):
                if target in files:
                    found.append(Include(path, number, target))
                    break
    return found


def check_folders(includes):
    """Yields the places of the fewer includes of two folders."""
    arrows = collections.defaultdict(list)
    for include in includes:
        a, b = (posixpath.dirname(p) for p in (include.path, include.target))
        if a != b:
            arrows[a, b].append(include)
    for (a, b), there in sorted(arrows.items()):
        back = arrows.get((b, a), [])
        if (len(there), a) < (len(back), b):
            for include in there:
                yield (include.path, include.line,
                       f"expected no include of '{include.target}', because "
                       f"'{back[0].path}' includes '{back[0].target}'")


def unit_of(path):
    return posixpath.splitext(path)[0]


def rings(graph):
    """Returns the strongly connected components of more than one node."""
    order, low, stack, found = {}, {}, [], []

    def visit(start):
        work = [(start, iter(graph[start]))]
        order[start] = low[start] = len(order)
        stack.append(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in stack:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    place = stack.index(node)
                    found.append(sorted(stack[place:]))
                    del stack[place:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return [ring for ring in found if len(ring) > 1]


def is_excepted(path):
    return any(path.startswith(folder + "/") for folder in RINGS_EXCEPTED)


def check_rings(includes):
    """Yields one include of each ring of files."""
    graph, places = collections.defaultdict(set), {}
    for include in includes:
        a, b = unit_of(include.path), unit_of(include.target)
        if a != b and not is_excepted(a) and not is_excepted(b):
            graph[a].add(b)
            places.setdefault((a, b), include)
    for ring in rings(graph):
        first = min((places[a, b] for a in ring for b in graph[a] if b in ring))
        yield (first.path, first.line, "expected no ring of includes, got one of "
               + ", ".join(ring))


def check_guard(path, lines):
    """Yields the line of a guard of another form."""
    if not path.endswith(".h"):
        return
    expected = "MTP_" + re.sub(r"[^A-Z0-9]", "_", path.upper())
    for number, line in enumerate(lines, 1):
        match = re.match(r"#\s*(\w+)\s*(\w*)", line)
        if not match:
            continue
        if match[1] == "ifndef" and match[2] != expected:
            yield number, f"expected the guard {expected}, got '{match[2]}'"
        return


def is_case(path):
    """Returns whether a file is a test case or a test's input."""
    folder, name = posixpath.split(path)
    return path.startswith("test/") and (
        re.search(r"_test\.\w+$|\.test$|\.mlir$", name) is not None
        or any(part in ("Inputs", "expected") for part in folder.split("/")))


def check_sizes(paths):
    """Yields each folder with too many files."""
    counts = collections.Counter(posixpath.dirname(p) for p in paths if not is_case(p))
    for folder, count in sorted(counts.items()):
        if count > FOLDER_FILES:
            yield (folder, 1, f"expected at most {FOLDER_FILES} files, got {count}")


def tracked(root):
    """Returns the files that git tracks; none if `root` is not a repository."""
    if not (root / ".git").exists():
        return []
    return subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files"],
        check=True, capture_output=True, text=True).stdout.splitlines()


def check(root, sources):
    """Yields (path, line, message) of each place in the C and C++ sources."""
    files = {}
    for source in sources:
        if source.suffix in (".cpp", ".h", ".c"):
            path = pathlib.Path(source).relative_to(root).as_posix()
            files[path] = source.read_text(encoding="utf-8").splitlines()
    includes = find(files)
    yield from check_folders(includes)
    yield from check_rings(includes)
    yield from check_sizes(tracked(root))
    for path, lines in files.items():
        for number, message in check_guard(path, lines):
            yield path, number, message
