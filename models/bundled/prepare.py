#!/usr/bin/env python3
"""Cleans the corpus, splits it by book, trains the tokenizer, writes uint16 token files.

  python3 prepare.py CORPUS.txt.xz WORK_DIR [--tokenizer-dir hf]

Writes WORK_DIR/train.bin, heldout.bin (uint16, books separated by <|endoftext|>), heldout.json (the
held-out books with their cleaned text), tokenizer.json and token_counts.txt (the count of each
token in train.bin, for mtpc --draft-vocab).
"""
import argparse, json, lzma, os, random, re
from concurrent.futures import ThreadPoolExecutor

EOT = "<|endoftext|>"
QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"',
                        "\u2013": "-", "\u2014": "--", "\u2015": "--", "\u2026": "...",
                        "\ufeff": "", "\xa0": " ", "\r": "", "\t": " ", "_": ""})
CREDIT = re.compile(r"produced by|transcribed|e-text|etext|pgdp|proofread|project gutenberg|"
                    r"internet archive|this file was|scanned|digitized|http://|https://|"
                    r"transcriber|illustration|copyright|printed in|\.jpg|all rights", re.I)


def clean(book):
    """Converts hard-wrapped Gutenberg text to one line per paragraph. ASCII quotes, no credits."""
    out = []
    for para in re.split(r"\n[ ]*\n+", book.translate(QUOTES)):
        lines = [re.sub(r"  +", " ", l.strip()) for l in para.split("\n")]
        lines = [l for l in lines if l]
        if not lines:
            continue
        text = "\n".join(lines)
        if re.fullmatch(r"[\W\d]*", text) or text.startswith("["):
            continue
        if CREDIT.search(text) and len(text) < 1500:
            continue
        # In prose all lines except the last are long, so it is unwrapped. Verse and lists keep
        # their lines.
        if len(lines) > 1 and sum(len(l) for l in lines[:-1]) / (len(lines) - 1) > 48:
            text = " ".join(lines)
        out.append(text)
    return "\n\n".join(out)


def fingerprint(text):
    return {l.strip().lower() for l in re.split(r"[.!?]", text) if len(l.strip()) > 60}


def read_books(corpus):
    """Returns the cleaned books of a corpus."""
    opener = lzma.open if corpus.endswith(".xz") else open
    with opener(corpus, "rt", encoding="utf8", newline="\n") as f:
        return [clean(b) for b in f.read().split(EOT) if b.strip()]


def held_out(cleaned):
    """Returns the indices of the held-out books: about every 45th, without books whose sentences
    also occur elsewhere."""
    prints = [fingerprint(c) for c in cleaned]
    count = {}
    for p in prints:
        for s in p:
            count[s] = count.get(s, 0) + 1
    held, i = [], 17
    while i < len(cleaned):
        shared = sum(count[s] > 1 for s in prints[i]) / max(1, len(prints[i]))
        if shared < 0.01 and 60_000 < len(cleaned[i]) < 500_000:
            held.append(i)
            i += 45
        else:
            i += 1
    return held


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("corpus")
    ap.add_argument("work")
    ap.add_argument("--vocab", type=int, default=4096)
    a = ap.parse_args()
    os.makedirs(a.work, exist_ok=True)
    import numpy as np
    from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
    cleaned = read_books(a.corpus)
    held = held_out(cleaned)
    train = [i for i in range(len(cleaned)) if i not in set(held)]
    print("books", len(cleaned), "held out", held, "train chars", sum(len(cleaned[i]) for i in train))
    rnd = random.Random(1)
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tok.decoder = decoders.ByteLevel()
    special = [EOT, "<|pad|>"]
    trainer = trainers.BpeTrainer(vocab_size=a.vocab, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    sample = []
    for i in train:
        for _ in range(4):
            s = rnd.randrange(max(1, len(cleaned[i]) - 10_000))
            sample.append(cleaned[i][s:s + 10_000])
    tok.train_from_iterator(sample, trainer)
    tok.save(os.path.join(a.work, "tokenizer.json"))
    print("tokenizer", tok.get_vocab_size(), "entries, sample chars", sum(map(len, sample)))
    eot = tok.token_to_id(EOT)

    def encode(i):
        # Encodes groups of paragraphs. The GPT-2 regex never joins letters across these cuts.
        ids = [eot]
        for e in tok.encode_batch([cleaned[i]]):
            ids += e.ids
        return np.array(ids, dtype=np.uint16)

    with ThreadPoolExecutor(2) as ex:
        enc = list(ex.map(encode, range(len(cleaned))))
    np.concatenate([enc[i] for i in train]).tofile(os.path.join(a.work, "train.bin"))
    np.concatenate([enc[i] for i in held]).tofile(os.path.join(a.work, "heldout.bin"))
    counts = sum(np.bincount(enc[i], minlength=a.vocab) for i in train)
    with open(os.path.join(a.work, "token_counts.txt"), "w") as f:
        f.writelines(f"{token} {count}\n" for token, count in enumerate(counts))
    info = [{"book": i, "head": " ".join(cleaned[i][:160].split()), "chars": len(cleaned[i]),
             "bytes": len(cleaned[i].encode()), "tokens": int(len(enc[i])), "text": cleaned[i]} for i in held]
    with open(os.path.join(a.work, "heldout.json"), "w") as f:
        json.dump(info, f)
    print("train tokens", sum(len(enc[i]) for i in train), "held-out tokens", sum(len(enc[i]) for i in held))
    for h in info:
        print(h["book"], h["chars"], h["tokens"], h["head"][:90])


if __name__ == "__main__":
    main()
