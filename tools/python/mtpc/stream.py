"""Texts while they are generated."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _core, arrays, errors
from .types import (
    Completion,
    Event,
    Output,
    SeenDrafts,
    TokenLogprob,
    TokenLogprobs,
    ToolCall,
    Update,
)

if TYPE_CHECKING:
    from .session import Session


def _positions(raw: Sequence[_core.RawLogprobs]) -> tuple[TokenLogprobs, ...]:
    return tuple(
        TokenLogprobs(token, logprob, rank, tuple(TokenLogprob(*one) for one in likeliest))
        for token, logprob, rank, likeliest in raw)


def read_update(raw: _core.RawUpdate) -> Update:
    """Returns an update of the extension."""
    id, tokens, finish, stop, error, drafted, outputs, seen, logprobs, prompt = raw
    return Update(
        id, tuple(tokens), finish, stop, error, drafted,
        tuple(Output(name, arrays.to_array(rows), tuple(of)) for name, rows, of in outputs),
        SeenDrafts(tuple(seen[0]), tuple(seen[1])) if seen else None,
        _positions(logprobs), _positions(prompt))


def _joined(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """Joins the rows of each name."""
    names = dict.fromkeys(output.name for output in outputs)
    joined = []
    for name in names:
        parts = [output for output in outputs if output.name == name]
        rows = np.concatenate([part.rows for part in parts])
        joined.append(Output(name, rows, tuple(n for part in parts for n in part.tokens)))
    return tuple(joined)


def _closed() -> errors.FailedPreconditionError:
    return errors.FailedPreconditionError("expected an open stream, got a closed one")


class Stream(Iterator[Event]):
    """The events of one text. An iterator and a context manager.

    `async for` works, too: it waits in a thread of asyncio's. A stream that is closed or dropped
    before its end ends the sequence. result() waits for the end. Several threads may read one
    stream; each event goes to one of them.
    """

    def __init__(
        self, session: Session, fields: dict[str, Any], answer: Optional[_core.Answer],
        first_call: int = 0,
    ) -> None:
        self._id: Optional[int] = None
        self._session = session
        self._answer = answer
        self._fields = fields
        self._first_call = first_call
        # Of the thread that waits for an event.
        self._lock = threading.Lock()
        self._parts: list[Event] = []
        self._outputs: list[Output] = []
        self._prompt_logprobs: list[TokenLogprobs] = []
        self._completion: Optional[Completion] = None
        self._handle = session._handle
        self._id = self._handle.add(fields, True)

    def _calls(self, raw: Sequence[tuple[str, str]]) -> tuple[ToolCall, ...]:
        if not raw:
            return ()
        first = self._first_call + sum(len(part.tool_calls) for part in self._parts)
        return tuple(
            ToolCall(f"call{number:05}", name, arguments)
            for number, (name, arguments) in enumerate(raw, first))

    def _next(self, is_whole: bool) -> Optional[Event]:
        with self._lock:
            id = self._id
            if id is None:
                return None
            try:
                raw, text, reasoning, calls, stop = self._handle.await_(
                    id, self._answer, is_whole)
                update = read_update(raw)
                if update.error is not None:
                    raise update.error
                event = Event(
                    text, update.tokens, reasoning, update.finish_reason, update.logprobs,
                    self._calls(calls))
                self._parts.append(event)
                self._outputs.extend(update.outputs)
                self._prompt_logprobs.extend(update.prompt_logprobs)
                if update.finish_reason:
                    self._finish(id, update, stop)
                return event
            except errors.NotFoundError:
                if self._id is None:
                    # Another thread has closed the stream after its last update.
                    raise _closed() from None
                self.close()
                raise
            except BaseException:
                self.close()
                raise

    def _finish(self, id: int, update: Update, stop: str) -> None:
        assert update.finish_reason
        parts = self._parts
        tokens = tuple(token for part in parts for token in part.tokens)
        logits = None
        if self._session._keeps_logits == "all":
            logits = arrays.to_array(self._handle.logits(id, 0, len(tokens)))
        logprobs = tuple(at for part in parts for at in part.logprobs)
        self._completion = Completion(
            text="".join(part.text for part in parts),
            tokens=tokens,
            finish_reason=update.finish_reason,
            stop_token=update.stop_token,
            prompt_tokens=len(self._fields["prompt"]),
            statistics=self._session.statistics(id),
            reasoning="".join(part.reasoning for part in parts),
            tool_calls=tuple(call for part in parts for call in part.tool_calls),
            stop_string=stop or None,
            logprobs=logprobs if "logprobs" in self._fields else None,
            prompt_logprobs=(
                tuple(self._prompt_logprobs) if "prompt_logprobs" in self._fields else None),
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
            if self._next(True) is None and self._completion is None:
                raise _closed()
        return self._completion

    def cancel(self) -> None:
        """Ends the sequence, also from another thread. The last event has "cancelled"."""
        id = self._id
        if id is not None:
            # The sequence may end meanwhile.
            with contextlib.suppress(errors.NotFoundError):
                self._handle.cancel(id)

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
        # A constructor that failed leaves no id.
        if getattr(self, "_id", None) is not None:
            self.close()

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle a Stream: its sequence belongs to this process")

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
            raise _closed()
        return self._completion
