"""Compares a round before and after passes, value by value.

    interpret.py MODEL.mlir PASS...

Inlines MODEL and runs the regions of its draft chain and of its verification on a few rows, with
weights computed from their keys. Does so again after PASS..., and fails if a result differs by more
than rounding. Everything is computed in double precision, so a difference is an error. Small models
only.
"""

import math
import re
import subprocess
import sys
import zlib

ROWS = 5
TOKENS = [3, 17, 5, 9, 1]
TOLERANCE = 1e-11


# --- values ---------------------------------------------------------------

def weight_value(key, row, col):
    """Returns a reproducible number; norm weights lie around 1."""
    unit = zlib.crc32(f"{key}:{row}:{col}".encode()) % 2001 / 1000 - 1
    return 1 + 0.5 * unit if "norm" in key else 0.15 * unit


def silu(x):
    return x / (1 + math.exp(-x))


def project(x, weight):
    return [[sum(a * b for a, b in zip(row, out)) for out in weight]
            for row in x]


def add(x, y):
    return [[a + b for a, b in zip(r, s)] for r, s in zip(x, y)]


def gate(x, y):
    return [[silu(a) * b for a, b in zip(r, s)] for r, s in zip(x, y)]


def gelu_gate(x, y):
    root = math.sqrt(2 / math.pi)

    def gelu(a):
        return a / 2 * (1 + math.tanh(root * (a + 0.044715 * a**3)))

    return [[gelu(a) * b for a, b in zip(r, s)] for r, s in zip(x, y)]


def add_bias(x, bias):
    return [[a + b for a, b in zip(row, bias)] for row in x]


def beside(parts):
    return [sum((part[i] for part in parts), []) for i in range(len(parts[0]))]


def normalise(x, weight, eps, offset, groups=1):
    result = []
    for row in x:
        size, out = len(row) // groups, []
        for g in range(groups):
            part = row[g * size:(g + 1) * size]
            scale = 1 / math.sqrt(sum(v * v for v in part) / size + eps)
            out += [v * scale * (offset + w) for v, w in zip(part, weight)]
        result.append(out)
    return result


def attend(q, k, v, heads, kv_heads, scale, window):
    """Computes causal attention; row i is position i of one slot."""
    dk, dv, result = len(q[0]) // heads, len(v[0]) // kv_heads, []
    for i, query in enumerate(q):
        first, row = max(0, i - window + 1) if window else 0, []
        for h in range(heads):
            g = h * kv_heads // heads
            scores = [scale * sum(query[h * dk + d] * k[j][g * dk + d]
                                  for d in range(dk))
                      for j in range(first, i + 1)]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            row += [sum(w * v[first + j][g * dv + d]
                        for j, w in enumerate(weights)) / sum(weights)
                    for d in range(dv)]
        result.append(row)
    return result


# --- operations -----------------------------------------------------------

class Op:
    """An operation in the generic form with evaluated operands."""

    def __init__(self, name, operands, text, result_types):
        self.name, self.operands, self.text = name, operands, text
        self.result_types = result_types

    def int(self, key, default=None):
        found = re.search(rf"\b{key} = (-?\d+)", self.text)
        return int(found.group(1)) if found else default

    def float(self, key, absent=None):
        found = re.search(rf"\b{key} = ([\d.eE+-]+)", self.text)
        return float(found.group(1)) if found else absent

    def has(self, word):
        return re.search(rf"\b{word}\b", self.text) is not None

    def segments(self):
        sizes = re.search(r"operandSegmentSizes = array<i32: ([\d, ]+)>",
                          self.text).group(1)
        operands, result = list(self.operands), []
        for size in map(int, sizes.split(",")):
            result.append(operands[:size])
            del operands[:size]
        return result


def run_weight(op):
    key = re.search(r'key = "([^"]*)"', op.text).group(1)
    shape = [int(n) for n in re.findall(r"(\d+)x", op.result_types)]
    row0, col0 = op.int("row_begin", 0), op.int("col_begin", 0)
    if len(shape) == 1:
        return [weight_value(key, 0, i) for i in range(shape[0])]

    def matrix(name):
        return [[weight_value(name, row0 + r, col0 + c)
                 for c in range(shape[-1])] for r in range(shape[-2])]

    if len(shape) == 2:
        return matrix(key)
    return [matrix(key.replace("{}", str(s))) for s in range(shape[0])]


def run_rms_norm(op):
    return normalise(*op.operands, op.float("eps"), op.int("offset", 0),
                     op.int("groups", 1))


