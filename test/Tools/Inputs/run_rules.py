#!/usr/bin/env python3
"""Checks texts of mtp-run with bad words and the penalty of a model. Standard library only.

  run_rules.py MODEL.bin FRESH.bin

FRESH is MODEL with a repetition penalty of 1.5 in its generation_config.json.
"""

import json
import subprocess
import sys

PROMPTS = ["Once upon a time", "The fox", "One day, a girl named Lily"]


def run(artifact, *flags):
    """Returns the texts of all prompts, which do not depend on k."""
    texts = []
    for k in "0", "2":
        command = ["mtp-run", artifact, "--json", "-n", "60", "--threads=1", "-k", k,
                   "--temperature=0", "--ignore-eos", *flags]
        for prompt in PROMPTS:
            command += ["--prompt", prompt]
        result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        texts.append([one["text"] for one in json.loads(result.stdout)["sequences"]])
    assert texts[0] == texts[1], texts
    return texts[0]


def main():
    model, fresh = sys.argv[1:]
    plain = run(model)
    others = run(model, "--bad-word=.")
    assert any(". " in text for text in plain), plain
    assert not any(". " in text for text in others), others
    assert run(model, "--repetition-penalty=1.5") == run(fresh) != plain
    assert run(fresh, "--repetition-penalty=1") == plain
    print("all texts are the same without drafts")


if __name__ == "__main__":
    main()
