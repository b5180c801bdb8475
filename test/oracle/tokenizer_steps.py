#!/usr/bin/env python3
"""Writes tokenizers/steps.jsonl.gz: results of single steps of Hugging Face `tokenizers`.

  python3 tokenizer_steps.py

Gzipped JSON lines, one subject each:

  {"pre": PRE_TOKENIZER, "cases": [[text, [word...]]...]}
  {"pre": PRE_TOKENIZER, "counts": [[first, last, n]...]}   words of "a" + character + "b"
  {"norm": NORMALIZER, "cases": [[text, normalized]...]}
  {"json": TOKENIZER, "cases": [[text, [id...]]...], "decoded": [[[id...], text]...]}
  {"word": [[first, last]...]}    characters that a single_word token may not be next to

Words of byte-level pre-tokenizers are in the alphabet of such vocabularies. The lines contain only
characters that Python's unicodedata knows, because the library and PCRE2 know different later ones.
"""
import gzip, json, os, random, unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizer_expected import OUT, WORDS, strings

P, N = pre_tokenizers, normalizers
POINTS = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
# Kimi-K2's pattern: an intersection of sets for letters with case that are not Chinese.
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def runs(values):
    """Converts (code point, value) pairs to [first, last, value], over neighbours in the list."""
    out = []
    for c, v in values:
        if out and out[-1][1] == c - 1 and out[-1][2] == v:
            out[-1][1] = c
        else:
            out.append([c, c, v])
    return out


def spec(component, key):
    """Returns a component in the form of tokenizer.json."""
    t = Tokenizer(models.BPE())
    setattr(t, key, component)
    return json.loads(t.to_str())[key]


def falcon():
    return P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(False),
                       P.Split(Regex("[0-9][0-9][0-9]"), "isolated")])


def pre_tokenizer_lines(texts):
    subjects = [P.Whitespace(), P.WhitespaceSplit(), P.BertPreTokenizer(), P.Digits(True), P.Digits(False), falcon(),
                P.Sequence([P.ByteLevel(add_prefix_space=True), P.Punctuation("merged_with_previous"),
                            P.Whitespace()]),
                P.Sequence([P.ByteLevel(add_prefix_space=False, use_regex=False), P.Split(Regex(r"\w+"), "removed")]),
                P.Split(Regex(r"\w+"), "isolated"), P.Split(Regex(r"[\w]+"), "isolated"),
                P.Split(Regex(r"\W"), "merged_with_next"), P.Split(Regex(r"(?i:[a-k]+|'s|sp)"), "isolated")]
    subjects += [P.Split(Regex(KIMI), "isolated"),
                 P.Split(Regex(r"[\p{L}&&[^\p{Han}\p{Lu}]&&[^a-f]]{2,3}+"), "removed")]
    subjects += [P.Punctuation(b) for b in BEHAVIORS]
    subjects += [P.Metaspace(prepend_scheme=s, split=b) for s in ("always", "first", "never") for b in (True, False)]
    for p in subjects:
        yield {"pre": spec(p, "pre_tokenizer"), "cases": [[t, [w for w, _ in p.pre_tokenize_str(t)]] for t in texts]}


def count_lines():
    for p in [P.Whitespace(), P.WhitespaceSplit(), P.BertPreTokenizer(), P.Digits(True), P.Punctuation("isolated"),
              P.ByteLevel(add_prefix_space=False)] + [
              P.Split(Regex(r), "isolated") for r in (r"\w+", r"[\w]+", r"[^\w]", r"\W", r"\s", r"\d", r"\p{L}+",
                                                      r"\p{N}", r"\p{P}", r"\p{M}", r"\p{S}", r"\p{Z}",
                                                      r"\p{Lu}", r"(?i:[a-z]+)", ".",
                                                      r"[\p{L}&&[^\p{Han}]]", r"[\p{L}\p{N}&&[\p{Han}\p{Nl}]]")]:
        yield {"pre": spec(p, "pre_tokenizer"),
               "counts": runs((c, len(p.pre_tokenize_str("a" + chr(c) + "b"))) for c in POINTS)}


def normalizer_lines(texts):
    low = N.Lowercase()
    yield {"norm": spec(low, "normalizer"),
           "cases": [[chr(c), low.normalize_str(chr(c))] for c in POINTS if low.normalize_str(chr(c)) != chr(c)]
           + [[t, low.normalize_str(t)] for t in texts + ["ΑΣ ΟΔΟΣ"]]}
    for n in [N.Strip(), N.Strip(left=False), N.Strip(right=False), N.Sequence([N.NFD(), N.Lowercase(), N.Strip()])]:
        yield {"norm": spec(n, "normalizer"), "cases": [[t, n.normalize_str(t)] for t in texts]}


