"""anthropic_client.py ARTIFACT: tests the unmodified client of the anthropic package with a server.
"""
import asyncio, sys

import anthropic
from serving import Server, alone, check

ARTIFACT = sys.argv[1]
TALK = {"model": "m", "max_tokens": 12, "system": "be",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "one"}]}],
        "extra_body": {"temperature": 0}}
PROMPT = "system: be\nuser: one\na:"


def connect(server, key="secret"):
    return anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{server.port}", api_key=key, max_retries=0,
        http_client=anthropic.DefaultHttpxClient(trust_env=False))


def refused(kind, call):
    """Returns the error of a call that the client raises as `kind`."""
    try:
        call()
    except kind as error:
        return error
    sys.exit(f"expected {kind.__name__}")


def check_messages(client, text):
    message = client.messages.create(**TALK)
    check((message.type, message.role, message.stop_reason), ("message", "assistant", "max_tokens"),
          "a message")
    check([(block.type, block.text) for block in message.content], [("text", text)], "its text")
    check(message.usage.output_tokens, 12, "its tokens")
    counted = client.messages.count_tokens(**{name: TALK[name]
                                              for name in ("model", "system", "messages")})
    usage = message.usage
    check(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens,
          "tokens of the prompt")
    stop = text[5:7]
    message = client.messages.create(**TALK, stop_sequences=[stop])
    check((message.content[0].text, message.stop_reason, message.stop_sequence),
          (text[:text.find(stop)], "stop_sequence", stop), "a message that a text stops")


def check_streams(client, text):
    with client.messages.stream(**TALK) as stream:
        parts = list(stream.text_stream)
        final = stream.get_final_message()
    check(("".join(parts), final.content[0].text, final.stop_reason), (text, text, "max_tokens"),
          "a stream")
    check(final.usage.output_tokens, 12, "its tokens")
    # A client that leaves in the middle does not affect the next one.
    with client.messages.create(stream=True, **TALK) as events:
        check(next(iter(events)).type, "message_start", "the first event")
    types = [event.type for event in client.messages.create(stream=True, **TALK)]
    check((types[0], types[1], types[-3:]),
          ("message_start", "content_block_start",
           ["content_block_stop", "message_delta", "message_stop"]), "events")


def check_refusals(client, server):
    error = refused(anthropic.BadRequestError,
                    lambda: client.messages.create(**{**TALK, "messages": [
                        {"role": "user", "content": [{"type": "image", "source": {
                            "type": "url", "url": "http://x/y"}}]}]}))
    check("image" in str(error), True, f"the reason of a refusal: {error}")
    refused(anthropic.BadRequestError, lambda: client.messages.create(**{**TALK, "max_tokens": -7}))
    refused(anthropic.AuthenticationError, lambda: connect(server, "wrong").messages.create(**TALK))


async def check_together(server, text):
    async with anthropic.AsyncAnthropic(base_url=f"http://127.0.0.1:{server.port}",
                                        api_key="secret") as client:
        answers = await asyncio.gather(*(client.messages.create(**TALK) for _ in range(16)))
    check({answer.content[0].text for answer in answers}, {text}, "answers at a time")


with open("anthropic.jinja", "w") as file:
    file.write("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}a:")
with Server(ARTIFACT, "--strict", "--chat-template", "anthropic.jinja", "--api-key", "secret",
            "--served-model-name", "m") as server:
    client = connect(server)
    text = alone(ARTIFACT, PROMPT, max_tokens=12, temperature=0)["text"]
    check_messages(client, text)
    check_streams(client, text)
    check_refusals(client, server)
    asyncio.run(check_together(server, text))
print(f"the client of anthropic {anthropic.__version__} is served")
