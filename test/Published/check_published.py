#!/usr/bin/env python3
"""Runs a published model and compares it with the data of expected/. Standard library only.

  check_published.py NAME --tools BIN --out DIR [--long] [--drafter DIR] [PART...]

Without the model's file the test is skipped (status 77), or fails if MTP_REQUIRE_MODELS is set.
--drafter is a folder in place of the committed drafter.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

import cut_layers
import id_data
import lines

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent.parent
sys.path[:0] = [str(SOURCE / name) for name in
                ("test", "test/Tools/Inputs/serve", "models/drafters/smollm2")]
import packages
import product
import serving
import structured

SKIPPED = 77
CONTEXT, SLOTS, DRAFTS = 1024, 4, 4
DRAFTERS = {"lookup": ("--drafter=lookup:1,3",), "suffix": ("--drafter=suffix",),
            "lookahead": ("--drafter=lookahead:4,3,4",)}
MODELS = ("SmolLM2-135M-Instruct", "Gemma-3-270M")
# The committed drafter of the first model, and the number of tokens that it drafts.
TRAINED, FREQUENT = SOURCE / "models/drafters/smollm2/weights", 8192
TRAINED_FILES = ("config.json", "model.safetensors", "token_counts.txt")
# Flags of artifacts, and bounds of results: a token may differ if the reference's margin over the
# second best is at most `margin`, and the perplexity by `share`. The default multiplies the file's
# integers with rows of int8.
Rows = collections.namedtuple("Rows", "flags margin share")
INT8, F32 = Rows((), 0.6, 0.01), Rows(("--widen-weights", "--kv-dtype=f32"), 0.02, 0.001)
# Models whose f32 weights are small enough for a test that is not long.
WIDENED = {"SmolLM2-135M-Instruct"}


class Fixture:
    """The model under test, with the programs and files of its test."""

    def __init__(self, args, path):
        self.name, self.gguf, self.is_long = args.name, path, args.long
        self.tools, self.out = args.tools.resolve(), args.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        expected = HERE / "expected"
        self.ids = json.loads((expected / f"{self.name}.ids.json").read_text())
        self.expected = json.loads((expected / f"{self.name}.json").read_text())
        self.prompts = json.loads((HERE / "prompts.json").read_text())
        self.drafters = dict(DRAFTERS)
        self.trained = (args.drafter or TRAINED).resolve()
        if self.name == MODELS[0]:
            self.add_trained()
        is_widened = self.is_long or self.name in WIDENED
        self.rows = [INT8, F32] if is_widened else [INT8]
        os.environ["PATH"] = f"{self.tools}:{os.environ['PATH']}"

    def add_trained(self):
        """Adds the trained drafter, as a chain and as a tree. Its files lie in the module's folder.
        """
        for file in TRAINED_FILES:
            if not (self.trained / file).exists():
                sys.exit(f"expected {self.trained / file}, found none")
        link = self.out / "trained"
        link.unlink(missing_ok=True)
        link.symlink_to(self.trained)
        self.drafters["trained"] = (f"--drafter={link}", "--method=hass")
        tree = f"--draft-tree=dynamic:{DRAFTS},3,12"
        self.drafters["trained-tree"] = (*self.drafters["trained"], tree)

    def clear(self):
        """Removes the large files."""
        for file in (*self.out.glob("*.bin"), self.out / "cut.gguf"):
            file.unlink(missing_ok=True)

    def call(self, program, *flags):
        done = subprocess.run([self.tools / program, *map(str, flags)], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            sys.exit(f"{program} {' '.join(map(str, flags))}: {done.stderr}")
        return done.stdout

    def artifact(self, drafter, *flags, gguf=None):
        """Returns the artifact with a drafter and flags, which is compiled if there is none."""
        file = self.out / f"{drafter}{''.join(flags)}.bin"
        if file.exists():
            return file
        # Weights lie in the module's folder.
        weights = self.out / (gguf or self.gguf).name
        if not weights.exists():
            weights.symlink_to(self.gguf)
        module = file.with_suffix(".mlir")
        imports = [flag for flag in flags if flag.startswith(("--kv-dtype", "--with-"))]
        draws = self.drafters[drafter]
        depth = () if any("draft-tree" in flag for flag in draws) else ("-k", DRAFTS)
        self.call("mtp-import", weights, "-o", module, *draws, *depth, "--max-batch", SLOTS,
                  "--max-context", CONTEXT, *imports)
        if "trained" in drafter:
            counts = self.trained / "token_counts.txt"
            flags = (*flags, f"--draft-vocab={counts},size={FREQUENT}")
        program = "mtpc_sim" if any("gpu-sim" in flag for flag in flags) else "mtpc"
        self.call(program, module, "-o", file, "--jobs=1",
                  *(flag for flag in flags if flag not in imports))
        return file

    def run(self, artifact, prompts, count, *flags):
        """Returns what mtp-run prints of prompts of ids, without an end but `count` tokens."""
        ids = [flag for p in prompts for flag in ("--ids", ",".join(map(str, p)))]
        return json.loads(self.call("mtp-run", artifact, "--json", "-t", 1, "-n", count,
                                    "--ignore-eos", "--no-bos", *ids, *flags))


def check(got, expected, what):
    if got != expected:
        sys.exit(f"{what}: expected {expected}, got {got}")


def compare_text(fixture, rows):
    """Compares greedy tokens. After a token that may differ, the reference's text goes on."""
    artifact = fixture.artifact("suffix", *rows.flags)
    texts = [(ids, e["tokens"], e["margins"])
             for ids, e in zip(fixture.ids["prompts"], fixture.expected["prompts"])]
    differ, widest, compared = 0, 0, sum(len(tokens) for _, tokens, _ in texts)
    while texts:
        count = max(len(tokens) for _, tokens, _ in texts)
        done = fixture.run(artifact, [ids for ids, _, _ in texts], count, "--temperature", 0)
        left = []
        for (ids, tokens, margins), sequence in zip(texts, done["sequences"]):
            got = sequence["output_ids"]
            at = next((i for i, t in enumerate(tokens) if got[i] != t), None)
            if at is None:
                continue
            if margins[at] > rows.margin:
                sys.exit(f"after {ids + tokens[:at]}: expected {tokens[at]}, got {got[at]}, and a "
                         f"margin of {margins[at]}")
            differ, widest = differ + 1, max(widest, margins[at])
            if at + 1 < len(tokens):
                left.append((ids + tokens[:at + 1], tokens[at + 1:], margins[at + 1:]))
        texts = left
    print(f"text: {differ} of {compared} tokens differ, with margins up to {widest}")


