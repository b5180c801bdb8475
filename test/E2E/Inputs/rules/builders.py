#!/usr/bin/env python3
"""Compares functions of the drafter library that build dynamic trees with a model, as exported
functions.

  builders.py ARTIFACT [FLAGS..]
  builders.py --write FILE LIBRARY    writes the module

Numbers are eighths, so sums are exact and some are equal. Beams are at depths at which the window
has places for all nodes, at which it has no unused places, and with ancestors in all places. Powers
of shares are compared up to rounding.
"""

import math
import pathlib
import random
import subprocess
import sys

import functions

WIDTH, SQUARE, ROWS, KEPT = 3, 9, 256, 63
NONE, BITS = float("-inf"), 64
# Arguments and results of each function, for one row.
FUNCTIONS = {
    "score": ([((WIDTH, WIDTH), "f32"), ((WIDTH,), "f32")], [((SQUARE,), "f32")]),
    "advance": ([((WIDTH, WIDTH), "i32"), ((SQUARE,), "f32"), ((), "i32"), ((WIDTH,), "i64")],
                [((WIDTH,), element) for element in ("i32", "i32", "i32", "i64", "f32", "i32")]),
    "sharpen": ([((WIDTH, WIDTH), "f32"), ((), "f32")], [((WIDTH, WIDTH), "f32")]),
    "keep": ([((KEPT,), "i32")] * 3 + [((), "i32")], [((KEPT,), "i32"), ((KEPT + 1,), "i32")]),
}


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, (ROWS, *shape)))}x{element}>"


def text(name):
    takes, gives = ([tensor(*one) for one in side] for side in FUNCTIONS[name])
    given = ", ".join(f"%a{i}: {one}" for i, one in enumerate(takes))
    values, types, before = ["%slots"], [tensor((), "i32")], ""
    if name == "advance":
        best = tensor((WIDTH,), "i32")
        before = (f"  %best, %logs = mtp.top_k %a1 k {WIDTH} : {takes[1]} -> {best}, "
                  f"{tensor((WIDTH,), 'f32')}\n")
        values, types = values + ["%best"], types + [best]
    values = ", ".join(values + [f"%a{i}" for i in range(len(takes))])
    types, out = ", ".join(types + takes), ", ".join(gives)
    results = ", ".join(f"%r#{i}" for i in range(len(gives))) if len(gives) > 1 else "%r"
    made = f"%r:{len(gives)}" if len(gives) > 1 else "%r"
    return f"""func.func @one_{name}({given}) -> ({out}) {{
  %slots = arith.constant dense<0> : {tensor((), "i32")}
{before}  {made} = mtp.apply @{name}({values}) : ({types}) -> ({out})
  return {results} : {out}
}}
"""


def run(artifact, name, rows, flags):
    takes, gives = FUNCTIONS[name]
    folder = pathlib.Path(artifact).parent
    command = ["mtp-run", str(artifact), "--threads=1", f"--function=@one_{name}", *flags]
    for i, (shape, element) in enumerate(takes):
        path = folder / f"{name}.{i}.npy"
        functions.write_npy(path, functions.flat([row[i] for row in rows]), (ROWS, *shape),
                            element)
        command.append(f"--input=@{path}")
    paths = [folder / f"{name}.out{i}.npy" for i in range(len(gives))]
    subprocess.run(command + [f"--output=@{path}" for path in paths], check=True)
    columns = []
    for path in paths:
        values = functions.read_npy(path)
        size = len(values) // ROWS
        columns.append([values[i * size:(i + 1) * size] for i in range(ROWS)])
    return list(zip(*columns))


def score(logs, sums):
    return [[above + log if above > NONE else NONE for above, own in zip(sums, logs)
             for log in own]]


def sharpen(logs, power):
    """Returns each candidate's share of the sum of powers of its node's candidates."""
    out = []
    for own in logs:
        total = sum(math.exp(power * log) for log in own)
        out += [power * log - math.log(total) if log > NONE else NONE for log in own]
    return [out]


def signed(mask):
    return mask - (1 << BITS) if mask >> (BITS - 1) else mask