def run_linear(op):
    result = project(*op.operands[:2])
    return add_bias(result, op.operands[2]) if op.operands[2:] else result


def run_rope(op):
    x, positions = op.operands
    heads, head_dim = op.int("heads"), op.int("head_dim")
    dim, offset = op.int("dim"), op.int("offset", 0)
    result = []
    for row, position in zip(x, positions):
        row = row[:]
        for h in range(heads):
            base = h * head_dim + offset
            for i in range(dim // 2):
                angle = position * op.float("theta") ** (-2 * i / dim)
                a, b = ((base + 2 * i, base + 2 * i + 1)
                        if op.has("interleaved") else
                        (base + i, base + i + dim // 2))
                cos, sin = math.cos(angle), math.sin(angle)
                row[a], row[b] = (row[a] * cos - row[b] * sin,
                                  row[a] * sin + row[b] * cos)
        result.append(row)
    return result


def run_attention(op):
    q, k, v = op.operands[:3]
    kv_heads, prefix = op.int("kv_heads"), op.int("value_prefix")
    if prefix is not None:
        size = len(k[0]) // kv_heads
        v = [sum((row[g * size:g * size + prefix] for g in range(kv_heads)), [])
             for row in k]
    return attend(q, k, v, op.int("heads"), kv_heads, op.float("scale"),
                  op.int("window", 0))


def run_mla_attention(op):
    q, c, k_pe, kv_b = op.operands[:4]
    heads, nope, value = op.int("heads"), op.int("nope"), op.int("value")
    size, k, v = nope + value, [], []
    for row, pe in zip(project(c, kv_b), k_pe):
        parts = [row[h * size:(h + 1) * size] for h in range(heads)]
        k.append(sum((part[:nope] + pe for part in parts), []))
        v.append(sum((part[nope:] for part in parts), []))
    return attend(q, k, v, heads, heads, op.float("scale"),
                  op.int("window", 0))


def run_moe_route(op):
    top_k, groups = op.int("top_k"), op.int("groups", 1)
    keep, indices, weights = op.int("keep", 1), [], []
    bias = op.operands[1] if op.operands[1:] else None
    for row in op.operands[0]:
        if op.has("sigmoid"):
            scores = [1 / (1 + math.exp(-v)) for v in row]
        else:
            exps = [math.exp(v - max(row)) for v in row]
            scores = [e / sum(exps) for e in exps]
        ranked = add_bias([scores], bias)[0] if bias else scores
        size = len(row) // groups
        sums = [sum(sorted(ranked[g * size:(g + 1) * size])[-2:])
                for g in range(groups)]
        kept = sorted(range(groups), key=lambda g: (-sums[g], g))[:keep]
        order = sorted((e for e in range(len(row)) if e // size in kept),
                       key=lambda e: (-ranked[e], e))[:top_k]
        total = sum(scores[e] for e in order) if op.has("normalized") else 1
        scale = op.float("scale") if op.has("scale") else 1
        indices.append(order)
        weights.append([scores[e] / total * scale for e in order])
    return indices, weights


def run_moe_experts(op):
    x, indices, weights, _, gates, ups, downs, shared, residual = op.segments()
    result = []
    for i, row in enumerate(x[0]):
        total = [0.0] * len(row)
        for e, w in zip(indices[0][i], weights[0][i]):
            hidden = gate(project([row], gates[0][e]),
                          project([row], ups[0][e]))
            down = project(hidden, downs[0][e])[0]
            total = [a + w * b for a, b in zip(total, down)]
        result.append(total)
    for addend in shared + residual:
        result = add(result, addend)
    return result


def run_fused_linear(op):
    (x,), norm, weights, biases, residual = op.segments()
    if norm:
        x = normalise(x, norm[0], op.float("eps"), op.int("offset", 0))
    parts = [project(x, weight) for weight in weights]
    if biases:
        parts = [add_bias(p, b) for p, b in zip(parts, biases)]
    if op.has("geglu_tanh"):
        result = gelu_gate(*parts)
    else:
        result = gate(*parts) if op.has("swiglu") else beside(parts)
    return add(result, residual[0]) if residual else result


def run_head_linear(op):
    x, weight = op.operands
    heads, stride = op.int("heads"), op.int("block_stride")
    keep = op.int("keep_begin"), op.int("keep_end")
    result = []
    for row in x:
        size, out = len(row) // heads, []
        for h in range(heads):
            head = row[h * size:(h + 1) * size]
            block = weight[h * stride + op.int("block_begin"):
                           h * stride + op.int("block_end")]
            if op.has("transposed"):
                block = [list(column) for column in zip(*block)]
            part = head[op.int("col_begin"):op.int("col_end")]
            out += project([part], block)[0]
            out += head[keep[0]:keep[1]] if keep[0] is not None else []
        result.append(out)
    return result


RUN = {
    "weight": run_weight,
    "embed": lambda op: [[x * op.float("scale", 1.0) for x in op.operands[1][t]]
                         for t in op.operands[0]],
    "mask_first": lambda op: [row if p else [0.0] * len(row)
                              for row, p in zip(*op.operands)],
    "rms_norm": run_rms_norm,
    "concat": lambda op: beside(op.operands),
    "slice": lambda op: [row[op.int("begin"):op.int("end")]
                         for row in op.operands[0]],
    "linear": run_linear,
    "add": lambda op: add(*op.operands),
    "swiglu": lambda op: gate(*op.operands),
    "geglu_tanh": lambda op: gelu_gate(*op.operands),
    "silu": lambda op: gate(*op.operands, [[1.0] * len(row) for row in op.operands[0]]),
    "rope": run_rope,
    "attention": run_attention,
    "mla_attention": run_mla_attention,
    "moe_route": run_moe_route,
    "moe_experts": run_moe_experts,
    "fused_linear": run_fused_linear,
    "head_linear": run_head_linear,
}


# --- regions --------------------------------------------------------------

OPERATION = re.compile(r'(?:(%\w+)(?::(\d+))? = )?"mtp\.(\w+)"\(([^)]*)\)'
                       r"(.*) : \(.*?\) -> (.*)$")


def regions(model, passes):
    """Returns the lines of each region of the draft chain and the verification."""
    text = subprocess.run(
        ["mtp-opt", model, "--mlir-print-op-generic", "--mtp-inline-layers",
         *passes], check=True, capture_output=True, text=True).stdout
    found = re.findall(r'"mtp\.(?:draft_chain|verify)"\([^\n]*\(\{\n'
                       r"(.*?)\n    \}\) :", text, re.S)
    # A chain's first region is its input's, which is empty.
    return [region.split("\n") for group in found
            for region in re.split(r"\n    \}, \{\n", group.removeprefix("    }, {\n"))]


def evaluate(lines):
    """Returns the yielded values of a region: logits and hidden state."""
    arguments = re.findall(r"(%\w+): ([^,)]+)", lines[0])
    values = {arguments[0][0]: TOKENS, arguments[-1][0]: list(range(ROWS))}
    if len(arguments) == 3:
        width = int(re.search(r"x(\d+)xf32", arguments[1][1]).group(1))
        values[arguments[1][0]] = [[5 * weight_value("hidden", r, c)
                                    for c in range(width)]
                                   for r in range(ROWS)]
    for line in lines[1:]:
        match = OPERATION.match(line.strip())
        result, count, name, operands, text, types = (
            match.groups() if match else (None, None, "yield", re.search(
                r"\((.*?)\)", line).group(1), "", ""))
        operands = [values[o.strip()] for o in operands.split(",") if o.strip()]
        if name == "yield":
            return operands
        value = RUN[name](Op(name, operands, text, types))
        if count:
            values.update({f"{result}#{i}": v for i, v in enumerate(value)})
        else:
            values[result] = value
    raise ValueError("expected a yield")


def main():
    model, passes = sys.argv[1], sys.argv[2:]
    before, after = regions(model, []), regions(model, passes)
    if not before or len(before) != len(after):
        sys.exit(f"expected {len(before)} regions, got {len(after)}")
    for index, (old, new) in enumerate(zip(before, after)):
        pairs = [(a, b) for x, y in zip(evaluate(old), evaluate(new))
                 for r, s in zip(x, y) for a, b in zip(r, s)]
        # Written so that NaN and infinities count as a difference.
        worst = max(abs(a - b) for a, b in pairs)
        if not worst <= TOLERANCE:
            sys.exit(f"region {index}: expected equal values, got a "
                     f"difference of {worst:.3g}")
        spread = max(a for a, _ in pairs) - min(a for a, _ in pairs)
        if spread < 0.1:
            sys.exit(f"region {index}: expected values that differ")
        print(f"region {index}: {len(pairs)} equal values")


if __name__ == "__main__":
    main()
