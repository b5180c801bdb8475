"""Models: artifacts that mtpc has compiled."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core, conversation
from .request import check_names, flag, path_text, session_k, token_ids, utf8, whole
from .session import Session
from .texts import Texts
from .types import (
    Array,
    Drafts,
    Envelope,
    FunctionType,
    GenerationDefaults,
    Message,
    OutputType,
    Prompt,
    SessionOptions,
    TensorType,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]
Device = Literal["auto", "cpu", "cuda"]
Logits = Literal["none", "last", "all"]

_LOG = logging.getLogger("mtpc")


def _ports(raw: Sequence[_core.RawPort]) -> tuple[TensorType, ...]:
    return tuple(TensorType(*port) for port in raw)


def load(
    path: Path, device: Device, gpu: int, copy: bool, verify: bool, profile: Optional[Path]
) -> _core.Model:
    """Loads an artifact as a model of the extension."""
    profile_path = path_text("profile", profile) if profile is not None else ""
    return _core.load(
        path_text("path", path), utf8("device", device), whole("gpu", gpu), flag("copy", copy),
        flag("verify", verify), profile_path)


class Model(Texts):
    """An artifact of mtpc, mapped and checked.

    An artifact contains native code. Load only artifacts that you trust.

    A model does not change, and any number of threads and sessions may share one. generate(),
    stream() and chat() use one session of the model, which begins at the first call.

    Arguments:

    - path: a file that mtpc wrote. compile() makes one from a model's files.
    - device: "cpu", "cuda" (an NVIDIA GPU), or "auto"
    - gpu: index of the GPU
    - copy: copy the file into memory instead of mapping it
    - verify: compare the whole file with its hashes
    - threads: threads of the model's own session; 0: one for each usable processor
    - profile: a file that tune() or mtp-tune wrote. Sessions with k="auto" start from its costs and
      acceptance. No token depends on it.
    """

    def __init__(
        self,
        path: Path,
        *,
        device: Device = "auto",
        gpu: int = 0,
        copy: bool = False,
        verify: bool = False,
        threads: int = 0,
        profile: Optional[Path] = None,
    ) -> None:
        self._init(load(path, device, gpu, copy, verify, profile), os.fsdecode(path), threads)

    def _init(
        self, handle: _core.Model, path: str, threads: int, files: Optional[object] = None
    ) -> None:
        self._handle = handle
        # Keeps a temporary artifact.
        self._files = files
        self._path = path
        self._threads = threads
        self._lock = threading.Lock()
        self._session: Optional[Session] = None
        self._scoring = threading.Lock()
        self._scorer: Optional[Session] = None
        _MODELS.add(self)
        envelope, outputs = handle.envelope, handle.request_outputs
        self._envelope = Envelope(**envelope) if envelope else None
        self._generation = GenerationDefaults(**handle.generation)
        self._request_inputs = _ports(handle.request_inputs)
        self._request_outputs = tuple(OutputType(*output) for output in outputs)

    @classmethod
    def _of(
        cls, handle: _core.Model, path: str, threads: int, files: Optional[object] = None
    ) -> Model:
        model = cls.__new__(cls)
        model._init(handle, path, threads, files)
        return model

    def __reduce__(self) -> Any:
        raise TypeError(
            "cannot pickle a Model; another process can load Model.path")

    def __repr__(self) -> str:
        return f"<mtpc.Model {self.name!r} of {self._path!r} on {self.device}>"

    # Properties.

    @property
    def path(self) -> str:
        """The file. A model of compile() lies in the cache."""
        return self._path

    @property
    def name(self) -> str:
        """The model's name, may be empty."""
        return self._handle.name

    @property
    def producer(self) -> str:
        """The program that wrote the file."""
        return self._handle.producer

    @property
    def method(self) -> Optional[str]:
        """The drafting method, for display: "lookup:2,5"."""
        return self._handle.method

    @property
    def rule(self) -> Optional[str]:
        """The accept rule, for display: "exact"."""
        return self._handle.rule

    @property
    def is_lossy(self) -> bool:
        """Whether texts with drafts have another distribution than texts without."""
        return self._handle.is_lossy

    @property
    def device(self) -> str:
        """"cpu" or "cuda"."""
        return self._handle.device

    @property
    def shows_drafts(self) -> bool:
        """Whether rounds can stop to show their drafts (`sees_drafts`)."""
        return self._handle.shows_drafts

    @property
    def has_logit_rules(self) -> bool:
        """Whether requests may have penalties, biases and allowed tokens."""
        return self._handle.has_logit_rules

    @property
    def masks_tokens(self) -> bool:
        """Whether requests may have grammars."""
        return self._handle.masks_tokens

    @property
    def scores_prompts(self) -> bool:
        """Whether requests may have `prompt_logprobs`."""
        return self._handle.scores_prompts

    @property
    def envelope(self) -> Optional[Envelope]:
        """The largest shapes; None if the artifact has functions only."""
        return self._envelope

    @property
    def generation(self) -> GenerationDefaults:
        """The recommended sampling parameters."""
        return self._generation

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the exported functions."""
        return tuple(self._handle.functions)

    def function_type(self, name: str) -> FunctionType:
        """Returns the types of an exported function."""
        inputs, outputs = self._handle.function_type(utf8("name", name))
        return FunctionType(_ports(inputs), _ports(outputs))

    @property
    def request_inputs(self) -> tuple[TensorType, ...]:
        """Inputs that requests may have."""
        return self._request_inputs

    @property
    def request_outputs(self) -> tuple[OutputType, ...]:
        """Outputs that requests may ask for."""
        return self._request_outputs

    # Texts and ids.

    @property
    def has_tokenizer(self) -> bool:
        """Whether the artifact has a tokenizer. Otherwise prompts are ids."""
        return self._handle.has_tokenizer

    def encode(self, text: str, *, special: bool = False, add_start: bool = True) -> list[int]:
        """Returns the ids of a text as a prompt.

        With `special`, the strings of special tokens in the text are these tokens. Never set it for
        text of a user. With `add_start`, the model's start tokens come first.
        """
        return _core.encode(
            self._handle, utf8("text", text), flag("add_start", add_start),
            flag("special", special))

    def decode(self, ids: Sequence[int], *, skip_special: bool = True) -> str:
        """Returns the text of ids. Incomplete characters become U+FFFD."""
        return _core.decode(self._handle, token_ids("ids", ids),
                            flag("skip_special", skip_special))

    # Sessions and generation.

    def session(
        self,
        *,
        k: Drafts = None,
        max_batch: int = 0,
        threads: Optional[int] = None,
        logits: Logits = "none",
        profile: Optional[Path] = None,
        **options: Unpack[SessionOptions],
    ) -> Session:
        """Makes a session.

        - k: most drafts in a round, and the number for requests that give none; by default the
          envelope's. "auto" chooses the number for each round.
        - max_batch: slots to use; 0: the envelope's
        - threads: 0: one for each usable processor; by default the model's
        - logits: which logits are kept: "none", "last" or "all"
        - profile: a profile in place of the model's; Model.with_profile() loads one for several
          sessions
        - options: `SessionOptions`
        """
        check_names("session", options, SessionOptions)
        if profile is not None:
            model = self.with_profile(profile)
            return model.session(
                k=k, max_batch=max_batch, threads=threads, logits=logits, **options)
        fields: dict[str, Any] = {
            "threads": self._threads if threads is None else threads,
            "max_batch": max_batch,
            "logits": logits,
            "automatic_k": isinstance(k, str) and k == "auto",
            **options,
        }
        if k is not None and not fields["automatic_k"]:
            fields["k"] = session_k(k)
        session = Session(self, _core.open_session(self._handle, fields), logits)
        for note in session._handle.profile_notes:
            _LOG.warning("profile: %s", note)
        return session

    def with_profile(self, profile: Path) -> Model:
        """Returns a model of the same file whose sessions use a profile."""
        handle = load(self._path, self._device(), self._handle.gpu, False, False, profile)
        return Model._of(handle, self._path, self._threads, self._files)

    def _device(self) -> Device:
        return "cuda" if self.device == "cuda" else "cpu"

    def _for_texts(self) -> Session:
        with self._lock:
            if self._session is None or self._session.is_closed:
                self._session = self._twin().session()
            return self._session

    def _twin(self) -> Model:
        """Returns a model for an own session, so that no cycle of references keeps it."""
        return Model._of(self._handle, self._path, self._threads, self._files)

    def chat_prompt(
        self,
        messages: Sequence[Message],
        *,
        tools: Optional[Sequence[Mapping[str, Any]]] = None,
        template: Optional[Mapping[str, Any]] = None,
    ) -> tuple[str, list[int]]:
        """Returns the prompt of a conversation, as text and as ids."""
        read = conversation.read_messages(self, messages)
        return _core.encode_chat(
            self._handle, conversation.chat_request(read, tools, template))

    def call(self, name: str, *inputs: npt.ArrayLike) -> list[Array]:
        """Runs an exported function, in the model's own session."""
        return self._for_texts().call(name, *inputs)

    def score(
        self, prompt: Prompt, *, special: bool = False, add_start: bool = True
    ) -> npt.NDArray[np.float64]:
        """Returns ln of the model's probability of each token of a text after the first one.

        The array has the shape [tokens - 1]; exp(-mean) is the perplexity. The artifact needs the
        function `prompt_logits`, which mtp-import writes.
        """
        ids: Sequence[int]
        if isinstance(prompt, str):
            ids = self.encode(prompt, special=special, add_start=add_start)
        else:
            ids = prompt
        with self._scoring:
            if self._scorer is None or self._scorer.is_closed:
                # The function takes all KV pages, so the session generates nothing.
                self._scorer = self._twin().session(k=0)
            return self._scorer.score(ids)

    def close(self) -> None:
        """Frees the memory of the model's own sessions. Sessions of session() continue."""
        with self._lock, self._scoring:
            for session in (self._session, self._scorer):
                if session is not None:
                    session.close()
            self._session = self._scorer = None


# The models of this process.
_MODELS: weakref.WeakSet[Model] = weakref.WeakSet()


def _forget_sessions() -> None:
    """Gives models new sessions in a forked process, which has no threads of the earlier ones."""
    for model in list(_MODELS):
        model._lock, model._scoring = threading.Lock(), threading.Lock()
        model._session = model._scorer = None


os.register_at_fork(after_in_child=_forget_sessions)
# Daemon threads may still be in the extension.
atexit.register(_core.end)
