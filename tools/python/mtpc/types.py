"""Values of the package. Lengths and positions are in tokens, times in seconds, memory in bytes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Optional, TypedDict, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Prompt = Union[str, Sequence[int]]
"""A text or token ids."""
Message = Mapping[str, Any]
"""A message of a conversation: "role", "content" and what else the template knows."""
Drafts = Union[int, Literal["auto"], None]
"""Drafts in a round; "auto": the number that is worth its time."""
Schema = Union[str, bool, Mapping[str, Any]]
"""A JSON Schema: as a dictionary or a Boolean, or the text of one."""


class RequestOptions(TypedDict, total=False):
    """Options of all requests.

    Penalties, `logit_bias`, `allowed_tokens`, `bad_words` and the five grammars from `json_schema`
    on need Model.has_logit_rules: compile(..., without_logit_rules=True) omits the rules. A request
    has at most one grammar.
    """

    max_tokens: Optional[int]
    """Most tokens; by default 128, or the rest of the context."""
    min_tokens: int
    """Tokens before which nothing ends the text."""
    temperature: Optional[float]
    """Divisor of the logits; 0 is greedy. By default the model's own, as the next three."""
    top_k: Optional[int]
    """Likeliest tokens to keep; 0: all."""
    top_p: Optional[float]
    """The likeliest tokens up to this probability are kept."""
    min_p: Optional[float]
    """Tokens less likely than this times the likeliest are dropped."""
    seed: int
    """Seed of all random choices, 0 by default."""
    repetition_penalty: Optional[float]
    """Above 0: the logits of tokens of the prompt and the output are divided by it if positive,
    else multiplied; 1: off. The default is the recommendation of the model's authors, or 1."""
    presence_penalty: float
    """From -2 to 2: subtracted from the logits of tokens of the output."""
    frequency_penalty: float
    """From -2 to 2: subtracted for each occurrence of a token in the output."""
    logit_bias: Mapping[int, float]
    """Numbers that are added to the logits of tokens; -inf: the token is never picked."""
    allowed_tokens: Sequence[int]
    """Tokens that may be picked; empty: all."""
    bad_words: Sequence[Union[str, Sequence[int]]]
    """Texts and token sequences that the output does not have. A text counts as mtp-run --bad-word
    does: also after a space, if both forms have an equal number of tokens. A word of several tokens
    needs Model.masks_tokens, and may occur if a grammar allows no other token."""
    logprobs: Optional[int]
    """Number of likeliest tokens that each output token's log-probabilities show, up to 20; 0: only
    the output token's own; None: no log-probabilities."""
    prompt_logprobs: Optional[int]
    """The same number for each prompt token after the first. Needs Model.scores_prompts."""
    logprobs_mode: Literal["raw", "processed"]
    """"raw": of the model's distribution. "processed": of the distribution after temperature,
    top_k, top_p and min_p."""
    json_schema: Optional[Schema]
    """The text is JSON of this schema."""
    json_object: bool
    """The text is a JSON object."""
    regex: Optional[str]
    """The whole text matches this regular expression."""
    grammar: Optional[str]
    """The text follows this grammar, in llama.cpp's GBNF."""
    choice: Optional[Sequence[str]]
    """The text is one of these strings."""
    compact: bool
    """JSON of a grammar has no white space between its tokens."""
    k: Drafts
    """Drafts in a round; None: the session's. No token depends on it, unless Model.is_lossy."""
    draft_p_min: Optional[float]
    """Confidence of 0 to 1 below which drafts end; None: the session's. No token depends on it,
    unless Model.is_lossy. For models of compile(confidence=...)."""
    stop_tokens: Sequence[int]
    """Further tokens that end the text."""
    ignore_eos: bool
    """Continue after the model's own end tokens."""
    special: bool
    """Read the strings of special tokens in the prompt as these tokens."""
    add_start: bool
    """Add the model's start tokens; true by default."""
    priority: int
    """Lower values run first."""
    group: int
    """Fair-share group."""
    cache_salt: str
    """Sequences share KV pages only if their salts are equal."""
    kind: str
    """Kind of text. Automatic k starts from the acceptance that the profile has of this kind."""
    inputs: Mapping[str, npt.ArrayLike]
    """Arrays by the names of Model.request_inputs."""
    outputs: Sequence[str]
    """Names of Model.request_outputs."""


