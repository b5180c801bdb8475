#!/usr/bin/env python3
"""Prints 2,000 texts that tokenizers are compared on, as a JSON list: words of several scripts,
code, numbers, spaces, marks and rare characters. The texts are equal on every machine."""

import json

COUNT = 2000

WORDS = """
the station on hill was looked after by one person who climbed every morning unbelievably
don't it's we'll they've I'm she'd you're o'clock Mother's RE-ENTRY co-operate e.g. etc.
internationalization antidisestablishmentarianism xylophone Zürich naïve façade coöperate
der Bahnhof schließt früh über Straße Größe Übung Donaudampfschifffahrtsgesellschaft
où est l'été garçon cœur Noël çà et là aujourd'hui mañana ¿dónde? ¡qué! niño pingüino
não coração São ação år ö æble smørrebrød þetta ísland zażółć gęślą jaźń příliš žluťoučký
kőrűtér ığdır İstanbul şehir добрый день станция ёлка їжак ўся Ђорђе καλημέρα ψάρι Ὀδυσσεύς
שלום עולם בְּרֵאשִׁית مرحبا بالعالم كِتَاب سلام دنیا नमस्ते दुनिया क्षत्रिय ক্ষমা வணக்கம் కృష్ణ
สวัสดีชาวโลก ກັນ ភាសាខ្មែរ မြန်မာ ქართული Հայերեն አማርኛ 你好世界 天气预报 雨量計 今日は カタカナ
ひらがな ﾊﾝｶｸ 안녕하세요 한국어 Việt Nam đường 繁體中文 〇一二三
""".split()

CODE = """
int main(void) { return 0; }
for(i=0;i<n;++i){a[i]+=b[i]*c;}
def f(x, *args, **kw): return {k: v for k, v in kw.items() if v is not None}
if (a != b && c <= d || !e) x ^= ~y >> 3;
SELECT name, COUNT(*) FROM rain WHERE mm >= 12.5 GROUP BY name;
<div class="box" id='a1'><b>bold</b>&nbsp;<br/></div>
https://example.org/a/b?c=d&e=%20f#g
user.name+tag@example.org
C:\\Users\\ines\\notes.txt
#include <vector>
std::map<std::string, std::vector<int>> m;
$HOME/.cache/x && rm -rf "$TMP"/*.o
\\frac{a}{b} + \\sum_{i=0}^{n} x_i^2
{"key": [1, 2.5e-3, null, true], "nested": {"a": "b\\n"}}
fn main() -> Result<(), Box<dyn Error>> { Ok(()) }
| a | b |
|---|---|
- [x] done
**bold** _italic_ `code` ~~gone~~
@@ -1,4 +1,4 @@
""".strip().split("\n")

NUMBERS = """
0 1 12 123 1234 12345 123456 1234567 3.14159 -17 +4 1e10 0x1F 1,000,000 50% 14:05 2011-08-23
555-0142 74.5mm 1st 22nd ½ ² ³ ₂ Ⅳ ① ٣٤ १२ 一 1.2.3 $9.99 €5 £3 ¥100 192.168.0.1 №5 4x4 v2.0-rc1
""".split()

MARKS = [
    ".", ",", "!", "?", "...", "…", "?!", ";", ":", "--", "—", "–", "(", ")", "[", "]", "{",
    "}", "\"", "'", "“", "”", "‘", "’", "«", "»", "„", "/", "\\", "|", "@", "#", "&", "*", "=",
    "+", "^", "~", "`", "_", "___", "====", "----", "####", "<", ">", "->", "=>", "!=", "::",
    "//", "/*", "©", "™", "°", "§", "•", "→", "≤", "∑", "√", "∞", "♥", "★", "█", "─",
]

RARE = [
    "😀", "👍🏽", "👩‍👩‍👧‍👦", "🇫🇷", "🏳️‍🌈", "❤️", "🤖", "𝔘𝔫𝔦", "𝟙𝟚", "𠜎", "𐍈", "e\u0301",
    "a\u0323\u0302", "\u200b", "\u200d", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u00ad",
    "\u2028", "\ufffd", "\u0085", "ﬁ", "Å", "\u212b", "ẞ", "ǅ", "\u0001", "\u007f",
    "\u1e9b\u0323", "ﷺ", "\U0010ffff", "\ue000",
]

SPACES = [
    " ", " ", " ", " ", " ", " ", " ", " ", "  ", "   ", "    ", "        ", "\t", "\t\t",
    " \t", "\n", "\n\n", "\n\n\n", "\r\n", " \n", "\n ", "\n    ", "\n\t", "", "",
]

# Names of special tokens, which are text here. U+2581 and </s> are not among them: in a text they
# are user-defined symbols of Gemma's model for SentencePiece, but not for llama.cpp.
NAMES = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<bos>", "<eos>", "<start_of_turn>",
    "<pad>", "<unused7>", "<mask>", "[multimodal]", "<0x41>", "<em>", "<h2>", "Ġ", "</b>",
    "<table>", "<h1>", "<repo_name>", "<jupyter_code>", "<|", "|>",
]


class Chooser:
    """A generator of numbers of 64 bits (splitmix64)."""

    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) % count

    def of(self, values):
        return values[self.below(len(values))]


def word(chooser):
    """Returns a word, sometimes in capitals or repeated."""
    text = chooser.of(WORDS)
    form = chooser.below(12)
    if form == 0:
        return text.upper()
    if form == 1:
        return text[:1].upper() + text[1:]
    if form == 2:
        return text + chooser.of(WORDS)
    return text


def piece(chooser):
    kind = chooser.below(40)
    if kind < 22:
        return word(chooser)
    if kind < 27:
        return chooser.of(NUMBERS)
    if kind < 33:
        return chooser.of(MARKS)
    if kind < 35:
        return chooser.of(CODE)
    if kind < 38:
        return chooser.of(RARE)
    if kind < 39:
        return chooser.of(NAMES)
    return chooser.of(MARKS) * (1 + chooser.below(20))


def lines():
    """Returns the texts; each of them has 1 to 24 pieces with any spaces between."""
    chooser, out = Chooser(seed=46), []
    for _ in range(COUNT):
        text = chooser.of(SPACES) if chooser.below(4) == 0 else ""
        for _ in range(1 + chooser.below(24)):
            text += piece(chooser) + chooser.of(SPACES)
        out.append(text if chooser.below(3) == 0 else text.rstrip(" "))
    return out


if __name__ == "__main__":
    print(json.dumps(lines(), ensure_ascii=False, indent=0))
