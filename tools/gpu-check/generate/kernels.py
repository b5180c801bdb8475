"""Which kernels the probes run: (line of the manifest, name, MLIR) each."""

import math

import attention
import elementary
from builder import module
from persistent import Persistent, persistent
from persistent import manifest as persistent_manifest
from products import INPUTS, SHARED, Product

# Rows and inputs of the products of a layer, and of the head.
SHAPES = {
    "llama1b": {"qkv": (3072, 2048), "o": (2048, 2048), "gu": (16384, 2048),
                "down": (2048, 8192), "head": (128256, 2048)},
    "llama8b": {"qkv": (6144, 4096), "o": (4096, 4096), "gu": (28672, 4096),
                "down": (4096, 14336), "head": (128256, 4096)},
    "deepseek": {"qa": (2112, 7168), "qb": (24576, 1536), "o": (7168, 16384),
                 "gu": (36864, 7168), "down": (7168, 18432)},
}


def scale_of(inputs):
    """Keeps a chain's activations at their size (`fill` in machine.cu)."""
    return 1 / (0.763 * math.sqrt(inputs))


def product(line, **fields):
    p = Product(**fields)
    text = f"{p.manifest()} scale={p.scale:.9g}"
    return (text.replace("product", line, 1), p.name, module([SHARED, p.text()]))


def checks():
    """Small ones, whose bits are compared; the most tokens first."""
    out = []
    for kind in ("bf16", "s8", "s4"):
        for load, tokens, height, grid in (
                ("reg", 32, 1, 0), ("reg", 24, 2, 1), ("reg", 16, 1, 2),
                ("reg", 8, 2, 0), ("reg", 5, 1, 0), ("reg", 1, 1, 1),
                ("async", 32, 2, 0), ("async", 13, 1, 2), ("async", 8, 1, 1),
                ("bulk", 32, 1, 1), ("bulk", 2, 1, 0)):
            out.append(product(
                "check", name=f"check_{kind}_{load}_t{tokens}_h{height}_g{grid}",
                kind=kind, inputs=4096, rows=128, tokens=tokens, height=height,
                grid=grid, load=load, unroll=1, stages=2, x_ahead=tokens < 24,
                blocks=1))
        for tokens, height in ((32, 2), (16, 1), (8, 1), (4, 1), (1, 2)):
            out.append(product(
                "check", name=f"check_{kind}_strided_t{tokens}_h{height}", kind=kind,
                inputs=4096, rows=128, tokens=tokens, height=height, load="reg",
                stages=2, unroll=1, warps=16, strided=True, hint="noalloc",
                x_ahead=False, blocks=1))
        for tokens, height in ((16, 1), (8, 2), (4, 1), (1, 2)):
            out.append(product(
                "check", name=f"check_{kind}_pairs_t{tokens}_h{height}", kind=kind,
                inputs=4096, rows=128, tokens=tokens, height=height, load="reg",
                stages=1, unroll=2, warps=16, strided=True, hint="noalloc",
                x_ahead=False, blocks=1))
    return out


