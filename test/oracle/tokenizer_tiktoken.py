#!/usr/bin/env python3
"""Writes tokenizers/tiktoken/ and tokenizers/tiktoken.jsonl.gz: a small tokenizer in Kimi-K2's
layout, and tiktoken's ids of test strings.

  python3 tokenizer_tiktoken.py

The pieces were trained by Hugging Face `tokenizers` on the test words. Some overlap in several
ways, so that two neighbouring pairs may have one rank. Output, gzipped JSON lines: s (text), t
(ids; special tokens written in the text are recognised).
"""
import base64, gzip, json, os, random, unicodedata

import tiktoken
from tokenizers import Regex, Tokenizer, models, pre_tokenizers as P, trainers
from tokenizer_expected import OUT, WORDS, strings
from tokenizer_steps import KIMI

FOLDER = os.path.join(OUT, "tiktoken")
OVERLAPPING = [b"aa", b"aaa", b"aaaaa", b"ab", b"ba", b"aba", b"abab"]
CODE = '''class TikTokenTokenizer:
    num_reserved_special_tokens = 256

    # The pattern is read from here; nothing is run.
    pat_str = "|".join([
%s
    ])

    def __init__(self, ranks):
        self.model = tiktoken.Encoding(pat_str=self.pat_str, mergeable_ranks=ranks)
'''


def alphabet():
    """Returns the map from the characters that byte-level vocabularies use for bytes to the bytes.
    """
    plain = [b for b in range(256) if 33 <= b < 127 or 161 <= b < 173 or 174 <= b]
    rest = [b for b in range(256) if b not in plain]
    return {**{chr(b): b for b in plain}, **{chr(256 + i): b for i, b in enumerate(rest)}}


def train(texts):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = P.Sequence([P.Split(Regex(KIMI), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator([" ".join(w) for w in WORDS.values()] * 3 + texts, trainers.BpeTrainer(
        vocab_size=900, show_progress=False, initial_alphabet=P.ByteLevel.alphabet()))
    byte = alphabet()
    pieces = [bytes(byte[c] for c in p) for p, _ in sorted(t.get_vocab().items(), key=lambda x: x[1])]
    return pieces + [p for p in OVERLAPPING if p not in pieces]


def main():
    texts = [s for s in strings()[::6] if all(unicodedata.category(c) != "Cn" for c in s)]
    ranks = {p: i for i, p in enumerate(train(texts))}
    n = len(ranks)
    added = {"[BOS]": n, "[EOS]": n + 1, "<|im_end|>": n + 2, "<|tool|>": n + 5}
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "tiktoken.model"), "wb") as f:
        f.writelines(base64.b64encode(p) + b" %d\n" % i for p, i in ranks.items())
    config = {"added_tokens_decoder": {
                  str(i): {"content": s, "lstrip": False, "normalized": False, "rstrip": False,
                           "single_word": False, "special": s != "<|tool|>"} for s, i in added.items()},
              "auto_map": {"AutoTokenizer": ["tokenization_tiny.TikTokenTokenizer", None]},
              "bos_token": "[BOS]", "eos_token": "[EOS]", "tokenizer_class": "TikTokenTokenizer"}
    with open(os.path.join(FOLDER, "tokenizer_config.json"), "w") as f:
        f.write(json.dumps(config, indent=1) + "\n")
    with open(os.path.join(FOLDER, "tokenization_tiny.py"), "w") as f:
        f.write(CODE % "\n".join(f'        r"""{part}""",' for part in split(KIMI)))
    encoding = tiktoken.Encoding(name="tiny", pat_str=KIMI, mergeable_ranks=ranks, special_tokens=added)
    rnd = random.Random(3)
    texts += ["".join(rnd.choice("ab") for _ in range(rnd.randrange(1, 14))) for _ in range(200)]
    texts += ["汉字abc漢DEF'll don'T 〇々ー", "a[EOS]b<|tool|>c<|im_end|>", "  x\n\n y 12345 ²"]
    lines = [{"s": s, "t": encoding.encode(s, allowed_special="all")} for s in texts]
    data = "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines).encode()
    with open(os.path.join(OUT, "tiktoken.jsonl.gz"), "wb") as f:
        f.write(gzip.compress(data, 9, mtime=0))
    print(n, "pieces", len(lines), "lines")


def split(pattern):
    """Returns the alternatives of KIMI, each of which is an element of the code's list."""
    parts, depth = [""], 0
    for c in pattern:
        depth += (c in "([") - (c in ")]")
        if c == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


if __name__ == "__main__":
    main()