def advance(best, scores, depth, masks):
    order = sorted((c for c in range(SQUARE) if scores[c] > NONE), key=lambda c: (-scores[c], c))
    chosen, used, nodes = order[:WIDTH], 1, []
    for c in chosen:
        used |= masks[c // WIDTH] % (1 << BITS)
    for j, c in enumerate(chosen):
        free = [bit for bit in range(BITS) if not used >> bit & 1]
        place = depth * WIDTH + j + 1
        if place >= BITS:
            place = free[0] if free else None
        if place is None:
            continue
        used |= 1 << place
        sees = masks[c // WIDTH] % (1 << BITS) | 1 << place
        nodes.append((best[c // WIDTH][c % WIDTH], c // WIDTH, place, signed(sees), scores[c],
                      depth * SQUARE + c))
    nodes += [(0, 0, -1, 0, NONE, -1)] * (WIDTH - len(nodes))
    return [list(column) for column in zip(*nodes)]


def keep(best, tokens, ups, most):
    kept = sorted((number, token, up) for number, token, up in
                  list(zip(best, tokens, ups))[:most] if number >= 0)
    numbers = [number for number, _, _ in kept]
    drafts = [token for _, token, _ in kept]
    parents = [-1] + [sum(number <= up for number in numbers) for _, _, up in kept]
    return [drafts + [-1] * (KEPT - len(drafts)), parents + [-1] * (KEPT + 1 - len(parents))]


def eighths(source):
    return -source.randrange(40) / 8


def score_row(source):
    return ([[eighths(source) for _ in range(WIDTH)] for _ in range(WIDTH)],
            [NONE if source.random() < 0.2 else eighths(source) for _ in range(WIDTH)])


def sharpen_row(source):
    """Returns a row with each node's candidates in order, then missing ones."""
    rows = []
    for _ in range(WIDTH):
        count = source.randrange(WIDTH + 1)
        logs = sorted((eighths(source) for _ in range(count)), reverse=True)
        rows.append(logs + [NONE] * (WIDTH - count))
    return rows, source.choice((1, 1.5, 2, 4))


def is_near(name, got, expected):
    if name != "sharpen":
        return list(got) == expected
    pairs = list(zip(*got, *expected))
    return len(pairs) == SQUARE and all(
        mine == theirs or abs(mine - theirs) < 1e-5 * max(1, abs(theirs)) for mine, theirs in pairs)


def advance_row(source):
    """Returns a row in which the masks of two nodes nearly fill the window, so few places are left.
    """
    depth, share = source.choice((0, 3, 19, 20, 21, 30)), source.choice((0.1, 0.5, 0.96, 1))
    places = range(1, min(depth * WIDTH + 1, BITS))
    masks = [signed(1 | sum(1 << p for p in places if source.random() < share))
             for _ in range(WIDTH)]
    scores = [NONE if source.random() < 0.3 else eighths(source) for _ in range(SQUARE)]
    best = [[source.randrange(1000) for _ in range(WIDTH)] for _ in range(WIDTH)]
    return best, scores, depth, masks


def keep_row(source):
    count = source.randrange(KEPT + 1)
    numbers = source.sample(range(200), count)
    # A node's parent is kept, or it is the anchor.
    ups = [source.choice([-1] + [other for other in numbers if other < number])
           for number in numbers]
    fill = KEPT - count
    return (numbers + [-1] * fill, [source.randrange(1000) for _ in range(count)] + [7] * fill,
            ups + [5] * fill, KEPT if source.random() < 0.5 else source.randrange(1, KEPT))


def main():
    if sys.argv[1] == "--write":
        _, _, file, library = sys.argv
        names = ", ".join(f"@{name}" for name in FUNCTIONS)
        pathlib.Path(file).write_text("\n".join(
            ["module {", f'mtp.import "{library}" [{names}]', *map(text, FUNCTIONS), "}", ""]))
        return
    artifact, flags, source = sys.argv[1], sys.argv[2:], random.Random(5)
    models = {"score": (score, score_row), "advance": (advance, advance_row),
              "sharpen": (sharpen, sharpen_row), "keep": (keep, keep_row)}
    left_out = 0
    for name, (model, make) in models.items():
        rows = [make(source) for _ in range(ROWS)]
        for row, got in zip(rows, run(artifact, name, rows, flags)):
            expected = model(*row)
            assert is_near(name, got, expected), (name, row, got, expected)
            if name == "advance":
                left_out += sum(s > NONE for s in row[1]) >= WIDTH and expected[2][-1] < 0
    assert left_out > 0
    print(f"{ROWS} beams as expected, {left_out} with a node that found no place")


if __name__ == "__main__":
    main()
