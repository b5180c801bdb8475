#!/usr/bin/env python3
"""Writes tokenizers/: test strings and their ids by Hugging Face `tokenizers`.

  python3 tokenizer_expected.py [--train CORPUS.txt.xz]

Tokenizers: the bundled model's (GPT-2 regex, no normaliser) and tokenizers/llama3-style.json (the
regex of Llama 3 in a Split followed by ByteLevel, NFC normaliser, ignore_merges, three special
tokens). The latter was trained once with --train on the corpus and some other scripts, and checked
in.

Output, gzipped JSON lines with the keys s (text), b (ids by the bundled tokenizer), l (ids by the
llama3-style one), and d (the decoded l with special tokens, if it differs from s). No special
tokens are added; special tokens written in the text are recognised.
"""
import argparse, gzip, json, os, random

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "tokenizers")
BUNDLED = os.path.join(HERE, "..", "..", "models", "bundled", "hf", "tokenizer.json")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")

WORDS = {
    "ascii": "the of and to in it's don't WE'LL they're I'd o'clock rock'n'roll Mr. Mrs. re-read e.g. naive "
             "hello HELLO Hello hElLo a I x foo_bar fooBar FOO_BAR 3rd 1st".split(),
    "latin": "café cafe\u0301 naïve Ångström A\u030angstro\u0308m straße İstanbul ıx ﬁne ǆ Œuvre ÑANDÚ ñ n\u0303 piñata "
             "Łódź Příliš žluťoučký kůň smörgåsbord".split(),
    "greek": "λόγος ΑΒΓ άλφα ὦ ἀγαθέ ς σ Ω Ω µ μ".split(),
    "cyrillic": "привет мир Ёлка й и\u0306 Москва ЪЫЬ ѓ".split(),
    "cjk": "你好 世界 漢字 かな カナ ｶﾅ が か\u3099 한국어 가 ㅎㅏㄴ 東京都 𠀀𠀁 々 〇 ㍿ ＡＢＣ １２３".split(),
    "rtl": "שלום עולם بِسْمِ مرحبا العربية ١٢٣ ۴۵۶ שָׁלוֹם \u200fabc\u200e".split(),
    "indic": "नमस्ते हिन्दी क्षत्रिय தமிழ் ไทย สวัสดี ขอบคุณ বাংলা १२३ ক\u09be".split(),
    "emoji": "😀 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ ☃ 🏳️‍🌈 1️⃣ ©️ ™ 🤷🏻‍♀️ 🫠".split(),
    "digits": "0 1 12 123 1234 12345 1234567890 3.14159 1,000,000 1e-10 0x1F ½ ² ٣ Ⅷ ① 2024-01-31 12:34:56 100% $5 €9".split(),
    "punct": "... --- -- ?! !!! \" ' '' `` “q” ‘q’ «a» ¿ ¡ § ¶ • … — – ( [ { } ] ) <> </a> && || != == -> => :: ;; @ # ~ ^ \\ / * ** _ __".split(),
    "code": ["int main(void){return 0;}", "for (i=0;i<n;++i)", "def f(x):", "return x**2", "a[i]->b", "std::vector<int>",
             "/* c */", "// c++", "#include <stdio.h>", "print(f\"{x!r}\")", "0b1010", "\\n\\t", "s/\\s+/ /g", "SELECT * FROM t;",
             "https://example.org/a?b=c&d=%20", "user@example.org", "C:\\dir\\file.txt", "$HOME/.rc", "{\"k\": [1, 2.5, null]}"],
    "control": ["\x00", "\x01\x02", "\x07", "\x08", "\x0b", "\x0c", "\x1b[0m", "\x7f", "\x80", "\x85", "\x9f", "\xad", "\u200b",
                "\u200d", "\u2028", "\u2029", "\u2060", "\ufeff", "\ufffd", "\ufffe", "\U000e0001", "\U0010ffff", "\ue000", "\u0378"],
    "special": ["<|endoftext|>", "<|pad|>", "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|endoftext", "|>", "<|", "<s>"],
    "combine": ["e\u0301\u0323", "e\u0323\u0301", "\u0301", "a\u0300\u0301\u0302", "\u1e9b\u0323", "\u1100\u1161\u11a8", "\uac00\u11a8",
                "\u0958", "\u0915\u093c", "\u2126", "\u212b", "\u0344", "\u0340", "\uf900", "\ufb1d", "\U0001d15e", "\U0002f800",
                "o\u0302\u0301", "\u1ed1", "q\u0307\u0323", "a\u0315\u0300\u05ae\u0062", "\u0b47\u0b56\u0b3e", "\u0dd9\u0dcf\u0dca"],
}
SPACES = [" ", " ", " ", " ", "", "  ", "   ", "     ", "\n", "\n\n", "\n\n\n", "\r\n", "\r", "\r\n\r\n", "\t", "\t\t", " \n", "\n ",
          " \n \n", "  \t ", "\u00a0", "\u2003", "\u3000", "\u1680", "\u202f", "\x0b", "\x0c", "\x85", "\u2028", " \u00a0 ", "\n\t",
          "        ", "    \n    "]


