#!/usr/bin/env python3
"""Runs an imported module by its text and compares it with the oracle's logits.

  python3 interpret.py MODEL.mlir EXPECTED.json

The interpreter knows only the operations that the importer emits. It reads the text, not the
importer's data structures, and computes in binary64 with the standard library. So it checks the
importer (keys, shapes, wiring, scales) against logits that transformers computed.
"""
import array, json, math, os, re, struct, sys
from operator import add, mul

TOLERANCE = 1e-3
ROWS = 40  # of the oracle's; the drafts' first rows need no more


# ---------------------------------------------------------------- the weights

def read_tensors(path):
    """Returns {key: (shape, flat values)} of one safetensors file."""
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for key, t in json.loads(data[8:8 + size]).items():
        if key == "__metadata__":
            continue
        begin, end = t["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if t["dtype"] == "BF16":
            raw = b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2))
        out[key] = (t["shape"], array.array("f", raw).tolist())
    return out


def read_weights(module, text):
    folder = os.path.dirname(module)
    out = {}
    for name in re.findall(r'"([^"]*)"', re.search(r"mtp.weights files \[(.*)\]", text)[1]):
        path = os.path.join(folder, name)
        files = [path]
        if path.endswith(".json"):
            shards = set(json.load(open(path))["weight_map"].values())
            files = [os.path.join(os.path.dirname(path), shard) for shard in shards]
        for file in files:
            out.update(read_tensors(file))
    return out


# ---------------------------------------------------------------- the operations

def matvec(matrix, x):
    return [sum(map(mul, row, x)) for row in matrix]


def softmax(x):
    top = max(x)
    e = [math.exp(v - top) for v in x]
    total = sum(e)
    return [v / total for v in e]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def swiglu(gate, up):
    return [g * sigmoid(g) * u for g, u in zip(gate, up)]


def geglu_tanh(gate, up):
    root = math.sqrt(2 / math.pi)
    return [g / 2 * (1 + math.tanh(root * (g + 0.044715 * g**3))) * u for g, u in zip(gate, up)]


def split(row, count):
    width = len(row) // count
    return [row[i * width:(i + 1) * width] for i in range(count)]


def join(parts):
    return [v for part in parts for v in part]


def rms_norm(text, x, weight):
    eps, offset = number(text, "eps"), number(text, "offset", 0)
    out = []
    for row in x:
        groups = split(row, integer(text, "groups", 1))
        scales = [1 / math.sqrt(sum(map(mul, g, g)) / len(g) + eps) for g in groups]
        out.append(join([v * s * (w + offset) for v, w in zip(g, weight)]
                        for g, s in zip(groups, scales)))
    return out


def l2_norm(text, x):
    eps = number(text, "eps")
    out = []
    for row in x:
        groups = split(row, integer(text, "groups", 1))
        out.append(join([v / math.sqrt(sum(map(mul, g, g)) + eps) for v in g] for g in groups))
    return out


