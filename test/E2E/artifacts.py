#!/usr/bin/env python3
"""Builds the artifacts that the end-to-end tests run. Standard library only.

  artifacts.py --tools BIN --source ROOT --out DIR [--only NAME,..] [--chip CHIP] [--again]

Each row of artifact_table.py is imported and compiled with the tools of BIN to DIR/NAME.bin;
DIR/NAME.log has mtpc's output. An artifact is made again only if a tool, these scripts or the model
is newer. Processes that make one artifact wait for each other.

--only selects rows. --chip makes the artifacts of a kit of tools/gpu-check, for that chip (or
`sim`, the simulator) and any x86-64. --again compiles a fifth of the rows, selected by the commit's
hash, again without the kernel cache, and compares them byte by byte.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import module_edits
from artifact_table import BOTH, BUNDLED, CHECKPOINTS, FUNCTIONS, PATHS, ROWS, V3

HERE = pathlib.Path(__file__).resolve().parent
INPUTS = HERE / "Inputs"
SCRIPTS = [HERE / name for name in ("artifacts.py", "artifact_table.py", "module_edits.py")]
# --again compiles one row in DRAWN.
DRAWN = 5


def run(*command, **environment):
    """Runs a command and returns its output; raises an error if it fails."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment})
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}\n{done.stdout}")
    return done.stdout


