"""The functions of models and sessions that generate texts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Union, overload

from .request import check_names
from .stream import Stream
from .types import ChatOptions, Completion, GenerateOptions, Message, Prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .session import Session


class Texts:
    """Generates texts in a session: a session itself, or a model in a session of its own."""

    def _for_texts(self) -> Session:
        raise NotImplementedError

    def stream(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> Stream:
        """Begins a text and returns its events, for `for` and `async for`."""
        check_names("stream", options, GenerateOptions)
        return self._for_texts()._begin(prompt, options)

    def generate(self, prompt: Prompt, **options: Unpack[GenerateOptions]) -> Completion:
        """Continues a prompt. `GenerateOptions` describes the options.

        Raises the errors of the session. KeyboardInterrupt ends the sequence.
        """
        check_names("generate", options, GenerateOptions)
        return self._for_texts()._begin(prompt, options).result()

    def generate_all(
        self, prompts: Sequence[Prompt], **options: Unpack[GenerateOptions]
    ) -> list[Completion]:
        """Continues several prompts, which share rounds. Returns the texts in their order."""
        check_names("generate_all", options, GenerateOptions)
        session = self._for_texts()
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(session._begin(prompt, options)) for prompt in prompts]
            return [stream.result() for stream in streams]

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
        """Answers a conversation by the model's chat template.

        - messages: dictionaries with "role" and "content", as the template knows them, and
          Completion.message of earlier answers
        - stream: return the events, for `for` and `async for`, instead of the whole answer
        - options: `ChatOptions`; max_tokens is the rest of the context by default
        """
        check_names("chat", options, ChatOptions)
        answer = self._for_texts()._begin_chat(messages, options)
        return answer if stream else answer.result()
