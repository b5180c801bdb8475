#!/usr/bin/env python3
"""Checks the data of published models and the programs that read them, without a model."""
import itertools
import json
import pathlib
import struct
import tempfile
import unittest

import check_published
import cut_layers
import id_data
import lines

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected"


def text(value):
    return struct.pack("<Q", len(value)) + value


def gguf(layers):
    """Returns a file with a tensor of 8 bytes per layer, and one before them."""
    keys = [text(b"llama.block_count") + struct.pack("<II", 4, layers),
            text(b"tokens") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"bc")]
    names = [b"token_embd.weight"] + [b"blk.%d.w" % i for i in range(layers)]
    table = [text(name) + struct.pack("<IQIQ", 1, 2, 0, 32 * i) for i, name in enumerate(names)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(table), len(keys)) + b"".join(keys + table)
    body = b"".join(bytes([i] * 8) + bytes(24) for i in range(len(table)))
    return head + bytes(-len(head) % 32) + body


class Data(unittest.TestCase):
    def test_texts(self):
        texts = lines.lines()
        self.assertEqual(len(texts), 2000)
        self.assertEqual(id_data.digest([ord(c) for c in "".join(texts)]), "ef73a75a")

    def test_ids(self):
        prompts = json.loads((EXPECTED.parent / "prompts.json").read_text())
        for model in check_published.MODELS:
            data = json.loads((EXPECTED / f"{model}.ids.json").read_text())
            self.assertEqual(len(data["digests"]), lines.COUNT)
            self.assertEqual([id_data.digest(ids) for ids in data["ids"]],
                             data["digests"][::id_data.STEP])
            self.assertEqual(len(data["prompts"]), len(prompts))
            self.assertEqual(data["prompts"][-1], data["text"])

    def test_results(self):
        for model in check_published.MODELS:
            data = json.loads((EXPECTED / f"{model}.json").read_text())
            ids = json.loads((EXPECTED / f"{model}.ids.json").read_text())
            self.assertEqual(data["text_tokens"], len(ids["text"]) - 1)
            self.assertEqual(len(data["prompts"]), len(ids["prompts"]))
            for prompt in data["prompts"]:
                self.assertEqual(len(prompt["tokens"]), len(prompt["margins"]))
                self.assertGreaterEqual(min(prompt["margins"]), 0)

    def test_drafter(self):
        for name in check_published.TRAINED_FILES:
            self.assertTrue((check_published.TRAINED / name).exists(), name)


class Programs(unittest.TestCase):
    def test_pairs(self):
        factors = [range(4), "abc", range(4), [0, 1]]
        rows = check_published.pairwise(*factors)
        self.assertLess(len(rows), 25)
        for i, j in itertools.combinations(range(4), 2):
            self.assertEqual({(row[i], row[j]) for row in rows},
                             set(itertools.product(factors[i], factors[j])))

    def test_layers(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = (pathlib.Path(folder) / name for name in ("a", "b"))
            source.write_bytes(gguf(5))
            cut_layers.cut(source, target, 2)
            self.assertEqual(target.read_bytes(), gguf(2))


if __name__ == "__main__":
    unittest.main()