class GenerateOptions(RequestOptions, total=False):
    """Options of generate() and stream()."""

    stop: Union[str, Sequence[str]]
    """Strings that end the text, which does not contain them. Text of the first `min_tokens` tokens
    is not searched."""


class AddOptions(RequestOptions, total=False):
    """Options of Session.add()."""

    sees_drafts: bool
    """A round stops to show its drafts (Update.seen)."""


class ChatOptions(GenerateOptions, total=False):
    """Options of chat()."""

    tools: Optional[Sequence[Mapping[str, Any]]]
    """Tools that the answer may call, in the form of OpenAI's chats."""
    tool_choice: Union[str, Mapping[str, Any]]
    """"auto" (the default), "none" (the template gets no tools), "required" (the answer consists of
    calls), or the name of the tool to call. The last two need Model.masks_tokens. Also OpenAI's
    objects of the types "function" and "allowed_tools"."""
    parallel_tool_calls: bool
    """Whether an answer may have several calls; true by default."""
    tool_parser: str
    """Format of calls: "auto" (the template's, the default), or a name of mtp-run --tool-parser."""
    template: Optional[Mapping[str, Any]]
    """Further variables of the template, for example {"enable_thinking": False}."""
    reasoning: str
    """Marks of reasoning in the answer: "auto" finds them by the template, "none", or a name
    of mtp-run --reasoning."""


class SessionOptions(TypedDict, total=False):
    """Further options of Model.session(). mtp/session.h has all details."""

    pin_threads: bool
    """Bind each thread to a processor."""
    draft_p_min: Optional[float]
    """Confidence below which drafts end, of requests without one; None: the model's."""
    populate_memory: bool
    """Take the memory of KV pages and states at once, if it is at most half of the free memory."""
    kv_pages: int
    """KV pages; 0: enough for every slot at full context."""
    prefill_chunk: int
    """Most tokens of a prompt in one pass, of Envelope.prefill_chunks; 0: the envelope's."""
    chunks_per_step: int
    """Most chunks of prompts in a step; 0: one while sequences run."""
    prompt_milliseconds: int
    """Time for which prompts may delay running sequences in a step, in milliseconds."""
    step_milliseconds: int
    """Target time of a round that has rows of prompts, in milliseconds; 0: of a round plus
    `prompt_milliseconds`."""
    separate_prompts: bool
    """Compute prompts in passes of their own only."""
    rounds_per_launch: int
    """Most rounds on the device without the host between them; 0: 1 on a CPU; on a GPU as the
    profile says, else 16."""
    capture_sizes: Sequence[int]
    """Numbers of slots whose rounds run their own programs. Others run the next larger one with
    padding rows. Empty: on a GPU as a profile says, else all."""
    prefix_cache: bool
    """Share the KV pages of equal prefixes; true by default."""
    snapshot_bytes: int
    """Memory for snapshots of recurrent states, in bytes."""
    snapshot_tokens: int
    """Prompt tokens between two snapshots."""
    deterministic: bool
    """Compute prompts on a GPU with the artifact's own kernels only."""


@dataclasses.dataclass(frozen=True)
class Envelope:
    """The largest shapes that an artifact was compiled for."""

    max_k: int
    """Most drafts that a round may accept; 0 without a drafter."""
    max_batch: int
    """Most sequences in a round."""
    max_context: int
    """Most tokens of one sequence, prompt and output together."""
    prefill_chunk: int
    """Default chunk of a prompt, in tokens."""
    prefill_chunks: tuple[int, ...]
    """Chunks that Session(prefill_chunk=...) may name, ascending."""
    page_tokens: int
    """Tokens in one KV page."""
    vocab: int
    """Token ids are 0 to vocab - 1."""
    modules: int
    """Positions ahead of a token that the drafters read while a prompt is computed."""
    max_nodes: int
    """Most rows that a round verifies for one sequence."""
    max_rows: int
    """Most rows that a round verifies for all sequences together."""


