"""Checks the prose of a change, and the subjects of its commits.

A change is what differs from the merge base with main, in commits and in the
working tree. On main itself it is the last commit and the working tree.
"""

import collections
import pathlib
import re
import subprocess

import prose

SUBJECT_COLUMNS = 72
AREAS = set("""
    api artifact bench cache chat ci cmake codegen compiler core cuda device dialects docs
    driver dump exec fuzz gpu-check gpusim import jinja kernelcache models mtpc opt
    oracle passes pipeline run runtime schema serve start style target tests tokenizer tools
    weights""".split())


def git(root, *arguments):
    """The output of a git command, or None if it fails."""
    done = subprocess.run(["git", "-c", "safe.directory=*", "-c", "core.quotePath=off",
                           "-C", str(root), *arguments],
                          capture_output=True, text=True, errors="replace", check=False)
    return done.stdout if done.returncode == 0 else None


def base_of(root):
    """The commit that the change starts from, or None."""
    if not (root / ".git").exists():
        return None
    head = git(root, "rev-parse", "HEAD")
    for branch in ("main", "origin/main"):
        base = git(root, "merge-base", "HEAD", branch)
        if base and base != head:
            return base.strip()
        if base:
            break
    last = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    return last.strip() if last else None


def changed_lines(root, base):
    """The new lines of each changed file, as sets of line numbers."""
    lines = collections.defaultdict(set)
    path = None
    for line in (git(root, "diff", "-M", "--unified=0", "--no-color", "--no-ext-diff",
                     base) or "").split("\n"):
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else None
        match = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if match and path:
            first = int(match[1])
            lines[path].update(range(first, first + int(match[2] or 1)))
    new = git(root, "ls-files", "--others", "--exclude-standard") or ""
    for path in new.splitlines():
        count = (root / path).read_bytes().count(b"\n") + 1
        lines[path].update(range(1, count + 1))
    return lines


def check_texts(root, base):
    """The texts that touch a changed line and break a rule of prose.py."""
    lines = changed_lines(root, base)
    for path in sorted(set(lines) & set(prose.files(root))):
        source = (root / path).read_text(encoding="utf-8", errors="replace")
        for text in prose.texts(path, source):
            if not lines[path].isdisjoint(range(text.line, text.last + 1)):
                for place in prose.check_text(path, text):
                    yield place.path, place.line, place.message


def subject_errors(subject):
    match = re.match(r"\[([^\]]+)\] (\S)", subject)
    if len(subject) > SUBJECT_COLUMNS:
        yield (f"expected at most {SUBJECT_COLUMNS} characters in a subject, got "
               f"{len(subject)}: '{subject}'")
    if not match or match[2] != match[2].upper():
        yield f"expected '[area] Imperative', got '{subject}'"
    elif match[1] not in AREAS:
        yield f"expected an area of CONTRIBUTING.md, got '{subject}'"
    if ";" in subject:
        yield f"expected one change in a subject, got '{subject}'"


def check_subjects(root, base):
    """The subjects of commits that break a rule; merges have none of ours."""
    log = git(root, "log", "--no-merges", "--first-parent", "--format=%h %s",
              f"{base}..HEAD") or ""
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        for message in subject_errors(subject):
            yield f"commit {commit}", 1, message


def check(root):
    root = pathlib.Path(root)
    base = base_of(root)
    if base:
        yield from check_texts(root, base)
        yield from check_subjects(root, base)
