#!/usr/bin/env python3
"""Checks that tokens are those of k = 0: same_as_plain.py ARTIFACT K [FLAG...]

Runs each k up to K, batches of 1 to 4, greedy and sampled, and with few enough pages that sequences
are preempted. FLAGs go to mtp-run. Prints the number of accepted drafts.
"""

import itertools
import json
import subprocess
import sys

PROMPTS = [[5, 9, 2, 5, 9], [1], list(range(30, 51)), [7, 7, 7, 3] * 5]
LENGTH = 40


def run(artifact, batch, k, temperature, *flags):
    threads = "2" if "--kv-pages" in flags else "1"
    command = ["mtp-run", artifact, "--json", "-k", str(k), "-n", str(LENGTH), "--seed", "11",
               "--threads", threads, "--ignore-eos", "--temperature", str(temperature), *flags]
    for prompt in PROMPTS[:batch]:
        command += ["--ids", ",".join(map(str, prompt))]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def ids(result):
    return [sequence["output_ids"] for sequence in result["sequences"]]


def main():
    artifact, most, flags = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    kept = 0
    for temperature, batch in itertools.product((0, 1), (1, 2, 3, 4)):
        plain = ids(run(artifact, batch, 0, temperature, *flags))
        for k in range(1, most + 1):
            got = run(artifact, batch, k, temperature, *flags)
            assert ids(got) == plain, (temperature, batch, k)
            kept += sum(got["accepted"])
        if batch == 4:
            tight = run(artifact, batch, most, temperature, "--kv-pages", "14", *flags)
            assert ids(tight) == plain and tight["preemptions"] > 0, tight
    assert kept > 0
    print(f"same as plain, {kept} drafts kept")


if __name__ == "__main__":
    main()