def check_text(fixture):
    for rows in fixture.rows:
        compare_text(fixture, rows)


def check_perplexity(fixture):
    for rows in fixture.rows:
        artifact = fixture.artifact("suffix", *rows.flags)
        got = json.loads(fixture.call("mtp-run", artifact, "--perplexity", "--json", "-t", 1,
                                      "--prompt-file", HERE / "text.txt"))
        check(got["tokens"], fixture.expected["text_tokens"], "scored tokens")
        ratio = got["perplexity"] / fixture.expected["perplexity"]
        print(f"perplexity: {got['perplexity']:.4f}, {ratio:.5f} of the reference's")
        if abs(ratio - 1) > rows.share:
            sys.exit(f"expected a ratio of 1 to within {rows.share}")


def check_ids(fixture, server):
    bad = 0
    for i, text in enumerate(lines.lines()):
        answer = server.ask("POST", "/tokenize", {"prompt": text, "add_special_tokens": False})
        ids = answer[2]["tokens"]
        if id_data.digest(ids) != fixture.ids["digests"][i]:
            bad += 1
            if i % id_data.STEP == 0:
                print(f"{text!r}: expected {fixture.ids['ids'][i // id_data.STEP]}, got {ids}")
    check(bad, 0, "texts with other ids than llama.cpp's")


