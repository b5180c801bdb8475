#!/usr/bin/env python3
"""Writes the training data of all drafters: tokens and the target's states, once.

  python3 prepare.py CORPUS.txt.xz WORK [--text 1024] [--own 1024] [--prompts 24]

WORK/tokens.npy [rows, 256] uint16: --text rows of the training books, then --own rows. The first 48
tokens of an own row are from the books; the target wrote the others, half of the rows greedily,
half at temperature 0.8. WORK/states.bin float16 [rows, 256, taps + 1, hidden]: the streams that
enter layers TAPS, then the state after the final norm. WORK/prompts.json: prompts of 48 tokens from
inside the held-out books, and the target's greedy continuation of each by 112 tokens.
"""

import argparse, importlib.util, json, os, random, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import torch
from target import BUNDLED, Target

_spec = importlib.util.spec_from_file_location(
    "bundled_prepare", os.path.join(BUNDLED, "prepare.py")
)
_bundled = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_bundled)  # has the same name as this file

TAPS = (2, 5, 8, 10)
ROW, PROMPT, CONTINUED = 256, 48, 112


def encode_books(corpus, rows, rng):
    """Returns `rows` rows of the training books, and the held-out books' text."""
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(os.path.join(BUNDLED, "hf", "tokenizer.json"))
    books = _bundled.read_books(corpus)
    held = _bundled.held_out(books)
    train = [i for i in range(len(books)) if i not in set(held)]
    out = []
    while len(out) < rows:
        text = books[rng.choice(train)]
        start = rng.randrange(max(1, len(text) - 8 * ROW))
        ids = tok.encode(text[start : start + 8 * ROW]).ids[
            1 : ROW + 1
        ]  # the first token may be cut
        if len(ids) == ROW:
            out.append(ids)
    return tok, out, [books[i] for i in held]


def held_out_prompts(tok, books, count):
    rng, prompts = random.Random(5), []
    for i in range(count):
        text = books[i % len(books)]
        s = rng.randrange(len(text) // 5, len(text) - 4000)
        s = text.index(". ", s) + 2
        prompts.append(tok.encode(text[s : s + 600]).ids[:PROMPT])
    return prompts


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("corpus")
    ap.add_argument("work")
    ap.add_argument("--text", type=int, default=1024)
    ap.add_argument("--own", type=int, default=1024)
    ap.add_argument("--prompts", type=int, default=24)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--threads", type=int, default=1)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    os.makedirs(a.work, exist_ok=True)
    t0 = time.time()
    say = lambda *x: print(round(time.time() - t0), *x, flush=True)
    tok, rows, held = encode_books(a.corpus, a.text + a.own, random.Random(11))
    say("rows of the books", len(rows))
    target = Target()
    prompts = held_out_prompts(tok, held, a.prompts)
    ids = target.extend(torch.tensor(prompts), CONTINUED, torch.zeros(len(prompts)))
    with open(os.path.join(a.work, "prompts.json"), "w") as f:
        json.dump({"prompt": PROMPT, "ids": ids.tolist()}, f)
    say("held-out prompts", len(prompts))
    tokens = np.array(rows, dtype=np.uint16)
    gen = torch.Generator().manual_seed(3)
    for s in range(a.text, len(rows), a.batch):
        p = torch.from_numpy(tokens[s : s + a.batch, :PROMPT].astype(np.int64))
        t = torch.where(torch.arange(len(p)) % 2 == 0, 0.0, 0.8)
        tokens[s : s + a.batch] = target.extend(p, ROW - PROMPT, t, gen).numpy()
        say("written by the target", s + len(p) - a.text)
    np.save(os.path.join(a.work, "tokens.npy"), tokens)
    H = target.c["hidden_size"]
    states = np.memmap(
        os.path.join(a.work, "states.bin"),
        np.float16,
        "w+",
        shape=(len(rows), ROW, len(TAPS) + 1, H),
    )
    for s in range(0, len(rows), 16):
        taps, f = target.states(torch.from_numpy(tokens[s : s + 16].astype(np.int64)), TAPS)
        x = torch.stack([*taps, f], 2).clamp(-65504, 65504)
        states[s : s + 16] = x.half().numpy()
        if s % 128 == 0:
            say("states", s)
    states.flush()
    say("done; largest state", float(np.abs(states[:64].astype(np.float32)).max()))


if __name__ == "__main__":
    main()