@contextlib.contextmanager
def locked(path):
    """Keeps other processes and threads from making `path`."""
    with open(path.with_name(f".{path.name}.lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_fresh(path, inputs):
    return path.exists() and path.stat().st_mtime > max(os.path.getmtime(p) for p in inputs)


def is_module(row):
    """Returns true if a row's model is a module of Inputs."""
    return (INPUTS / f"{row.model}.mlir").exists()


def context_of(row):
    return next(int(flag.split("=")[1]) for flag in row.importing.split()
                if flag.startswith("--max-context="))


def checkpoints_of(row):
    """Returns the checkpoints of a row and of its drafter; none for a module of Inputs."""
    if is_module(row):
        return []
    target, _, drafter = row.model.partition("+")
    dtype = target.rpartition(".")[2]
    return [target, f"{drafter}.{dtype}.drafter"] if drafter else [target]


class Maker:
    """Makes artifacts; knows the folders and tools."""

    def __init__(self, args):
        self.tools, self.source, self.out = args.tools, args.source, args.out
        self.chip = args.chip
        self.oracle = args.source / "test/oracle"
        (self.out / "checkpoints").mkdir(parents=True, exist_ok=True)
        # Written once, because other processes may read them at any time.
        for name, text in [("paths.json", PATHS)] + [
                (name, (INPUTS / "methods" / name).read_text()) for name in FUNCTIONS]:
            with locked(self.out / name):
                if not (self.out / name).exists() or (self.out / name).read_text() != text:
                    (self.out / name).write_text(text)

    def checkpoint(self, name):
        """Returns the folder of a checkpoint, which exists already."""
        return self.out / "checkpoints" / name

    def stamp(self, name):
        """Returns a file that is newer than a checkpoint's inputs if the checkpoint is complete."""
        return self.out / "checkpoints" / f"{name}.made"

    def make_checkpoint(self, name):
        folder, is_drafter = self.checkpoint(name), name.endswith(".drafter")
        if name == BUNDLED:
            inputs = list((self.source / "models/bundled/hf").iterdir())
        else:
            inputs = [self.oracle / "tiny.py", self.oracle / "tiny_models.py"] + (
                [self.oracle / "tiny_drafters.py"] if is_drafter else []) + (
                [self.oracle / "gguf_files.py", self.oracle / "gguf_models.py"]
                if name.endswith(".gguf") else [])
        with locked(folder):
            if is_fresh(self.stamp(name), [*SCRIPTS, *inputs]):
                return
            shutil.rmtree(folder, ignore_errors=True)
            if name == BUNDLED:
                # A module names weights only beside or below itself.
                shutil.copytree(self.source / "models/bundled/hf", folder)
            elif is_drafter:
                drafter, dtype, _ = name.split(".")
                run(sys.executable, inputs[-1], drafter, "-o", folder, "--dtype", dtype)
            elif name.endswith(".gguf"):
                folder.mkdir()
                run(sys.executable, self.oracle / "gguf_files.py", name.removesuffix(".gguf"), "-o",
                    folder / name, "--folder", folder.with_suffix(".values"))
            else:
                self.write_model(name, folder)
            self.stamp(name).touch()

    def write_model(self, name, folder):
        """Writes a model of oracle/tiny.py with the longest context of the rows. No weight grows
        with it."""
        base, changes = CHECKPOINTS.get(name, (name, {}))
        model, dtype = base.split(".")
        run(sys.executable, self.oracle / "tiny.py", model, "-o", folder, "--dtype", dtype)
        config = json.loads((folder / "config.json").read_text())
        config.update(changes)
        text = config.get("text_config", config)
        contexts = [context_of(row) for row in ROWS if name in checkpoints_of(row)]
        text["max_position_embeddings"] = max(text["max_position_embeddings"], *contexts)
        (folder / "config.json").write_text(json.dumps(config))

    def flags(self, row):
        """Returns the flags of mtpc; for a chip the simulator is replaced."""
        flags = row.compiling
        if self.chip not in (None, "sim"):
            flags = flags.replace(BOTH, f"--target=cpu,cuda --chip={self.chip}")
        return flags.replace("INPUTS/", f"{INPUTS}/").split()

    def compiler(self, row):
        """Returns mtpc, or for the simulator mtpc with the simulator as an additional target."""
        return self.tools / ("mtpc_sim" if BOTH in self.flags(row) else "mtpc")

    def inputs(self, row):
        """Returns the inputs of a row's artifact."""
        made = [*SCRIPTS, self.compiler(row)]
        if row.edit == "single":
            made += [self.tools / "mtp-opt"]
        if is_module(row):
            return made + [INPUTS / f"{row.model}.mlir", *self.parts(row)]
        return made + [self.tools / "mtp-import", *map(self.stamp, checkpoints_of(row))]

    def parts(self, row):
        """Returns the other files of a module of Inputs: the text appended to it, and the script
        that writes its weights."""
        if row.model.startswith("methods/"):
            own = [INPUTS / "methods/target.mlir.in", INPUTS / "methods/weights.py"]
        else:
            own = [INPUTS / ("hybrid.py" if row.model == "hybrid" else "weights.py")]
        return [*own, INPUTS / "tensor_file.py",
                *(INPUTS / "methods" / name for name in FUNCTIONS)]

    def make(self, row):
        artifact, source = self.out / f"{row.name}.bin", self.out / f"{row.name}.mlir"
        with locked(self.out / row.name):
            if is_fresh(artifact, self.inputs(row)):
                return
            if is_module(row):
                self.write_module(row, source)
            else:
                self.import_checkpoint(row, source)
            (self.out / f"{row.name}.log").write_text(self.compile(row, artifact))

    def import_checkpoint(self, row, source):
        checkpoint, *drafter = map(self.checkpoint, checkpoints_of(row))
        flags = row.importing.replace("OUT/", f"{self.out}/").split()
        run(self.tools / "mtp-import", checkpoint, "-o", source, *flags,
            *(f"--drafter={folder}" for folder in drafter))
        if row.edit == "single":
            self.specialize(source)
        elif row.edit:
            getattr(module_edits, row.edit)(source)

    def specialize(self, source):
        """Converts an imported module to kernel calls, with a program for each batch and each
        number of rows."""
        fused = source.with_suffix(".fused.mlir")
        run(self.tools / "mtpc", source, "--compile-to=fuse", "-o", fused)
        rounds = ("--mtp-instantiate-rounds --mtp-expand-draft-chain --mtp-expand-verify "
                  "--mtp-expand-accept --mtp-expand-commit --mtp-fuse-per-slot")
        lowering = ("--mtp-outline-control --mtp-sink-row-selection --mtp-place-cache-writes "
                    "--mtp-convert-to-exec")
        run(self.tools / "mtp-opt", fused, *rounds.split(),
            "--mtp-specialize-shapes=single=true", *lowering.split(), "-o", source)

    def write_module(self, row, source):
        """Writes a module of Inputs, with weights that a script there writes."""
        texts = [INPUTS / f"{row.model}.mlir"]
        texts += [part for part in self.parts(row) if part.name == "target.mlir.in"]
        script = next(part for part in self.parts(row) if part.suffix == ".py")
        weights = self.out / f"{row.model.split('/')[0]}.safetensors"
        with locked(weights):
            if not is_fresh(weights, [script, INPUTS / "tensor_file.py"]):
                run(sys.executable, script, weights)
        text, old = "".join(path.read_text() for path in texts), "max_batch = 4,"
        if row.importing:
            if text.count(old) != 1:
                raise RuntimeError(f"{row.model}: expected '{old}' once, got "
                                   f"{text.count(old)} of it")
            text = text.replace(old, f"{row.importing},")
        source.write_text(text)

    def compile(self, row, artifact, **environment):
        # One process per processor.
        return run(self.compiler(row), self.out / f"{row.name}.mlir", "-o", artifact, "--jobs=1",
                   *self.flags(row), **environment)

    def compare(self, row):
        """Compiles a row without the kernel cache and compares."""
        again = self.out / "again" / f"{row.name}.bin"
        self.compile(row, again, MTPC_KERNEL_CACHE="off")
        expected, got = (self.out / f"{row.name}.bin").read_bytes(), again.read_bytes()
        if expected != got:
            raise RuntimeError(f"expected {again}, made without the kernel cache, to be "
                               f"{row.name}.bin, got other bytes")
        again.unlink()


def cost(row):
    """Returns a row's approximate compile time, for sorting."""
    plans = 3 if BOTH in row.compiling else 1
    drafts = next((int(flag[3:]) for flag in row.importing.split() if flag.startswith("-k=")), 2)
    return plans * (drafts + 4 * ("mtp" in row.model) + 4 * ("draft-tree" in row.importing))


def choose(args):
    """Returns the rows that the flags select, the most expensive ones first."""
    known = {row.name: row for row in ROWS}
    if args.chip:
        known = {name: row for name, row in known.items() if "kit" in row.tests.split()}
    names = args.only.split(",") if args.only else list(known)
    for name in names:
        if name not in known:
            sys.exit(f"artifacts: error: --only: expected rows of artifact_table.py, got '{name}'")
    return sorted((known[name] for name in names), key=cost, reverse=True)


def commit_of(source):
    """Returns the commit that is checked out; a constant outside of a repository."""
    done = subprocess.run(["git", "-C", str(source), "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "no commit"


def draw(rows, commit):
    """Returns a fifth of the rows, selected by the commit."""
    def number(row):
        return hashlib.sha256(f"{commit} {row.name}".encode()).digest()
    return sorted(rows, key=number)[:(len(rows) + DRAWN - 1) // DRAWN]


def for_all(pool, function, items):
    """Applies a function to all items. Reports and counts failures."""
    failures = 0
    for done in [pool.submit(function, item) for item in items]:
        try:
            done.result()
        except RuntimeError as error:
            print(f"artifacts: error: {error}", file=sys.stderr)
            failures += 1
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chip")
    parser.add_argument("--only")
    parser.add_argument("--again", action="store_true")
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    args = parser.parse_args()
    rows, maker = choose(args), Maker(args)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if args.again:
            (args.out / "again").mkdir(exist_ok=True)
            drawn = draw(rows, commit_of(args.source))
            print("compiled again:", ", ".join(row.name for row in drawn))
            return 1 if for_all(pool, maker.compare, drawn) else 0
        checkpoints = dict.fromkeys(name for row in rows for name in checkpoints_of(row))
        failures = for_all(pool, maker.make_checkpoint, checkpoints)
        failures += for_all(pool, maker.make, rows)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