def variant(model, which, kind="bf16", tokens=8, load="reg", unroll=1, stages=4, grid=0,
            line="product", **more):
    """None where K does not divide so."""
    rows, inputs = SHAPES[model][which]
    if load == "reg":
        blocks = (inputs // (32 if kind == "bf16" else 64) // more.get("warps", 8)
                  // unroll)
        stages = max((s for s in range(1, stages + 1) if blocks % s == 0), default=1)
    name = (f"{model}_{which}_{kind}_t{tokens}_{load}_u{unroll}_s{stages}_g{grid}"
            + "".join(f"_{k}_{v}" for k, v in more.items()))
    out = "bf16" if kind == "bf16" else "f32"
    try:
        return product(line, name=name, kind=kind, inputs=inputs, rows=rows,
                       tokens=tokens, load=load, unroll=unroll, stages=stages,
                       grid=grid, out=out, scale=scale_of(inputs), **more)
    except AssertionError:
        return None


def sweep():
    """How many bytes in flight, by which loads, from how many blocks and warps; and
    when the successor is let in."""
    out = []

    def add(**fields):
        out.append(variant(model, which, **fields))
    for model, which in (("llama8b", "o"), ("llama8b", "gu"), ("llama8b", "down"),
                         ("llama1b", "o"), ("llama1b", "gu"), ("llama1b", "down")):
        for stages in (1, 2, 4, 8):
            for grid in (132, 264, 0):
                add(stages=stages, grid=grid)
        best = {"hint": "noalloc", "strided": True}
        for more in ({"hint": "noalloc"}, {"strided": True}, best, {"l2": 16384},
                     {**best, "x_ahead": False}, {**best, "height": 2}):
            add(**more)
        best.update(warps=16, x_ahead=False)
        for more in ({}, {"prefetch": False}, {"trigger": "start"}, {"trigger": "end"},
                     {"trigger": "none"}, {"height": 2, "blocks": 1}):
            add(stages=2, **best, **more)
        add(stages=4, blocks=1, **best)
        add(stages=2, blocks=1, **{**best, "warps": 32})
        for load in ("async", "bulk"):
            for unroll, stages, grid in (
                    (1, 4, 132), (4, 2, 132), (4, 3, 132), (4, 6, 132), (1, 4, 264),
                    (4, 2, 264), (4, 3, 264), (4, 3, 0)):
                add(load=load, unroll=unroll, stages=stages, grid=grid)
            for more in ({"prefetch": False}, {"strided": True}, {"trigger": "start"},
                         {"trigger": "end"}):
                add(load=load, unroll=4, stages=3, grid=132, **more)
        add(load="bulk", unroll=4, stages=3, grid=132, hint="first")
    return [v for v in out if v]


# Ways of running a product by its tokens: (blocks of inputs ahead, height, x_ahead,
# blocks of threads). The order of sums is the same in all; it hangs on the number of
# warps, and for integers on the chunk.
CHOICES = {
    8: ((2, 1, False, 2), (4, 1, True, 1), (2, 1, True, 1), (4, 1, False, 2),
        (4, 2, False, 1), (2, 2, False, 1), (2, 2, False, 2)),
    16: ((2, 1, False, 2), (4, 1, True, 1), (2, 1, True, 1), (2, 2, False, 1),
         (1, 2, True, 1)),
    32: ((2, 2, False, 1), (2, 1, True, 1), (1, 2, True, 1), (2, 1, False, 2),
         (4, 1, True, 1), (4, 1, False, 1)),
}


def choices(tokens):
    return CHOICES[8 if tokens <= 8 else 16 if tokens <= 16 else 32]


def chosen(model, which, kind, tokens, choice, line="product", **more):
    ahead, height, x_ahead, blocks = choice
    inputs = SHAPES[model][which][1] // INPUTS[kind]
    warps = 16 if inputs % 16 == 0 else 8
    # Two blocks of integers with their scales are a multiple of 128 bytes.
    unroll = 2 if kind != "bf16" and inputs % (2 * warps) == 0 else 1
    return variant(model, which, kind=kind, tokens=tokens, unroll=unroll,
                   stages=max(1, ahead * 16 // warps // unroll), height=height,
                   x_ahead=x_ahead, blocks=blocks, warps=warps, strided=True,
                   hint="noalloc", line=line, **more)


def rule(model, which, kind, tokens):
    """The way that was the fastest, or nearly so, for most shapes."""
    row_tiles = SHAPES[model][which][0] // 16
    few = row_tiles < 200  # less than two for most processors
    if tokens <= 8 and kind == "s4" and not few:
        return (2, 2, False, 2 if row_tiles > 264 else 1)
    if tokens <= 8:
        return (4, 1, True, 1) if few else (2, 1, False, 2)
    if few or kind != "bf16":
        return (2, 1, True, 1)
    return (2, 1, False, 2) if tokens <= 16 else (2, 2, False, 1)


def rows():
    """All shapes at 1 to 32 tokens; the best of a few ways of running each."""
    out = []
    for model, shapes in SHAPES.items():
        for which in shapes:
            for kind in ("bf16", "s8", "s4"):
                for tokens in (1, 2, 4, 8, 16, 32) if kind == "bf16" else (1, 8, 16, 32):
                    out += [chosen(model, which, kind, tokens, c)
                            for c in choices(tokens)]
    return [v for v in out if v]


def models():
    """Whole models: (lines, kernels)."""
    lines, out = [], []

    def add(model, layers, kind, tokens, raw=False):
        found = {w: chosen(model, w, kind, tokens,
                           (4, 1, False, 1) if raw else rule(model, w, kind, tokens),
                           "modelproduct", **({"raw": True} if raw else {}))
                 for w in SHAPES[model]}
        out.extend(found.values())
        names = ",".join(v[1] for w, v in found.items() if w != "head")
        own = ""
        if kind == "bf16" and tokens == 8:
            own = ",".join(PERSISTENT.get(model, ()))
        with_attention = model != "deepseek" and tokens in (1, 2, 4)
        lines.append(
            f"model name={model}_{kind}{'_raw' if raw else ''}_t{tokens} "
            f"layers={layers} products={names} "
            f"head={found['head'][1] if 'head' in found else ''} persistent={own} "
            f"attention={f'attention_rows{tokens}_split128_warps4' if with_attention else ''}")
    for model, layers in (("llama8b", 32), ("llama1b", 16), ("deepseek", 8)):
        for kind in ("bf16", "s8", "s4"):
            for tokens in (1, 2, 4, 8, 16, 32) if kind == "bf16" else (1, 2, 4, 8):
                add(model, layers, kind, tokens)
        if model != "deepseek":
            for kind in ("s8", "s4"):
                add(model, layers, kind, 8, raw=True)
    for grid, height, stages in {v for own in PERSISTENT_SHAPES.values() for v in own}:
        name = f"p{grid}h{height}s{stages}"
        p = persistent(name, grid, height=height, unroll=1, stages=stages, warps=16)
        out.append((persistent_manifest(p), name,
                    module([SHARED, Persistent(p).kernel()])))
    return lines, out


# Grid, height and ring of the persistent kernels to try.
PERSISTENT_SHAPES = {"llama8b": ((132, 1, 6), (128, 2, 3), (128, 2, 5)),
                     "llama1b": ((128, 1, 6), (128, 1, 11))}
PERSISTENT = {model: [f"p{g}h{h}s{s}" for g, h, s in shapes]
              for model, shapes in PERSISTENT_SHAPES.items()}


def attentions():
    out = []

    def add(**fields):
        name = "attention" + "".join(f"_{k}{v}" for k, v in fields.items())
        p = attention.Attention(name=name, blocks=8 // fields["warps"], **fields)
        out.append((p.manifest(), name, module([SHARED, attention.Writer(p).kernel()])))
    for count in (1, 2, 4):
        for split, warps in ((128, 4), (256, 4), (512, 4), (512, 8), (1024, 4),
                             (1024, 8)):
            add(rows=count, split=split, warps=warps)
        add(rows=count, split=256, warps=4, prefetch=False)
        add(rows=count, split=512, warps=8, fused=True)
    for count in (4, 8, 16):
        name = f"combine_{count}"
        out.append(("", name, module([attention.combine(name, count)])))
    return out


def kernels(sets):
    """All lines of the manifest, and all kernels to compile."""
    lines, found = [], []
    for name in sets:
        if name == "models":
            lines, more = models()
        else:
            more = {"checks": checks, "sweep": sweep, "rows": rows,
                    "attention": attentions}[name]()
        found += more
    for model, shapes in SHAPES.items():
        lines += [f"shape name={model}.{which} rows={rows} inputs={inputs}"
                  for which, (rows, inputs) in shapes.items()]
    # The same kernel may be asked for twice.
    lines = list(dict.fromkeys(line for line, _, _ in found if line)) + lines
    texts = {name: text for _, name, text in found}
    texts["elementary"] = module(elementary.text())
    texts["loop_end"] = module(elementary.loop_end())
    return lines, list(texts.items())
