"""Skinny products y = W x with few tokens, as MLIR (gpu, nvvm, scf, arith, vector).

Weights are on the M side of mma.sync, tokens on the N side. A weight is packed in
the order of the A fragments, so that 16 bytes of a lane are what one mma needs:

  lane l: g = l / 4, t = l % 4; row r of a tile of 16: g = r % 8, register r / 8 + 2 q
  bf16  32 inputs a block: t = e / 8, mma j = (e % 8) / 4, q = (e % 4) / 2
  s8    64 inputs a block: t = e / 16, mma j = (e % 16) / 8, q = (e % 8) / 4
  s4    64 inputs a block: as s8, with mma j in nibble j of the same byte

The inputs of a block are permuted by that, and the activations with them, so that
a lane's part of them is 16 bytes too: [K / block][tokens][block]. Lanes of tokens
that don't exist load the last one's. The scales of activations lie
[K / block][tiles of 8 tokens][8], those of weights behind the chunk that they are
for. probe/Layout.h is the layout in numbers.

The warps of a block of threads divide K (in chunks of `unroll` blocks), and add up
in the order of warps: which warp sums what depends on K alone, never on the tokens.

Three ways to have enough loads in flight:
  reg    `stages` chunks in registers
  async  16-byte cp.async into a ring in shared memory; each thread reads only
         what it copied itself: no barrier, no register
  bulk   one cp.async.bulk a warp, chunk and tile, with an mbarrier
"""

from dataclasses import dataclass

from builder import VECTOR, Body

INPUTS = {"bf16": 32, "s8": 64, "s4": 64}
LOADS = {"bf16": 2, "s8": 2, "s4": 1}
SCALES = {"bf16": 0, "s8": 64, "s4": 64}
PAIR = "vector<2xf32>"


@dataclass
class Product:
    name: str
    kind: str
    inputs: int
    rows: int
    tokens: int = 8      # 1 to 32
    grid: int = 0        # 0: a block of threads per group of row tiles
    height: int = 1      # row tiles of 16 that a warp takes together
    warps: int = 8
    load: str = "async"
    stages: int = 4
    unroll: int = 4      # blocks of inputs in a chunk
    trigger: str = "issued"  # start, issued, end, none
    prefetch: bool = True    # weights prefetched before griddepcontrol.wait
    x_ahead: bool = True     # activations loaded a chunk ahead
    strided: bool = False    # the warps' chunks alternate
    raw: bool = False        # integers: activations come in bf16, and every block
                             # of threads makes integers of them for itself
    hint: str = ""           # reg: noalloc; bulk: first
    l2: int = 0              # bytes of a warp's first slice prefetched into L2
    out: str = "f32"
    scale: float = 1.0       # of the output in bf16
    blocks: int = 2          # of threads that must fit on an SM

    def __post_init__(self):
        self.tiles = (self.tokens + 7) // 8
        self.block_inputs = INPUTS[self.kind]
        self.loads = LOADS[self.kind]
        self.quantized = self.kind != "bf16"
        self.raw = self.raw and self.quantized
        self.x_bytes = 128 if self.raw else 64
        blocks = self.inputs // self.block_inputs
        assert blocks * self.block_inputs == self.inputs
        assert blocks % (self.warps * self.unroll) == 0, (self.name, "K does not split")
        assert self.rows % (16 * self.height) == 0, self.name
        self.steps = blocks // self.warps // self.unroll
        self.chunk = self.unroll * (self.loads * 512 + SCALES[self.kind])
        self.tile_bytes = blocks // self.unroll * self.chunk
        self.groups = self.rows // 16 // self.height
        self.grid = min(self.grid or self.groups, self.groups)
        self.stage = self.height * self.chunk
        self.ring = 0 if self.load == "reg" else self.warps * self.stages * self.stage
        self.fragments = self.height * self.tiles
        self.sums = self.warps * self.fragments * 512
        self.barriers = self.warps * self.stages * 8 if self.load == "bulk" else 0
        self.shared = self.ring + self.sums + self.barriers
        self.stride = (self.warps if self.strided else 1) * self.chunk
        self.first = (1 if self.strided else self.steps) * self.chunk
        self.bytes = self.rows // 16 * self.tile_bytes
        if self.load == "reg":
            assert self.steps % self.stages == 0, (self.name, "stages do not divide")

    def manifest(self):
        keys = ("kind inputs rows tokens tiles grid height warps load stages unroll trigger "
                "hint l2 out shared bytes steps").split()
        fields = [f"{k}={getattr(self, k) if getattr(self, k) != '' else '-'}"
                  for k in keys]
        return (f"product name={self.name} prefetch={int(self.prefetch)} "
                f"strided={int(self.strided)} raw={int(self.raw)} "
                f"ahead={self.ahead()} " + " ".join(fields))

    def ahead(self):
        """Bytes that a block of threads has in flight."""
        return self.warps * self.stages * self.stage

    def text(self):
        return Writer(self).kernel()


