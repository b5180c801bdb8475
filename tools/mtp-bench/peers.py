#!/usr/bin/env python3
"""Compares an artifact with llama.cpp and ik_llama.cpp on one GGUF file.

usage: peers.py GGUF ARTIFACT --mtp BIN [--llama BIN] [--ik BIN] [--runs N]
                [--threads N] [--start FLAGS] [--log FILE]

BIN is the folder of a build's programs. ARTIFACT comes from GGUF, by
mtp-import --max-batch 4 or more and mtpc. Each run executes all programs in
turn, another one first each time. The table has medians over runs:

  decode    a step of one row, from an empty context (mtp-bench: 64 tokens)
  4 rows    a step of four sequences with one row each (llama-batched-bench)
  prompt    a prompt of 512 tokens (llama-bench)
  start     from the start of a process to the first byte of its text, with
            all files in the page cache and mtp-run's artifact in its cache

and the time of the faster peer over MTP's. "llama -nr" and "ik -rtr" are the
peers without and with repacked weights; a peer counts with its faster form.
--log FILE keeps the figures of each run. The table includes the runs that FILE
already has, so runs may be spread over several calls.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

MEASURES = ["decode", "4 rows", "prompt", "start"]
PROMPT = "The sea was calm and the"


def run(command):
    """The output and the error output of a command. A failing command ends this program."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"peers.py: error: cannot run '{command[0]}': {error.strerror}")
    if done.returncode:
        sys.exit(f"peers.py: error: {' '.join(command)}: exit status {done.returncode}: "
                 f"{done.stderr.strip()[-500:]}")
    return done.stdout, done.stderr


def first_byte(command):
    """Seconds from the start of a process to the first byte of its output. A run that is not
    counted brings its files into the page cache."""
    run(command)
    begin = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        process.stdout.read(1)
        seconds = time.perf_counter() - begin
        process.stdout.read()
    if process.returncode:
        sys.exit(f"peers.py: error: {' '.join(command)}: exit status {process.returncode}")
    return seconds


def measure_mtp(args):
    """The measures of the artifact."""
    threads = str(args.threads)
    report = json.loads(run(
        [f"{args.mtp}/mtp-bench", args.artifact, "--json", "--no-progress", "--pin", "-t", threads,
         "--measure", "decode,prefill", "--context", "64", "-b", "1,4",
         "--prefill", "512", "--turns", "1", "--rounds", "32"])[0])
    steps = {point["rows"]: point["target_seconds"] for point in report["points"]}
    prompt = next(p["seconds"] for p in report["prefill"] if not p["drafter"])
    start = first_byte([f"{args.mtp}/mtp-run", args.gguf, *args.start.split(), "-t", threads,
                        "-p", PROMPT, "-n", "4", "--ignore-eos"])
    return {"decode": steps[1], "4 rows": steps[4], "prompt": prompt, "start": start}


def measure_peer(folder, program, repack, args):
    """The measures of one form of a peer. `repack` are flags of llama-bench and of others."""
    threads = ["-t", str(args.threads)]
    bench = json.loads(run([f"{folder}/llama-bench", "-m", args.gguf, *threads, *repack[0],
                               "-p", "512", "-n", "32", "-r", "1", "-o", "json"])[0])
    rate = {bool(test["n_gen"]): test["avg_ts"] for test in bench}
    text = "".join(run([f"{folder}/llama-batched-bench", "-m", args.gguf, *threads, *repack[1],
                        "-c", "1024", "-npp", "16", "-ntg", "16", "-npl", "4"]))
    row = re.search(r"\|\s*16 \|\s*16 \|\s*4 \|.*", text)
    if not row:
        sys.exit(f"peers.py: error: expected a row of 4 sequences of {folder}/llama-batched-bench, "
                 f"got: {text[-500:]}")
    row = row.group().split("|")
    start = first_byte([f"{folder}/{program}", "-m", args.gguf, *threads, *repack[1], "-c", "1024",
                        "--no-warmup", "-n", "4", "-p", PROMPT, *args.peer_flags[program]])
    return {"decode": 1 / rate[True], "4 rows": float(row[7]) / 16,
            "prompt": 512 / rate[False], "start": start}


def programs(args):
    """The function that measures each program, by name."""
    found = {"mtp": lambda: measure_mtp(args)}
    if args.llama:
        for name, flags in (("llama", ([], [])), ("llama -nr", (["--repack", "0"], ["-nr"]))):
            found[name] = lambda flags=flags: measure_peer(
                args.llama, "llama-completion", flags, args)
    if args.ik:
        for name, flags in (("ik", ([], [])), ("ik -rtr", (["-rtr", "1"], ["-rtr"]))):
            found[name] = lambda flags=flags: measure_peer(args.ik, "llama-cli", flags, args)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("gguf")
    parser.add_argument("artifact")
    parser.add_argument("--mtp", required=True)
    parser.add_argument("--llama")
    parser.add_argument("--ik")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--start", default="--max-context 1024")
    parser.add_argument("--log")
    args = parser.parse_args()
    args.peer_flags = {"llama-completion": ["-no-cnv", "--no-display-prompt"],
                       "llama-cli": ["--no-display-prompt"]}
    measured = programs(args)
    seconds = {name: [] for name in measured}
    if args.log and os.path.exists(args.log):
        with open(args.log) as log:
            for name, found in map(json.loads, log):
                seconds[name].append(found)
    for _ in range(args.runs):
        names = list(measured)
        first = len(seconds["mtp"]) % len(names)
        for name in names[first:] + names[:first]:
            seconds[name].append(measured[name]())
            if args.log:
                with open(args.log, "a") as log:
                    print(json.dumps([name, seconds[name][-1]]), file=log)
    print_table(args, seconds)


def print_table(args, seconds):
    """Prints the medians of all runs, and the ratios."""
    runs = len(seconds["mtp"])
    print(f"{os.path.basename(args.gguf)}, {runs} runs, {args.threads} threads, milliseconds")
    print("| |" + "".join(f" {measure} |" for measure in MEASURES))
    middle = {name: {measure: statistics.median(run[measure] for run in runs)
                     for measure in MEASURES} for name, runs in seconds.items()}
    for name, found in middle.items():
        print(f"| {name} |" + "".join(f" {1e3 * found[measure]:.1f} |" for measure in MEASURES))
    peers = [found for name, found in middle.items() if name != "mtp"]
    if peers:
        print("| faster peer over mtp |" + "".join(
            f" {min(peer[measure] for peer in peers) / middle['mtp'][measure]:.2f} |"
            for measure in MEASURES))


if __name__ == "__main__":
    main()
