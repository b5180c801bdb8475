"""A plain step of a Llama or MiMo shape in PyTorch, for comparison: bf16, batch 1, a static
cache of 512 tokens, the whole step compiled and captured in a CUDA graph.

  baseline.py CONFIG_JSON NAME

It prints microseconds and its own share of a copy's rate, counted as in mtp-bench: the
weights that a step reads, and its entries of the cache.
"""

import json
import math
import sys

from report import report

CONTEXT = 512


def load():
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        report("skipped", "no PyTorch")
        sys.exit(0)
    if not torch.cuda.is_available():
        report("skipped", "PyTorch sees no GPU")
        sys.exit(0)
    return torch


def make_step(torch, config, device):
    """The model as tensors: a function of a token and its position, bytes that it reads."""
    functional = torch.nn.functional
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    kv, dim = config["num_key_value_heads"], config["head_dim"]
    inner, vocab = config["intermediate_size"], config["vocab_size"]

    def matrix(rows, columns):
        return torch.randn(rows, columns, device=device, dtype=torch.bfloat16) / math.sqrt(
            columns)

    layers = [{
        "norm": torch.ones(hidden, device=device, dtype=torch.bfloat16),
        "qkv": matrix((heads + 2 * kv) * dim, hidden),
        "o": matrix(hidden, heads * dim),
        "norm2": torch.ones(hidden, device=device, dtype=torch.bfloat16),
        "up": matrix(2 * inner, hidden), "down": matrix(hidden, inner),
        "keys": torch.randn(1, kv, CONTEXT, dim, device=device, dtype=torch.bfloat16),
        "values": torch.randn(1, kv, CONTEXT, dim, device=device, dtype=torch.bfloat16),
    } for _ in range(config["num_hidden_layers"])]
    embedding, head = matrix(vocab, hidden), matrix(vocab, hidden)
    norm = torch.ones(hidden, device=device, dtype=torch.bfloat16)
    frequencies = config["rope_theta"] ** (
        -torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim)

    def rotate(x, cosine, sine):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1)

    def step(token, position):
        x = embedding[token]
        angles = position.float() * frequencies
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in layers:
            y = functional.rms_norm(x, (hidden,), layer["norm"], 1e-5)
            qkv = functional.linear(y, layer["qkv"]).view(1, heads + 2 * kv, 1, dim)
            q = rotate(qkv[:, :heads], cosine, sine)
            layer["keys"].index_copy_(2, position, rotate(qkv[:, heads:heads + kv], cosine,
                                                          sine))
            layer["values"].index_copy_(2, position, qkv[:, heads + kv:])
            y = functional.scaled_dot_product_attention(q, layer["keys"], layer["values"],
                                                        enable_gqa=True)
            x = x + functional.linear(y.reshape(1, heads * dim), layer["o"])
            y = functional.rms_norm(x, (hidden,), layer["norm2"], 1e-5)
            gate, up = functional.linear(y, layer["up"]).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, layer["down"])
        x = functional.rms_norm(x, (hidden,), norm, 1e-5)
        return functional.linear(x, head).argmax(-1)

    read = [head] + [layer[key] for layer in layers
                     for key in ("qkv", "o", "up", "down", "keys", "values")]
    return step, sum(tensor.numel() * tensor.element_size() for tensor in read)


def time_calls(torch, call, repetitions):
    """The median of microseconds, by events."""
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
              for _ in range(repetitions)]
    for begin, end in events:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return sorted(begin.elapsed_time(end) * 1e3 for begin, end in events)[repetitions // 2]


def copy_rate(torch):
    """Bytes a second of a copy of 4 GB, both directions."""
    source = torch.zeros(4 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    us = time_calls(torch, lambda: target.copy_(source), 9)
    return 2 * source.numel() / us * 1e6


def capture(torch, call, *arguments):
    """A graph of a call, which is warm."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call(*arguments)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call(*arguments)
    return graph


def main():
    torch = load()
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    name = sys.argv[2]
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    rate = copy_rate(torch)
    torch.cuda.empty_cache()
    step, read = make_step(torch, config, "cuda")
    token = torch.tensor([5], device="cuda")
    position = torch.tensor([CONTEXT - 1], device="cuda")
    best = math.inf
    # Compiling takes a while: what is captured as it is comes first.
    for how in ("as it is", "compiled"):
        call = torch.compile(step, fullgraph=True) if how == "compiled" else step
        try:
            us = time_calls(torch, capture(torch, call, token, position).replay, 50)
        except Exception as error:  # pylint: disable=broad-except
            report(f"{name}, {how}", f"failed: {str(error)[:300]}")
            continue
        report(f"{name}, {how}: us", us)
        best = min(best, us)
        report(f"{name}: us", best)
        report(f"{name}: share", read / best * 1e6 / rate)


if __name__ == "__main__":
    main()
