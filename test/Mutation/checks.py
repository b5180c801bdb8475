"""The checks of a model: the oracle's tokens, logits and drafts, losslessness, and the
drafts of the correct wiring."""
import json, os, random, subprocess

# The correct wiring is within 1e-6 of the oracle.
TOLERANCE = 1e-5
MAX_K = 3
# Rounds for the drafts of each fixed prompt.
ROUNDS = 20
# Rows of @forward.
ROWS = 24


class Caught(Exception):
    """A check caught the mutant; the message names the check."""


def run(*command):
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        # MLIR's diagnostics continue with the source; their first line has the message.
        line = next((x for x in ran.stderr.splitlines() if "error:" in x), ran.stderr[:200])
        raise Caught(f"{os.path.basename(command[0])}: {line.split('error:', 1)[-1].strip()}")
    return ran.stdout


class Oracle:
    """Expected values of one tiny model."""

    def __init__(self, path):
        with open(path) as f:
            self.result = json.load(f)["results"][0]
        self.prompt = self.result["prompt"]
        self.tokens = self.prompt + self.result["greedy"]


def prompts(vocabulary):
    """Returns fixed prompts, many of them short: they show errors at the first positions."""
    rng = random.Random(7)
    return [[rng.randrange(1, vocabulary) for _ in range(length)]
            for length in (1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 17, 24) for _ in range(3)]


def generate(tools, artifact, k, lists, count):
    ids = [arg for tokens in lists for arg in ("--ids", ",".join(map(str, tokens)))]
    text = run(tools + "/mtp-run", artifact, *ids, "--k", str(k), "-n", str(count),
               "--ignore-eos", "--json", "--threads=1")
    return [s["output_ids"] for s in json.loads(text)["sequences"]]


def check_target(tools, artifact, oracle):
    greedy = oracle.result["greedy"]
    lines = run(tools + "/print_logits", artifact, "0", str(len(greedy)),
                *map(str, oracle.prompt)).splitlines()
    ids = [int(line.split()[0]) for line in lines]
    if len(ids) != len(greedy):
        raise Caught(f"oracle: {len(ids)} tokens, not {len(greedy)}")
    if ids != greedy:
        at = next(i for i in range(len(greedy)) if ids[i] != greedy[i])
        raise Caught(f"oracle: token {at} is {ids[at]}, not {greedy[at]}")
    expected = oracle.result["target"]["max"][len(oracle.prompt) - 1:]
    for i, (line, want) in enumerate(zip(lines, expected)):
        got = float(line.split()[1])
        if abs(got - want) > TOLERANCE * max(1, abs(want)):
            raise Caught(f"oracle: logit of token {i} is {got:.6g}, not {want:.6g}")


def check_forward(tools, artifact, oracle):
    """Checks all rows of the prompt, of target and modules, with known tokens."""
    expected = [oracle.result["target"], *oracle.result["drafts"]]
    inputs = [oracle.tokens[d:d + ROWS] for d in range(len(expected))]
    inputs += [[0] * ROWS, list(range(ROWS))]
    text = run(tools + "/mtp-run", artifact, "--threads=1", "--function=@forward",
               *(f"--input={ROWS}xi32={values}" for values in inputs))
    for d, (line, want) in enumerate(zip(text.splitlines(), expected, strict=True)):
        name = f"module {d}" if d else "target"
        try:
            rows = json.loads(line.split("=", 1)[1])
        except json.JSONDecodeError as wrong:
            # mtp-run writes nan and inf, which JSON does not have.
            raise Caught(f"oracle: a row of {name} has a value that is no number") from wrong
        for i, row in enumerate(rows):
            top = max(row)
            if abs(top - want["max"][i]) > TOLERANCE * max(1, abs(want["max"][i])):
                raise Caught(f"oracle: row {i} of {name} has logit {top:.6g}, "
                             f"not {want['max'][i]:.6g}")
            if row.index(top) != want["argmax"][i]:
                raise Caught(f"oracle: row {i} of {name} picks {row.index(top)}, "
                             f"not {want['argmax'][i]}")


def rounds_of(tools, artifact, k, lists, rounds):
    """Yields for each prompt the prefill's token and (drafts, tokens) of every round."""
    text = run(tools + "/print_rounds", artifact, str(k), str(rounds),
               *(",".join(map(str, tokens)) for tokens in lists))
    for line in text.splitlines():
        first, *rest = line.split(" | ")
        yield int(first), [tuple([int(i) for i in ids.split()] for ids in part.split(" > "))
                           for part in rest]


def check_drafts(tools, artifact, oracle):
    """Checks that the drafts of each round are the argmax of the modules' rows, as long as
    all earlier drafts were the true tokens."""
    expected = [d["argmax"] for d in oracle.result["drafts"]]
    tokens = oracle.tokens
    for k in range(1, len(expected) + 1):
        [(_, rounds)] = rounds_of(tools, artifact, k, [oracle.prompt], 14)
        anchor = len(oracle.prompt)
        for number, (drafts, emitted) in enumerate(rounds):
            if anchor + k + 2 >= len(tokens):
                break
            for d, draft in enumerate(drafts):
                if draft != expected[d][anchor - 1]:
                    raise Caught(f"oracle: draft {d + 1} of round {number} at k = {k} is {draft}, "
                                 f"not {expected[d][anchor - 1]}")
                if draft != tokens[anchor + 1 + d]:
                    break
            anchor += len(emitted)


def check_lossless(tools, artifact, vocabulary):
    lists = prompts(vocabulary)
    plain = generate(tools, artifact, 0, lists, 24)
    drafted = generate(tools, artifact, MAX_K, lists, 24)
    if plain != drafted:
        raise Caught(f"lossless: tokens at k = {MAX_K} are not those at k = 0")
    return lists


def check(tools, artifact, oracle, right=None):
    """Raises Caught, or returns the rounds of the fixed prompts."""
    check_forward(tools, artifact, oracle)
    check_target(tools, artifact, oracle)
    lists = check_lossless(tools, artifact, len(oracle.result["target"]["logits"][0]))
    check_drafts(tools, artifact, oracle)
    rounds = list(rounds_of(tools, artifact, MAX_K, lists, ROUNDS))
    if right is not None and rounds != right:
        changed = sum(a != b for a, b in zip(rounds, right))
        raise Caught(f"drafts: {changed} of {len(right)} prompts differ from the right wiring's")
    return rounds
