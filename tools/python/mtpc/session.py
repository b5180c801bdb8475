"""Sessions: requests, steps and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt

from . import _core, arrays, conversation, errors
from .request import check_names, request_fields, request_input, token_ids, utf8, whole
from .stream import Stream, read_update
from .texts import Texts
from .types import (
    AddOptions,
    Array,
    KvUsage,
    Message,
    Prompt,
    Statistics,
    TensorType,
    Update,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .model import Model

# Arguments: ids, slots and positions of rows. Result: [rows, vocab].
_PROMPT_LOGITS = "prompt_logits"


def _sequence(id: int) -> int:
    return whole("id", id, 2**64 - 1)


class Session(Texts):
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

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle a Session: its memory and threads belong to this process")

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

    def add(self, prompt: Prompt, **options: Unpack[AddOptions]) -> int:
        """Queues a sequence and returns its id. step() runs it."""
        check_names("add", options, AddOptions)
        return self._handle.add(request_fields(self._model, prompt, options), False)

    def step(self) -> list[Update]:
        """Admits waiting sequences, runs one round for all, and returns what changed.

        Only sequences of add() are in the list. Streams read the updates of theirs.
        """
        return [read_update(raw) for raw in self._handle.step()]

    def set_input(self, id: int, name: str, value: npt.ArrayLike) -> None:
        """Writes an input of a sequence with `sees_drafts`."""
        self._handle.set_input(_sequence(id), name, request_input(self._model, name, value))

    def cancel(self, id: int) -> None:
        """Ends a sequence now. Its output stays until release()."""
        self._handle.cancel(_sequence(id))

    def release(self, id: int) -> None:
        """Ends a sequence and forgets its output."""
        self._handle.drop(_sequence(id))

    def pause(self, id: int) -> None:
        """Frees the slot of a sequence until resume()."""
        self._handle.pause(_sequence(id))

    def resume(self, id: int) -> None:
        """Lets a paused sequence wait for a slot again."""
        self._handle.resume(_sequence(id))

    def state(self, id: int) -> str:
        """Returns "waiting", "prefilling", "running", "paused" or "finished"."""
        return self._handle.state(_sequence(id))

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
        return self._handle.output(_sequence(id))

    def logits(self, id: int, index: Optional[int] = None) -> npt.NDArray[np.float32]:
        """Returns logits from which output tokens were picked, as a copy.

        With `index`: the row of output token `index`, [vocab]. Without: all rows, [tokens, vocab].
        The session must keep them: logits="all", or "last" for the latest token's row.
        """
        if index is not None:
            place = whole("index", index)
            row: Array = arrays.to_array(self._handle.logits(_sequence(id), place, place + 1))[0]
            return row
        return arrays.to_array(self._handle.logits(id, 0, len(self.output(id))))

    def statistics(self, id: Optional[int] = None) -> Statistics:
        """Returns the counts and times of the session, or the counts of a sequence."""
        if id is None:
            return Statistics(**self._handle.statistics())
        return Statistics(**self._handle.sequence_statistics(_sequence(id)))

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

    def _for_texts(self) -> Session:
        return self

    def _answer(
        self, fields: Mapping[str, Any], stop: Any, reasoning: str = "", prompt: str = "",
        tools: Optional[_core.Tools] = None,
    ) -> Optional[_core.Answer]:
        """Returns the text of an output. `prompt` is the text of a chat's prompt."""
        if not self._model.has_tokenizer and stop is None:
            return None
        stops = () if stop is None else stop
        return _core.answer(
            self._model._handle, reasoning, prompt, stops, fields.get("min_tokens", 0), tools)

    def _begin(self, prompt: Prompt, options: Mapping[str, Any]) -> Stream:
        given = dict(options)
        stop = given.pop("stop", None)
        fields = request_fields(self._model, prompt, given)
        return Stream(self, fields, self._answer(fields, stop))

    def _begin_chat(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Stream:
        given = dict(options)

        def take(name: str, default: Any) -> Any:
            value = given.pop(name, None)
            return default if value is None else value

        model = self._model
        tools, choice = take("tools", None), take("tool_choice", "auto")
        callable_tools = conversation.read_tools(
            model, tools, choice, take("tool_parser", "auto"), take("parallel_tool_calls", True))
        if choice == "none":
            tools = None
        read = conversation.read_messages(model, messages)
        text, ids = _core.encode_chat(
            model._handle, conversation.chat_request(read, tools, take("template", None)))
        reasoning, stop = utf8("reasoning", take("reasoning", "auto")), take("stop", None)
        given["start"] = (reasoning, text)
        if callable_tools and callable_tools.is_required:
            given["calls"] = callable_tools
        if given.get("max_tokens") is None:
            envelope = model.envelope
            given["max_tokens"] = max(1, envelope.max_context - len(ids)) if envelope else 1
        fields = request_fields(model, ids, given)
        if callable_tools and model.masks_tokens and "constraint" not in fields:
            if callable_tools.has_strict or isinstance(choice, Mapping):
                fields["calls"] = callable_tools
        answer = self._answer(fields, stop, reasoning, text, callable_tools)
        return Stream(self, fields, answer, conversation.count_calls(read))

    # Functions.

    def call(self, name: str, *inputs: npt.ArrayLike) -> list[Array]:
        """Runs an exported function, and returns its results.

        `Model.function_type()` has the types. Slots, positions, tokens and indices among the inputs
        are trusted.
        """
        ports: tuple[TensorType, ...] = self._model.function_type(name).inputs
        if len(inputs) != len(ports):
            raise errors.InvalidArgumentError(
                f"inputs: expected {len(ports)} for {name}, got {len(inputs)}")
        raw = [arrays.from_array(value, port) for value, port in zip(inputs, ports)]
        return [arrays.to_array(output) for output in self._handle.run_function(name, raw)]

    def score(self, ids: Sequence[int]) -> npt.NDArray[np.float64]:
        """Scores token ids as Model.score() does, in a session that has generated nothing."""
        envelope = self._model.envelope
        if envelope is None or _PROMPT_LOGITS not in self._model.functions:
            raise errors.FailedPreconditionError(
                f"expected an artifact with a target and the function {_PROMPT_LOGITS}, got none")
        given = token_ids("prompt", ids)
        if len(given) > envelope.max_context:
            raise errors.OutOfRangeError(
                f"prompt: expected at most {envelope.max_context} tokens to score, "
                f"got {len(given)}")
        if given and not 0 <= min(given) <= max(given) < envelope.vocab:
            raise errors.InvalidArgumentError(
                f"prompt: expected token ids of 0 to {envelope.vocab - 1}, "
                f"got {min(given)} to {max(given)}")
        tokens = np.asarray(given, np.int32)
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
