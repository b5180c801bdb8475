"""From conversations and tools to the requests of chat templates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from . import _core, errors
from .request import flag, shortened, to_json, utf8
from .types import Message

if TYPE_CHECKING:
    from .model import Model


def _dictionary(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise errors.InvalidArgumentError(
            f"{name}: expected a dictionary, got {shortened(value)}")
    return dict(value)


def _list(name: str, value: object) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise errors.InvalidArgumentError(f"{name}: expected a list, got {shortened(value)}")
    return list(value)


def _arguments(name: str, value: object, is_text: bool) -> object:
    """Returns the arguments of a call, as text or as an object."""
    if isinstance(value, str) == is_text:
        return value
    if is_text:
        return to_json(name, value)
    try:
        return json.loads(str(value))
    except ValueError:
        raise errors.InvalidArgumentError(
            f"{name}: expected JSON, got {shortened(value)}") from None


def _with_calls(model: Model, name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Returns a message with calls in the form that the template reads."""
    has_text, has_null = _core.call_form(model._handle)
    calls = []
    for i, given in enumerate(message["tool_calls"]):
        path = f"{name}.tool_calls[{i}]"
        call = _dictionary(path, given)
        function = _dictionary(f"{path}.function", call.get("function"))
        if "arguments" in function:
            function["arguments"] = _arguments(
                f"{path}.function.arguments", function["arguments"], has_text)
        calls.append(dict(call, function=function))
    content = message.get("content")
    if content is None or content == "":
        content = None if has_null else ""
    return dict(message, tool_calls=calls, content=content)


def read_messages(model: Model, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Returns messages in the form that the template reads."""
    read = []
    for i, given in enumerate(_list("messages", messages)):
        name = f"messages[{i}]"
        message = _dictionary(name, given)
        if message.get("tool_calls") is not None:
            message["tool_calls"] = _list(f"{name}.tool_calls", message["tool_calls"])
            if message["tool_calls"]:
                message = _with_calls(model, name, message)
        read.append(message)
    return read


def count_calls(messages: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of calls in a conversation."""
    return sum(len(message.get("tool_calls") or ()) for message in messages)


def chat_request(
    messages: Sequence[Mapping[str, Any]],
    tools: Optional[Sequence[Mapping[str, Any]]],
    template: Optional[Mapping[str, Any]],
) -> str:
    """Returns a conversation as the JSON of a template."""
    request = _dictionary("template", {} if template is None else template)
    request["messages"] = messages
    if tools is not None and len(read := _list("tools", tools)) > 0:
        request["tools"] = read
    return to_json("messages, tools or template", request)


def _name(path: str, value: object) -> tuple[str, str]:
    """Returns the path of the name of {"type": "function", "function": {"name": ...}}, and the
    name."""
    tool = _dictionary(path, value)
    if tool.get("type") != "function":
        raise errors.InvalidArgumentError(
            f"{path}.type: expected 'function', got {shortened(tool.get('type'))}")
    path = f"{path}.function"
    name = _dictionary(path, tool.get("function")).get("name")
    return f"{path}.name", utf8(f"{path}.name", name)


def _read_choice(choice: object) -> tuple[str, list[tuple[str, str]]]:
    """Returns "auto", "none" or "required", and paths and names of the allowed tools; an empty list
    allows all tools."""
    words = ("auto", "none", "required")
    if isinstance(choice, str):
        return (choice, []) if choice in words else ("required", [("tool_choice", choice)])
    if not isinstance(choice, Mapping):
        raise errors.InvalidArgumentError(
            "tool_choice: expected 'auto', 'none', 'required', the name of a tool or a dictionary, "
            f"got {shortened(choice)}")
    if choice.get("type") != "allowed_tools":
        return "required", [_name("tool_choice", choice)]
    path = "tool_choice.allowed_tools"
    allowed = _dictionary(path, choice.get("allowed_tools"))
    mode, tools = allowed.get("mode"), _list(f"{path}.tools", allowed.get("tools"))
    if mode not in ("auto", "required"):
        raise errors.InvalidArgumentError(
            f"{path}.mode: expected 'auto' or 'required', got {shortened(mode)}")
    if not tools:
        raise errors.InvalidArgumentError(f"{path}.tools: expected one tool or more, got none")
    return mode, [_name(f"{path}.tools[{i}]", tool) for i, tool in enumerate(tools)]


def read_tools(
    model: Model, tools: Optional[Sequence[Mapping[str, Any]]], choice: object, parser: str,
    is_parallel: bool,
) -> Optional[_core.Tools]:
    """Returns what an answer may call; None for no calls."""
    mode, allowed = _read_choice(choice)
    given = [] if tools is None else _list("tools", tools)
    if not given and (mode == "required" or allowed):
        raise errors.InvalidArgumentError(
            "tool_choice: expected 'tools' with this choice, got none")
    if not given or mode == "none":
        return None
    return _core.read_tools(
        model._handle, to_json("tools", given), utf8("tool_parser", parser), mode == "required",
        allowed, flag("parallel_tool_calls", is_parallel))
