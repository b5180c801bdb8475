"""Tests ids that a model has and its tokenizer lacks.

  padded_vocabulary.py shorten FOLDER      Removes tokens from a tokenizer.json: the last ones,
                                           like padding, and one in the middle.
  padded_vocabulary.py check ARTIFACT      None of them is generated or drafted, at any k.
  padded_vocabulary.py few ARTIFACT FLAG.. Likewise in a few runs, with flags of mtp-run.
  padded_vocabulary.py without ARTIFACT    Some are, with an artifact without a tokenizer.
"""
import json, pathlib, subprocess, sys

# From a vocabulary of 112.
MISSING = {40, *range(97, 112)}
DRAFTS = 3


def shorten(folder):
    path = pathlib.Path(folder, "tokenizer.json")
    tokenizer = json.loads(path.read_text())
    model = tokenizer["model"]
    model["vocab"] = {piece: i for piece, i in model["vocab"].items() if i not in MISSING}
    model["merges"] = []
    path.write_text(json.dumps(tokenizer))


def generate(artifact, k, temperature, seed, flags=()):
    """Returns the generated ids and the drafted ids."""
    seen = ["--draft-rounds"] if k else []
    done = subprocess.run(
        ["mtp-run", artifact, "--ids=1,2,3", "--ids=50,9", "-n", "40", "--ignore-eos", "--json",
         "--threads=1", "-k", str(k), "--temperature", str(temperature), "--seed", str(seed), *seen,
         *flags],
        capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"k = {k}, temperature {temperature}: {done.stderr}")
    sequences = json.loads(done.stdout)["sequences"]
    drafts = [token for s in sequences for r in s.get("draft_rounds", []) for token in r["drafts"]]
    return [s["output_ids"] for s in sequences], {token for token in drafts if token >= 0}


def check(artifact):
    check_runs(artifact, (0, 1, 5), (1, 2), (1, DRAFTS), ())


def few(artifact, *flags):
    check_runs(artifact, (0, 5), (1,), (DRAFTS,), flags)


def check_runs(artifact, temperatures, seeds, ks, flags):
    drafted = set()
    for temperature in temperatures:
        for seed in seeds:
            plain, _ = generate(artifact, 0, temperature, seed, flags)
            ids = {token for sequence in plain for token in sequence}
            if ids & MISSING:
                sys.exit(f"{artifact}: expected ids with tokens, got {sorted(ids & MISSING)}")
            for k in ks:
                tokens, drafts = generate(artifact, k, temperature, seed, flags)
                drafted |= drafts
                if tokens != plain:
                    sys.exit(f"{artifact}: expected of k = {k} {plain}, got {tokens}")
    if drafted & MISSING:
        sys.exit(f"{artifact}: expected drafts with tokens, got {sorted(drafted & MISSING)}")
    print(f"{artifact}: all have tokens, of {len(drafted)} drafts too")


def without(artifact):
    plain, _ = generate(artifact, 0, 5, 1)
    _, drafts = generate(artifact, DRAFTS, 5, 1)
    print(f"generated {bool(set(plain[0] + plain[1]) & MISSING)}, drafted {bool(drafts & MISSING)}")


{"shorten": shorten, "check": check, "few": few, "without": without}[sys.argv[1]](*sys.argv[2:])
