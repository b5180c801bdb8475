"""exp as on the CPU (compiler/Codegen/Rows/MathApprox.cpp), quotient and square root:
one element a thread; and the kernel that ends a loop of a graph."""

from builder import Body


def number(b, x):
    return b.value(f"arith.constant {x!r} : f32")


def fma(b, x, y, z):
    return b.value(f"llvm.intr.fma({x}, {y}, {z}) : (f32, f32, f32) -> f32")


def two_to(b, n):
    biased = b.op("shli", b.op("addi", n, 127, "i32"), 23, "i32")
    return b.value(f"arith.bitcast {biased} : i32 to f32")


def exp(b, x, _):
    def bound(predicate, limit):
        limit = number(b, limit)
        c = b.value(f"arith.cmpf {predicate}, {x}, {limit} : f32")
        return b.select(c, limit, x, "f32")
    x = bound("olt", -104.0)
    x = bound("ogt", 89.0)
    magic = number(b, 12582912.0)
    shifted = fma(b, x, number(b, 1.44269504088896341), magic)
    bits = [b.value(f"arith.bitcast {v} : f32 to i32") for v in (shifted, magic)]
    n = b.op("subi", bits[0], bits[1], "i32")
    minus = b.op("subf", magic, shifted, "f32")
    r = fma(b, minus, number(b, 0.693359375), x)
    r = fma(b, minus, number(b, -2.12194440054690583e-4), r)
    y = number(b, 1.0 / 5040)
    for coefficient in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        y = fma(b, y, r, number(b, coefficient))
    half = b.op("subi", b.op("shrui", b.op("addi", n, 256, "i32"), 1, "i32"), 128, "i32")
    y = b.op("mulf", y, two_to(b, half), "f32")
    return b.op("mulf", y, two_to(b, b.op("subi", n, half, "i32")), "f32")


def quotient(b, x, z):
    return b.op("divf", x, z, "f32")


def root(b, x, _):
    return b.value(f'llvm.call_intrinsic "llvm.sqrt.f32"({x}) : (f32) -> f32')


def kernel(name, function):
    b = Body()
    i = b.add(b.mul(b.index("block_id"), 256), b.index("thread_id"))
    at = b.mul(i, 4)
    x = b.load(b.offset("%x", at), "f32", 4)
    z = b.load(b.offset("%z", at), "f32", 4)
    b.store(function(b, x, z), b.offset("%y", at), "f32", 4)
    return (f"  gpu.func @{name}(%x: !llvm.ptr<1>, %z: !llvm.ptr<1>, %y: !llvm.ptr<1>) "
            "kernel attributes {known_block_size = array<i32: 256, 1, 1>} {\n"
            + "\n".join(b.lines) + "\n    gpu.return\n  }")


def text():
    return [kernel("exp", exp), kernel("quotient", quotient), kernel("root", root)]


def loop_end():
    """Counts up and says whether to go on. In a module of its own, because the call
    leaves an undefined symbol in the cubin that the driver has to know."""
    b = Body()
    with b.when(b.cmp("eq", b.index("thread_id"), 0)):
        n = b.add(b.load("%counter", "i64", 8), 1)
        b.store(n, "%counter", "i64", 8)
        more = b.value(f"arith.extui {b.cmp('slt', n, '%limit')} : i1 to i32")
        b.emit(f"llvm.call @cudaGraphSetConditional(%handle, {more}) : (i64, i32) -> ()")
    return ["  llvm.func @cudaGraphSetConditional(i64, i32)",
            "  gpu.func @loop_end(%handle: i64, %counter: !llvm.ptr<1>, %limit: i64) "
            "kernel attributes {known_block_size = array<i32: 32, 1, 1>} {\n"
            + "\n".join(b.lines) + "\n    gpu.return\n  }"]
