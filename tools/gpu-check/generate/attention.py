"""Decode attention over pages for grouped queries (flash decoding), as MLIR.

A page holds PAGE tokens of every head: keys [head][token][128], values transposed,
[head][128][token], so that both are read by 16-byte loads in the order of the B
fragments and nothing passes through shared memory:

  S = Q K^T  tile i of 4 takes tokens 8 (c / 2) + 2 i + c % 2 as its columns c, so that
             a lane ends up with the eight tokens 8 t ... 8 t + 7 of 32
  O = P V    whose A fragments are then the lane's own sums of S, in bf16

Rows are (drafted rows) x (queries per head), at most 16. A context is split every
`split` tokens counted from its start; the warps of a block take blocks of 32 tokens in
turn; partial sums are merged in the order of warps, and then of splits.
"""

from dataclasses import dataclass

import elementary
from builder import VECTOR, Body

HEAD = 128
PAGE = 64
LOG2 = 0.08838834764831845  # 1 / sqrt(HEAD)
QUAD = "vector<4xf32>"
MINUS = "0xFF800000"


@dataclass
class Attention:
    name: str
    heads: int = 8
    group: int = 4
    rows: int = 1        # of the window, k + 1
    split: int = 512
    warps: int = 4
    blocks: int = 2
    prefetch: bool = True   # keys before griddepcontrol.wait
    fused: bool = False     # the last block of a slot and head merges the splits

    def __post_init__(self):
        self.used = self.rows * self.group
        assert self.warps % 4 == 0 and self.used % (self.warps // 4) == 0
        assert self.used <= 16
        self.shared = 16 * HEAD * 2 + self.warps * 16 * (HEAD + 3) * 4

    def manifest(self):
        keys = "heads group rows split warps used".split()
        return (f"attention name={self.name} page={PAGE} head={HEAD} shared={self.shared} "
                + f"fused={int(self.fused)} "
                + " ".join(f"{k}={getattr(self, k)}" for k in keys))


class Writer:
    def __init__(self, attention):
        self.p = attention
        self.b = Body()

    def mma(self, a, b0, b1, c):
        b = self.b
        s = "!llvm.struct<(f32, f32, f32, f32)>"
        r = b.value(
            f"nvvm.mma.sync A[{', '.join(a)}] B[{b0}, {b1}] C[{', '.join(c)}] "
            "{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, "
            "multiplicandAPtxType = #nvvm.mma_type<bf16>, "
            "multiplicandBPtxType = #nvvm.mma_type<bf16>, "
            f"shape = #nvvm.shape<m = 16, n = 8, k = 16>}} : (i32, i32, f32) -> {s}")
        return [b.value(f"llvm.extractvalue {r}[{i}] : {s}") for i in range(4)]

    def load16(self, at):
        b = self.b
        s = "!llvm.struct<(i32, i32, i32, i32)>"
        r = b.asm("ld.global.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];",
                  "=r,=r,=r,=r,l", at, "!llvm.ptr<1>", s)
        words = [b.value(f"llvm.extractvalue {r}[{i}] : {s}") for i in range(4)]
        return b.value(f"vector.from_elements {', '.join(words)} : {VECTOR}")

    def pack(self, low, high):
        b = self.b
        v = b.value(f"vector.from_elements {low}, {high} : vector<2xf32>")
        v = b.value(f"arith.truncf {v} : vector<2xf32> to vector<2xbf16>")
        v = b.value(f"vector.bitcast {v} : vector<2xbf16> to vector<1xi32>")
        return b.extract(v, 0, "vector<1xi32>")

    def across(self, x, combine):
        """Over the four lanes that share a row."""
        b = self.b
        width = b.const(32, "i32")
        for distance in (1, 2):
            d = b.const(distance, "i32")
            name = b.fresh()
            b.emit(f"{name}, {name}_ok = gpu.shuffle xor {x}, {d}, {width} : f32")
            x = combine(x, name)
        return x

    def max(self, x, y):
        return self.b.value(f"arith.maximumf {x}, {y} : f32")

    def add(self, x, y):
        return self.b.op("addf", x, y, "f32")

    def exp(self, x):
        return elementary.exp(self.b, x, None)

    # --- loads ---

    def page(self, block):
        """Where a block's keys and values begin: the page, and the half of it."""
        b, p = self.b, self.p
        at = b.mul(b.add(b.mul(self.slot, "%pages"), b.op("divui", block, PAGE // 32)), 4)
        n = b.load(b.offset("%table", at), "i32", 4)
        n = b.value(f"arith.extui {n} : i32 to i64")
        at = b.mul(b.add(b.mul(n, p.heads), self.head), PAGE * HEAD * 2)
        half = b.op("remui", block, PAGE // 32)
        return (b.add(at, b.mul(half, 32 * HEAD * 2)), b.add(at, b.mul(half, 64)))

    def keys(self, at):
        """[tile][32 dimensions]."""
        b = self.b
        base = b.offset("%k", b.add(at, self.key_lane))
        return [self.load16(b.offset(base, (2 * i * HEAD + 32 * j) * 2))
                for i in range(4) for j in range(HEAD // 32)]

    def values(self, at, numbers):
        """[8 dimensions]."""
        b = self.b
        base = b.offset("%v", b.add(at, self.value_lane))
        return [self.load16(b.offset(base, 8 * n * PAGE * 2)) for n in numbers]

    # --- a block of 32 tokens ---

    def scores(self, keys, first):
        """[tile][4], scaled; what a row must not see is minus infinity."""
        b = self.b
        zero = b.const(0.0, "f32")
        scale = b.const(LOG2, "f32")
        minus = b.value(f"arith.constant {MINUS} : f32")
        # How many of a lane's eight tokens a row may see.
        start = b.add(first, b.mul(self.t, 8))
        room = [b.value(f"arith.trunci {b.op('subi', limit, start)} : i64 to i32")
                for limit in self.limits]
        out = [[zero] * 4 for _ in range(4)]
        for j in range(HEAD // 32):
            q = self.query(j)
            for i in range(4):
                k = [b.extract(keys[i * (HEAD // 32) + j], w) for w in range(4)]
                for half in range(2):
                    a = [b.extract(q[r], 2 * half + w) for w in range(2) for r in range(2)]
                    out[i] = self.mma(a, k[2 * half], k[2 * half + 1], out[i])
        for i in range(4):
            c = out[i]
            for e in range(4):
                seen = b.cmp("sgt", room[e // 2], 2 * i + e % 2, "i32")
                c[e] = b.select(seen, b.op("mulf", c[e], scale, "f32"), minus, "f32")
        return out

    def block(self, i, state):
        b, p = self.b, self.p
        value_at, next_page, keys = state[0], state[1:3], state[3:19]
        maxima, sums, out = state[19:21], state[21:23], list(state[23:])
        block = b.add(self.first_block, b.add(b.mul(i, p.warps), self.warp))
        # Half of the values now, half when the keys have left their registers.
        values = self.values(value_at, range(HEAD // 16))
        s = self.scores(keys, b.mul(block, 32))
        values += self.values(value_at, range(HEAD // 16, HEAD // 8))
        # The next block's keys are loaded while this block is worked on; the last
        # block loads its own again.
        keys = self.keys(next_page[0])
        value_at = next_page[1]
        ahead = b.add(block, 2 * p.warps)
        ahead = b.op("minui", ahead, self.last_block)
        next_page = self.page(ahead)
        new_maxima, new_sums, factors = [], [], []
        for r in range(2):
            row = [s[t][2 * r + h] for t in range(4) for h in range(2)]
            m = row[0]
            for x in row[1:]:
                m = self.max(m, x)
            m = self.max(maxima[r], self.across(m, self.max))
            factor = self.exp(b.op("subf", maxima[r], m, "f32"))
            total = None
            for t in range(4):
                for h in range(2):
                    e = self.exp(b.op("subf", s[t][2 * r + h], m, "f32"))
                    s[t][2 * r + h] = e
                    total = e if total is None else self.add(total, e)
            new_maxima.append(m)
            new_sums.append(b.value(f"llvm.intr.fma({sums[r]}, {factor}, {total}) : "
                                    "(f32, f32, f32) -> f32"))
            factors.append(factor)
        weights = [[self.pack(s[t][2 * r], s[t][2 * r + 1]) for r in range(2)]
                   for t in range(4)]
        for n in range(HEAD // 8):
            c = [b.op("mulf", out[4 * n + e], factors[e // 2], "f32") for e in range(4)]
            v = [b.extract(values[n], w) for w in range(4)]
            for j in range(2):
                a = [weights[2 * j][0], weights[2 * j][1],
                     weights[2 * j + 1][0], weights[2 * j + 1][1]]
                c = self.mma(a, v[2 * j], v[2 * j + 1], c)
            out[4 * n:4 * n + 4] = c
        return [value_at, *next_page, *keys, *new_maxima, *new_sums, *out]

    # --- the whole ---

    def places(self):
        b, p = self.b, self.p
        self.tid, bid = b.index("thread_id"), b.index("block_id")
        lane = b.op("remui", self.tid, 32)
        self.lane = lane
        self.warp = b.op("divui", self.tid, 32)
        self.g, self.t = b.op("divui", lane, 4), b.op("remui", lane, 4)
        self.work = bid
        self.head = b.op("remui", bid, p.heads)
        rest = b.op("divui", bid, p.heads)
        self.splits = b.op("divui", b.add("%length", p.split - 1), p.split)
        self.split = b.op("remui", rest, self.splits)
        self.slot = b.op("divui", rest, self.splits)
        self.first_block = b.mul(self.split, p.split // 32)
        blocks = b.op("divui", b.add("%length", 31), 32)
        end = b.op("minui", blocks, b.add(self.first_block, p.split // 32))
        self.last_block = b.op("subi", end, 1)
        mine = b.op("subi", b.add(end, p.warps - 1), b.add(self.first_block, self.warp))
        self.mine = b.op("divui", mine, p.warps)
        token = b.add(b.mul(b.op("divui", self.g, 2), 8), b.op("remui", self.g, 2))
        self.key_lane = b.add(b.mul(token, HEAD * 2), b.mul(self.t, 16))
        self.value_lane = b.add(b.mul(self.g, PAGE * 2), b.mul(self.t, 16))
        # Row r of the tile is row r / group of the window; it sees the context up to
        # itself.
        self.limits = []
        for r in range(2):
            row = b.op("divui", b.add(self.g, 8 * r), p.group)
            row = b.op("minui", row, p.rows - 1)
            self.limits.append(b.add(b.op("subi", "%length", p.rows - 1), row))

    def queries(self):
        """Queries lie [slot][head][16][128]; they go to shared memory, because beside
        keys, values and sums there are no registers left for them."""
        b, p = self.b, self.p
        bytes_ = 16 * HEAD * 2
        base = b.offset("%q", b.mul(b.add(b.mul(self.slot, p.heads), self.head), bytes_))
        self.shared = b.value("llvm.mlir.addressof @shared : !llvm.ptr<3>")
        for at in range(0, bytes_, p.warps * 512):
            mine = b.add(b.mul(self.tid, 16), at)
            v = b.load(b.offset(base, mine), VECTOR, 16)
            b.store(v, b.offset(self.shared, mine, 3), VECTOR, 16, 3)
        b.emit("gpu.barrier")
        self.q_lane = b.offset(self.shared, b.add(b.mul(self.g, HEAD * 2),
                                                  b.mul(self.t, 16)), 3)

    def query(self, j):
        """Rows g and g + 8, dimensions 32 j on."""
        b = self.b
        # Volatile: else they are kept in registers after all.
        return [b.value(f"llvm.load volatile "
                        f"{b.offset(self.q_lane, (8 * r * HEAD + 32 * j) * 2, 3)} "
                        f"{{alignment = 16 : i64}} : !llvm.ptr<3> -> {VECTOR}")
                for r in range(2)]

    def merge(self, maxima, sums, out):
        """The warps' parts into one, in order; then to memory:
        [work][16][130] f32, of which the last two are sum and maximum."""
        b, p = self.b, self.p
        # Not where the queries lie: other warps may still read them.
        shared = b.offset(self.shared, 16 * HEAD * 2, 3)
        row_bytes = (HEAD + 2) * 4
        to = b.offset(shared, b.mul(b.add(b.mul(self.warp, 16), self.g), row_bytes), 3)
        for r in range(2):
            at = b.offset(to, 8 * r * row_bytes, 3)
            for n in range(HEAD // 8):
                dim = b.mul(b.add(b.mul(self.t, 2), 8 * n), 4)
                for h in range(2):
                    b.store(out[4 * n + 2 * r + h], b.offset(at, b.add(dim, 4 * h), 3),
                            "f32", 4, 3)
            total = self.across(sums[r], self.add)
            with b.when(b.cmp("eq", self.t, 0)):
                b.store(total, b.offset(at, HEAD * 4, 3), "f32", 4, 3)
                b.store(maxima[r], b.offset(at, HEAD * 4 + 4, 3), "f32", 4, 3)
        b.emit("gpu.barrier")
        # What each warp's part of a row counts for: one thread each.
        weights = b.offset(shared, p.warps * 16 * row_bytes, 3)
        with b.when(b.cmp("ult", self.tid, 16 * p.warps)):
            mine = b.offset(shared, b.mul(b.op("remui", self.tid, 16), row_bytes), 3)
            m = [b.load(b.offset(mine, w * 16 * row_bytes + HEAD * 4 + 4, 3), "f32", 4, 3)
                 for w in range(p.warps)]
            top = m[0]
            for x in m[1:]:
                top = self.max(top, x)
            own = b.mul(b.op("divui", self.tid, 16), 16 * row_bytes)
            own = b.load(b.offset(b.offset(mine, own, 3), HEAD * 4 + 4, 3), "f32", 4, 3)
            factor = self.exp(b.op("subf", own, top, "f32"))
            b.store(factor, b.offset(weights, b.mul(self.tid, 4), 3), "f32", 4, 3)
        b.emit("gpu.barrier")
        # A thread takes a dimension; four warps take a row.
        dim = b.op("remui", self.tid, HEAD)
        at_once = max(1, p.warps * 32 // HEAD)
        for first in range(0, p.used, at_once):
            row = b.add(b.op("divui", self.tid, HEAD), first)
            mine = b.offset(shared, b.mul(row, row_bytes), 3)
            factors = b.offset(weights, b.mul(row, 4), 3)
            o = l = top = None
            for w in range(p.warps):
                at = b.offset(mine, w * 16 * row_bytes, 3)
                factor = b.load(b.offset(factors, w * 64, 3), "f32", 4, 3)
                v = b.load(b.offset(at, b.mul(dim, 4), 3), "f32", 4, 3)
                s = b.load(b.offset(at, HEAD * 4, 3), "f32", 4, 3)
                m = b.load(b.offset(at, HEAD * 4 + 4, 3), "f32", 4, 3)
                v, s = b.op("mulf", v, factor, "f32"), b.op("mulf", s, factor, "f32")
                o, l, top = (v, s, m) if o is None else (
                    self.add(o, v), self.add(l, s), self.max(top, m))
            where = b.mul(b.add(b.mul(self.work, 16), row), row_bytes)
            base = b.offset("%y", where)
            b.store(o, b.offset(base, b.mul(dim, 4)), "f32", 4)
            with b.when(b.cmp("eq", dim, 0)):
                b.store(l, b.offset(base, HEAD * 4), "f32", 4)
                b.store(top, b.offset(base, HEAD * 4 + 4), "f32", 4)

    def merge_splits(self):
        """The last of a slot's and head's blocks merges all their parts, in the order
        of splits, whichever block comes last."""
        b, p = self.b, self.p
        row_bytes = (HEAD + 2) * 4
        b.emit("gpu.barrier")
        group = b.add(b.mul(self.slot, p.heads), self.head)
        with b.when(b.cmp("eq", self.tid, 0)):
            before = b.asm("fence.acq_rel.gpu; atom.global.acq_rel.gpu.add.u32 $0, [$1], 1;",
                           "=r,l", b.offset("%counters", b.mul(group, 4)), "!llvm.ptr<1>",
                           "i32")
            b.store(before, self.shared, "i32", 4, 3)
        b.emit("gpu.barrier")
        before = b.value(f"arith.extui {b.load(self.shared, 'i32', 4, 3)} : i32 to i64")
        with b.when(b.cmp("eq", before, b.op("subi", self.splits, 1))):
            b.asm("fence.acq_rel.gpu;", "")
            first = b.add(b.mul(b.mul(self.slot, self.splits), p.heads), self.head)
            base = b.offset("%y", b.mul(first, 16 * row_bytes))
            at_once = max(1, p.warps * 32 // HEAD)
            for at in range(0, p.used, at_once):
                row = b.add(b.op("divui", self.tid, HEAD), at)
                merge_rows(self, b.offset(base, b.mul(row, row_bytes)), self.splits,
                           b.add(b.mul(group, 16), row), b.op("remui", self.tid, HEAD),
                           "%out")
            with b.when(b.cmp("eq", self.tid, 0)):
                b.store(b.const(0, "i32"), b.offset("%counters", b.mul(group, 4)), "i32", 4)

    def kernel(self):
        b, p = self.b, self.p
        self.places()
        if not p.prefetch:
            b.emit("nvvm.griddepcontrol wait")
        start = b.op("minui", b.add(self.first_block, self.warp), self.last_block)
        at, value_at = self.page(start)
        keys = self.keys(at)
        ahead = b.op("minui", b.add(start, p.warps), self.last_block)
        next_page = self.page(ahead)
        b.emit("nvvm.griddepcontrol launch_dependents")
        if p.prefetch:
            b.emit("nvvm.griddepcontrol wait")
        self.queries()
        # Far below any score, and finite, so that differences are numbers.
        low = b.value("arith.constant -1.0e30 : f32")
        zero = b.const(0.0, "f32")
        state = ([(value_at, "i64")] + [(x, "i64") for x in next_page]
                 + [(k, VECTOR) for k in keys] + [(low, "f32")] * 2
                 + [(zero, "f32")] * (2 + HEAD // 2))
        r = b.loop(self.mine, state, self.block)
        self.merge(r[19:21], r[21:23], r[23:])
        if p.fused:
            self.merge_splits()
        arguments = ("%q: !llvm.ptr<1>, %k: !llvm.ptr<1>, %v: !llvm.ptr<1>, "
                     "%table: !llvm.ptr<1>, %pages: i64, %length: i64, "
                     "%y: !llvm.ptr<1>, %counters: !llvm.ptr<1>, %out: !llvm.ptr<1>")
        return (f"  gpu.func @{p.name}({arguments}) kernel attributes "
                f"{{known_block_size = array<i32: {32 * p.warps}, 1, 1>, "
                f"nvvm.minctasm = {p.blocks} : i32}} {{\n" + "\n".join(b.lines)
                + "\n    gpu.return\n  }")


def merge_rows(w, base, splits, to, dim, out, ahead=8):
    """One row's splits, from `base` on, merged in order; `ahead` are loaded at a time.
    They come past L1, which keeps what an earlier kernel left there."""
    b = w.b
    row_bytes = (HEAD + 2) * 4
    last = b.op("subi", splits, 1)
    low = b.value("arith.constant -1.0e30 : f32")
    zero = b.const(0.0, "f32")

    def load(at):
        return b.asm("ld.global.cg.f32 $0, [$1];", "=f,l", at, "!llvm.ptr<1>", "f32")

    def places(i):
        """The next splits, the last one over and over at the end, and whether each is
        there."""
        for j in range(ahead):
            s = b.add(b.mul(i, ahead), j)
            yield (b.offset(base, b.mul(b.op("minui", s, last), 8 * 16 * row_bytes)),
                   b.cmp("ule", s, last))

    def all_of(i):
        return [(load(b.offset(at, HEAD * 4 + 4)), load(b.offset(at, HEAD * 4)),
                 load(b.offset(at, b.mul(dim, 4))), there) for at, there in places(i)]

    def largest(i, state):
        top = state[0]
        for m in [load(b.offset(at, HEAD * 4 + 4)) for at, _ in places(b.add(i, 1))]:
            top = w.max(top, m)
        return [top]

    def add_all(loaded, l, o):
        for m, part_l, part_o, there in loaded:
            factor = w.exp(b.op("subf", m, top, "f32"))
            factor = b.select(there, factor, zero, "f32")
            l = w.add(l, b.op("mulf", part_l, factor, "f32"))
            o = w.add(o, b.op("mulf", part_o, factor, "f32"))
        return [l, o]
    # The first loads go out together: mostly there are no others.
    first = all_of(b.const(0))
    more = b.op("divui", last, ahead)
    top = low
    for m, _, _, _ in first:
        top = w.max(top, m)
    top = b.loop(more, [(top, "f32")], largest)[0]
    l, o = add_all(first, zero, zero)
    l, o = b.loop(more, [(l, "f32"), (o, "f32")],
                  lambda i, state: add_all(all_of(b.add(i, 1)), *state))
    at = b.mul(b.add(b.mul(to, HEAD), dim), 4)
    b.store(b.op("divf", o, l, "f32"), b.offset(out, at), "f32", 4)


def combine(name, rows):
    """Merges the splits as a kernel of its own: a block of 128 threads for each row of
    a slot and head, y in f32 [slot][head][16][128]."""
    w = Writer(Attention(name=name, group=1, rows=rows))
    b = w.b
    tid, bid = b.index("thread_id"), b.index("block_id")
    b.emit("nvvm.griddepcontrol launch_dependents")
    b.emit("nvvm.griddepcontrol wait")
    row, rest = b.op("remui", bid, rows), b.op("divui", bid, rows)
    head, slot = b.op("remui", rest, 8), b.op("divui", rest, 8)
    first = b.add(b.mul(b.add(b.mul(b.mul(slot, "%splits"), 8), head), 16), row)
    base = b.offset("%x", b.mul(first, (HEAD + 2) * 4))
    merge_rows(w, base, "%splits", b.add(b.mul(rest, 16), row), tid, "%y")
    arguments = "%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %splits: i64"
    return (f"  gpu.func @{name}({arguments}) kernel attributes "
            f"{{known_block_size = array<i32: {HEAD}, 1, 1>}} {{\n" + "\n".join(b.lines)
            + "\n    gpu.return\n  }")
