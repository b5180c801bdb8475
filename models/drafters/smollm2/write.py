#!/usr/bin/env python3
"""Lets the product write texts and take their states: one shard of training data.

  write.py ARTIFACT PROMPTS SHARD --seed N [--questions N] [--answers N]

ARTIFACT is of states.py. --questions prompts are the model's own: what it writes as the user at
temperature 0.9. --answers prompts get an answer each: these questions, training prompts of PROMPTS
(--published), and composed prompts. SHARD.npz has tokens (uint16), the length of each text and
of its prompt, and temperatures; SHARD.bin the states, float16 [tokens, taps, width].
"""

import argparse
import random
import time

import numpy as np
import prompts
from product import Session

ROWS = 128  # of @states
END = 2
TEMPERATURES = (0.0, 0.0, 0.0, 0.7, 0.7, 0.7, 1.0)


def questions(session, count, seed):
    """Returns texts that the model writes in the user's place."""
    rng, openers = random.Random(seed), prompts.listed(prompts.OPENERS)
    opener = {}
    for i in range(count):
        first = rng.choice(openers) if rng.random() < 0.75 else ""
        ids = session.encode(prompts.start() + first)
        opener[session.add(ids, 120, 0.9, 0.95, seed * 1000003 + i)] = first
    texts = [
        (opener[i] + session.decode(o)).strip()
        for i, o in session.run().items()
        if 5 <= len(o) < 120
    ]
    return [t for t in texts if "\n\n\n" not in t]


def asked_of(session, a, rng):
    """Returns prompts, in random order."""
    train, held = prompts.published(a.prompts)
    if a.held:
        out = [t for category, t in held if category in prompts.CHAT]
    else:
        out = [t for _, t in train] if a.published else []
        out += questions(session, a.questions, a.seed)
        out += [prompts.composed(rng) for _ in range(max(0, a.answers - len(out)))]
    rng.shuffle(out)
    return out


def texts(session, a):
    """Returns (ids, length of the prompt, temperature) of each written text."""
    rng, queued = random.Random(a.seed), {}
    asked = asked_of(session, a, rng)
    for text in asked[: a.answers]:
        ids = session.encode(prompts.chat(text))
        if len(ids) > 600:
            continue
        t = 0.0 if a.held else rng.choice(TEMPERATURES)
        queued[session.add(ids, a.tokens, t, 1.0, rng.getrandbits(40))] = (ids, t)
    out = session.run()
    return [(p + out[i], len(p), t) for i, (p, t) in queued.items()]


def states(session, found, write, slots):
    """Writes the states of all texts in order. A call has rows of several texts, each in a slot
    of its own."""
    rows = [(x, i % slots, p) for i, (ids, _, _) in enumerate(found) for p, x in enumerate(ids)]
    for s in range(0, len(rows), ROWS):
        part = rows[s : s + ROWS]
        full = part + [(0, 0, -1)] * (ROWS - len(part))
        taps = session.call("states", *np.array(full, np.int32).T)
        x = np.stack(taps, 1)[: len(part)]
        write(np.clip(x, -65504, 65504).astype(np.float16).tobytes())


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("artifact", "prompts", "shard"):
        ap.add_argument(name)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--questions", type=int, default=500)
    ap.add_argument("--answers", type=int, default=700)
    ap.add_argument("--published", action="store_true", help="use PROMPTS's training prompts too")
    ap.add_argument("--held", action="store_true", help="greedy answers to held-out chat prompts")
    ap.add_argument("--tokens", type=int, default=300, help="most tokens of an answer")
    ap.add_argument("--slots", type=int, default=48)
    ap.add_argument("--threads", type=int, default=1)
    a = ap.parse_args()
    t0 = time.time()
    session = Session(a.artifact, a.threads)
    found = texts(session, a)
    session.close()
    count = sum(len(ids) for ids, _, _ in found)
    written = count - sum(p for _, p, _ in found)
    t1 = time.time()
    print(f"{len(found)} texts, {count} tokens, {written} written, {t1 - t0:.0f} s", flush=True)
    session = Session(a.artifact, a.threads)
    with open(a.shard + ".bin", "wb") as f:
        states(session, found, f.write, a.slots)
    session.close()
    print(f"states: {count / (time.time() - t1):.0f} tokens/s", flush=True)
    np.savez(
        a.shard + ".npz",
        tokens=np.concatenate([ids for ids, _, _ in found]).astype(np.uint16),
        lengths=np.array([len(ids) for ids, _, _ in found], np.int32),
        prompts=np.array([p for _, p, _ in found], np.int32),
        temperatures=np.array([t for _, _, t in found], np.float32),
    )


if __name__ == "__main__":
    main()