class Writer:
    def __init__(self, product):
        self.p = product
        self.b = Body()

    # --- where things are ---

    def places(self):
        b, p = self.b, self.p
        self.tid, self.bid = b.index("thread_id"), b.index("block_id")
        self.lane = b.op("remui", self.tid, 32)
        self.warp = b.op("divui", self.tid, 32)
        self.g = b.op("divui", self.lane, 4)
        self.t = b.op("remui", self.lane, 4)
        self.lane16 = b.mul(self.lane, 16)
        own = 0 if p.load == "bulk" else self.lane16
        self.weights = b.offset("%w", b.add(
            b.mul(self.bid, p.height * p.tile_bytes), b.mul(self.warp, p.first)))
        self.mine = self.weights if own == 0 else b.offset(self.weights, own)
        first_block = b.mul(self.warp, p.unroll * (1 if p.strided else p.steps))
        self.x = b.offset("%x", b.mul(first_block, p.tokens * p.x_bytes))
        self.x_lanes = [self.x_lane(n) for n in range(p.tiles)]
        if p.quantized and not p.raw:
            self.xs = b.offset("%xs", b.add(
                b.mul(first_block, p.tiles * 32), b.mul(self.t, 8)))
        # How many groups of row tiles this block of threads takes.
        left = b.op("subi", p.groups + p.grid - 1, self.bid)
        self.my_groups = b.op("divui", left, p.grid)
        self.total = b.mul(self.my_groups, p.steps)
        if p.load != "reg" or p.sums:
            self.base = b.value(
                f"llvm.mlir.addressof @shared : !llvm.ptr<3>")
        self.ring = b.offset(self.base, b.mul(self.warp, p.stages * p.stage), 3)
        self.sums = b.offset(self.base, p.ring, 3)
        self.bars = b.offset(
            b.offset(self.base, p.ring + p.sums, 3), b.mul(self.warp, p.stages * 8), 3)

    def x_lane(self, n):
        """Where a lane's 16 bytes lie among a block's inputs of tile n."""
        b, p = self.b, self.p
        token = self.g
        if 8 * n + 8 > p.tokens:
            token = b.op("minui", token, p.tokens - 1 - 8 * n)
        return b.add(b.add(b.mul(token, p.x_bytes), b.mul(self.t, p.x_bytes // 4)),
                     8 * p.x_bytes * n)

    # --- loads ahead ---

    def load_weights(self, pointer):
        """The chunk's loads into registers: [height][unroll][loads], then the
        scales, [height][unroll]."""
        b, p = self.b, self.p
        out = [self.load16(b.offset(pointer, h * p.tile_bytes + i * 512))
               for h in range(p.height) for i in range(p.unroll * p.loads)]
        if p.quantized:
            # `pointer` has the lane's 16 bytes in it.
            at = b.offset(pointer, b.op("subi", b.mul(self.g, 8), self.lane16))
            out += [b.load(b.offset(at, h * p.tile_bytes + p.unroll * p.loads * 512
                                    + u * 64), PAIR, 8)
                    for h in range(p.height) for u in range(p.unroll)]
        return out

    def held_kinds(self):
        p = self.p
        return ([VECTOR] * (p.height * p.unroll * p.loads)
                + ([PAIR] * (p.height * p.unroll) if p.quantized else []))

    def load16(self, at):
        b = self.b
        if self.p.hint != "noalloc":
            return b.load(at, VECTOR, 16)
        s = "!llvm.struct<(i32, i32, i32, i32)>"
        r = b.asm("ld.global.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];",
                  "=r,=r,=r,=r,l", at, "!llvm.ptr<1>", s)
        words = [b.value(f"llvm.extractvalue {r}[{i}] : {s}") for i in range(4)]
        return b.value(f"vector.from_elements {', '.join(words)} : {VECTOR}")

    def issue(self, pointer, slot, bar=None):
        """Starts the copy of a chunk into the ring's slot."""
        b, p = self.b, self.p
        if p.load == "async":
            to = b.offset(b.offset(self.ring, slot, 3), self.lane16, 3)
            for h in range(p.height):
                for i in range(p.unroll * p.loads):
                    self.copy16(b.offset(to, h * p.chunk + i * 512, 3),
                                b.offset(pointer, h * p.tile_bytes + i * 512))
            if p.quantized:
                with b.when(b.cmp("ult", self.lane, p.unroll * 4)):
                    for h in range(p.height):
                        i = p.unroll * p.loads
                        self.copy16(b.offset(to, h * p.chunk + i * 512, 3),
                                    b.offset(pointer, h * p.tile_bytes + i * 512))
            return
        to = b.offset(self.ring, slot, 3)
        with b.when(b.cmp("eq", self.lane, 0)):
            b.asm("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,n",
                  f"{bar}, {b.const(p.stage, 'i32')}", "!llvm.ptr<3>, i32")
            for h in range(p.height):
                operands = [b.offset(to, h * p.chunk, 3),
                            b.offset(pointer, h * p.tile_bytes),
                            b.const(p.chunk, "i32"), bar]
                kinds = "!llvm.ptr<3>, !llvm.ptr<1>, i32, !llvm.ptr<3>"
                text = ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                        "%s [$0], [$1], $2, [$3]%s;")
                if p.hint == "first":
                    operands.append(self.policy)
                    kinds += ", i64"
                    b.asm(text % (".L2::cache_hint", ", $4"), "r,l,r,r,l",
                          ", ".join(operands), kinds)
                else:
                    b.asm(text % ("", ""), "r,l,r,r", ", ".join(operands), kinds)

    def copy16(self, to, at):
        self.b.emit(f"nvvm.cp.async.shared.global {to}, {at}, 16, cache = cg : "
                    f"!llvm.ptr<3>, !llvm.ptr<1>")

    def commit(self):
        if self.p.load == "async":
            self.b.emit("nvvm.cp.async.commit.group")

    def start(self):
        """The first `stages` chunks."""
        b, p = self.b, self.p
        if p.load == "bulk":
            with b.when(b.cmp("eq", self.lane, 0)):
                for s in range(p.stages):
                    b.asm("mbarrier.init.shared::cta.b64 [$0], 1;", "r",
                          b.offset(self.bars, s * 8, 3), "!llvm.ptr<3>")
                b.asm("fence.proxy.async.shared::cta;", "")
            if p.hint == "first":
                self.policy = b.asm(
                    "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l",
                    result="i64")
            b.emit(f"nvvm.bar.warp.sync {b.const(-1, 'i32')} : i32")
        if p.l2:
            with b.when(b.cmp("eq", self.lane, 0)):
                size = b.const(min(p.l2, p.steps * p.chunk), "i32")
                for h in range(p.height):
                    at = b.offset(self.weights, h * p.tile_bytes)
                    b.emit(f"nvvm.cp.async.bulk.prefetch {at}, {size} : !llvm.ptr<1>")
        held = []
        for s in range(p.stages):
            group, step = divmod(s, p.steps)
            at = b.offset(self.mine, group * p.grid * p.height * p.tile_bytes
                          + step * p.stride)
            bar = b.offset(self.bars, s * 8, 3) if p.load == "bulk" else None
            sure = s < p.groups // p.grid * p.steps
            if p.load == "reg":
                held.append(self.load_weights(at) if sure else
                            self.maybe(b.cmp("ugt", self.total, s), at))
            elif sure:
                self.issue(at, s * p.stage, bar)
            else:
                with b.when(b.cmp("ugt", self.total, s)):
                    self.issue(at, s * p.stage, bar)
            self.commit()
        return held

    def maybe(self, condition, pointer):
        b = self.b

        def zeros():
            return [b.value(f"arith.constant dense<{'0.0' if k == PAIR else '0'}> : {k}")
                    for k in self.held_kinds()]
        return b.choose(condition, self.held_kinds(),
                        lambda: self.load_weights(pointer), zeros)

    def next_pointer(self):
        """Where the chunk `stages` after the first is, and how many of its group
        are left with it."""
        b, p = self.b, self.p
        group, step = divmod(p.stages, p.steps)
        at = b.offset(self.mine, group * p.grid * p.height * p.tile_bytes
                      + step * p.stride)
        return at, b.const(p.steps - step), b.op("subi", self.total, p.stages)

    def advance(self, at, left):
        b, p = self.b, self.p
        left = b.op("subi", left, 1)
        last = b.cmp("eq", left, 0)
        jump = p.grid * p.height * p.tile_bytes - (p.steps - 1) * p.stride
        by = b.select(last, b.const(jump), b.const(p.stride))
        return b.offset(at, by), b.select(last, b.const(p.steps), left)

    def release(self, condition=None):
        b = self.b
        if condition is None:
            b.emit("nvvm.griddepcontrol launch_dependents")
        else:
            with b.when(condition):
                b.emit("nvvm.griddepcontrol launch_dependents")

    # --- activations ---

    def load_x(self, step):
        """[unroll][tiles] vectors, and their scales."""
        b, p = self.b, self.p
        blocks = p.unroll * (p.warps if p.strided else 1)
        at = b.offset(self.x, b.mul(step, blocks * p.tokens * p.x_bytes))
        lanes = [b.offset(at, lane) for lane in self.x_lanes]
        out = [b.load(b.offset(lanes[n], u * p.tokens * p.x_bytes + 16 * part), VECTOR, 16)
               for u in range(p.unroll) for n in range(p.tiles)
               for part in range(p.x_bytes // 64)]
        if p.quantized and not p.raw:
            at = b.offset(self.xs, b.mul(step, blocks * p.tiles * 32))
            out += [b.load(b.offset(at, (u * p.tiles + n) * 32), PAIR, 8)
                    for u in range(p.unroll) for n in range(p.tiles)]
        return out

    def x_kinds(self):
        """What is carried from chunk to chunk."""
        p = self.p
        if not p.x_ahead:
            return []
        n = p.unroll * p.tiles
        if p.raw:
            return [VECTOR] * (2 * n)
        return [VECTOR] * n + ([PAIR] * n if p.quantized else [])

    def move_x(self, step, carried):
        """This step's activations, and those to carry on."""
        b, p = self.b, self.p
        if not p.x_ahead:
            return self.load_x(step), []
        after = b.add(step, 1)
        after = b.select(b.cmp("eq", after, p.steps), b.const(0), after)
        return carried, self.load_x(after)

    # --- sums ---

    def mma(self, a, b0, b1, c, kind):
        b = self.b
        k, element, extra = (16, "f32", "") if kind == "bf16" else (
            32, "i32", "intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>, ")
        kind = "bf16" if kind == "bf16" else "s8"
        s = f"!llvm.struct<({', '.join([element] * 4)})>"
        r = b.value(
            f"nvvm.mma.sync A[{', '.join(a)}] B[{b0}, {b1}] C[{', '.join(c)}] "
            f"{{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, "
            f"multiplicandAPtxType = #nvvm.mma_type<{kind}>, "
            f"multiplicandBPtxType = #nvvm.mma_type<{kind}>, {extra}"
            f"shape = #nvvm.shape<m = 16, n = 8, k = {k}>}} : (i32, i32, {element}) -> {s}")
        return [b.value(f"llvm.extractvalue {r}[{i}] : {s}") for i in range(4)]

    def a_registers(self, vectors):
        """The A fragments of a block's two mma."""
        b, p = self.b, self.p
        if p.kind != "s4":
            return [[b.extract(v, i) for i in range(4)] for v in vectors]
        # A nibble in the upper half of a byte is 16 times the number, with its
        # sign; the scale takes the 16 back, exactly.
        words = [b.extract(vectors[0], i) for i in range(4)]
        mask, four = b.const(-252645136, "i32"), b.const(4, "i32")
        low = [b.op("andi", b.op("shli", w, four, "i32"), mask, "i32") for w in words]
        return [low, [b.op("andi", w, mask, "i32") for w in words]]

    def consume(self, weights, scales, x, acc):
        """One chunk: weights [height][unroll][loads], scales [height][unroll]."""
        b, p = self.b, self.p
        acc = list(acc)
        # Integers are summed on top of 1.5 * 2^23, whose bits then are a float.
        zero = b.const(0x4b400000, "i32") if p.quantized else None
        if p.raw:
            x = self.integers(x)
        for u in range(p.unroll):
            for h in range(p.height):
                at = (h * p.unroll + u) * p.loads
                a = self.a_registers(weights[at:at + p.loads])
                for n in range(p.tiles):
                    bs = [b.extract(x[u * p.tiles + n], i) for i in range(4)]
                    k = (h * p.tiles + n) * 4
                    c = [zero] * 4 if p.quantized else acc[k:k + 4]
                    for j in range(2):
                        c = self.mma(a[j], bs[2 * j], bs[2 * j + 1], c, p.kind)
                    if p.quantized:
                        xs = x[p.unroll * p.tiles + u * p.tiles + n]
                        c = self.scaled(c, xs, scales[h * p.unroll + u], acc[k:k + 4])
                    acc[k:k + 4] = c
        return acc

    def integers(self, x):
        """What `load_x` gives when it is not raw, from numbers in bf16; as on the CPU
        (QuantizedMatmul.cpp there)."""
        b, p = self.b, self.p
        words, scales = [], []
        sixteen, high = b.const(16, "i32"), b.const(-65536, "i32")
        limit, bias = b.const(127.0, "f32"), b.const(12582912.0, "f32")
        for i in range(0, len(x), 2):
            raw = [b.extract(x[i + j // 4], j % 4) for j in range(8)]
            bits = sum([[b.op("shli", w, sixteen, "i32"), b.op("andi", w, high, "i32")]
                        for w in raw], [])
            magnitude = b.const(2147483647, "i32")
            most = None
            for v in bits:
                v = b.op("andi", v, magnitude, "i32")
                most = v if most is None else b.op("maxui", most, v, "i32")
            for distance in (1, 2):
                other = self.shuffle("xor", most, b.const(distance, "i32"), "i32")
                most = b.op("maxui", most, other, "i32")
            most = b.value(f"arith.bitcast {most} : i32 to f32")
            some = b.value(f"arith.cmpf ogt, {most}, {b.const(1e-36, 'f32')} : f32")
            unit = b.select(some, b.op("divf", limit, most, "f32"), b.const(0.0, "f32"),
                            "f32")
            packed = []
            for j in range(0, 16, 4):
                four = []
                for v in bits[j:j + 4]:
                    v = b.value(f"arith.bitcast {v} : i32 to f32")
                    v = b.value(f"llvm.intr.fma({v}, {unit}, {bias}) : "
                                "(f32, f32, f32) -> f32")
                    four.append(b.value(f"arith.bitcast {v} : f32 to i32"))
                v = b.value(f"vector.from_elements {', '.join(four)} : {VECTOR}")
                v = b.value(f"arith.trunci {v} : {VECTOR} to vector<4xi8>")
                v = b.value(f"vector.bitcast {v} : vector<4xi8> to vector<1xi32>")
                packed.append(b.extract(v, 0, "vector<1xi32>"))
            words.append(b.value(f"vector.from_elements {', '.join(packed)} : {VECTOR}"))
            # This lane has token g's scale and needs those of 2 t and 2 t + 1.
            scale = b.op("divf", most, limit, "f32")
            lane = b.value(f"arith.trunci {b.mul(self.t, 8)} : i64 to i32")
            pair = [self.shuffle("idx", scale, b.add(lane, b.const(4 * j, "i32"), "i32"),
                                 "f32") for j in range(2)]
            scales.append(b.value(f"vector.from_elements {', '.join(pair)} : {PAIR}"))
        return words + scales

    def shuffle(self, mode, x, at, kind):
        b = self.b
        name = b.fresh()
        b.emit(f"{name}, {name}_ok = gpu.shuffle {mode} {x}, {at}, "
               f"{b.const(32, 'i32')} : {kind}")
        return name

    def scaled(self, dots, xs, ws, acc):
        """fma(float(dot) * x scale, weight scale, sum), as on the CPU."""
        b = self.b
        x = [b.extract(xs, i, PAIR, "f32") for i in range(2)]
        w = [b.extract(ws, i, PAIR, "f32") for i in range(2)]
        out = []
        for i in range(4):
            # The sum of 64 products is below 2^22, so this is exact; and converting
            # takes twice an addition's time.
            f = b.value(f"arith.bitcast {dots[i]} : i32 to f32")
            f = b.op("subf", f, b.const(12582912.0, "f32"), "f32")
            f = b.op("mulf", f, x[i % 2], "f32")
            out.append(b.value(f"llvm.intr.fma({f}, {w[i // 2]}, {acc[i]}) : "
                               f"(f32, f32, f32) -> f32"))
        return out

    def from_ring(self, slot):
        b, p = self.b, self.p
        at = b.offset(b.offset(self.ring, slot, 3), self.lane16, 3)
        weights = [b.load(b.offset(at, h * p.chunk + i * 512, 3), VECTOR, 16, 3)
                   for h in range(p.height) for i in range(p.unroll * p.loads)]
        scales = []
        if p.quantized:
            at = b.offset(b.offset(self.ring, slot, 3), b.mul(self.g, 8), 3)
            scales = [b.load(b.offset(at, h * p.chunk + p.unroll * p.loads * 512 + u * 64,
                                      3), PAIR, 8, 3)
                      for h in range(p.height) for u in range(p.unroll)]
        return weights, scales

    # --- the loops ---

    def ring_step(self, i, state):
        """One chunk from the ring, and the copy of the next one started."""
        b, p = self.b, self.p
        slot, phase, at, left, remaining = state[:5]
        n = len(self.x_kinds())
        x, next_x = self.move_x(i, state[5:5 + n])
        acc = state[5 + n:]
        bar = None
        if p.load == "async":
            b.emit(f"nvvm.cp.async.wait.group {p.stages - 1}")
            if p.quantized:
                b.emit(f"nvvm.bar.warp.sync {b.const(-1, 'i32')} : i32")
        else:
            # The slot's barrier lies 8 bytes per slot.
            bar = b.offset(self.bars, b.mul(b.op("divui", slot, p.stage), 8), 3)
            b.asm("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], "
                  "$1; @!p bra W; }", "r,r", f"{bar}, {phase}", "!llvm.ptr<3>, i32")
        weights, scales = self.from_ring(slot)
        acc = self.consume(weights, scales, x, acc)
        if p.load == "bulk" or p.quantized:
            b.emit(f"nvvm.bar.warp.sync {b.const(-1, 'i32')} : i32")
        more = b.cmp("sgt", remaining, 0)
        with b.when(more):
            self.issue(at, slot, bar)
        self.commit()
        if p.trigger == "issued":
            self.release(b.cmp("eq", remaining, 1))
        at, left = self.advance(at, left)
        after = b.add(slot, p.stage)
        wraps = b.cmp("eq", after, p.stages * p.stage)
        slot = b.select(wraps, b.const(0), after)
        phase = b.select(wraps, b.op("xori", phase, 1, "i32"), phase, "i32")
        return [slot, phase, at, left, b.op("subi", remaining, 1)] + next_x + acc

    def reg_steps(self, j, state):
        """`stages` chunks from registers."""
        b, p = self.b, self.p
        per, words = len(self.held_kinds()), p.height * p.unroll * p.loads
        held = [state[3 + s * per:3 + (s + 1) * per] for s in range(p.stages)]
        at, left, remaining = state[:3]
        rest = state[3 + per * p.stages:]
        n = len(self.x_kinds())
        x, acc = rest[:n], rest[n:]
        for s in range(p.stages):
            x, next_x = self.move_x(b.add(b.mul(j, p.stages), s), x)
            acc = self.consume(held[s][:words], held[s][words:], x, acc)
            held[s] = self.maybe(b.cmp("sgt", remaining, 0), at)
            if p.trigger == "issued":
                self.release(b.cmp("eq", remaining, 1))
            at, left = self.advance(at, left)
            remaining = b.op("subi", remaining, 1)
            x = next_x
        return [at, left, remaining] + sum(held, []) + list(x) + acc

    def finish(self, group, acc):
        """Adds the warps' sums in order and writes the group's rows."""
        b, p = self.b, self.p
        to = b.offset(b.offset(self.sums, b.mul(self.warp, p.fragments * 512), 3),
                      self.lane16, 3)
        for f in range(p.fragments):
            v = b.value(f"vector.from_elements {', '.join(acc[4 * f:4 * f + 4])} : "
                        f"vector<4xf32>")
            b.store(v, b.offset(to, f * 512, 3), "vector<4xf32>", 16, 3)
        b.emit("gpu.barrier")
        for first in range(0, p.fragments, p.warps):
            f = b.add(self.warp, first)
            with b.when(b.cmp("ult", f, p.fragments)):
                at = b.offset(b.offset(self.sums, b.mul(f, 512), 3), self.lane16, 3)
                total = None
                for w in range(p.warps):
                    v = b.load(b.offset(at, w * p.fragments * 512, 3), "vector<4xf32>",
                               16, 3)
                    total = v if total is None else b.op("addf", total, v,
                                                         "vector<4xf32>")
                self.write(group, f, total)
        if p.groups > p.grid:
            b.emit("gpu.barrier")

    def write(self, group, fragment, total):
        """A lane's four sums of a fragment: rows g and g + 8, two tokens each."""
        b, p = self.b, self.p
        height = b.op("divui", fragment, p.tiles)
        tile = b.op("remui", fragment, p.tiles)
        row = b.add(b.mul(b.add(b.mul(group, p.height), height), 16), self.g)
        token = b.add(b.mul(tile, 8), b.mul(self.t, 2))
        for n in range(2):
            at = b.add(token, n)
            if p.tokens % 8 == 0:
                self.write_token(row, at, total, n)
                continue
            with b.when(b.cmp("ult", at, p.tokens)):
                self.write_token(row, at, total, n)

    def write_token(self, row, token, total, n):
        b, p = self.b, self.p
        for i in (n, n + 2):
            r = b.add(row, 8 * (i // 2))
            v = b.extract(total, i, "vector<4xf32>", "f32")
            if p.out == "f32":
                at = b.mul(b.add(b.mul(token, p.rows), r), 4)
                b.store(v, b.offset("%y", at), "f32", 4)
            else:
                self.write_input(r, token, v, b.const(p.scale, "f32"), "%y")

    def write_input(self, row, token, v, scale, to):
        """As the next product reads it: [rows / 32][tokens][32] in bf16."""
        b, p = self.b, self.p
        at = b.add(b.mul(b.add(b.mul(b.op("divui", row, 32), p.tokens), token), 32),
                   b.op("remui", row, 32))
        v = b.value(f"arith.truncf {b.op('mulf', v, scale, 'f32')} : f32 to bf16")
        b.store(v, b.offset(to, b.mul(at, 2)), "bf16", 2)

    def group(self, k, state):
        b, p = self.b, self.p
        zero = b.const(0.0, "f32")
        sums = [(zero, "f32")] * (p.fragments * 4)
        carried = list(zip(state, self.kinds)) + sums
        steps = p.steps // (p.stages if p.load == "reg" else 1)
        r = b.loop(steps, carried,
                   self.reg_steps if p.load == "reg" else self.ring_step)
        acc = r[len(state):]
        self.finish(b.add(self.bid, b.mul(k, p.grid)), acc)
        return r[:len(state)]

    def kernel(self):
        b, p = self.b, self.p
        self.places()
        if p.trigger == "start":
            self.release()
        if not p.prefetch:
            b.emit("nvvm.griddepcontrol wait")
        held = self.start()
        at, left, remaining = self.next_pointer()
        if p.trigger == "issued":
            self.release(b.cmp("sle", remaining, 0))
        if p.prefetch:
            b.emit("nvvm.griddepcontrol wait")
        x = self.load_x(b.const(0)) if p.x_ahead else []
        pointer = "!llvm.ptr<1>"
        if p.load == "reg":
            state = [at, left, remaining] + sum(held, []) + x
            self.kinds = ([pointer, "i64", "i64"]
                          + self.held_kinds() * p.stages + self.x_kinds())
        else:
            state = [b.const(0), b.const(0, "i32"), at, left, remaining] + x
            self.kinds = ["i64", "i32", pointer, "i64", "i64"] + self.x_kinds()
        b.loop(self.my_groups, list(zip(state, self.kinds)), self.group)
        if p.trigger == "end":
            self.release()
        arguments = ("%w: !llvm.ptr<1> {llvm.align = 16 : i64}, "
                     "%x: !llvm.ptr<1> {llvm.align = 16 : i64}, "
                     "%y: !llvm.ptr<1>, %xs: !llvm.ptr<1> {llvm.align = 16 : i64}")
        return (f"  gpu.func @{p.name}({arguments}) kernel attributes "
                f"{{known_block_size = array<i32: {32 * p.warps}, 1, 1>, "
                f"nvvm.minctasm = {p.blocks} : i32}} {{\n"
                + "\n".join(b.lines) + "\n    gpu.return\n  }")


SHARED = ("  llvm.mlir.global external @shared() {addr_space = 3 : i32, "
          "alignment = 128 : i64} : !llvm.array<0 x i8>")
