"""From a model's files to an artifact.

mtp-import and mtpc run as programs: from the wheel, else from PATH. Models are compiled
into the cache of the command line, `$XDG_CACHE_HOME/mtpc/models`.
"""

from __future__ import annotations

import functools
import logging
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from . import _core, errors
from .model import Device, Model, Path, load
from .request import flag, path_text, utf8, whole

Flag = Union[str, int, float, bool, Path, None, Sequence[Any]]

_PROGRAMS = str(pathlib.Path(__file__).parent / "bin")
_LOG = logging.getLogger("mtpc")


def _program(name: str) -> str:
    inside = os.path.join(_PROGRAMS, name)
    found = inside if os.access(inside, os.X_OK) else shutil.which(name)
    if not found:
        raise errors.FailedPreconditionError(
            f"expected {name} in {_PROGRAMS} or in PATH, got none")
    return found


@functools.lru_cache(maxsize=None)
def _flags_of(program: str) -> frozenset[str]:
    """Returns the names of a program's flags, without dashes."""
    text = subprocess.run(
        [program, "--help"], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^  (-[\w,-]+)", text, re.MULTILINE)
    return frozenset(name.lstrip("-") for of in names for name in of.split(","))


def _words(name: str, value: Flag) -> list[str]:
    """Returns a flag of a command line: quantize_head="int8" is --quantize-head=int8."""
    if value is None or value is False:
        return []
    flag = "-" + name if len(name) == 1 else "--" + name
    if value is True:
        return [flag]
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in _words(name, each)]
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    return [flag, text] if len(name) == 1 else [f"{flag}={text}"]


def _split(flags: Mapping[str, Flag]) -> tuple[list[str], list[str]]:
    """Returns the words of keyword arguments for mtp-import and for mtpc."""
    words: tuple[list[str], list[str]] = ([], [])
    programs = ("mtp-import", "mtpc")
    for name, value in flags.items():
        name = name.rstrip("_").replace("_", "-")
        takers = [i for i in range(2) if name in _flags_of(_program(programs[i]))]
        if name in ("o", "help", "version") or not takers:
            raise errors.InvalidArgumentError(
                f"expected a flag of mtp-import or mtpc, got {name!r}")
        for taker in takers:
            words[taker].extend(_words(name, value))
    return words


class _Lines:
    """Logs the lines of programs, and keeps the last ones for an error."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        line = line.rstrip("\n")
        self.lines = [*self.lines[-99:], line]
        _LOG.log(logging.WARNING if "warning:" in line else logging.INFO, "%s", line)

    def error(self, message: str) -> errors.CompileError:
        found = [line for line in self.lines if "error:" in line][:1]
        # A wrong value of a flag is named without "error:", above a line about --help.
        text = "; ".join(found or self.lines[-2:])
        error = errors.CompileError(f"{message}: {text}" if text else message)
        error.lines = tuple(self.lines)
        return error


class _TemporaryFolder:
    """A folder that is removed with this object."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="mtpc-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    """Runs a program to its end. Ctrl-C ends it."""
    lines = _Lines()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as child:
        try:
            assert child.stdout
            for line in child.stdout:
                lines.add(line)
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        name = os.path.basename(command[0])
        raise lines.error(f"{name} failed (exit status {child.returncode})")


def _number_of_drafts(k: Optional[int]) -> Optional[int]:
    return None if k is None else whole("k", k)


def _profile_path(profile: Optional[Path]) -> Optional[str]:
    return None if profile is None else os.path.abspath(path_text("profile", profile))


def _with_profile(
    flags: Mapping[str, Flag], profile: Optional[str], threads: int
) -> dict[str, Flag]:
    """Returns the flags of mtpc with a profile, which is of sessions with `threads` threads."""
    given = dict(flags)
    if profile is not None:
        given["profile"] = profile
        if threads:
            given.setdefault("run_threads", whole("threads", threads))
    return given


def _decides_tree(profile: str, tree: Flag) -> bool:
    """Returns whether mtp-import takes the arrangement of drafts from a profile, which then is of
    another model than the result."""
    return tree in (None, "chain", "dynamic") and _core.measures_tree(profile)


def import_model(
    path: Path, output: Path, *, drafter: Optional[Path] = None, k: Optional[int] = None,
    **flags: Flag,
) -> pathlib.Path:
    """Writes a model as a module in MLIR, which can be read, changed and compiled.

    - path: a Hugging Face folder or a GGUF file
    - output: the file to write, in the model's folder or above it, because the module names the
      files of the weights by relative paths
    - drafter: "lookup", "suffix", "lookahead:W,N,G" or a drafter's folder; by default the model's
    - k: most drafts in a round
    - flags: flags of mtp-import: max_batch=2 is --max-batch=2, allow_unused_weights=True is
      --allow-unused-weights

    Returns `output`. Raises CompileError with the message of mtp-import.
    """
    words, others = _split(dict(flags, drafter=drafter, k=_number_of_drafts(k)))
    if set(others) - set(words):
        raise errors.InvalidArgumentError(f"expected flags of mtp-import, got {' '.join(others)}")
    made = path_text("output", output)
    _run([_program("mtp-import"), path_text("path", path), "-o", made, *words])
    return pathlib.Path(made)


