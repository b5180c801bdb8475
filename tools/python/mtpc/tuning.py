"""Measurements of a model on this machine."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any, Optional, Union

from . import errors
from .compiler import Flag, _flags_of, _program, _run, _TemporaryFolder, _words
from .model import Model, Path
from .request import path_text, shortened, whole

# Flags that tune() sets itself.
_OWN = frozenset({"output", "report", "json", "prompts", "device", "threads", "help", "version"})


class Profile:
    """A file with costs of rounds and acceptance, for `profile=` of Model, compile() and session().

    - path: a file that tune(), mtp-tune or `mtp-serve --record` wrote
    """

    def __init__(self, path: Path) -> None:
        self._path = path_text("path", path)
        self._files: Optional[_TemporaryFolder] = None

    @property
    def path(self) -> str:
        """The file. Without an output of tune(), it is removed with this object."""
        return self._path

    def __fspath__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"<mtpc.Profile {self._path!r}>"

    def report(self) -> dict[str, Any]:
        """Returns what the profile decides: the JSON of `mtp-tune --report`.

        Times are in seconds, contexts in tokens.
        """
        done = subprocess.run(
            [_program("mtp-tune"), "--report", self._path, "--json"], check=False,
            capture_output=True, text=True)
        if done.returncode:
            raise errors.InvalidArgumentError(done.stderr.strip())
        report: dict[str, Any] = json.loads(done.stdout)
        return report


def _write_prompts(folder: str, prompts: Union[Path, Sequence[str]]) -> str:
    """Returns a file with a prompt on each line."""
    if isinstance(prompts, (str, os.PathLike)):
        return os.fspath(prompts)
    for prompt in prompts:
        if not isinstance(prompt, str) or len(prompt.splitlines()) != 1:
            raise errors.InvalidArgumentError(
                f"prompts: expected texts of one line, got {shortened(prompt)}")
    path = os.path.join(folder, "prompts.txt")
    pathlib.Path(path).write_text("\n".join(prompts) + "\n", encoding="utf-8")
    return path


def tune(
    model: Union[Model, Path], output: Optional[Path] = None, *,
    prompts: Union[Path, Sequence[str], None] = None, threads: Optional[int] = None, **flags: Flag,
) -> Profile:
    """Measures a model on this machine, for at most 3 minutes, and returns the profile.

    Sessions with k="auto" and a profile choose the number of drafts from the first round on.

    - model: a model, or the path of an artifact or a module; alternatives of a module are compiled
      and measured, too
    - output: the profile to write; by default it is removed with the returned object
    - prompts: texts of one line each, or the path of a file with a prompt on each line; by default
      a few of mtp-tune's own
    - threads: as of Model; by default the model's
    - flags: further flags of mtp-tune: minutes=1, max_tokens=64, batch=[1, 4], context=[128],
      merge="earlier.profile"

    The lines of mtp-tune go to the logger "mtpc". Raises CompileError with its message. Ctrl-C ends
    the measurement.
    """
    program = _program("mtp-tune")
    known, words = _flags_of(program) - _OWN, []
    for name, value in flags.items():
        flag = name.rstrip("_").replace("_", "-")
        if flag not in known or len(flag) == 1:
            raise errors.InvalidArgumentError(f"expected a flag of mtp-tune, got {name!r}")
        words.extend(_words(flag, value))
    path = model.path if isinstance(model, Model) else path_text("model", model)
    if isinstance(model, Model):
        device = f"cuda:{model._handle.gpu}" if model.device == "cuda" else "cpu"
        words.append(f"--device={device}")
        threads = model._threads if threads is None else threads
    if threads is not None:
        words.append(f"--threads={whole('threads', threads)}")
    files = _TemporaryFolder() if output is None else None
    made = os.path.join(files.name, "model.profile") if files else os.fsdecode(output or "")
    with tempfile.TemporaryDirectory(prefix="mtpc-") as work:
        if prompts is not None:
            words.append(f"--prompts={_write_prompts(work, prompts)}")
        _run([program, path, "-o", made, *words])
    profile = Profile(made)
    profile._files = files
    return profile
