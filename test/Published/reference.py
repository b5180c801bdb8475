#!/usr/bin/env python3
"""Runs a published model's GGUF file in numpy, and writes what it gives as data for the tests.

  python3 reference.py NAME [FILE]      writes expected/NAME.json
  python3 reference.py NAME --check     computes it again and compares it with expected/NAME.json

FILE is the GGUF file (default: what models/published/fetch.py --path NAME prints). The file's
weights are widened to f32. Rows are f32. The data are, for each prompt of prompts.json, the
greedy tokens and their margins; and the perplexity of text.txt. A second perplexity has rounded
rows: int8 in groups before each product, and bf16 in attention, as in kernels of the
product. Ids come from expected/NAME.ids.json. Needs numpy, and no other part of the tree.
"""

import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
TOKENS = 32
# Tokens of context for perplexity.
WINDOW = 1024

# Blocks: number of the type, elements, bytes.
BLOCKS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
          8: ("Q8_0", 32, 34), 12: ("Q4_K", 256, 144), 14: ("Q6_K", 256, 210)}


def halves(blocks, at):
    """Returns the f16 numbers at a byte of each block, as a column."""
    return np.ascontiguousarray(blocks[:, at:at + 2]).view(np.float16).astype(np.float32)


def nibbles(data):
    return np.concatenate([data & 15, data >> 4], -1)


def values_q4_1(b):
    return nibbles(b[:, 4:]) * halves(b, 0) + halves(b, 2)


def values_q5_0(b):
    high = np.unpackbits(b[:, 2:6], axis=1, bitorder="little") << 4
    return (nibbles(b[:, 6:]) | high).astype(np.float32) * halves(b, 0) - 16 * halves(b, 0)


def values_q8_0(b):
    return np.ascontiguousarray(b[:, 2:]).view(np.int8) * halves(b, 0)


