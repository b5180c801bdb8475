"""From options of Python to the fields of a request."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from . import _core, arrays, errors
from .types import Drafts, Prompt

if TYPE_CHECKING:
    from .model import Model

# Values of Request::k.
_SESSIONS_K = 2**32 - 1
_AUTOMATIC_K = 2**32 - 2
_GRAMMARS = ("json_schema", "json_object", "regex", "grammar", "choice")
_RECOMMENDED = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")


def shortened(value: object) -> str:
    """Returns a value for an error."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def check_names(function: str, options: Mapping[str, object], kind: Any) -> None:
    """Fails as Python does for options that a TypedDict does not have."""
    unknown = options.keys() - kind.__optional_keys__
    if unknown:
        raise TypeError(f"{function}() got an unexpected option {min(unknown)!r}")


def whole(name: str, value: object, most: int = 2**32 - 1) -> int:
    """Returns a whole number of 0 to `most`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise errors.InvalidArgumentError(
            f"{name}: expected a whole number, got {shortened(value)}") from None
    if not 0 <= number <= most:
        raise errors.InvalidArgumentError(
            f"{name}: expected a whole number of 0 to {most}, got {number}")
    return number


def flag(name: str, value: object) -> bool:
    """Returns True or False."""
    if not isinstance(value, bool):
        raise errors.InvalidArgumentError(
            f"{name}: expected True or False, got {shortened(value)}")
    return value


def path_text(name: str, path: object) -> str:
    """Returns a path as a text in UTF-8."""
    try:
        text = utf8(name, os.fsdecode(path))  # type: ignore[arg-type]
    except TypeError:
        raise errors.InvalidArgumentError(
            f"{name}: expected a path, got {shortened(path)}") from None
    if "\0" in text:
        raise errors.InvalidArgumentError(
            f"{name}: expected a path without NUL, got {shortened(text)}")
    return text


def token_ids(name: str, values: object) -> list[int]:
    """Returns token ids as a list, from any sequence of whole numbers."""
    try:
        if isinstance(values, (str, bytes, bytearray, Mapping)):
            raise TypeError
        return list(map(operator.index, values))  # type: ignore[call-overload]
    except TypeError:
        raise errors.InvalidArgumentError(
            f"{name}: expected token ids, got {shortened(values)}") from None


def utf8(name: str, text: object) -> str:
    """Returns a text that has an encoding in UTF-8."""
    if not isinstance(text, str):
        raise errors.InvalidArgumentError(f"{name}: expected a text, got {shortened(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise errors.InvalidArgumentError(
            f"{name}: expected Unicode characters, got a surrogate at {error.start}") from None
    return text


def to_json(name: str, value: object) -> str:
    """Returns the JSON of a value that a caller gave as `name`."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidArgumentError(
            f"{name}: expected values of JSON, got others ({error})") from None
    return utf8(name, text)


def session_k(k: object) -> int:
    """Returns a number of drafts."""
    try:
        return whole("k", k, _AUTOMATIC_K - 1)
    except errors.InvalidArgumentError:
        raise errors.InvalidArgumentError(
            f"k: expected a number of 0 or more or 'auto', got {shortened(k)}") from None


def request_k(k: Drafts) -> int:
    """Returns a number of drafts as a value of Request::k."""
    if k is None:
        return _SESSIONS_K
    if isinstance(k, str) and k == "auto":
        return _AUTOMATIC_K
    return session_k(k)


def request_input(model: Model, name: str, value: npt.ArrayLike) -> arrays.RawTensor:
    """Returns the tensor of a request input."""
    for port in model.request_inputs:
        if port.name == name:
            return arrays.from_array(value, port)
    names = ", ".join(repr(port.name) for port in model.request_inputs) or "none"
    raise errors.InvalidArgumentError(f"inputs: expected names of {names}, got {name!r}")


def _set_constraint(fields: dict[str, Any]) -> None:
    """Replaces the options of a grammar by `constraint`: (argument, text, is compact)."""
    given = {name: fields.pop(name) for name in _GRAMMARS if name in fields}
    if given.get("json_object") is False:
        del given["json_object"]
    compact = flag("compact", fields.pop("compact", False))
    names = [*(["tool_choice"] if "calls" in fields else []), *given]
    if len(names) > 1:
        raise errors.InvalidArgumentError(
            f"{names[1]}: expected one grammar in a request, got {' and '.join(names)}")
    for name, value in given.items():
        if name == "json_object":
            flag(name, value)
            value = ""
        elif name == "json_schema" and not isinstance(value, str):
            if not isinstance(value, (bool, Mapping)):
                raise errors.InvalidArgumentError(
                    "json_schema: expected a dictionary, a Boolean or the text of a schema, "
                    f"got {shortened(value)}")
            value = to_json(name, value if isinstance(value, bool) else dict(value))
        fields["constraint"] = (name, value, compact)


def _set_logit_bias(fields: dict[str, Any]) -> None:
    bias = fields["logit_bias"]
    if not isinstance(bias, Mapping):
        raise errors.InvalidArgumentError(
            f"logit_bias: expected numbers by token ids, got {shortened(bias)}")
    fields["logit_bias"] = list(bias.items())


def _set_bad_words(model: Model, fields: dict[str, Any]) -> None:
    words = fields["bad_words"]
    if isinstance(words, (str, bytes, Mapping)) or not isinstance(words, Sequence):
        raise errors.InvalidArgumentError(
            f"bad_words: expected a list of texts or of token ids, got {shortened(words)}")
    ids: list[list[int]] = []
    for i, word in enumerate(words):
        path = f"bad_words[{i}]"
        if isinstance(word, str):
            ids += _core.bad_word(model._handle, path, utf8(path, word))
        else:
            ids.append(token_ids(path, word))
    fields["bad_words"] = ids


def request_fields(model: Model, prompt: Prompt, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a request as the extension takes them. None is the default."""
    fields = {name: value for name, value in options.items() if value is not None}
    special, add_start = fields.pop("special", False), fields.pop("add_start", True)
    if isinstance(prompt, str):
        ids = model.encode(prompt, special=special, add_start=add_start)
    else:
        ids = token_ids("prompt", prompt)
    fields["prompt"] = ids
    for name in _RECOMMENDED:
        if name not in fields:
            fields[name] = getattr(model.generation, name)
    if "max_tokens" not in fields:
        # As mtp-run does; a prompt that is too long is the session's error.
        envelope = model.envelope
        rest = envelope.max_context - len(ids) if envelope else 0
        fields["max_tokens"] = max(1, min(128, rest))
    fields["k"] = request_k(fields.get("k"))
    for name in ("stop_tokens", "allowed_tokens"):
        if name in fields:
            fields[name] = token_ids(name, fields[name])
    if "logit_bias" in fields:
        _set_logit_bias(fields)
    if "bad_words" in fields:
        _set_bad_words(model, fields)
    for name in ("cache_salt", "kind"):
        if name in fields:
            utf8(name, fields[name])
    if "inputs" in fields:
        inputs = fields["inputs"]
        if not isinstance(inputs, Mapping):
            raise errors.InvalidArgumentError(
                f"inputs: expected arrays by their names, got {shortened(inputs)}")
        fields["inputs"] = {
            name: request_input(model, name, value) for name, value in inputs.items()}
    _set_constraint(fields)
    return fields
