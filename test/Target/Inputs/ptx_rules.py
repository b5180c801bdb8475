"""Checks the PTX of an artifact's kernels: ptx_rules.py MODEL.bin [KIND...].

On every path a kernel waits for its predecessor before it stores to global memory and before
it ends. It has no local memory and no atomic operation on floats. Prints violations, missing
kinds, and the number of kernels.
"""
import re
import sys

# PTX is a string for the driver, which ends with a zero.
TEXT = re.compile(rb"\.version \d[^\0]*\.target sm_[^\0]*")
ENTRY = re.compile(r"\.entry (\w+)\(")
WAIT = "griddepcontrol.wait;"
# Matches stores and atomics to global memory: not local, shared or param, nor a warp's `redux`.
STORE = re.compile(r"(?:^|\s)(?:st|red|atom|cp\.async\.bulk)\.(?!shared|param|local)[\w.:]*")
SHARED = re.compile(r"\.shared\b")
FLOAT_ATOMIC = re.compile(r"(?:^|\s)(?:red|atom)\.[\w.:]*\.(?:f16|f16x2|bf16|bf16x2|f32|f64)\b")
BRANCH = re.compile(r"^\s*(@\S+\s+)?bra(?:\.uni)?\s+([$\w]+);")
END = re.compile(r"^\s*(@\S+\s+)?(?:ret|exit|trap);")


def entries(data):
    for text in TEXT.findall(data):
        ptx = text.decode()
        starts = [m.start() for m in ENTRY.finditer(ptx)]
        for begin, end in zip(starts, starts[1:] + [len(ptx)]):
            yield ENTRY.match(ptx, begin).group(1), ptx[begin:end]


def ahead_of_wait(lines):
    """Returns the lines that some path reaches before a wait."""
    labels = {line.strip()[:-1]: i for i, line in enumerate(lines) if line.rstrip().endswith(":")}
    seen, left = set(), [0]
    while left:
        at = left.pop()
        if at in seen or at >= len(lines) or WAIT in lines[at]:
            continue
        seen.add(at)
        assert "brx.idx" not in lines[at], lines[at]
        branch, end = BRANCH.match(lines[at]), END.match(lines[at])
        if branch:
            left.append(labels[branch.group(2)])
        # With a predicate, the path also continues after the instruction.
        if not (branch or end) or (branch or end).group(1):
            left.append(at + 1)
    return [lines[i] for i in sorted(seen)]


def faults(body):
    lines = body.splitlines()
    ahead = ahead_of_wait(lines)
    if any(STORE.search(line) and not SHARED.search(line) for line in ahead):
        yield "stores before it waits"
    if any(END.match(line) for line in ahead):
        yield "ends without a wait"
    if ".local" in body:
        yield "has memory of a thread's own"
    if any(FLOAT_ATOMIC.search(line) for line in lines):
        yield "adds floats atomically"


with open(sys.argv[1], "rb") as file:
    kernels = dict(entries(file.read()))
bad = 0
for name, body in sorted(kernels.items()):
    for fault in faults(body):
        print(f"{name} {fault}")
        bad += 1
for kind in sys.argv[2:]:
    # A symbol ends with 64 bits of the kernel's digest.
    if not any(re.fullmatch(rf"{kind}(_[0-9a-f]{{16}})?", name) for name in kernels):
        print(f"{kind} is missing")
        bad += 1
print(f"{len(kernels)} kernels, {bad} faults")
