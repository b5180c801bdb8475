"""structured.py ARTIFACT [COUNT]: asks a model for answers of the schemas in schemas.json, and
checks each ended answer with the validator of the server's tests, and with jsonschema if Python has
it. Tokens must not depend on drafts. Prints how many answers ended."""

import concurrent.futures
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
INPUTS = HERE.parent / "Tools/Inputs/serve"
sys.path[:0] = [str(INPUTS)]
import json_check
import serving

FORMS = ("chat", "completion", "response", "message")
MOST = 300


def ask(server, form, one, number, k):
    """Returns the text of an answer, and whether it ended."""
    schema, prompt = one["schema"], one["prompt"] + " Answer in JSON."
    talk = {"messages": [{"role": "user", "content": prompt}]}
    kind = {"type": "json_schema", "name": "answer", "schema": schema}
    options = {"temperature": 0.7 if number % 2 else 0, "seed": number, "k": k}
    if form == "chat":
        answer, = server.complete("/v1/chat/completions", **talk, max_tokens=MOST, **options,
                                  response_format={"type": "json_schema", "json_schema":
                                                   {"name": "answer", "schema": schema}})["choices"]
        return answer["message"]["content"], answer["finish_reason"] == "stop"
    if form == "completion":
        answer, = server.complete(prompt=prompt, max_tokens=MOST, **options,
                                  structured_outputs={"json": schema})["choices"]
        return answer["text"], answer["finish_reason"] == "stop"
    if form == "response":
        answer = server.complete("/v1/responses", input=prompt, max_output_tokens=MOST, **options,
                                 text={"format": kind})
        return answer["output"][-1]["content"][0]["text"], answer["status"] == "completed"
    answer = server.complete("/v1/messages", **talk, max_tokens=MOST, **options,
                             output_format=kind)
    return answer["content"][0]["text"], answer["stop_reason"] == "end_turn"


def run(artifact, count):
    """Returns the numbers of ended answers and of all answers."""
    all_schemas = json.loads((HERE / "schemas.json").read_text())
    chosen = [i * len(all_schemas) // count for i in range(count)]
    ended = 0
    with serving.Server(str(artifact)) as server, \
            concurrent.futures.ThreadPoolExecutor(4) as pool:
        def one(number):
            schema = all_schemas[number]
            form = FORMS[number % len(FORMS)]
            text, is_ended = ask(server, form, schema, number, 3)
            plain = ask(server, form, schema, number, 0)
            serving.check((text, is_ended), plain, f"{schema['name']} with drafts")
            if is_ended:
                errors = json_check.errors_of(schema["schema"], json.loads(text))
                if errors:
                    sys.exit(f"{schema['name']}: {text!r} does not match: {errors}")
            return is_ended
        for future in [pool.submit(one, number) for number in chosen]:
            ended += future.result()
    return ended, count


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    ended, count = run(sys.argv[1], count)
    print(f"{ended} of {count} answers ended, and all of them match their schemas")


if __name__ == "__main__":
    main()
