"""Batches of write.py's shards, and the target's tensors that training reads."""

import glob
import os

import numpy as np
import torch
import torch.nn.functional as F

TAPS = (30,)  # the states of write.py, by the layer that they enter; 30: the final norm
WIDTH, LAYERS, VOCAB = 576, 30, 49152


class Shard:
    def __init__(self, base):
        with np.load(base + ".npz") as f:
            self.tokens = f["tokens"].astype(np.int64)
            self.lengths, self.prompts = f["lengths"], f["prompts"]
            self.temperatures = f["temperatures"]
        self.begins = np.concatenate(([0], np.cumsum(self.lengths)[:-1]))
        shape = len(self.tokens), len(TAPS), WIDTH
        self.states = np.memmap(base + ".bin", np.float16, "r", shape=shape)


class Data:
    """All shards of a folder whose names begin with `prefix`. New shards are seen by `refresh`.
    norm: the weight of the target's final norm."""

    def __init__(self, folder, prefix, norm=None):
        self.folder, self.prefix, self.norm, self.shards = folder, prefix, norm, {}
        self.refresh()

    def refresh(self):
        for path in sorted(glob.glob(os.path.join(self.folder, self.prefix + "*.npz"))):
            self.shards.setdefault(path, None)
            if self.shards[path] is None:
                self.shards[path] = Shard(path[:-4])
        self.texts = [
            (int(n), shard, i)
            for shard in self.shards.values()
            for i, n in enumerate(shard.lengths)
            if n - shard.prompts[i] >= 16
        ]

    @property
    def count(self):
        """Returns the number of written tokens."""
        return sum(int(n - s.prompts[i]) for n, s, i in self.texts)

    def epoch(self, batch, rng, most):
        """Yields batches of `batch` texts of similar length, in random order, without texts whose
        prompt alone takes `most` tokens."""
        texts = [x for x in self.texts if x[1].prompts[x[2]] + 16 <= most]
        order = sorted(texts, key=lambda x: x[0] + rng.uniform(0, 40))
        groups = [order[i : i + batch] for i in range(0, len(order) - batch + 1, batch)]
        for g in rng.permutation(len(groups)):
            yield self.batch([(s, i) for _, s, i in groups[g]], most)

    def batch(self, texts, most):
        """Returns ids [B, T], the state "f" after the target's final norm, and "own", which is true
        for written tokens. Texts are cut at `most` tokens and padded at the end."""
        T = min(most, max(int(s.lengths[i]) for s, i in texts))
        ids = np.zeros((len(texts), T), np.int64)
        states = np.zeros((len(texts), T, WIDTH), np.float32)
        own = np.zeros((len(texts), T), bool)
        for row, (s, i) in enumerate(texts):
            n, b = min(T, int(s.lengths[i])), s.begins[i]
            ids[row, :n] = s.tokens[b : b + n]
            states[row, :n] = s.states[b : b + n, TAPS.index(LAYERS)]
            own[row, s.prompts[i] : n] = True
        return {
            "ids": torch.from_numpy(ids),
            "own": torch.from_numpy(own),
            "f": F.rms_norm(torch.from_numpy(states), (WIDTH,), self.norm, 1e-5),
        }


def counts(folder, prefix):
    """Returns how often the model wrote each token."""
    seen = np.zeros(VOCAB, np.int64)
    for s in Data(folder, prefix).shards.values():
        for b, n, p in zip(s.begins, s.lengths, s.prompts):
            np.add.at(seen, s.tokens[b + p : b + n], 1)
    return seen


def frequent(folder, prefix, count):
    """Returns the ascending ids of the most frequent tokens that the model wrote, and their share.
    Among equal counts low ids come first, which the tokenizer merged first."""
    seen = counts(folder, prefix)
    kept = np.sort(np.argsort(-seen, kind="stable")[:count])
    return torch.from_numpy(kept), float(seen[kept].sum() / seen.sum())


class Target:
    """The target's embedding, which is also its head, and the weight of its final norm, as f32
    values of a GGUF file."""

    def __init__(self, file):
        from gguf import GGUFReader, dequantize

        tensors = {t.name: t for t in GGUFReader(file).tensors}
        self.embed, self.norm = (
            torch.from_numpy(dequantize(tensors[n].data, tensors[n].tensor_type).copy())
            for n in ("token_embd.weight", "output_norm.weight")
        )
