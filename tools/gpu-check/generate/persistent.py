"""One kernel for a chain of bf16 products: a block of threads per SM, a table of
products in memory, and a counter per product that all blocks wait for.

The warps' chunks alternate, as in a strided product. The ring of weights
(cp.async, see products.py) runs on over the barriers: while a block waits for the
others, the next product's weights are already coming.
"""

from builder import VECTOR
from products import Product, Writer

# A row of the table, 64 bytes: weights, input, output, chunks of a warp in a row
# tile, groups of row tiles, scale of the output (f32).
ROW = 64
PTR = "!llvm.ptr<1>"


class Persistent(Writer):
    """`product` gives height, tiles, warps, stages, unroll and grid; its K and rows
    are not used."""

    def __init__(self, product):
        super().__init__(product)
        self.pointer_of = {}

    def field(self, row, i, kind="i64"):
        b = self.b
        return b.load(b.offset(row, 8 * i), kind, 8)

    def row(self, segment):
        return self.b.offset("%table", self.b.mul(segment, ROW))

    def own_groups(self, groups):
        b, p = self.b, self.p
        left = b.op("subi", b.add(groups, p.grid - 1), self.bid)
        return b.op("divui", left, p.grid)

    def first(self, row):
        """The issue side's state at the start of a product: pointer, chunks left in
        the group, chunks in a group, groups left, jump to the next group."""
        b, p = self.b, self.p
        steps = self.field(row, 3)
        tile = b.mul(steps, p.warps * p.chunk)
        at = b.offset(self.field(row, 0, PTR), b.add(
            b.add(b.mul(self.bid, b.mul(tile, p.height)),
                  b.mul(self.warp, p.chunk)), self.lane16))
        jump = b.op("subi", b.mul(tile, p.grid * p.height),
                    b.mul(b.op("subi", steps, 1), p.warps * p.chunk))
        return [at, steps, steps, self.own_groups(self.field(row, 4)), jump, tile]

    kinds_issue = [PTR, "i64", "i64", "i64", "i64", "i64", "i64"]

    def step_issue(self, state):
        """Moves on by a chunk; state is `first` and the product's number."""
        b, p = self.b, self.p
        at, left, steps, groups, jump, tile, segment = state
        left = b.op("subi", left, 1)

        def same_group():
            return [b.offset(at, p.warps * p.chunk), left, steps, groups, jump, tile, segment]

        def new_group():
            fewer = b.op("subi", groups, 1)

            def same_product():
                return [b.offset(at, jump), steps, steps, fewer, jump, tile, segment]

            def new_product():
                following = b.add(segment, 1)
                return self.first(self.row(following)) + [following]
            return b.choose(b.cmp("ne", fewer, 0), self.kinds_issue,
                            same_product, new_product)
        return b.choose(b.cmp("ne", left, 0), self.kinds_issue, same_group, new_group)

    def issue_chunk(self, state, slot):
        b, p = self.b, self.p
        at, tile, segment = state[0], state[5], state[6]
        with b.when(b.cmp("ult", segment, "%count")):
            to = b.offset(b.offset(self.ring, slot, 3), self.lane16, 3)
            for h in range(p.height):
                tile_at = at if h == 0 else b.offset(at, b.mul(tile, h))
                for i in range(p.unroll * p.loads):
                    self.copy16(b.offset(to, h * p.chunk + i * 512, 3),
                                b.offset(tile_at, i * 512))
        self.commit()
        return self.step_issue(state)

    def load16_fresh(self, at):
        """Past L1, which nothing empties inside a kernel."""
        b = self.b
        s = "!llvm.struct<(i32, i32, i32, i32)>"
        r = b.asm("ld.global.cg.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l", at,
                  PTR, s)
        words = [b.value(f"llvm.extractvalue {r}[{i}] : {s}") for i in range(4)]
        return b.value(f"vector.from_elements {', '.join(words)} : {VECTOR}")

    def x_of(self, base, step):
        b, p = self.b, self.p
        at = b.offset(base, b.mul(step, p.warps * p.unroll * p.tokens * 64))
        lanes = [b.offset(at, lane) for lane in self.x_lanes]
        return [self.load16_fresh(b.offset(lanes[n], u * p.tokens * 64))
                for u in range(p.unroll) for n in range(p.tiles)]

    def wait_for(self, segment):
        """Until all blocks have finished what was before this product."""
        b, p = self.b, self.p
        with b.when(b.cmp("eq", self.tid, 0)):
            with b.when(b.cmp("ne", segment, 0)):
                at = b.offset("%counters", b.mul(b.op("subi", segment, 1), 128))
                b.asm("{ .reg .pred p; .reg .b32 r; W: ld.acquire.gpu.global.b32 r, "
                      "[$0]; setp.lt.u32 p, r, $1; @p bra W; }", "l,r",
                      f"{at}, {b.const(p.grid, 'i32')}", f"{PTR}, i32")
        b.emit("gpu.barrier")

    def arrive(self, segment):
        b = self.b
        b.emit("gpu.barrier")
        with b.when(b.cmp("eq", self.tid, 0)):
            at = b.offset("%counters", b.mul(segment, 128))
            b.asm("fence.acq_rel.gpu; red.release.gpu.global.add.u32 [$0], 1;", "l", at,
                  PTR)

    def segment(self, number, carried):
        b, p = self.b, self.p
        row = self.row(number)
        x_base, steps = self.field(row, 1, PTR), self.field(row, 3)
        self.y, self.scale = self.field(row, 2, PTR), self.field(row, 5, "f32")
        groups = self.own_groups(self.field(row, 4))
        base = b.offset(x_base, b.mul(self.warp, p.unroll * p.tokens * 64))
        self.wait_for(number)
        x = self.x_of(base, b.const(0))
        kinds = ["i64"] + self.kinds_issue + self.x_kinds()

        def chunk(i, state):
            slot, issue = state[0], state[1:8]
            n = len(self.x_kinds())
            x, acc = state[8:8 + n], state[8 + n:]
            after = b.add(i, 1)
            after = b.select(b.cmp("eq", after, steps), b.const(0), after)
            next_x = self.x_of(base, after)
            b.emit(f"nvvm.cp.async.wait.group {p.stages - 1}")
            weights, _ = self.from_ring(slot)
            acc = self.consume(weights, [], x, acc)
            issue = self.issue_chunk(issue, slot)
            following = b.add(slot, p.stage)
            wraps = b.cmp("eq", following, p.stages * p.stage)
            slot = b.select(wraps, b.const(0), following)
            return [slot] + issue + next_x + acc

        def group(k, state):
            zero = b.const(0.0, "f32")
            sums = [(zero, "f32")] * (p.fragments * 4)
            r = b.loop(steps, list(zip(state, kinds)) + sums, chunk)
            self.finish(b.add(self.bid, b.mul(k, p.grid)), r[len(state):])
            return r[:len(state)]

        r = b.loop(groups, list(zip(carried + x, kinds)), group)
        self.arrive(number)
        return r[:len(carried)]

    def finish(self, group, acc):
        super().finish(group, acc)
        self.b.emit("gpu.barrier")

    def write_token(self, row, token, total, n):
        b = self.b
        for i in (n, n + 2):
            v = b.extract(total, i, "vector<4xf32>", "f32")
            self.write_input(b.add(row, 8 * (i // 2)), token, v, self.scale, self.y)

    def kernel(self):
        b, p = self.b, self.p
        self.tid, self.bid = b.index("thread_id"), b.index("block_id")
        self.lane = b.op("remui", self.tid, 32)
        self.warp = b.op("divui", self.tid, 32)
        self.g = b.op("divui", self.lane, 4)
        self.t = b.op("remui", self.lane, 4)
        self.lane16 = b.mul(self.lane, 16)
        self.x_lanes = [self.x_lane(n) for n in range(p.tiles)]
        self.base = b.value("llvm.mlir.addressof @shared : !llvm.ptr<3>")
        self.ring = b.offset(self.base, b.mul(self.warp, p.stages * p.stage), 3)
        self.sums = b.offset(self.base, p.ring, 3)
        zero = b.const(0)
        issue = self.first(self.row(zero)) + [zero]
        for s in range(p.stages):
            issue = self.issue_chunk(issue, b.const(s * p.stage))
        b.loop("%count", list(zip([b.const(0)] + issue, ["i64"] + self.kinds_issue)),
               self.segment)
        arguments = "%table: !llvm.ptr<1>, %counters: !llvm.ptr<1>, %count: i64"
        return (f"  gpu.func @{p.name}({arguments}) kernel attributes "
                f"{{known_block_size = array<i32: {32 * p.warps}, 1, 1>, "
                f"nvvm.minctasm = 1 : i32}} {{\n" + "\n".join(b.lines)
                + "\n    gpu.return\n  }")


def persistent(name, grid, tokens=8, height=1, stages=4, unroll=4,
               warps=8):
    """The smallest K and rows that the parameters allow stand in for the table's."""
    return Product(name=name, kind="bf16", inputs=32 * warps * unroll, warps=warps,
                   rows=16 * height * grid, tokens=tokens, grid=grid, height=height,
                   stages=stages, unroll=unroll, load="async", out="bf16", blocks=1)


def manifest(p):
    return (f"persistent name={p.name} tokens={p.tokens} grid={p.grid} height={p.height} "
            f"warps={p.warps} stages={p.stages} unroll={p.unroll} shared={p.shared} "
            f"ahead={p.ahead()}")
