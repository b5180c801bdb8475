#!/usr/bin/env python3
"""Checks that the runtime and its tools build without LLVM.

usage: runtime_only.py --build DIR --work DIR --source DIR [-- CMAKE FLAGS...]

Configures the runtime alone in --work with LLVM and MLIR disabled and compares
it with --build, which has compiled everything. The runtime alone builds if

  - each of its objects has a command that --build has, too, apart from LLVM's
    include folders and definitions,
  - no such object of --build read a header of LLVM,
  - each of its programs and libraries is linked as in --build, without LLVM.

tools/check --long compiles it instead (runtime_only.cmake).
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys

# Library names and header folders of LLVM's projects.
LLVM_LIBRARY = re.compile(r"(^|/|-l)(lib)?(LLVM|MLIR|lld)[-\w.]*")
LLVM_HEADER = re.compile(r"/(llvm|llvm-c|mlir|mlir-c|lld)/[^/ ]")
# Flags that only a build with LLVM has.
LLVM_FLAG = re.compile(r"-D_(GNU_SOURCE|DEBUG|GLIBCXX_ASSERTIONS)\b.*|"
                       r"-D_GLIBCXX_USE_CXX11_ABI=1|-DLLVM_.*|"
                       r"-D__STDC_(CONSTANT|FORMAT|LIMIT)_MACROS|"
                       r"-D_(FILE_OFFSET_BITS|LARGEFILE_SOURCE).*")


def configure(args):
    subprocess.run(
        ["cmake", "-G", "Ninja", "-S", args.source, "-B", args.work,
         "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON",
         "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON", "-DMTP_BUILD_COMPILER=OFF",
         *args.flags],
        check=True, stdout=subprocess.DEVNULL)


def flags_of(words, folder):
    """A command's words without LLVM's flags and without its build folder."""
    kept, skip = [], False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-isystem", "-I") and "/llvm" in words[index + 1]:
            skip = True
        elif not LLVM_FLAG.fullmatch(word) and not (
                word.startswith(("-isystem", "-I")) and "/llvm" in word):
            kept.append(word.replace(folder, "BUILD"))
    return sorted(kept)


def commands(folder):
    """The words of each command that `all` of a build folder runs."""
    lines = subprocess.run(["ninja", "-C", str(folder), "-t", "commands", "all"],
                           check=True, capture_output=True, text=True).stdout
    return [shlex.split(line) for line in lines.splitlines()]


def output_of(words):
    return words[words.index("-o") + 1]


def objects(folder):
    """The flags of each object, by its name in `folder`."""
    return {output_of(words): flags_of(words, str(folder))
            for words in commands(folder) if "-c" in words and "-o" in words}


def links(folder):
    """The words of each command that links or archives, by its output."""
    found = {}
    for words in commands(folder):
        programs = {pathlib.PurePath(word).name for word in words}
        is_link = any(re.match(r"(clang|g|c)\+\+|clang|gcc|cc", name)
                      for name in programs)
        archives = [word for word in words if word.endswith(".a")]
        if is_link and "-o" in words and "-c" not in words:
            found[output_of(words)] = flags_of(words, str(folder))
        elif archives and any(re.fullmatch(r"(llvm-)?ar(-\d+)?", name)
                              for name in programs):
            found[archives[0]] = flags_of(words, str(folder))
    return found


def headers(folder):
    """The headers that each object read when it was compiled."""
    text = subprocess.run(["ninja", "-C", str(folder), "-t", "deps"],
                          check=True, capture_output=True, text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], [])
        elif line:
            current.append(line.strip())
    return found


def differences(kind, alone, whole):
    for name, flags in sorted(alone.items()):
        if name not in whole:
            yield f"expected {kind} '{name}' in the whole build, got none"
        elif flags != whole[name]:
            only = sorted(set(flags) ^ set(whole[name]))
            yield (f"expected {kind} '{name}' to be made as in the whole build, "
                   f"got a difference in {only[:6]}")


def check(args):
    build, work = args.build.resolve(), args.work.resolve()
    alone, whole = objects(work), objects(build)
    if len(alone) < 100:
        yield f"expected at least 100 objects without LLVM, got {len(alone)}"
    yield from differences("object", alone, whole)
    read = headers(build)
    for name in sorted(alone):
        if name not in read and not name.endswith(".pch"):
            yield f"expected '{name}' to be compiled, got no record of it"
        for header in read.get(name, []):
            if LLVM_HEADER.search(header):
                yield f"expected no header of LLVM in '{name}', got '{header}'"
                break
    programs = links(work)
    if len(programs) < 10:
        yield f"expected at least 10 linked files without LLVM, got {len(programs)}"
    yield from differences("linked file", programs, links(build))
    for name, words in sorted(programs.items()):
        for word in words:
            if LLVM_LIBRARY.search(word):
                yield f"expected '{name}' to be linked without LLVM, got '{word}'"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    configure(args)
    found = list(check(args))
    for message in found:
        print(f"error: {message}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
