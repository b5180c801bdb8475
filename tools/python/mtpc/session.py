"""Sessions: requests, steps and their results."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _core, arrays, errors
from .types import (
    AddOptions,
    Array,
    ChatOptions,
    Completion,
    Drafts,
    Event,
    GenerateOptions,
    KvUsage,
    Message,
    Output,
    Prompt,
    SeenDrafts,
    Statistics,
    TensorType,
    Update,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .model import Model

# Arguments: ids, slots and positions of rows. Result: [rows, vocab].
_PROMPT_LOGITS = "prompt_logits"
# Values of Request::k.
_SESSIONS_K = 2**32 - 1
_AUTOMATIC_K = 2**32 - 2


def _request_k(k: Drafts) -> int:
    if k is None:
        return _SESSIONS_K
    if k == "auto":
        return _AUTOMATIC_K
    if not isinstance(k, int) or not 0 <= k < _AUTOMATIC_K:
        raise errors.InvalidArgumentError(f"expected k of 0 or more or 'auto', got {k!r}")
    return k


def chat_request(
    messages: Sequence[Message],
    tools: Optional[Sequence[Mapping[str, Any]]],
    template: Optional[Mapping[str, Any]],
) -> str:
    """Returns a conversation as the JSON of a template."""
    request: dict[str, Any] = dict(template or {}, messages=[dict(m) for m in messages])
    if tools is not None:
        request["tools"] = [dict(tool) for tool in tools]
    return json.dumps(request)


def _outputs(raw: Any) -> tuple[Output, ...]:
    return tuple(Output(name, arrays.to_array(rows), tuple(tokens)) for name, rows, tokens in raw)


def _update(raw: _core.RawUpdate) -> Update:
    id, tokens, finish, stop, error, drafted, outputs, seen = raw
    drafts = SeenDrafts(tuple(seen[0]), tuple(seen[1])) if seen else None
    return Update(id, tuple(tokens), finish, stop, error, drafted, _outputs(outputs), drafts)


class Session:
    """Runs sequences of a model with memory, KV pages and threads of its own.

    `Model.session()` makes one. A session is a context manager, and `close()` frees its memory at
    once. Without either, the memory is freed when the last reference is gone.

    Any thread may call any function. `generate()`, `stream()` and `chat()` of several threads share
    rounds. The GIL is released in each call that may wait. Ctrl-C raises KeyboardInterrupt at the
    end of the current step, and the session can be used afterwards.
    """

    def __init__(self, model: Model, handle: _core.Session, logits: str) -> None:
        self._model = model
        self._handle = handle
        self._keeps_logits = logits

    # Lifetime.

    @property
    def model(self) -> Model:
        """The model, which the session keeps alive."""
        return self._model

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._handle.is_closed

    def close(self) -> None:
        """Frees the memory of the session. Its streams end with FailedPreconditionError."""
        self._handle.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    # Requests and steps.

    def _fields(
        self,
        prompt: Prompt,
        *,
        max_tokens: Optional[int] = None,
        min_tokens: int = 0,
        temperature: Optional[float] = None,
        top_k: Optional[int] = None,
        top_p: Optional[float] = None,
        min_p: Optional[float] = None,
        seed: int = 0,
        k: Drafts = None,
        stop_tokens: Sequence[int] = (),
        ignore_eos: bool = False,
        special: bool = False,
        add_start: bool = True,
        priority: int = 0,
        group: int = 0,
        cache_salt: str = "",
        inputs: Optional[Mapping[str, npt.ArrayLike]] = None,
        outputs: Sequence[str] = (),
        sees_drafts: bool = False,
    ) -> dict[str, Any]:
        defaults = self._model.generation
        if isinstance(prompt, str):
            ids = self._model.encode(prompt, special=special, add_start=add_start)
        else:
            ids = [int(token) for token in prompt]
        envelope = self._model.envelope
        rest = envelope.max_context - len(ids) if envelope else 0
        fields: dict[str, Any] = {
            "prompt": ids,
            # As mtp-run does; a prompt that is too long is the session's error.
            "max_tokens": max(1, min(128, rest)) if max_tokens is None else max_tokens,
            "min_tokens": min_tokens,
            "temperature": defaults.temperature if temperature is None else temperature,
            "top_k": defaults.top_k if top_k is None else top_k,
            "top_p": defaults.top_p if top_p is None else top_p,
            "min_p": defaults.min_p if min_p is None else min_p,
            "seed": seed,
            "k": _request_k(k),
            "stop_tokens": list(stop_tokens),
            "ignore_eos": ignore_eos,
            "priority": priority,
            "group": group,
            "cache_salt": cache_salt,
            "outputs": list(outputs),
            "sees_drafts": sees_drafts,
        }
        if inputs:
            fields["inputs"] = {name: self._input(name, value) for name, value in inputs.items()}
        return fields

    def _input(self, name: str, value: npt.ArrayLike) -> arrays.RawTensor:
        for port in self._model.request_inputs:
            if port.name == name:
                return arrays.from_array(value, port)
        names = ", ".join(port.name for port in self._model.request_inputs) or "none"
        raise errors.InvalidArgumentError(f"expected a request input of {names}, got {name!r}")

    def add(self, prompt: Prompt, **options: Unpack[AddOptions]) -> int:
        """Queues a sequence and returns its id. step() runs it."""
        return self._handle.add(self._fields(prompt, **options), False)

    def step(self) -> list[Update]:
        """Admits waiting sequences, runs one round for all, and returns what changed.

        Only sequences of add() are in the list. Streams read the updates of theirs.
        """
        return [_update(raw) for raw in self._handle.step()]

    def set_input(self, id: int, name: str, value: npt.ArrayLike) -> None:
        """Writes an input of a sequence with `sees_drafts`."""
        self._handle.set_input(id, name, self._input(name, value))

    def cancel(self, id: int) -> None:
        """Ends a sequence now. Its output stays until release()."""
        self._handle.cancel(id)

    def release(self, id: int) -> None:
        """Ends a sequence and forgets its output."""
        self._handle.drop(id)

    def pause(self, id: int) -> None:
        """Frees the slot of a sequence until resume()."""
        self._handle.pause(id)

    def resume(self, id: int) -> None:
        """Lets a paused sequence wait for a slot again."""
        self._handle.resume(id)

    def state(self, id: int) -> str:
        """Returns "waiting", "prefilling", "running", "paused" or "finished"."""
        return self._handle.state(id)

    @property
    def is_idle(self) -> bool:
        """Whether step() has nothing to do."""
        return self._handle.is_idle

    @property
    def awaits_host(self) -> bool:
        """Whether a round has stopped to show its drafts. The next step() runs its rest."""
        return self._handle.awaits_host

    @property
    def unfinished(self) -> list[int]:
        """Ids of sequences that wait, run or are paused."""
        return self._handle.unfinished

    # Results.

    def output(self, id: int) -> list[int]:
        """Returns all output tokens of a sequence so far."""
        return self._handle.output(id)

    def logits(self, id: int, index: Optional[int] = None) -> npt.NDArray[np.float32]:
        """Returns logits from which output tokens were picked, as a copy.

        With `index`: the row of output token `index`, [vocab]. Without: all rows, [tokens, vocab].
        The session must keep them: logits="all", or "last" for the latest token's row.
        """
        if index is not None:
            row: Array = arrays.to_array(self._handle.logits(id, index, index + 1))[0]
            return row
        return arrays.to_array(self._handle.logits(id, 0, len(self.output(id))))

    def statistics(self, id: Optional[int] = None) -> Statistics:
        """Returns the counts and times of the session, or the counts of a sequence."""
        if id is None:
            return Statistics(**self._handle.statistics())
        return Statistics(**self._handle.sequence_statistics(id))

    @property
    def kv_usage(self) -> KvUsage:
        """Use of the KV pages."""
        return KvUsage(*self._handle.kv_usage())

    @property
    def memory_bytes(self) -> int:
        """Bytes of arena, states, KV pages and scratch."""
        return self._handle.memory_bytes

    @property
    def options(self) -> dict[str, Any]:
        """The options with all defaults filled in."""
        return self._handle.options

    # Texts.

    def stream(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> Stream:
        """Begins a text and returns its events, for `for` and `async for`."""
        return Stream(self, self._fields(prompt, **options), None)

    def generate(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> Completion:
        """Continues a prompt. `GenerateOptions` describes the options.

        Raises the errors of the session. KeyboardInterrupt ends the sequence.
        """
        return self.stream(prompt, **options).result()

    def generate_all(
        self, prompts: Sequence[Prompt], **options: Unpack[GenerateOptions]
    ) -> list[Completion]:
        """Continues several prompts, which share rounds. Returns the texts in their order."""
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(self.stream(prompt, **options)) for prompt in prompts]
            return [stream.result() for stream in streams]

    def _chat_stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Optional[Sequence[Mapping[str, Any]]] = None,
        template: Optional[Mapping[str, Any]] = None,
        reasoning: str = "auto",
        max_tokens: Optional[int] = None,
        **options: Any,
    ) -> Stream:
        model = self._model._handle
        text, ids = _core.encode_chat(model, chat_request(messages, tools, template))
        envelope = self._model.envelope
        rest = max(1, envelope.max_context - len(ids)) if envelope else 1
        fields = self._fields(ids, max_tokens=rest if max_tokens is None else max_tokens, **options)
        return Stream(self, fields, _core.Decoder.for_answer(model, reasoning, text))

    @overload
    def chat(
        self, messages: Sequence[Message], *, stream: Literal[False] = False,
        **options: Unpack[ChatOptions],
    ) -> Completion: ...

    @overload
    def chat(
        self, messages: Sequence[Message], *, stream: Literal[True], **options: Unpack[ChatOptions]
    ) -> Stream: ...

    @overload
    def chat(
        self, messages: Sequence[Message], *, stream: bool, **options: Unpack[ChatOptions]
    ) -> Union[Completion, Stream]: ...

    def chat(
        self, messages: Sequence[Message], *, stream: bool = False, **options: Unpack[ChatOptions]
    ) -> Union[Completion, Stream]:
        """Answers a conversation. Model.chat() describes the arguments."""
        answer = self._chat_stream(messages, **options)
        return answer if stream else answer.result()

    # Functions.

    def call(self, name: str, *inputs: npt.ArrayLike) -> list[Array]:
        """Runs an exported function, and returns its results.

        `Model.function_type()` has the types. Slots, positions, tokens and indices among the inputs
        are trusted.
        """
        ports: tuple[TensorType, ...] = self._model.function_type(name).inputs
        if len(inputs) != len(ports):
            raise errors.InvalidArgumentError(
                f"expected {len(ports)} inputs for {name}, got {len(inputs)}")
        raw = [arrays.from_array(value, port) for value, port in zip(inputs, ports)]
        return [arrays.to_array(output) for output in self._handle.run_function(name, raw)]


    def score(self, ids: Sequence[int]) -> npt.NDArray[np.float64]:
        """Scores token ids as Model.score() does, in a session that has generated nothing."""
        envelope = self._model.envelope
        if envelope is None or _PROMPT_LOGITS not in self._model.functions:
            raise errors.FailedPreconditionError(
                f"expected an artifact with a target and the function {_PROMPT_LOGITS}, got none")
        if len(ids) > envelope.max_context:
            raise errors.OutOfRangeError(
                f"expected at most {envelope.max_context} tokens to score, got {len(ids)}")
        tokens = np.asarray(ids, np.int32).reshape(-1)
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < envelope.vocab:
            raise errors.InvalidArgumentError(
                f"expected token ids of 0 to {envelope.vocab - 1}, "
                f"got {tokens.min()} to {tokens.max()}")
        rows = self._model.function_type(_PROMPT_LOGITS).inputs[0].shape[0]
        scores = np.zeros(max(0, len(tokens) - 1))
        for begin in range(0, len(scores), rows):
            count = min(rows, len(scores) - begin)
            columns = np.zeros((3, rows), np.int32)  # ids, slots, positions
            columns[0, :count] = tokens[begin:begin + count]
            columns[2, count:] = -1
            columns[2, :count] = range(begin, begin + count)
            logits = self.call(_PROMPT_LOGITS, *columns)[0][:count].astype(np.float64)
            largest = logits.max(axis=1)
            sums = largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1))
            following = tokens[begin + 1:begin + 1 + count]
            scores[begin:begin + count] = logits[np.arange(count), following] - sums
        return scores


class Stream(Iterator[Event]):
    """The events of one text. An iterator and a context manager.

    `async for` works, too: it waits in a thread of asyncio's. A stream that is closed or dropped
    before its end ends the sequence. result() waits for the end.
    """

    def __init__(
        self, session: Session, fields: dict[str, Any], decoder: Optional[_core.Decoder]
    ) -> None:
        self._id: Optional[int] = None
        self._session = session
        model = session.model
        if decoder is None and model.has_tokenizer:
            decoder = _core.Decoder(model._handle)
        self._decoder = decoder
        self._prompt_tokens = len(fields["prompt"])
        self._parts: list[Event] = []
        self._outputs: list[Output] = []
        self._completion: Optional[Completion] = None
        self._handle = session._handle
        self._id = self._handle.add(fields, True)

    def _next(self, is_whole: bool) -> Optional[Event]:
        if self._id is None:
            return None
        try:
            update = _update(self._handle.await_(self._id, is_whole))
            if update.error is not None:
                raise update.error
            text, reasoning = self._decoder.append(update.tokens) if self._decoder else ("", "")
            if update.finish_reason and self._decoder:
                end = self._decoder.finish()
                text, reasoning = text + end[0], reasoning + end[1]
            event = Event(text, update.tokens, reasoning, update.finish_reason)
            self._parts.append(event)
            self._outputs.extend(update.outputs)
            if update.finish_reason:
                self._finish(update)
            return event
        except BaseException:
            self.close()
            raise

    def _finish(self, update: Update) -> None:
        assert self._id is not None and update.finish_reason
        logits = None
        tokens = tuple(token for part in self._parts for token in part.tokens)
        if self._session._keeps_logits == "all":
            logits = arrays.to_array(self._handle.logits(self._id, 0, len(tokens)))
        self._completion = Completion(
            text="".join(part.text for part in self._parts),
            tokens=tokens,
            finish_reason=update.finish_reason,
            stop_token=update.stop_token,
            prompt_tokens=self._prompt_tokens,
            statistics=self._session.statistics(self._id),
            reasoning="".join(part.reasoning for part in self._parts),
            outputs=_joined(self._outputs),
            logits=logits,
        )
        self.close()

    def __next__(self) -> Event:
        event = self._next(False)
        if event is None:
            raise StopIteration
        return event

    def result(self) -> Completion:
        """Waits for the end, and returns the whole text, events that were read included."""
        while self._completion is None:
            if self._next(True) is None:
                raise errors.FailedPreconditionError("expected an open stream, got a closed one")
        return self._completion

    def cancel(self) -> None:
        """Ends the sequence, also from another thread. The last event has "cancelled"."""
        if self._id is not None:
            self._handle.cancel(self._id)

    def close(self) -> None:
        """Ends the sequence and frees its slot. Has no effect after the end."""
        id, self._id = self._id, None
        if id is not None:
            # The session may be closed, or may have failed.
            with contextlib.suppress(errors.Error):
                self._handle.drop(id)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    async def _events(self) -> AsyncIterator[Event]:
        try:
            while True:
                waiting = asyncio.ensure_future(asyncio.to_thread(self._next, False))
                try:
                    event = await asyncio.shield(waiting)
                except asyncio.CancelledError:
                    # The thread returns at the end of its step.
                    self.cancel()
                    await asyncio.wait([waiting])
                    waiting.exception()
                    raise
                if event is None:
                    return
                yield event
        finally:
            self.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events()

    async def result_async(self) -> Completion:
        """Waits for the end in an asyncio task."""
        async for _ in self:
            pass
        if self._completion is None:
            raise errors.FailedPreconditionError("expected an open stream, got a closed one")
        return self._completion


def _joined(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """Joins the rows of each name."""
    names = dict.fromkeys(output.name for output in outputs)
    joined = []
    for name in names:
        parts = [output for output in outputs if output.name == name]
        rows = np.concatenate([part.rows for part in parts])
        joined.append(Output(name, rows, tuple(n for part in parts for n in part.tokens)))
    return tuple(joined)
