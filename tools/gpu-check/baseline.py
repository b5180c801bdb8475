"""Steps and rounds of a Llama or MiMo shape in PyTorch, for comparison. They use bf16, batch 1
and a static cache of 512 tokens. A whole step or round is compiled and captured in a CUDA graph.

  baseline.py [--device=cuda|cpu] [--seconds=N] [--turns=N] NAME CONFIG_JSON [NAME CONFIG_JSON ..]

A model with modules (MTP) drafts k tokens with the first module and verifies k + 1 rows. The
script prints microseconds, and the share of a copy's rate, counted as in mtp-bench: the cache,
and the weights, once for each read. A step's token is at the end of its cache, so nothing is
masked, which is the fastest case. Attention of a window is two products and a masked softmax.

There are three ways to compile. `layers` compiles a function for each layer, cut where nothing
can be fused across (the next layer adds what a layer returns), and all layers share the code.
`tuned` is `layers` with PyTorch's search for better reductions. `whole` compiles the step in one
function, which takes a minute for many layers. All models run the first way before any model runs
the next, as long as there is time. The fastest way counts. On a CPU nothing is captured: that is
for tests.
"""

import argparse
import json
import math
import sys
import time

from report import check, report

CONTEXT = 512
MOST_DRAFTS = 4


def load(device):
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        report("skipped", "no PyTorch")
        sys.exit(0)
    if device == "cuda" and not torch.cuda.is_available():
        report("skipped", "PyTorch sees no GPU")
        sys.exit(0)
    return torch


