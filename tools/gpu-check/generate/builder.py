"""Writes the body of a GPU kernel as MLIR text.

Everything is i64 and f32 unless said otherwise; pointers are opaque, with their
address space: 1 is global memory, 3 shared memory.
"""

from contextlib import contextmanager

VECTOR = "vector<4xi32>"


class Body:
    def __init__(self):
        self.lines = []
        self.count = 0
        self.indent = 2
        self.constants = {}

    def emit(self, text):
        self.lines.append("  " * self.indent + text)

    def fresh(self, n=1):
        self.count += 1
        return f"%v{self.count}" if n == 1 else f"%v{self.count}:{n}"

    def value(self, text):
        name = self.fresh()
        self.emit(f"{name} = {text}")
        return name

    def const(self, number, kind="i64"):
        # No reuse across regions: canonicalization merges them. MLIR wants a point in
        # every float.
        if isinstance(number, float):
            number = repr(number)
            number = number if "." in number else number.replace("e", ".0e")
        return self.value(f"arith.constant {number} : {kind}")

    def op(self, name, a, b, kind="i64"):
        if isinstance(a, (int, float)):
            a = self.const(a, kind)
        if isinstance(b, (int, float)):
            b = self.const(b, kind)
        return self.value(f"arith.{name} {a}, {b} : {kind}")

    def add(self, a, b, kind="i64"):
        return self.op("addi", a, b, kind)

    def mul(self, a, b, kind="i64"):
        return self.op("muli", a, b, kind)

    def cmp(self, predicate, a, b, kind="i64"):
        if isinstance(b, int):
            b = self.const(b, kind)
        return self.value(f"arith.cmpi {predicate}, {a}, {b} : {kind}")

    def select(self, condition, a, b, kind="i64"):
        return self.value(f"arith.select {condition}, {a}, {b} : {kind}")

    def index(self, what):
        raw = self.value(f"gpu.{what} x")
        return self.value(f"arith.index_cast {raw} : index to i64")

    def offset(self, pointer, by, space=1):
        if isinstance(by, int):
            if by == 0:
                return pointer
            by = self.const(by)
        return self.value(f"llvm.getelementptr {pointer}[{by}] : "
                          f"(!llvm.ptr<{space}>, i64) -> !llvm.ptr<{space}>, i8")

    def load(self, pointer, kind, align, space=1):
        return self.value(f"llvm.load {pointer} {{alignment = {align} : i64}} : "
                          f"!llvm.ptr<{space}> -> {kind}")

    def store(self, what, pointer, kind, align, space=1):
        self.emit(f"llvm.store {what}, {pointer} {{alignment = {align} : i64}} : "
                  f"{kind}, !llvm.ptr<{space}>")

    def extract(self, vector, i, kind=VECTOR, element="i32"):
        return self.value(f"vector.extract {vector}[{i}] : {element} from {kind}")

    def asm(self, text, constraints, operands="", kinds="", result="()"):
        """Inline PTX that stays where it is among other such and memory effects."""
        call = (f'llvm.inline_asm has_side_effects asm_dialect = att "{text}", '
                f'"{constraints}" {operands} : ({kinds}) -> {result}')
        if result == "()":
            call = call.replace("-> ()", "-> ()")
            self.emit(call)
            return None
        return self.value(call)

    @contextmanager
    def when(self, condition):
        self.emit(f"scf.if {condition} {{")
        self.indent += 1
        yield
        self.indent -= 1
        self.emit("}")

    def loop(self, steps, carried, body):
        """for i in 0..steps with (value, type) pairs carried; `body` takes i and the
        values and returns the next ones. `steps` is a number or an i64 value."""
        if isinstance(steps, int):
            steps = self.const(steps)
        zero, one = self.const(0), self.const(1)
        self.count += 1
        tag = self.count
        names = [f"%c{tag}_{j}" for j in range(len(carried))]
        init = ", ".join(f"{n} = {v}" for n, (v, _) in zip(names, carried))
        kinds = ", ".join(kind for _, kind in carried)
        self.emit(f"%r{tag}:{len(carried)} = scf.for %i{tag} = {zero} to {steps} step "
                  f"{one} iter_args({init}) -> ({kinds}) : i64 {{")
        self.indent += 1
        results = body(f"%i{tag}", names)
        self.emit(f"scf.yield {', '.join(results)} : {kinds}")
        self.indent -= 1
        self.emit("}")
        return [f"%r{tag}#{j}" for j in range(len(carried))]

    def choose(self, condition, kinds, then, otherwise):
        """scf.if that gives values."""
        self.count += 1
        tag = self.count
        self.emit(f"%r{tag}:{len(kinds)} = scf.if {condition} -> ({', '.join(kinds)}) {{")
        for branch in (then, otherwise):
            self.indent += 1
            values = branch()
            self.emit(f"scf.yield {', '.join(values)} : {', '.join(kinds)}")
            self.indent -= 1
            self.emit("} else {" if branch is then else "}")
        return [f"%r{tag}#{j}" for j in range(len(kinds))]


def module(globals_and_kernels):
    return ("module attributes {gpu.container_module} {\ngpu.module @kernels {\n"
            + "\n".join(globals_and_kernels) + "\n}\n}\n")