def check_answers(fixture, server, path, ids, **body):
    """Compares an answer, a stream, and a stream with a stop string with mtp-run's text of ids."""
    alone = fixture.run(fixture.artifact("suffix"), [ids], 32, "--temperature", 0, "-k", 0)
    text = alone["sequences"][0]["text"]
    body |= {"max_tokens": 32, "temperature": 0, "ignore_eos": True}
    answer = server.complete(path, **body)
    choice = answer["choices"][0]
    got = choice["text"] if "text" in choice else choice["message"]["content"]
    check((got, answer["usage"]["prompt_tokens"]), (text, len(ids)), f"an answer to {body}")
    check(serving.texts(server.stream(path, **body)), ([text], ["length"]), "a stream")
    stop = text[len(text) // 2:len(text) // 2 + 5]
    got = serving.texts(server.stream(path, stop=[stop], **body))
    check(got, ([text[:text.find(stop)]], ["stop"]), f"a stream that ends before {stop!r}")


def check_chat(fixture, server):
    """Checks conversations, whose ids Jinja and llama.cpp gave, or their refusal."""
    chats = [[{"role": "user", "content": p["chat"]}] for p in fixture.prompts if "chat" in p][:2]
    chats.append(json.loads((HERE / "conversation.json").read_text()))
    ids = fixture.ids["prompts"][:2] + [fixture.ids["conversation"]]
    for messages, of_messages in zip(chats, ids):
        if fixture.ids["conversation"]:
            check_answers(fixture, server, "/v1/chat/completions", of_messages, messages=messages)
        else:
            check(server.refuse("/v1/chat/completions", messages=messages)[0], 400, "a chat")


def check_ends(fixture, server):
    """Checks that an answer ends at the token that ends a turn of the conversation."""
    end = fixture.ids["conversation"][-6] if fixture.ids["conversation"] else None
    found = 0
    for ids, expected in zip(fixture.ids["prompts"], fixture.expected["prompts"]):
        if end not in expected["tokens"]:
            continue
        whole = fixture.run(fixture.artifact("suffix"), [ids], 32, "--temperature", 0)
        if end in whole["sequences"][0]["output_ids"]:
            count = whole["sequences"][0]["output_ids"].index(end)
            text = fixture.run(fixture.artifact("suffix"), [ids], count, "--temperature", 0)
            choice = server.complete(prompt=ids, max_tokens=32, temperature=0)["choices"][0]
            check((choice["text"], choice["finish_reason"]),
                  (text["sequences"][0]["text"], "stop"), f"an answer that ends after {count}")
            found += 1
    print(f"server: {found} answers end by themselves")


def check_client(fixture, server):
    """Compares answers of the openai package's client with mtp-run's text of ids: a chat, a stream
    and a stop string."""
    if not packages.find("openai"):
        print("client: skipped, because Python has no openai; tools/setup --packages installs it")
        if os.environ.get("MTP_REQUIRE_PACKAGES"):
            sys.exit("client: expected the openai package (MTP_REQUIRE_PACKAGES)")
        return
    import openai
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        body = {"model": client.models.list().data[0].id, "max_tokens": 32, "temperature": 0,
                "extra_body": {"ignore_eos": True}}
        messages = json.loads((HERE / "conversation.json").read_text())
        ids, create = fixture.ids["conversation"], client.chat.completions.create
        if not ids:
            ids, create = fixture.ids["prompts"][-2], client.completions.create
        body |= {"messages": messages} if fixture.ids["conversation"] else {"prompt": ids}
        alone = fixture.run(fixture.artifact("suffix"), [ids], 32, "--temperature", 0, "-k", 0)
        text = alone["sequences"][0]["text"]
        stop = text[len(text) // 2:len(text) // 2 + 5]
        for wanted, end, more in ((text, "length", {}),
                                  (text[:text.find(stop)], "stop", {"stop": [stop]})):
            choice = create(**body, **more).choices[0]
            got = choice.message.content if hasattr(choice, "message") else choice.text
            check((got, choice.finish_reason), (wanted, end), f"the client's answer, {more}")
            got, ends = "", []
            for part in create(stream=True, **body, **more):
                for choice in part.choices:
                    got += (choice.delta.content or "") if hasattr(choice, "delta") else choice.text
                    ends += [choice.finish_reason] * bool(choice.finish_reason)
            check((got, ends), (wanted, [end]), f"the client's stream, {more}")
    print(f"client: answers, streams and stop strings of openai {openai.__version__}")


def check_server(fixture):
    with serving.Server(str(fixture.artifact("suffix"))) as server:
        check_ids(fixture, server)
        ids = fixture.ids["prompts"][-2]
        check_answers(fixture, server, "/v1/completions", ids, prompt=ids)
        check_chat(fixture, server)
        check_ends(fixture, server)
        check_client(fixture, server)
    inputs = SOURCE / "test/Tools/Inputs/serve"
    done = subprocess.run([sys.executable, "-B", inputs / "openai_recorded.py",
                           fixture.artifact("suffix"), inputs / "openai_requests.json"],
                          cwd=fixture.out, capture_output=True, text=True, check=False)
    check((done.returncode, done.stderr), (0, ""), "requests of the openai package")


def pairwise(*factors):
    """Returns rows of a value per factor, so that any two values of two factors meet in a row."""
    left = {(i, a, j, b) for (i, x), (j, y) in itertools.combinations(enumerate(factors), 2)
            for a in x for b in y}
    rows = []
    while left:
        def found(row):
            return {(i, a, j, b) for (i, a), (j, b) in itertools.combinations(enumerate(row), 2)}
        best = max(itertools.product(*factors), key=lambda row: len(found(row) & left))
        left -= found(best)
        rows.append(best)
    return rows


SAMPLING = {"greedy": {"temperature": 0},
            "sampled": {"temperature": 0.9, "top_p": 0.95, "seed": 5}}
# Whether sequences lose their slots for want of pages (tight), and by requests (paused).
INTERRUPTED = {"never": (False, False), "preempted": (True, False), "paused": (False, True),
               "both": (True, True)}


def generate(fixture, drafter, prompts, count, sampling, is_paused=False, **options):
    """Returns the output of each prompt, the session's counts, and how often sequences with an
    output were paused. Every second step pauses a sequence and resumes the one paused before."""
    library = fixture.tools.parent / "runtime/api/libmtp_runtime.so"
    session = product.Session(str(fixture.artifact(drafter)), library=str(library), **options)
    numbers = [session.add(prompt, count, ignore_eos=True, **SAMPLING[sampling])
               for prompt in prompts]
    pauses = steps = 0
    paused = None
    while session.step() or paused:
        steps += 1
        if not is_paused or steps % 2:
            continue
        if paused:
            session.resume(paused)
        paused = numbers[steps // 2 % len(numbers)]
        if len(session.output[paused]) in (0, count):
            paused = None
            continue
        session.pause(paused)
        pauses += 1
    outputs = session.run()
    counts = session.statistics()
    session.close()
    return [outputs[number] for number in numbers], counts, pauses


def check_lossless(fixture):
    """Compares tokens at any k, drafter, batch and interruption with plain decoding alone."""
    prompts = sorted(fixture.ids["prompts"], key=len)[:5]
    count, totals, accepted = 40, collections.Counter(), collections.Counter()
    plain = {sampling: generate(fixture, "suffix", prompts, count, sampling, k=0, slots=1,
                                prefix_cache=0)[0] for sampling in SAMPLING}
    # Pages for the longest sequence with drafts, and two more.
    tight = -(-(len(prompts[-1]) + count + 16) // 16) + 2
    factors = [list(fixture.drafters), list(SAMPLING), range(1, DRAFTS + 1), range(1, SLOTS + 1),
               list(INTERRUPTED)]
    rows = list(itertools.product(*factors)) if fixture.is_long else pairwise(*factors)
    for drafter, sampling, k, slots, interrupted in rows:
        is_tight, is_paused = INTERRUPTED[interrupted]
        outputs, counts, pauses = generate(fixture, drafter, prompts, count, sampling, is_paused,
                                           k=k, slots=slots, kv_pages=tight if is_tight else 0)
        check(outputs, plain[sampling],
              f"{drafter}, {sampling}, k = {k}, {slots} slots, {interrupted}")
        totals.update({"preemptions": counts.preemptions, "pauses": pauses})
        accepted[drafter] += counts.round_tokens - counts.slot_rounds
    for name in ("preemptions", "pauses"):
        check(totals[name] > 0, True, f"{totals[name]} {name}")
    check(sorted(name for name, number in accepted.items() if number),
          sorted(fixture.drafters), "drafters with accepted drafts")
    print(f"lossless: {len(rows)} runs, {totals['preemptions']} preemptions, {totals['pauses']} "
          f"pauses, accepted drafts: {dict(accepted)}")


def check_simulator(fixture):
    """Compares a few rounds of the first layers on the simulated GPU with plain decoding there."""
    if "MTP_CUDA_DRIVER" not in os.environ:
        print("simulator: skipped, because it was not built")
        return
    layers = 0 if fixture.is_long else 2
    gguf = fixture.gguf
    if layers:
        gguf = fixture.out / "cut.gguf"
        cut_layers.cut(fixture.gguf, gguf, layers)
    artifact = fixture.artifact("suffix", "--target=cpu,gpu-sim", gguf=gguf)
    prompts = sorted(fixture.ids["prompts"], key=len)[:1]

    def tokens(device, k):
        done = fixture.run(artifact, prompts, 4, "-k", k, "--device", device, "--temperature", 0)
        return [s["output_ids"] for s in done["sequences"]]
    plain = tokens("cuda", 0)
    check(tokens("cuda", 3), plain, "tokens with drafts")
    check(tokens("cpu", 0), plain, "tokens on the CPU")


def check_structured(fixture):
    """Answers match their schemas, and an agent gets valid calls only."""
    artifact = fixture.artifact("suffix")
    ended, count = structured.run(artifact, 40 if fixture.is_long else 8)
    # A small model may write digits or a string up to its limit of tokens.
    check(ended >= count * 3 // 4, True, f"most of {count} answers end, got {ended}")
    agent = SOURCE / "test/Tools/Inputs/serve/agent.py"
    turns = 200 if fixture.is_long else 10
    done = subprocess.run([sys.executable, "-B", agent, artifact, str(turns)], cwd=fixture.out,
                          capture_output=True, text=True, check=False)
    check((done.returncode, done.stderr), (0, ""), "an agent")
    print(f"structured: {ended} of {count} answers ended; {done.stdout.strip()}")


PARTS = {"text": check_text, "perplexity": check_perplexity, "server": check_server,
         "structured": check_structured,
         "lossless": check_lossless, "simulator": check_simulator}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--drafter", type=pathlib.Path)
    args = parser.parse_intermixed_args()
    fetch = SOURCE / "models/published/fetch.py"
    found = subprocess.run([sys.executable, "-B", fetch, "--path", args.name], capture_output=True,
                           text=True, check=False)
    if found.returncode:
        print(f"skipped: the model {args.name} is missing; tools/setup --models fetches it")
        return 1 if os.environ.get("MTP_REQUIRE_MODELS") else SKIPPED
    fixture = Fixture(args, pathlib.Path(found.stdout.strip()))
    fixture.clear()
    for part in args.parts or PARTS:
        begin = time.monotonic()
        PARTS[part](fixture)
        print(f"{part}: {time.monotonic() - begin:.1f} s", flush=True)
    fixture.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