@dataclasses.dataclass(frozen=True)
class GenerationDefaults:
    """Recommendations of the model's authors."""

    bos: Optional[int]
    """The token that begins a text."""
    add_bos: bool
    """Whether a prompt should start with `bos`."""
    eos: tuple[int, ...]
    """Tokens that end a text. They are not part of an output."""
    temperature: float
    """0: greedy."""
    top_k: int
    """0: off."""
    top_p: float
    """1: off."""
    min_p: float
    """0: off."""
    repetition_penalty: float
    """1: off."""


@dataclasses.dataclass(frozen=True)
class TensorType:
    """Element type and shape."""

    name: str
    """Name of the port in the model, or "arg0", "result0"."""
    element: str
    """"f32", "bf16", "f16", "f64", "i8", "u8", "i16", "i32", "i64" or "bool"."""
    shape: tuple[int, ...]
    """Outermost dimension first; () is a scalar."""


@dataclasses.dataclass(frozen=True)
class OutputType(TensorType):
    """An output that a request may ask for. `shape` is the shape of one row."""

    is_per_token: bool
    """True: a row for each output token. False: a row for each round."""


@dataclasses.dataclass(frozen=True)
class FunctionType:
    """Inputs and outputs of an exported function, in order."""

    inputs: tuple[TensorType, ...]
    """Types of the arguments."""
    outputs: tuple[TensorType, ...]
    """Types of the results."""


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Counts and times since a session or a sequence began."""

    rounds: int
    """Decode rounds. For a session: programs run, whatever the batch."""
    slot_rounds: int
    """Rounds summed over sequences."""
    padded_rounds: int
    """Rounds with padding slots, which only fill a batch; sessions only."""
    padding_slots: int
    """Padding slots, summed over these rounds; sessions only."""
    round_rows: int
    """Rows that the target computed in decode rounds."""
    round_capacity: int
    """Row capacity of these rounds: k + 1 for each slot."""
    round_tokens: int
    """Tokens that decode rounds emitted, before truncation at a stop."""
    output_tokens: int
    """Tokens given to the caller."""
    decode_tokens: int
    """Part of `output_tokens` that decode rounds emitted."""
    prefill_tokens: int
    """Prompt tokens computed."""
    cached_tokens: int
    """Prompt tokens taken from the prefix cache."""
    prefill_chunks: int
    """Chunks of prompts computed."""
    library_tokens: int
    """Part of `prefill_tokens` whose rows a GPU library multiplied."""
    mixed_tokens: int
    """Part of `prefill_tokens` whose rows ran in mixed batches."""
    caught_up_tokens: int
    """Tokens that drafters skipped in rounds without drafts and caught up on."""
    preemptions: int
    """Times that a sequence lost its slot."""
    snapshots: int
    """Snapshots of recurrent states that were made; sessions only."""
    dropped_snapshots: int
    """Snapshots that were dropped since; sessions only."""
    snapshot_bytes: int
    """Bytes of the snapshots that remain; sessions only."""
    restored_snapshots: int
    """Snapshots from which sequences continued."""
    restored_preemptions: int
    """Part of `restored_snapshots` after a preemption or a pause."""
    drafted: tuple[int, ...]
    """Slot rounds with a draft that could be accepted, for each draft position."""
    accepted: tuple[int, ...]
    """Slot rounds that accepted the draft, for each draft position."""
    rounds_by_k: tuple[int, ...]
    """Rounds by their number of drafts, from 0 on."""
    prefill_seconds: float
    """Wall time of prefills; sessions only."""
    decode_seconds: float
    """Wall time of decode rounds; sessions only."""

    @property
    def acceptance_length(self) -> float:
        """Mean number of tokens of a round of one sequence; 1 without rounds."""
        return self.round_tokens / self.slot_rounds if self.slot_rounds else 1.0


@dataclasses.dataclass(frozen=True)
class KvUsage:
    """Use of the KV pages, in pages."""

    free: int
    """Pages without entries."""
    cached: int
    """Pages kept for reuse; given up when other sequences need them."""
    held: int
    """Pages of sequences."""


class TokenLogprob(NamedTuple):
    """A token and the natural logarithm of its probability."""

    token: int
    """The token's id."""
    logprob: float
    """-inf for a token that the filters drop."""