def strings():
    rnd = random.Random(20)
    out = ["", " ", "  ", "\n", "\r\n", "\t", "a", " a", "a ", "  a", "a  b", "a\n", "\na", "a\n\nb", "a \n b", "   \n   a",
           "'", "'s", "'S", "'re", "'RE", "'Ve", "'ll", "'LL", "'d", "'D", "it's", "IT'S", "IT'LL", "it 's", "''s", "'\u017f", "a'\u017fb",
           "\u212a", "don't", "don’t", "'tis", "x'y'z", "1's", "'12", "a1b2c3", "1a", "123abc456", "abc123", "٣abc", "½a", "²", "x²"]
    out += [w for ws in WORDS.values() for w in ws]
    out += [s for s in SPACES if s] + ["a" + s + "b" for s in SPACES] + ["a" + s for s in SPACES] + [s + "b" for s in SPACES]
    out += ["." + s + "!" for s in SPACES] + ["1" + s + "2" for s in SPACES] + ["!" + s for s in SPACES]
    out += [" " * n + "x" for n in range(1, 20)] + ["x" + " " * n for n in range(1, 20)] + ["\n" * n + "x" for n in range(1, 8)]
    out += ["1" * n for n in range(1, 14)] + [" " + "9" * n + "a" for n in range(1, 8)] + ["a" * n for n in (2, 3, 7, 31, 64)]
    out += ["e" * n + "\u0301" for n in range(1, 4)] + ["=" * n for n in (2, 3, 4, 8, 20)] + ["-" * n + "\n" for n in range(1, 8)]
    groups = list(WORDS)
    for n in range(1400):   # mixtures within a few scripts
        gs = rnd.sample(groups, rnd.choice([1, 1, 2, 3]))
        s = ""
        for _ in range(rnd.randrange(2, 9)):
            s += rnd.choice(WORDS[rnd.choice(gs)]) + rnd.choice(SPACES if rnd.random() < 0.4 else [" "])
        out.append(s)
    for n in range(500):    # any characters, mostly from common blocks
        s = ""
        for _ in range(rnd.randrange(1, 16)):
            hi = rnd.choice([0x7F, 0x7F, 0xFF, 0x24F, 0x5FF, 0xFFF, 0x2FFF, 0xFFFF, 0x1FFFF, 0x10FFFF])
            c = rnd.randrange(hi + 1)
            s += chr(c) if not 0xD800 <= c <= 0xDFFF else "?"
        out.append(s)
    alphabet = "ab1 .'\n\r\t-\u00e9\u0301"
    for n in range(400):    # short alphabets: all cases of the regex
        out.append("".join(rnd.choice(alphabet) for _ in range(rnd.randrange(1, 13))))
    text = ("It was the best of times, it was the worst of times; \"Who are you?\" said the Caterpillar.\n\nThis was not an "
            "encouraging opening for a conversation. Alice replied, rather shyly, 'I -- I hardly know, sir, just at present.'\n")
    for n in range(200):
        a = rnd.randrange(len(text) - 20)
        out.append(text[a:a + rnd.randrange(2, 90)])
    seen, uniq = set(), []
    for s in out:
        if s not in seen:
            seen.add(s)
            uniq.append(s)
    return uniq


def train(corpus):
    import lzma
    from tokenizers import Tokenizer, Regex, models, normalizers, pre_tokenizers, decoders, trainers
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    with lzma.open(corpus, "rt", encoding="utf8") as f:
        text = [f.read(1 << 20) for _ in range(6)]
    text += [" ".join(ws) for k, ws in WORDS.items() if k not in ("control", "special")] * 30
    text += ["".join(rnd) for rnd in (["0123456789"[(i * 7 + j) % 10] for j in range(3)] for i in range(500))]
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=2000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]))
    x = json.loads(t.to_str())
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "llama3-style.json"), "w", encoding="utf8") as f:
        json.dump(x, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train")
    a = ap.parse_args()
    from tokenizers import Tokenizer
    if a.train:
        train(a.train)
    b = Tokenizer.from_file(BUNDLED)
    l = Tokenizer.from_file(os.path.join(OUT, "llama3-style.json"))
    lines, ids = [], 0
    for s in strings():
        x = {"s": s, "b": b.encode(s, add_special_tokens=False).ids, "l": l.encode(s, add_special_tokens=False).ids}
        assert b.decode(x["b"], skip_special_tokens=False) == s, ascii(s)
        d = l.decode(x["l"], skip_special_tokens=False)
        if d != s:      # changed by NFC
            x["d"] = d
        ids += len(x["b"]) + len(x["l"])
        lines.append(json.dumps(x, separators=(",", ":")))
    data = ("\n".join(lines) + "\n").encode()
    with open(os.path.join(OUT, "expected.jsonl.gz"), "wb") as f:
        f.write(gzip.compress(data, 9, mtime=0))
    print(len(lines), "strings", ids, "ids", len(data), "bytes plain")


if __name__ == "__main__":
    main()
