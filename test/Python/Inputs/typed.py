"""Uses of the package whose types mypy checks."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import mtpc


def uses(model: mtpc.Model) -> None:
    done = model.generate("Once", max_tokens=3, temperature=0.5, k="auto")
    assert_type(done, mtpc.Completion)
    assert_type(done.text, str)
    assert_type(done.statistics.accepted, tuple[int, ...])
    answer = model.chat([{"role": "user", "content": "Hello"}])
    assert_type(answer, mtpc.Completion)
    for event in model.chat([], stream=True, tools=[], tool_choice="none", stop=["."]):
        assert_type(event.finish_reason, str | None)
    scored = model.generate("Once", logprobs=2, logit_bias={3: 0.5}, json_schema={"type": "null"})
    assert_type(scored.logprobs, tuple[mtpc.TokenLogprobs, ...] | None)
    assert_type(scored.tool_calls, tuple[mtpc.ToolCall, ...])
    model.generate("Once", bad_words=["a", [1, 2]])
    model.chat([], tools=[], tool_choice={"type": "allowed_tools", "allowed_tools": {}})
    assert_type(mtpc.tune(model, minutes=1), mtpc.Profile)
    with model.session(k="auto", logits="all", kv_pages=8) as session:
        id = session.add([1, 2, 3], sees_drafts=True)
        assert_type(session.step(), list[mtpc.Update])
        assert_type(session.logits(id), npt.NDArray[np.float32])
        assert_type(session.call("accept", [1]), list[npt.NDArray[Any]])
    # Wrong uses, of which mypy must reject each.
    model.generate("Once", max_token=3)  # type: ignore[call-arg]
    model.generate("Once", k="some")  # type: ignore[arg-type]
    model.session(logits="some")  # type: ignore[arg-type]
    model.session().add("Once", stop="x")  # type: ignore[call-arg]
    model.generate("Once", logprobs_mode="log")  # type: ignore[arg-type]
    model.generate("Once", bad_words=[1])  # type: ignore[list-item]
    mtpc.Model("model.bin", device="tpu")  # type: ignore[arg-type]


async def waits(model: mtpc.Model) -> str:
    async for event in model.stream("Once", max_tokens=3):
        assert_type(event, mtpc.Event)
    return (await model.stream("Once").result_async()).text