def sigmoid_gate(x, gate):
    return [[v * sigmoid(g[i * len(g) // len(row)]) for i, v in enumerate(row)]
            for row, g in zip(x, gate)]


def decay(text, x, rate, bias):
    rates = rate if " linear" in text else [-math.exp(r) for r in rate]
    return [[math.exp(r * math.log1p(math.exp(v + b)))
             for v, r, b in zip(row, rates, bias)] for row in x]


def causal_conv(x, weight):
    window, zeros = len(weight[0]), [0.0] * len(weight)
    out = []
    for t in range(len(x)):
        past = [x[s] if s >= 0 else zeros for s in range(t - window + 1, t + 1)]
        sums = [sum(map(mul, w, column)) for w, column in zip(weight, zip(*past))]
        out.append([v * sigmoid(v) for v in sums])
    return out


def delta_rule(text, keys, q, k, v, forget, beta):
    """Runs the rule with a state [values][keys] per head, which begins as zeros."""
    scale, heads = number(text, "scale"), len(forget[0])
    share = heads * keys // len(q[0])   # heads per key head
    states = [[[0.0] * keys for _ in range(len(v[0]) // heads)] for _ in range(heads)]
    out = []
    for t in range(len(q)):
        qs, ks, vs = split(q[t], heads // share), split(k[t], heads // share), split(v[t], heads)
        row = []
        for h in range(heads):
            key, query, g, b = ks[h // share], qs[h // share], forget[t][h], beta[t][h]
            for i, s in enumerate(states[h]):
                u = b * (vs[h][i] - g * sum(map(mul, s, key)))
                states[h][i] = s = [g * a + u * c for a, c in zip(s, key)]
                row.append(scale * sum(map(mul, s, query)))
        out.append(row)
    return out


def parse_float(text):
    """Parses a float. MLIR writes the bits of numbers that need many digits."""
    return struct.unpack(">d", bytes.fromhex(text[2:]))[0] if text.startswith("0x") else float(text)


def frequencies(p):
    dim, theta = int(p["dim"]), parse_float(p["theta"])
    factor, old = float(p.get("factor", 1)), int(p.get("original_max_position", 0))
    out = [theta ** (-2 * i / dim) for i in range(dim // 2)]
    kind = p.get("scaling", "none")
    if kind == "linear":
        return [f / factor for f in out]
    if kind == "llama3":
        low, high = float(p.get("low_freq_factor", 1)), float(p.get("high_freq_factor", 4))
        blend = [min(max((old * f / (2 * math.pi) - low) / (high - low), 0), 1) for f in out]
        return [(1 - b) * f / factor + b * f for f, b in zip(out, blend)]
    if kind == "yarn":
        def bound(rotations):
            return dim * math.log(old / (rotations * 2 * math.pi)) / (2 * math.log(theta))
        low = max(math.floor(bound(float(p.get("beta_fast", 32)))), 0)
        high = min(math.ceil(bound(float(p.get("beta_slow", 1)))), dim - 1)
        ramp = [min(max((i - low) / max(high - low, 0.001), 0), 1) for i in range(dim // 2)]
        return [f / factor * r + f * (1 - r) for f, r in zip(out, ramp)]
    return out


def rope(text, x):
    p = dict(re.findall(r"(\w+) = ([\w.+-]+)", re.search(r"<(.*?)>", text)[1]))
    heads, offset = integer(text, "heads"), integer(text, "offset", 0)
    factor, f = float(p.get("attention_factor", 1)), frequencies(p)
    half = len(f)
    if p.get("layout") == "interleaved":
        pairs = [(2 * i, 2 * i + 1) for i in range(half)]
    else:
        pairs = [(i, i + half) for i in range(half)]
    out = []
    for position, row in enumerate(x):
        parts = split(row, heads)
        for head in parts:
            for (i, j), freq in zip(pairs, f):
                c, s = (factor * g(position * freq) for g in (math.cos, math.sin))
                a, b = head[offset + i], head[offset + j]
                head[offset + i], head[offset + j] = a * c - b * s, b * c + a * s
        out.append(join(parts))
    return out


def attend(q, k, v, scale, window):
    """Attention. q, k and v are [row][head]; each query head has its own key head."""
    out = []
    for row in range(len(q)):
        first = max(0, row - window + 1) if window else 0
        heads = []
        for h in range(len(q[0])):
            p = softmax([scale * sum(map(mul, q[row][h], k[j][h])) for j in range(first, row + 1)])
            values = zip(*(v[j][h] for j in range(first, row + 1)))
            heads.append([sum(map(mul, p, column)) for column in values])
        out.append(join(heads))
    return out


def attention(text, q, k, v):
    heads, kv_heads = integer(text, "heads"), integer(text, "kv_heads")
    repeat = heads // kv_heads
    spread = lambda x: [[h for h in split(row, kv_heads) for _ in range(repeat)] for row in x]
    return attend([split(row, heads) for row in q], spread(k), spread(v), number(text, "scale"),
                  integer(text, "window", 0))


def mla_attention(text, q, latent, k_pe, kv_b):
    heads, nope = integer(text, "heads"), integer(text, "nope")
    k, v = [], []
    for c, pe in zip(latent, k_pe):
        parts = split(matvec(kv_b, c), heads)
        k.append([part[:nope] + pe for part in parts])
        v.append([part[nope:] for part in parts])
    return attend([split(row, heads) for row in q], k, v, number(text, "scale"), 0)


def best(scores, count):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:count]


def moe_route(text, logits, bias=None):
    groups, keep = integer(text, "groups", 1), integer(text, "keep", 1)
    indices, weights = [], []
    for row in logits:
        scores = [sigmoid(v) for v in row] if " sigmoid " in text else softmax(row)
        choice = list(map(add, scores, bias)) if bias else list(scores)
        if groups > 1:
            sums = [sum(sorted(g)[-2:]) for g in split(choice, groups)]
            kept, width = best(sums, keep), len(choice) // groups
            choice = [c if i // width in kept else -math.inf for i, c in enumerate(choice)]
        chosen = best(choice, integer(text, "top_k"))
        w = [scores[i] for i in chosen]
        total = sum(w) if " normalized " in text else 1.0
        indices.append(chosen)
        weights.append([v / total * number(text, "scale", 1.0) for v in w])
    return indices, weights


def moe_experts(x, indices, weights, rows, gate, up, down, *added):
    out = []
    for r, row in enumerate(x):
        y = [sum(column) for column in zip(*(a[r] for a in added))]
        for e, w in zip(indices[r], weights[r]):
            z = matvec(down[e], swiglu(matvec(gate[e], row), matvec(up[e], row)))
            y = [a + w * b for a, b in zip(y, z)]
        out.append(y)
    return out


# ---------------------------------------------------------------- the text

def number(text, key, absent=None):
    found = re.search(r"\b%s ([-+.\dEe]+)" % key, text)
    return float(found[1]) if found else absent


def integer(text, key, absent=None):
    value = number(text, key, absent)
    return None if value is None else int(value)


class Module:
    def __init__(self, path):
        self.text = open(path).read()
        self.weights = read_weights(path, self.text)
        self.functions = {}
        self.keys = integer(self.text, "keys")   # of the recurrence, if there is one
        for name, arguments, body in re.findall(
                r"func.func private @(\w+)\((.*?)\) -> [^\n]*\{\n(.*?)\n  \}", self.text, re.S):
            self.functions[name] = (re.findall(r"(%\w+):", arguments), body.split("\n"))

    def call(self, name, arguments, prefix):
        """Calls a function. Rows are at positions 0, 1, ...; the result is a list."""
        names, body = self.functions[name]
        values = dict(zip(names, arguments))
        for line in map(str.strip, body):
            used = [values[v] for v in re.findall(r"%[\w#]+", line.split(" : ")[0]) if v in values]
            if line.startswith("return"):
                return used
            results, op, text = re.match(r"(%.*?) = mtp\.(\w+) (.*)", line).groups()
            if op == "apply":
                callee, weights = re.match(r'@(\w+)\(.*?\)(?: weights "(.*?)")?', text).groups()
                made = self.call(callee, used, prefix + (weights or ""))
            elif op == "weight":
                made = [self.weight(text, prefix)]
            elif op == "delta_rule":
                made = [delta_rule(text, self.keys, *used[:5])]
            else:
                made = evaluate(op, text, used)
            values.update(zip(results.split(", "), made))

    def weight(self, text, prefix):
        key = re.match(r'"(.*?)"', text)[1]
        key = key[1:] if key[0] == "/" else prefix + key
        shape = [int(d) for d in re.search(r"tensor<([\dx]+)x\w+>", text)[1].split("x")]
        if len(shape) == 3 and "{}" in key:
            return [self.tensor(key.replace("{}", str(i)), shape[1:]) for i in range(shape[0])]
        rows = re.search(r"rows (\d+) to (\d+) of (\d+)", text)
        if len(shape) == 3:   # matrices of one tensor
            begin, end, count = map(int, rows.groups()) if rows else (0, shape[1], shape[1])
            every = self.tensor(key, [shape[0], count, shape[2]])
            return [every[i * count + begin:i * count + end] for i in range(shape[0])]
        if not rows:
            return self.tensor(key, shape)
        begin, end, count = map(int, rows.groups())
        step = count // (shape[0] // (end - begin))   # the range repeats in blocks of equal size
        tensor = self.tensor(key, [count, shape[1]])
        return [tensor[first + i] for first in range(0, count, step) for i in range(begin, end)]

    def tensor(self, key, shape):
        found, values = self.weights[key]
        if len(found) > len(shape):   # vectors as [1, n], filters as [n, 1, taps]
            found = found[1:] if found[0] == 1 else [found[0]] + found[2:]
        assert found == shape, f"{key}: expected {shape}, got {found}"
        return values if len(shape) == 1 else split(values, math.prod(shape[:-1]))


def evaluate(op, text, a):
    if op == "embed":
        scale = number(text, "scale", 1.0)
        return [[[x * scale for x in a[1][t]] for t in a[0]]]
    if op == "mask_first":
        return [[[0.0] * len(a[0][0])] + a[0][1:]]
    if op == "linear":
        y = [matvec(a[1], row) for row in a[0]]
        return [[list(map(add, row, a[2])) for row in y] if len(a) > 2 else y]
    if op == "add":
        return [[list(map(add, x, y)) for x, y in zip(*a)]]
    if op in ("swiglu", "geglu_tanh"):
        apply = swiglu if op == "swiglu" else geglu_tanh
        return [[apply(x, y) for x, y in zip(*a)]]
    if op == "concat":
        return [[join(parts) for parts in zip(*a)]]
    if op == "slice":
        begin, end = map(int, re.search(r"cols (\d+) to (\d+)", text).groups())
        return [[row[begin:end] for row in a[0]]]
    if op == "rms_norm":
        return [rms_norm(text, *a)]
    if op == "l2_norm":
        return [l2_norm(text, a[0])]
    if op == "sigmoid":
        return [[[sigmoid(v) for v in row] for row in a[0]]]
    if op == "sigmoid_gate":
        return [sigmoid_gate(*a)]
    if op == "decay":
        return [decay(text, *a)]
    if op == "causal_conv":
        return [causal_conv(*a[:2])]
    if op == "rope":
        return [rope(text, a[0])]
    if op == "attention":
        return [attention(text, *a[:3])]
    if op == "mla_attention":
        return [mla_attention(text, *a[:4])]
    if op == "moe_route":
        return moe_route(text, *a)
    if op == "moe_experts":
        return [moe_experts(*a)]
    sys.exit(f"unknown operation {op}")


# ---------------------------------------------------------------- the comparison

def compare(what, logits, expected):
    for row, (y, token) in enumerate(zip(logits, expected["argmax"])):
        if best(y, 1)[0] != token:
            sys.exit(f"{what}: row {row}: expected token {token}, got {best(y, 1)[0]}")
    worst = 0.0
    for row, y in zip(expected["rows"], expected["logits"]):
        if row < len(logits):
            worst = max(worst, max(abs(p - q) for p, q in zip(logits[row], y)))
    if worst > TOLERANCE:
        sys.exit(f"{what}: expected logits within {TOLERANCE}, got {worst}")
    print(f"{what}: {len(logits)} rows agree")


def compare_chain(module, prefixes, expected, hidden):
    """Compares drafts from the prompt alone: of each module at the last row, or of the one module,
    a row further each time, on the states that it handed on."""
    chain, count = expected["chain"], len(expected["prompt"])
    tokens, hidden = expected["prompt"] + [chain["next"]], hidden[:count]
    for d, (token, logits) in enumerate(zip(chain["ids"], chain["logits"])):
        reused = chain["mode"] == "reuse"
        first = 1 if reused else d + 1
        made, carried = module.call("module", [tokens[first:], hidden, None],
                                    prefixes[0 if reused else d])
        compare(f"draft {d + 1}", made[-1:], {"argmax": [token], "rows": [0], "logits": [logits]})
        tokens = tokens + [token]
        hidden = hidden + carried[-1:] if reused else carried


def main():
    module = Module(sys.argv[1])
    expected = json.load(open(sys.argv[2]))["results"][0]
    tokens = (expected["prompt"] + expected["greedy"])[:ROWS]
    logits, hidden = module.call("target", [tokens, None], "")
    compare("target", logits, expected["target"])
    prefixes = re.findall(r'@module\(.*?weights "(.*?)"', module.text)
    drafts = expected.get("drafts", [])
    if len(prefixes) != len(drafts):
        sys.exit(f"expected {len(drafts)} modules, got {len(prefixes)}")
    if drafts:
        compare_chain(module, prefixes, expected, hidden)
    for d, (prefix, draft) in enumerate(zip(prefixes, drafts)):
        shifted = tokens[d + 1:]
        logits, hidden = module.call("module", [shifted, hidden[:len(shifted)], None], prefix)
        compare(f"module {d + 1}", logits, draft)


main()