def compile(
    path: Path, *, drafter: Optional[Path] = None, k: Optional[int] = None,
    max_batch: int = 0, max_context: Optional[int] = None, quantize: Optional[str] = None,
    output: Optional[Path] = None, device: Device = "auto", gpu: int = 0, threads: int = 0,
    profile: Optional[Path] = None, **flags: Flag,
) -> Model:
    """Compiles a model and loads it.

    A Hugging Face folder or a GGUF file is imported and compiled once, and then taken from the
    cache of the command line, as mtp-run does. A module (.mlir) is compiled each time; its kernels
    come from the kernel cache.

    - drafter: "lookup", "suffix", "lookahead:W,N,G" or a drafter's folder; by default the model's
    - k: most drafts in a round; by default what the drafter recommends
    - max_batch: slots to compile for; 0: the default of mtp-import
    - max_context: tokens of a slot
    - quantize: "int8", "int4" or another value of mtpc --quantize
    - output: a file that gets a copy of the artifact
    - flags: further flags of mtp-import and mtpc: before="lookup", quantize_head="int8"
    - device, gpu, threads: as of Model
    - profile: a file that tune() or mtp-tune wrote.
      - mtpc takes tunables from it, for `threads` threads, and sessions take costs and acceptance.
      - The profile of a dynamic tree decides the arrangement of drafts (mtp-import) and nothing
        else. The result is another model, to be measured again.
      - With draft_tree="chain", the profile of a chain also decides `k`. With confidence="profile"
        it decides where chains end, and with max_verify_tokens="profile" the limit on rows.

    The lines of both programs go to the logger "mtpc": warnings, and the rest at level INFO.
    Raises CompileError with the message of the program. Ctrl-C ends the programs.
    """
    source = path_text("path", path)
    if _core.kind(source) == "module":
        if drafter or k is not None or max_batch or max_context is not None:
            raise errors.InvalidArgumentError(
                "expected no drafter, k, max_batch and max_context with a module, which has them")
        return _compile_module(
            source, output, dict(flags, quantize=quantize), device, gpu, threads, profile)
    profile_path = _profile_path(profile)
    imports = _split(dict(flags, k=_number_of_drafts(k)))[0]
    compiles = _split(_with_profile(flags, profile_path, threads))[1]
    if profile_path is not None:
        tree = flags.get("draft_tree")
        decides = _decides_tree(profile_path, tree)
        asks = "profile" in (flags.get("confidence"), flags.get("max_verify_tokens"))
        if decides or asks or tree is not None:
            imports.append(f"--profile={profile_path}")
        if decides:
            _LOG.warning(
                "profile: it decides the arrangement of drafts; measure the new model with tune()")
            compiles, profile_path = _split(flags)[1], None
    lines = _Lines()
    context = whole("max_context", max_context) if max_context is not None else None
    try:
        handle, artifact = _core.start(
            source, path_text("drafter", drafter or ""), context, whole("max_batch", max_batch),
            utf8("quantize", quantize or ""), shlex.join(imports), shlex.join(compiles), _PROGRAMS,
            lines.add, utf8("device", device), whole("gpu", gpu),
            profile_path or "")
    except errors.FailedPreconditionError as error:
        if " failed on " in str(error):
            raise lines.error(str(error)) from None
        raise
    if output is not None:
        shutil.copyfile(artifact, output)
        artifact = os.fsdecode(output)
    return Model._of(handle, artifact, threads)


def _compile_module(
    path: str, output: Optional[Path], flags: Mapping[str, Flag], device: Device, gpu: int,
    threads: int, profile: Optional[Path] = None,
) -> Model:
    profile_path = _profile_path(profile)
    imports, words = _split(_with_profile(flags, profile_path, threads))
    if set(imports) - set(words):
        raise errors.InvalidArgumentError(f"expected flags of mtpc, got {' '.join(imports)}")
    # Without `output`, the artifact is removed with the model.
    files = _TemporaryFolder() if output is None else None
    made = os.path.join(files.name, "model.bin") if files else os.fsdecode(output or "")
    _run([_program("mtpc"), path, "-o", made, *words])
    return Model._of(load(made, device, gpu, False, False, profile_path), made, threads, files)


def compile_text(
    text: str, *, folder: Optional[Path] = None, output: Optional[Path] = None,
    device: Device = "auto", gpu: int = 0, threads: int = 0, profile: Optional[Path] = None,
    **flags: Flag,
) -> Model:
    """Compiles a module given as text and loads it.

    - text: MLIR, as import_model() writes it
    - folder: the folder that the paths of the weights are relative to
    - output: the artifact to write; by default none is kept
    - flags: flags of mtpc
    - device, gpu, threads, profile: as of compile()
    """
    with tempfile.TemporaryDirectory(prefix="mtpc-") as work:
        if folder is not None:
            for entry in pathlib.Path(folder).resolve().iterdir():
                os.symlink(entry, os.path.join(work, entry.name))
        # No name of a model's file.
        module = pathlib.Path(tempfile.mkstemp(suffix=".mlir", dir=work)[1])
        module.write_text(utf8("text", text), encoding="utf-8")
        return _compile_module(str(module), output, flags, device, gpu, threads, profile)


def dump(
    model: Union[Model, Path], *, program: str = "", json: bool = False, commands: bool = False
) -> str:
    """Returns the content of an artifact or a profile as text.

    - program: only the commands of this program of an artifact
    - json: as JSON; commands: with the commands of all programs
    """
    path = model.path if isinstance(model, Model) else path_text("model", model)
    return _core.dump(
        path, utf8("program", program), flag("json", json), flag("commands", commands))
