"""Writes sources that are too long to check in: hostile_sources.py DIR."""
import os, sys

DEPTH = 200_000


def map_of(expression):
    return b"module attributes {a = affine_map<(d0) -> (" + expression + b")>} {}"


def diamond(functions, calls):
    """Returns functions that each apply the next one many times; the last has no embedding."""
    head = open(os.path.join(sys.argv[1], "round.mlir")).read()
    text = ""
    for f in range(functions):
        text += f"func.func private @f{f}(%v0: tensor<?x8xf32>) -> tensor<?x8xf32> {{\n"
        for c in range(calls if f + 1 < functions else 0):
            text += (f"  %v{c + 1} = mtp.apply @f{f + 1}(%v{c}) : "
                     "(tensor<?x8xf32>) -> tensor<?x8xf32>\n")
        text += f"  return %v{calls if f + 1 < functions else 0} : tensor<?x8xf32>\n}}\n"
    return head.replace("// FUNCTIONS\n", text).encode()


SOURCES = {
    "regions.mlir": b"module {" * DEPTH + b"}" * DEPTH,
    "attributes.mlir": b"module attributes {a = " + b"[" * DEPTH + b"]" * DEPTH + b"} {}",
    "types.mlir": b"func.func private @f(" + b"tuple<" * DEPTH + b">" * DEPTH + b")",
    "minuses.mlir": map_of(b"-" * DEPTH + b"d0"),
    "sums.mlir": map_of(b"d0 + " * DEPTH + b"d0"),
    "quotients.mlir": map_of(b"d0 floordiv " * DEPTH + b"2"),
    "comparisons.mlir": b"module attributes {a = " + b"[affine_set<(d0) : (d0 >= 0)>, " * DEPTH
                        + b"]" * DEPTH + b"} {}",
    "quotes.mlir": b'module attributes {a = "\\22]\\\\", b = ' + b"// ]]]]\n[" * DEPTH
                   + b"]" * DEPTH + b"} {}",
    "shallow.mlir": b"module attributes {mtp.a = [" + b"-1, " * 999 + b"1.0e-6], mtp.b = \""
                    + b"[" * 999 + b"\"} {}\n// " + b"[" * 999,
    "diamond.mlir": diamond(24, 16),
    "binary.mlir": bytes(range(128, 256)) * 16,
    "bytecode.mlir": b"ML\xefR" + b"\xff" * 64,
}
for name, text in SOURCES.items():
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(text)
