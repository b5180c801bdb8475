"""Exported functions of the acceptance rules with given shapes, and their runs.

A function has ROWS rows, each as one slot; unused rows are repeats. Standard library only.
"""

import array
import pathlib
import subprocess

ROWS = 1024
TYPES = {"i32": "i", "f32": "f", "i64": "q"}
DESCRIPTIONS = {"i32": "<i4", "f32": "<f4", "i64": "<i8"}


def tensor(shape, element):
    return f"tensor<{'x'.join(str(extent) for extent in (ROWS, *shape))}x{element}>"


# Arguments whose rows are checked before a function runs.
DISTRIBUTIONS = ("p", "q")


def argument(name, shape, element):
    attribute = f' {{mtp.name = "{name}.distributions"}}' if name in DISTRIBUTIONS else ""
    return f"%{name}: {tensor(shape, element)}{attribute}"


class Function:
    """An exported function that calls @`rule`: the names and shapes of its arguments (for one row),
    and the rule's numbers for all rows."""

    def __init__(self, name, rule, arguments, results, constants=(), before=""):
        self.name, self.rule, self.arguments = name, rule, arguments
        self.results, self.constants, self.before = results, constants, before

    def text(self):
        given = ", ".join(argument(*a) for a in self.arguments)
        out = ", ".join([tensor((), "i32")] * self.results)
        lines = [f"func.func @{self.name}({given}) -> ({out}) {{",
                 f"  %slots = arith.constant dense<0> : {tensor((), 'i32')}"]
        for name, value in self.constants:
            lines.append(f"  %{name} = arith.constant dense<{float(value)}> : {tensor((), 'f32')}")
        operands = [("slots", (), "i32")]
        operands += [a for a in self.arguments if not a[0].startswith("raw_")]
        if self.before:
            text, made = self.before
            lines.append(text)
            operands += made
        operands += [(name, (), "f32") for name, _ in self.constants]
        values = ", ".join(f"%{name}" for name, _, _ in operands)
        types = ", ".join(tensor(shape, element) for _, shape, element in operands)
        lines += [f"  %r:{self.results} = mtp.apply @{self.rule}({values}) : ({types}) -> ({out})",
                  "  return " + ", ".join(f"%r#{i}" for i in range(self.results)) + f" : {out}",
                  "}"]
        return "\n".join(lines)


def node_arguments(nodes, columns):
    """Returns the arguments of a rule for trees."""
    return [("d", (nodes - 1,), "i32"), ("parents", (nodes,), "i32"),
            ("p", (nodes, columns), "f32"), ("u", (nodes,), "f32"), ("v", (nodes,), "f32")]


def chain_arguments(nodes, columns):
    return [a for a in node_arguments(nodes, columns) if a[0] != "parents"]


def drawn_arguments(nodes, columns):
    d, p, u, v = chain_arguments(nodes, columns)
    return [d, p, ("q", (nodes - 1, columns), "f32"), u, v]


def picks_arguments(nodes, columns):
    d, parents, p, _, _ = node_arguments(nodes, columns)
    return [d, parents, ("picks", (nodes,), "i32"), p]


def relaxed(name, nodes, columns, few, delta):
    d, parents, picks, _ = picks_arguments(nodes, columns)
    best, logs = ("best", (nodes, few), "i32"), ("logs", (nodes, few), "f32")
    text = (f"  %best, %logs = mtp.top_k %raw_l k {few} : {tensor((nodes, columns), 'f32')}"
            f" -> {tensor(best[1], 'i32')}, {tensor(logs[1], 'f32')}")
    return Function(name, "relaxed", [d, parents, picks, ("raw_l", (nodes, columns), "f32")], 3,
                    constants=[("delta", delta)], before=(text, [best, logs]))


def module(functions, library):
    rules = ", ".join(sorted({f"@{f.rule}" for f in functions}))
    return "\n".join(["module {", f'mtp.import "{library}" [{rules}]']
                     + [f.text() for f in functions] + ["}", ""])


def write_npy(path, values, shape, element):
    header = repr({"descr": DESCRIPTIONS[element], "fortran_order": False,
                   "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    data = array.array(TYPES[element], values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
                     + data.tobytes())


def read_npy(path):
    text = path.read_bytes()
    size = int.from_bytes(text[8:10], "little")
    description = eval(text[10:10 + size])["descr"]
    element = next(TYPES[e] for e, d in DESCRIPTIONS.items() if d == description)
    return array.array(element, text[10 + size:]).tolist()


def flat(value):
    """Returns the numbers of a value whose parts are all numbers or all lists."""
    if not isinstance(value, (list, tuple)):
        return [value]
    if value and isinstance(value[0], (list, tuple)):
        return [x for part in value for x in flat(part)]
    return list(value)


def run(artifact, function, rows, flags=()):
    """Returns the results of each of `rows`, which are lists of argument values."""
    folder, out = pathlib.Path(artifact).parent, []
    for begin in range(0, len(rows), ROWS):
        some = rows[begin:begin + ROWS]
        padded = some + [some[-1]] * (ROWS - len(some))
        command = ["mtp-run", str(artifact), "--threads=1", f"--function=@{function.name}", *flags]
        for i, (name, shape, element) in enumerate(function.arguments):
            path = folder / f"{function.name}.{name}.npy"
            write_npy(path, flat([row[i] for row in padded]), (ROWS, *shape), element)
            command.append(f"--input=@{path}")
        results = [folder / f"{function.name}.{i}.npy" for i in range(function.results)]
        command += [f"--output=@{path}" for path in results]
        subprocess.run(command, check=True)
        out += list(zip(*map(read_npy, results)))[:len(some)]
    return out