def values_q4_k(b):
    s = b[:, 4:16]
    scales = np.concatenate([s[:, :4] & 63, s[:, 8:] & 15 | s[:, :4] >> 6 << 4], 1)
    mins = np.concatenate([s[:, 4:8] & 63, s[:, 8:] >> 4 | s[:, 4:8] >> 6 << 4], 1)
    groups = nibbles(b[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    scales = (halves(b, 0) * scales)[..., None]
    return (scales * groups - (halves(b, 2) * mins)[..., None]).reshape(len(b), 256)


def values_q6_k(b):
    low = nibbles(b[:, :128].reshape(-1, 2, 64))
    high = b[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    codes = (low | high.reshape(-1, 2, 128) << 4).astype(np.int8) - 32
    scales = np.ascontiguousarray(b[:, 192:208]).view(np.int8) * halves(b, 208)
    return (codes.reshape(-1, 16, 16) * scales[..., None]).reshape(len(b), 256)


VALUES = {"Q4_1": values_q4_1, "Q5_0": values_q5_0, "Q8_0": values_q8_0, "Q4_K": values_q4_k,
          "Q6_K": values_q6_k}


class Gguf:
    """Keys and tensors of a GGUF file."""

    NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
               12: "d"}

    def __init__(self, path):
        self.data = np.memmap(path, np.uint8, "r")
        self.head, self.at = memoryview(self.data), 4
        _, tensors, keys = self.take("I"), self.take("Q"), self.take("Q")
        self.keys = {}
        for _ in range(keys):
            key = self.text()
            self.keys[key] = self.value(self.take("I"))
        table = []
        for _ in range(tensors):
            name, rank = self.text(), self.take("I")
            table.append((name, [self.take("Q") for _ in range(rank)], self.take("I"),
                          self.take("Q")))
        begin = -(-self.at // 32) * 32
        self.tensors = {name: (shape[::-1], kind, begin + at) for name, shape, kind, at in table}

    def take(self, form):
        size = struct.calcsize("<" + form)
        self.at += size
        return struct.unpack_from("<" + form, self.head, self.at - size)[0]

    def text(self):
        size = self.take("Q")
        self.at += size
        return bytes(self.head[self.at - size:self.at]).decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, count = self.take("I"), self.take("Q")
            return [self.value(kind) for _ in range(count)]
        return self.take(self.NUMBERS[kind])

    def tensor(self, name):
        shape, kind, at = self.tensors[name]
        name, elements, size = BLOCKS[kind]
        count = math.prod(shape)
        data = np.asarray(self.data[at:at + count // elements * size])
        if name in ("F32", "F16"):
            values = data.view(np.float32 if name == "F32" else np.float16)
            return values.astype(np.float32).reshape(shape)
        return VALUES[name](data.reshape(-1, size)).astype(np.float32).reshape(shape)


def bf16(x):
    """Rounds to bf16, to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def int8(x, group):
    """Rounds each group of a row to 127 steps of its largest value."""
    groups = x.reshape(len(x), -1, group)
    scale = np.abs(groups).max(-1, keepdims=True) / np.float32(127)
    return (np.rint(groups / np.where(scale, scale, 1)) * scale).reshape(x.shape)


class Sequence:
    """Keys and values of the rows of a text, by layer."""

    def __init__(self, model):
        self.cache = [(np.zeros((0, model.kv_heads, model.width), np.float32),) * 2] * model.layers


class Model:
    """A llama or Gemma 3 of a GGUF file."""

    def __init__(self, path):
        file, self.rounds = Gguf(path), False
        self.kind = file.keys["general.architecture"]
        self.own = lambda key, absent=None: file.keys.get(f"{self.kind}.{key}", absent)
        self.weights = {name: file.tensor(name) for name in file.tensors}
        self.groups = {name: 16 if BLOCKS[kind][0] == "Q6_K" else 32
                       for name, (_, kind, _) in file.tensors.items()}
        self.layers = self.own("block_count")
        self.heads, self.kv_heads = (self.own("attention.head_count" + end) for end in ("", "_kv"))
        self.width = self.own("attention.key_length", self.own("embedding_length") // self.heads)

    def norm(self, x, name):
        scale = 1 / np.sqrt(np.mean(np.square(x, dtype=np.float64), -1, keepdims=True)
                            + self.own("attention.layer_norm_rms_epsilon"))
        return (x * scale).astype(np.float32) * self.weights[name + ".weight"]

    def linear(self, x, name):
        name += ".weight"
        return (int8(x, self.groups[name]) if self.rounds else x) @ self.weights[name].T

    def is_global(self, layer):
        return self.kind == "llama" or layer % 6 == 5

    def rotate(self, x, begin, layer):
        """Rotates pairs: neighbours of a llama's file, and halves of a Gemma's."""
        theta = self.own("rope.freq_base") if self.is_global(layer) else 1e4
        half = self.width // 2
        angle = np.arange(begin, begin + len(x))[:, None] * theta ** (-np.arange(half) / half)
        cos, sin = (f(angle).astype(np.float32)[:, None] for f in (np.cos, np.sin))
        out = np.empty_like(x)
        first, second = slice(0, half), slice(half, None)
        if self.kind == "llama":
            first, second = slice(0, None, 2), slice(1, None, 2)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., second] * cos + x[..., first] * sin
        return out

    def attention(self, x, p, layer, texts):
        q = self.linear(x, p + "attn_q").reshape(len(x), self.heads, self.width)
        k, v = (self.linear(x, p + n).reshape(len(x), self.kv_heads, self.width)
                for n in ("attn_k", "attn_v"))
        if self.kind == "gemma3":
            q, k = self.norm(q, p + "attn_q_norm"), self.norm(k, p + "attn_k_norm")
        ends = np.cumsum([len(ids) for _, ids in texts])[:-1]
        parts = zip(texts, *(np.split(part, ends) for part in (q, k, v)))
        out = [self.attend(sequence, layer, *part) for (sequence, _), *part in parts]
        return self.linear(np.concatenate(out).reshape(len(x), -1), p + "attn_output")

    def attend(self, sequence, layer, q, k, v):
        rows, (keys, values) = len(q), sequence.cache[layer]
        begin = len(keys)
        q, k = self.rotate(q, begin, layer), self.rotate(k, begin, layer)
        if self.rounds:
            q, k, v = bf16(q), bf16(k), bf16(v)
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])
        sequence.cache[layer] = keys, values
        distance = np.arange(begin, begin + rows)[:, None] - np.arange(begin + rows)
        hidden = distance < 0
        if not self.is_global(layer):
            hidden |= distance >= self.own("attention.sliding_window")
        out = np.empty_like(q)
        for head in range(self.heads):
            group = head // (self.heads // self.kv_heads)
            scores = q[:, head] @ keys[:, group].T / np.float32(math.sqrt(self.width))
            scores = np.where(hidden, np.float32(-np.inf), scores)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            total = weights.sum(-1, keepdims=True)
            out[:, head] = (bf16(weights) if self.rounds else weights) @ values[:, group] / total
        return out

    def mlp(self, x, p):
        gate, up = self.linear(x, p + "ffn_gate"), self.linear(x, p + "ffn_up")
        if self.kind == "llama":
            gate = gate / (1 + np.exp(-gate))
        else:
            inner = np.float32(math.sqrt(2 / math.pi)) * (gate + np.float32(0.044715) * gate**3)
            gate = gate / 2 * (1 + np.tanh(inner))
        return self.linear(gate * up, p + "ffn_down")

    def states(self, texts):
        """Runs more ids of some sequences, and returns their states after the last norm."""
        x = self.weights["token_embd.weight"][[i for _, ids in texts for i in ids]]
        if self.kind == "gemma3":
            x = x * np.float32(math.sqrt(self.own("embedding_length")))
        for layer in range(self.layers):
            p = f"blk.{layer}."
            y = self.attention(self.norm(x, p + "attn_norm"), p, layer, texts)
            x = x + (self.norm(y, p + "post_attention_norm") if self.kind == "gemma3" else y)
            y = self.mlp(self.norm(x, p + "ffn_norm"), p)
            x = x + (self.norm(y, p + "post_ffw_norm") if self.kind == "gemma3" else y)
        return self.norm(x, "output_norm")

    def logits(self, states):
        return self.linear(states, "token_embd")


def greedy(model, prompts):
    """Returns tokens after each prompt, and the margin of each token over the second best."""
    texts = [(Sequence(model), prompt) for prompt in prompts]
    results = [{"tokens": [], "margins": []} for _ in prompts]
    for _ in range(TOKENS):
        lasts = np.cumsum([len(ids) for _, ids in texts]) - 1
        for i, logits in enumerate(model.logits(model.states(texts)[lasts])):
            second, best = np.argpartition(logits, -2)[-2:]
            results[i]["tokens"].append(int(best))
            results[i]["margins"].append(round(float(logits[best] - logits[second]), 3))
        texts = [(sequence, result["tokens"][-1:]) for (sequence, _), result in zip(texts, results)]
    return results


def nats(model, ids):
    """Returns the sum of the negative log-likelihoods of all ids but the first."""
    states, total = model.states([(Sequence(model), ids)]), 0.0
    for begin in range(0, len(ids) - 1, 64):
        rows = model.logits(states[begin:min(begin + 64, len(ids) - 1)]).astype(np.float64)
        top = rows.max(-1)
        total += (top + np.log(np.exp(rows - top[:, None]).sum(-1))).sum()
        total -= sum(rows[i, ids[begin + i + 1]] for i in range(len(rows)))
    return total


def computed(path, ids):
    model = Model(path)
    prompts = greedy(model, ids["prompts"])
    text, perplexities = ids["text"][:WINDOW], []
    for model.rounds in (False, True):
        perplexities.append(round(math.exp(nats(model, text) / (len(text) - 1)), 4))
        print(perplexities, flush=True)
    return {"prompts": prompts, "text_tokens": len(text) - 1, "perplexity": perplexities[0],
            "rounded_perplexity": perplexities[1]}


def close(a, b, key=""):
    """Compares with the bounds of another machine's rounding. Which rows are rounded up to int8 is
    chance after some layers, so the rounded perplexity has a bound of 1 %."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key], key) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    bound = b / 100 if key == "rounded_perplexity" else 0.01 if isinstance(a, float) else 0
    return abs(a - b) <= bound


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    fetch = HERE / "../../models/published/fetch.py"
    path = args.file or subprocess.run([sys.executable, fetch, "--path", args.name], check=True,
                                       capture_output=True, text=True).stdout.strip()
    ids = json.loads((HERE / "expected" / f"{args.name}.ids.json").read_text())
    data, file = computed(path, ids), HERE / "expected" / f"{args.name}.json"
    if not args.check:
        file.write_text(json.dumps(data).replace("]}, ", "]},\n").replace("], ", "],\n") + "\n")
    elif not close(data, json.loads(file.read_text())):
        sys.exit(f"expected the content of {file}, got {data}")


if __name__ == "__main__":
    main()