class Gpu:
    """Timing of graphs by events."""

    copied = 4 << 30

    def __init__(self, torch, turns):
        self.torch, self.turns = torch, turns

    def microseconds(self, call):
        """Returns the median of several calls."""
        cuda = self.torch.cuda
        events = [(cuda.Event(enable_timing=True), cuda.Event(enable_timing=True))
                  for _ in range(self.turns)]
        for begin, end in events:
            begin.record()
            call()
            end.record()
        cuda.synchronize()
        return sorted(a.elapsed_time(b) * 1e3 for a, b in events)[self.turns // 2]

    def ready(self, call):
        """Captures the call in a graph. The call must have run before."""
        cuda = self.torch.cuda
        stream = cuda.Stream()
        stream.wait_stream(cuda.current_stream())
        with cuda.stream(stream):
            for _ in range(3):
                call()
        cuda.current_stream().wait_stream(stream)
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            call()
        return graph.replay


class Cpu:
    """Timing on a processor."""

    copied = 64 << 20

    def __init__(self, torch, turns):
        self.turns = turns
        # On a busy machine threads would wait for each other.
        torch.set_num_threads(1)

    def microseconds(self, call):
        times = []
        for _ in range(self.turns):
            begin = time.perf_counter()
            call()
            times.append((time.perf_counter() - begin) * 1e6)
        return sorted(times)[self.turns // 2]

    @staticmethod
    def ready(call):
        call()
        return call


def copy_rate(torch, machine, device):
    """Returns the bytes per second of a copy, both directions."""
    source = torch.zeros(machine.copied, device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    us = machine.microseconds(lambda: target.copy_(source))
    return 2 * source.numel() / us * 1e6


def bytes_of(*tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


class Weights:
    """Random tensors of a shape. A layer is a tuple, as its function takes it."""

    def __init__(self, torch, config, device):
        self.torch, self.device, self.config = torch, device, config
        hidden, self.dim = config["hidden_size"], config["head_dim"]
        self.heads, self.kv = config["num_attention_heads"], config["num_key_value_heads"]
        self.inner, self.hidden = config["intermediate_size"], hidden
        self.layers = [self.layer() for _ in range(config["num_hidden_layers"])]
        # All modules are alike, so one serves for every draft.
        self.module = self.layer() if config.get("num_nextn_predict_layers") else None
        self.join = self.matrix(hidden, 2 * hidden)
        self.embedding = self.matrix(config["vocab_size"], hidden)
        self.head = self.embedding if config.get("tie_word_embeddings") else self.matrix(
            config["vocab_size"], hidden)
        self.norm = self.ones(hidden)

    def ones(self, size):
        return self.torch.ones(size, device=self.device, dtype=self.torch.bfloat16)

    def matrix(self, rows, columns):
        return self.torch.randn(rows, columns, device=self.device,
                                dtype=self.torch.bfloat16) / math.sqrt(columns)

    def layer(self):
        wide = (self.heads + 2 * self.kv) * self.dim
        bias = self.ones(wide) * 0.01 if self.config.get("attention_bias") else None
        return (self.ones(self.hidden), self.matrix(wide, self.hidden), bias,
                self.matrix(self.hidden, self.heads * self.dim), self.ones(self.hidden),
                self.matrix(2 * self.inner, self.hidden),
                self.matrix(self.hidden, self.inner))

    def cache(self, tokens):
        return tuple(self.torch.randn(1, self.kv, tokens, self.dim, device=self.device,
                                      dtype=self.torch.bfloat16) for _ in range(2))


class Model:
    """A step and a round, made of functions that `compiling` may replace."""

    def __init__(self, weights):
        self.w, self.torch = weights, weights.torch
        self.layer, self.finish = self.run_layer, self.run_head
        self.begin, self.enter = self.run_begin, self.run_enter

    def compile(self):
        self.layer, self.finish, self.begin, self.enter = (
            self.torch.compile(f, fullgraph=True, dynamic=False)
            for f in (self.run_layer, self.run_head, self.run_begin, self.run_enter))

    def normed(self, x, weight):
        return self.torch.nn.functional.rms_norm(x, (self.w.hidden,), weight, 1e-5)

    def rotation(self, positions):
        w, torch = self.w, self.torch
        frequencies = w.config["rope_theta"] ** (
            -torch.arange(0, w.dim, 2, device=w.device, dtype=torch.float32) / w.dim)
        angles = positions.float()[:, None] * frequencies
        return angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)

    def attention(self, q, keys, values, mask):
        """Computes attention over (1, heads, rows, dim) with a mask of (rows, tokens), which one
        row does not need."""
        functional, w = self.torch.nn.functional, self.w
        if mask is None:
            return functional.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        group, rows = w.heads // w.kv, q.shape[2]
        q = q.reshape(w.kv, group * rows, w.dim) / math.sqrt(w.dim)
        scores = self.torch.bmm(q, keys[0].transpose(1, 2)).view(w.kv, group, rows, -1)
        scores = scores.float().masked_fill(~mask, -math.inf).softmax(-1).to(q.dtype)
        return self.torch.bmm(scores.view(w.kv, group * rows, -1), values[0]).view(
            1, w.heads, rows, w.dim)

    def run_layer(self, x, added, layer, cache, positions, rotation, mask):
        # pylint: disable=too-many-arguments,too-many-positional-arguments,too-many-locals
        functional, torch, w = self.torch.nn.functional, self.torch, self.w
        norm, qkv, bias, out, norm2, up, down = layer
        rows = x.shape[0]
        x = x + added
        y = functional.linear(self.normed(x, norm), qkv, bias)
        y = y.view(rows, w.heads + 2 * w.kv, w.dim).transpose(0, 1)[None]

        def rotate(a):
            left, right = a.chunk(2, -1)
            cosine, sine = rotation
            return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1)

        keys, values = cache
        keys.index_copy_(2, positions, rotate(y[:, w.heads:w.heads + w.kv]))
        values.index_copy_(2, positions, y[:, w.heads + w.kv:])
        y = self.attention(rotate(y[:, :w.heads]), keys, values, mask)
        y = y[0].transpose(0, 1).reshape(rows, w.heads * w.dim)
        x = x + functional.linear(y, out)
        gate, value = functional.linear(self.normed(x, norm2), up).chunk(2, -1)
        return x, functional.linear(functional.silu(gate) * value, down)

    def run_head(self, x, added):
        """Returns hidden states, and the most likely tokens."""
        x = x + added
        return x, self.torch.nn.functional.linear(self.normed(x, self.w.norm),
                                                  self.w.head).argmax(-1)

    def mask(self, positions, cached):
        """Returns the mask of the cache entries that rows may see."""
        return self.torch.arange(cached, device=self.w.device)[None] <= positions[:, None]

    def run_begin(self, tokens, positions, cached):
        """Returns the inputs of the first layer, with a mask if the number of entries is given."""
        x = self.w.embedding[tokens]
        return (x, self.torch.zeros_like(x), self.rotation(positions),
                self.mask(positions, cached) if cached else None)

    def run_enter(self, tokens, hidden, positions, cached):
        """Returns the inputs of a module's layer."""
        both = self.torch.cat((self.normed(self.w.embedding[tokens], self.w.norm),
                               self.normed(hidden, self.w.norm)), -1)
        x = self.torch.nn.functional.linear(both, self.w.join)
        return (x, self.torch.zeros_like(x), self.rotation(positions),
                self.mask(positions, cached))

    def target(self, tokens, positions, caches, cached):
        x, added, rotation, mask = self.begin(tokens, positions, cached)
        for layer, cache in zip(self.w.layers, caches):
            x, added = self.layer(x, added, layer, cache, positions, rotation, mask)
        return self.finish(x, added)

    def make_step(self):
        """Returns a step as a call, and the bytes that it reads."""
        w, torch = self.w, self.torch
        caches = [w.cache(CONTEXT) for _ in w.layers]
        token = torch.tensor([5], device=w.device)
        position = torch.tensor([CONTEXT - 1], device=w.device)
        read = bytes_of(w.head, *(t for layer in w.layers for t in layer if t is not None),
                        *(t for cache in caches for t in cache))
        return lambda: self.target(token, position, caches, 0), read

    def draft(self, tokens, hidden, positions, cache, row):
        # pylint: disable=too-many-arguments,too-many-positional-arguments
        """A module's layer over rows, and the draft of one of them."""
        x, added, rotation, mask = self.enter(tokens, hidden, positions, cache[0].shape[2])
        x, added = self.layer(x, added, self.w.module, cache, positions, rotation, mask)
        return self.finish(x.index_select(0, row), added.index_select(0, row))

    def make_round(self, k):
        """Returns a round of k drafts as a call, and the bytes that it reads. The first draft also
        adds the module's entries for all rows of the previous round."""
        w, torch = self.w, self.torch
        tokens = CONTEXT + 2 * MOST_DRAFTS
        caches = [w.cache(tokens) for _ in w.layers]
        of_module = w.cache(tokens)
        window = torch.full((k + 1,), 5, device=w.device)
        hidden = torch.randn(k + 1, w.hidden, device=w.device, dtype=torch.bfloat16)
        accepted = torch.zeros(1, device=w.device, dtype=torch.int64)
        first = torch.zeros(1, device=w.device, dtype=torch.int64)
        before = torch.arange(k + 1, device=w.device) + CONTEXT - 1 - k
        after = torch.arange(k + 1, device=w.device) + CONTEXT - 1

        def run():
            state, token = self.draft(window, hidden, before, of_module, accepted)
            drafts = [token]
            for d in range(1, k):
                state, token = self.draft(token, state, after[d:d + 1], of_module, first)
                drafts.append(token)
            rows = torch.cat([window.index_select(0, accepted), *drafts])
            states, picks = self.target(rows, after, caches, tokens)
            # The slot does not move, so every round does the same work.
            hidden.copy_(states)
            window.copy_(picks)
            accepted.copy_((picks[:-1] == rows[1:]).long().cumprod(0).sum(0, keepdim=True))
            return picks

        modules = k * bytes_of(w.join, w.head, *of_module,
                               *(t for t in w.module if t is not None))
        return run, modules + bytes_of(w.head, *(t for layer in w.layers for t in layer
                                                 if t is not None),
                                       *(t for cache in caches for t in cache))


class Timing:
    """The fastest ways of a model's step and rounds so far."""

    def __init__(self, machine, rate, name):
        self.machine, self.rate, self.name = machine, rate, name
        self.best = {}

    def add(self, k, how, call, read):
        what = self.name if k == 0 else f"{self.name}, k {k}"
        us = self.machine.microseconds(self.machine.ready(call))
        report(f"{what}, {how}: us", us)
        if us < self.best.get(k, math.inf):
            self.best[k] = us
            report(f"{what}: us", us)
            report(f"{what}: share", read / us * 1e6 / self.rate)


class Ways:
    """The ways of one model. A function can be compiled for a few shapes and settings only, unless
    it is reset."""

    def __init__(self, torch, options, weights, timing):
        # Numbers of drafts, in the order in which they are measured while there is time.
        self.ks = [k for k in (2, 4, 1, 3) if weights.module and k <= options.k]
        self.torch, self.options, self.weights, self.timing = torch, options, weights, timing
        self.expected = self.run_once(self.step(Model(weights))[0])

    def step(self, model):
        self.torch.manual_seed(2)
        return model.make_step()

    @staticmethod
    def run_once(call):
        return call()[0].float().clone()

    def compare(self, how, call):
        """Checks that the compiled function computes what the original one did."""
        error = float((self.run_once(call) - self.expected).abs().max()
                      / self.expected.abs().max())
        check(f"{self.timing.name}, {how}: computes the same", error < 0.1, error)

    def plain(self):
        self.timing.add(0, "as it is", *self.step(Model(self.weights)))

    def layers(self, how="layers"):
        model = Model(self.weights)
        model.compile()
        self.compare(how, self.step(model)[0])
        self.timing.add(0, how, *self.step(model))
        for k in self.ks:
            if time.time() < self.options.end:
                self.timing.add(k, how, *model.make_round(k))

    def tuned(self):
        settings = self.torch._inductor.config  # pylint: disable=protected-access
        settings.coordinate_descent_tuning = True
        try:
            self.layers("tuned")
        finally:
            settings.coordinate_descent_tuning = False

    def whole(self):
        call, read = self.step(Model(self.weights))
        call = self.torch.compile(call, fullgraph=True, dynamic=False)
        self.compare("whole", call)
        self.timing.add(0, "whole", call, read)

    def run(self, how):
        """Runs one way. A failure is reported, and the other ways still run."""
        self.torch._dynamo.reset()  # pylint: disable=protected-access
        try:
            {"as it is": self.plain, "layers": self.layers, "tuned": self.tuned,
             "whole": self.whole}[how]()
        except Exception as error:  # pylint: disable=broad-except
            check(f"{self.timing.name}, {how}: runs", False,
                  f"{type(error).__name__}: {str(error)[:500]}")


def measure(torch, options):
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    machine = (Gpu if options.device == "cuda" else Cpu)(torch, options.turns)
    rate = copy_rate(torch, machine, options.device)
    report("copy GB/s, both directions", rate / 1e9)
    models = {}
    for name, path in zip(options.models[::2], options.models[1::2]):
        with open(path, encoding="utf-8") as file:
            models[name] = json.load(file), Timing(machine, rate, name)
    for how in options.ways:
        for name, (config, timing) in models.items():
            if time.time() > options.end:
                report(f"{name}, {how}", "no time left")
                continue
            Ways(torch, options, Weights(torch, config, options.device), timing).run(how)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME CONFIG_JSON")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=80,
                        help="after which nothing else is begun")
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("-k", type=int, default=MOST_DRAFTS)
    parser.add_argument("--ways", default="as it is,layers,tuned,whole",
                        type=lambda text: text.split(","))
    options = parser.parse_args()
    options.end = time.time() + options.seconds
    if len(options.models) % 2:
        parser.error("expected a config for each name")
    torch = load(options.device)
    report("PyTorch", torch.__version__)
    measure(torch, options)


if __name__ == "__main__":
    main()