@dataclasses.dataclass(frozen=True)
class TokenLogprobs:
    """The log-probabilities at one position."""

    token: int
    """The token at the position."""
    logprob: float
    """The natural logarithm of its probability."""
    rank: int
    """Its place among all tokens by descending logits, from 1 on."""
    likeliest: tuple[TokenLogprob, ...]
    """The likeliest tokens, in this order."""


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A complete call of a tool."""

    id: str
    """Nine letters and digits, different from the ids of earlier calls of the conversation."""
    name: str
    """Name of the tool."""
    json: str
    """The arguments as the model wrote them, a JSON object."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by their names."""
        arguments: dict[str, Any] = json.loads(self.json)
        return arguments


@dataclasses.dataclass(frozen=True)
class Output:
    """Rows of an output that a request asked for."""

    name: str
    """Name in Model.request_outputs."""
    rows: Array
    """[rows, ...]: a row for each token, or for each round of an output per round."""
    tokens: tuple[int, ...]
    """Tokens of each row, for an output per round."""


@dataclasses.dataclass(frozen=True)
class SeenDrafts:
    """Drafts of a round that waits for the caller."""

    tokens: tuple[int, ...]
    """Drafts in the order of their nodes; -1 means no draft."""
    parents: tuple[int, ...]
    """Parents of a computed tree, node 0 first; otherwise empty."""


@dataclasses.dataclass(frozen=True)
class Update:
    """The result of one step for one sequence."""

    id: int
    """The sequence."""
    tokens: tuple[int, ...]
    """New output tokens."""
    finish_reason: Optional[str]
    """None, "stop", "length", "cancelled" or "failed"."""
    stop_token: Optional[int]
    """The end or stop token that ended the sequence."""
    error: Optional[Exception]
    """The reason of "failed"."""
    drafted: int
    """Drafts in the rounds that gave these tokens."""
    outputs: tuple[Output, ...]
    """Rows of the outputs that the request asked for."""
    seen: Optional[SeenDrafts]
    """Drafts of a stopped round, with `sees_drafts`."""
    logprobs: tuple[TokenLogprobs, ...] = ()
    """An element for each token, with `logprobs`."""
    prompt_logprobs: tuple[TokenLogprobs, ...] = ()
    """An element for each prompt token after the first, once, with `prompt_logprobs`."""


@dataclasses.dataclass(frozen=True)
class Event:
    """A part of a text that is being generated."""

    text: str
    """New text. A character that is not complete yet comes with a later event."""
    tokens: tuple[int, ...]
    """New tokens."""
    reasoning: str = ""
    """New text of the reasoning, in chats."""
    finish_reason: Optional[str] = None
    """In the last event: "stop", "length" or "cancelled"."""
    logprobs: tuple[TokenLogprobs, ...] = ()
    """An element for each token, with `logprobs`."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls that are complete now, in chats with tools."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """A generated text."""

    text: str
    """The text, without a stop string."""
    tokens: tuple[int, ...]
    """Output tokens, without the token that ended the text."""
    finish_reason: str
    """"stop", "length" or "cancelled"."""
    stop_token: Optional[int]
    """The end or stop token that ended the text."""
    prompt_tokens: int
    """Length of the prompt, in tokens."""
    statistics: Statistics
    """Counts of the sequence."""
    reasoning: str = ""
    """Text of the reasoning, in chats."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Calls of tools, in chats with tools. An incomplete or invalid call is text."""
    stop_string: Optional[str] = None
    """The stop string that ended the text."""
    logprobs: Optional[tuple[TokenLogprobs, ...]] = None
    """An element for each token, with `logprobs`."""
    prompt_logprobs: Optional[tuple[TokenLogprobs, ...]] = None
    """An element for each prompt token after the first, with `prompt_logprobs`."""
    outputs: tuple[Output, ...] = ()
    """Rows of the outputs that the request asked for, of all tokens or rounds."""
    logits: Optional[npt.NDArray[np.float32]] = None
    """[tokens, vocab]: the rows from which the tokens were picked, of a session with
    logits="all"."""

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message, to append to the messages of the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.reasoning:
            # The names that templates use.
            message["reasoning_content"] = message["thinking"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function",
                 "function": {"name": call.name, "arguments": call.json}}
                for call in self.tool_calls]
        return message