def byte_vocab():
    return {c: i for i, c in enumerate(sorted(P.ByteLevel.alphabet()))}


def random_texts(parts, count, rnd):
    return ["".join(rnd.choice(parts) for _ in range(rnd.randrange(1, 9))) for _ in range(count)]


def whole(t, texts, lists=()):
    return {"json": t.to_str(), "cases": [[s, t.encode(s, add_special_tokens=False).ids] for s in texts],
            "decoded": [[ids, t.decode(ids, skip_special_tokens=False)] for ids in lists]}


def tokenizer_lines(texts):
    rnd = random.Random(7)
    t = Tokenizer(models.BPE(vocab=byte_vocab(), merges=[]))   # white-space tokens beside tokens that strip it
    t.pre_tokenizer, t.decoder = P.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.add_tokens([AddedToken("<r>", rstrip=True, normalized=False), AddedToken("<l>", lstrip=True, normalized=False),
                  AddedToken("  ", normalized=False), AddedToken("\n\n", normalized=False),
                  AddedToken(" \n", lstrip=True, rstrip=True, normalized=False),
                  AddedToken("<w>", single_word=True, normalized=False)])
    yield whole(t, random_texts(["<r>", "<l>", "<w>", " ", "  ", "   ", "\n", "b", "Ⓐ"], 400, rnd))

    for scheme in ("always", "first", "never"):   # the first piece loses all leading ▁
        for split in (True, False):
            pieces = ["<unk>", "▁", "a", "b", "▁▁", "▁a", "▁b", "▁a▁", "▁a▁b", "b▁"]
            t = Tokenizer(models.BPE(vocab={p: i for i, p in enumerate(pieces)}, unk_token="<unk>",
                                     merges=[("▁", "▁"), ("▁", "a"), ("▁", "b"), ("▁a", "▁"), ("▁a", "▁b"), ("b", "▁")]))
            t.pre_tokenizer = P.Metaspace(prepend_scheme=scheme, split=split)
            t.decoder = decoders.Metaspace(prepend_scheme=scheme, split=split)
            yield whole(t, random_texts([" ", "a", "b", "  "], 60, rnd),
                        [[rnd.randrange(1, len(pieces)) for _ in range(rnd.randrange(1, 6))] for _ in range(60)])

    words = [" ".join(ws) for k, ws in WORDS.items() if k not in ("control", "special")] * 3
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = falcon(), decoders.ByteLevel()
    t.train_from_iterator(words, trainers.BpeTrainer(vocab_size=600, show_progress=False,
                                                     initial_alphabet=P.ByteLevel.alphabet()))
    yield whole(t, texts)
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.normalizer, t.pre_tokenizer = N.Sequence([N.Strip(), N.Lowercase()]), P.BertPreTokenizer()
    t.decoder = decoders.Sequence([decoders.Fuse()])
    t.train_from_iterator(words, trainers.BpeTrainer(vocab_size=700, show_progress=False, special_tokens=["<unk>"]))
    yield whole(t, texts)


def word_line():
    t = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    t.add_tokens([AddedToken("tok", single_word=True, normalized=False)])
    beside = ((c, "tok" not in t.encode(chr(c) + "tok").tokens) for c in POINTS)
    return {"word": [r[:2] for r in runs(beside) if r[2]]}


def main():
    texts = [t for t in strings()[::12] if all(unicodedata.category(c) != "Cn" for c in t)] + ["'\u017f IT'\u017f", "\u212aing", "a\u200cb\u200dc", "x\u00b2y\u00bdz", "می\u200cخواهم",
                               "👨\u200d👩\u200d👧 ok", "№5 ①②③ ١٢٣ 4²³", "\u166d\U000111c9\u2e43\u061d", "İI ıi ẞß"]
    lines = [*pre_tokenizer_lines(texts), *count_lines(), *normalizer_lines(texts), *tokenizer_lines(texts), word_line()]
    data = "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines).encode()
    with open(os.path.join(OUT, "steps.jsonl.gz"), "wb") as f:
        f.write(gzip.compress(data, 9, mtime=0))
    print(len(lines), "lines", len(data), "bytes plain")


if __name__ == "__main__":
    main()
