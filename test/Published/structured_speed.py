"""structured_speed.py ARTIFACT [-k K] [--temperature T] [--turns N] [--beside]: compares the
tokens/s of answers of the schemas in schemas.json with free answers to the same prompts of equal
length, in alternation, by mtp-run. With --beside it compares the tokens/s of three free requests
beside an answer of a schema with four free requests, by mtp-serve. Prompts are in ChatML."""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "Tools/Inputs/serve")]
import serving

PROMPT = "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n"
MOST = 300
QUESTIONS = ["Tell me a story about a fox.", "How do I bake bread?", "Explain how rain forms."]
PET = {"type": "object",
       "properties": {"name": {"type": "string", "minLength": 3, "maxLength": 24},
                      "age": {"type": "integer", "minimum": 0, "maximum": 120},
                      "kind": {"enum": ["cat", "dog"]}},
       "required": ["name", "age", "kind"], "additionalProperties": False}


def generate(args, prompt, tokens, *flags):
    """Returns mtp-run's report of an answer."""
    command = ["mtp-run", args.artifact, "--json", "--special", "--threads=2", "--max-batch=1",
               "-k", args.k, "--temperature", str(args.temperature), "-n", str(tokens),
               "--prompt", PROMPT % prompt, *flags]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


class Sums:
    """Tokens, seconds and rounds of answers."""

    def __init__(self):
        self.tokens = self.seconds = self.rounds = 0

    def add(self, report):
        self.tokens += report["decode"]["tokens"]
        self.seconds += report["decode"]["seconds"]
        self.rounds += sum(report["rounds_by_k"])

    def rate(self):
        return self.tokens / self.seconds

    def text(self):
        return f"{self.rate():.0f} tokens/s, acceptance length {self.tokens / self.rounds:.2f}"


def compare_answers(args):
    restricted, free = Sums(), Sums()
    schemas = json.loads((HERE / "schemas.json").read_text())
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        for number, one in enumerate(schemas):
            file.seek(0)
            file.truncate()
            json.dump(one["schema"], file)
            file.flush()
            flag, prompt = f"--json-schema-file={file.name}", one["prompt"] + " Answer in JSON."
            report = generate(args, prompt, MOST, flag)
            tokens = len(report["sequences"][0]["output_ids"])
            free.add(generate(args, prompt, tokens, "--ignore-eos"))
            # The other order in every second turn.
            restricted.add(report if number % 2 else generate(args, prompt, MOST, flag))
    print(f"k {args.k}, T {args.temperature}, {len(schemas)} answers, {restricted.tokens} tokens: "
          f"with a schema {restricted.text()}; free {free.text()}; "
          f"ratio {restricted.rate() / free.rate():.3f}")


def wave(server, args, is_restricted):
    """Returns the tokens/s of three free requests together, beside a fourth request."""
    k = args.k if args.k == "auto" else int(args.k)
    body = {"max_tokens": 160, "temperature": args.temperature, "k": k, "seed": 1}
    bodies = [dict(body, prompt=PROMPT % question, ignore_eos=True) for question in QUESTIONS]
    if is_restricted:
        schema = {"type": "array", "items": PET, "minItems": 40, "maxItems": 60}
        bodies.append(dict(body, prompt=PROMPT % "List 40 pets as JSON.",
                           structured_outputs={"json": schema}))
    else:
        bodies.append(dict(bodies[0], prompt=PROMPT % "Write a letter to a friend."))

    def ask(one):
        begin = time.monotonic()
        answer = server.complete(**one)
        return answer["usage"]["completion_tokens"], time.monotonic() - begin
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        answers = list(pool.map(ask, bodies))[:len(QUESTIONS)]
    return sum(tokens for tokens, _ in answers) / max(seconds for _, seconds in answers)


def compare_beside(args):
    logs, rates = [], {True: [], False: []}
    with serving.Server(args.artifact, "--max-batch=4", "-k", args.k) as server:
        for turn in range(-1, args.turns):
            pair = {kind: wave(server, args, kind) for kind in (turn % 2 == 0, turn % 2 != 0)}
            if turn < 0:
                continue  # The first turn compiles the grammar.
            for kind, rate in pair.items():
                rates[kind].append(math.log(rate))
            logs.append(math.log(pair[True] / pair[False]))
    mean = sum(logs) / len(logs)
    error = math.sqrt(sum((x - mean) ** 2 for x in logs) / max(len(logs) - 1, 1) / len(logs))
    beside, free = (math.exp(sum(rates[kind]) / len(logs)) for kind in (True, False))
    print(f"k {args.k}, T {args.temperature}, three free requests: beside a schema {beside:.0f} "
          f"tokens/s, beside a free one {free:.0f}, ratio {math.exp(mean):.3f} "
          f"({math.exp(mean - 2.1 * error):.3f} to {math.exp(mean + 2.1 * error):.3f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("artifact")
    parser.add_argument("-k", default="auto")
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--beside", action="store_true")
    args = parser.parse_args()
    (compare_beside if args.beside else compare_answers)(args)


if __name__ == "__main__":
    main()
