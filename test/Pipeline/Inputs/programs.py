"""Reads the programs of a module after exec-bufferize, for tests."""

import re
import sys

COUNT = r"-?[\dn][\dn *+-]*"
SIZES = {"f32": 4, "i32": 4, "i64": 8, "bf16": 2, "i8": 1}


def evaluate(count, n):
    total = 0
    for term in count.split("+"):
        factors = [n if f.strip() == "n" else int(f) for f in term.split("*")]
        product = 1
        for factor in factors:
            product *= factor
        total += product
    return total


class Life:
    """A buffer's bytes at n, and the stages from its first use to its last."""

    def __init__(self, value, text, type_, n):
        self.value = value
        *extents, element = type_.split("x")
        rows = re.search(r"\brows (" + COUNT + ")", text)
        size = SIZES[element]
        for extent in extents:
            size *= evaluate(rows[1], n) if extent == "?" else int(extent)
        self.offset = evaluate(re.search(r"\bat (" + COUNT + ")", text)[1], n)
        self.end = self.offset + size
        self.first, self.last = sys.maxsize, -1

    def use(self, stage):
        self.first = min(self.first, stage)
        self.last = max(self.last, stage)


class Program:
    def __init__(self, header):
        found = re.match(
            r'exec.program @(\S+) (\w+)(?: sequences (\d+))?( catch_up \d+)?'
            r"(?: k (\d+) n (\d+) to (\d+))? {", header
        )
        self.name, self.kind = found[1], found[2] + (found[4] or "")
        numbers = [int(number or 0) for number in (found[3], *found.groups()[4:])]
        self.sequences, self.k, self.least, self.most = numbers
        self.lines = []

    def buffers(self, n):
        """Returns the description of each value at n, without its name."""
        values = {}
        for line in self.lines:
            found = re.match(r"(%\S+) = exec\.(alloc|ref) ?(.*?) ?: (memref\S+)$", line)
            if not found:
                continue
            value, op, text, type_ = found.groups()
            text = re.sub(r" ?\bat " + COUNT, "", text)
            rows = re.search(r"\b(?:rows|first) (" + COUNT + ")", text)
            if rows:
                type_ = type_.replace("?", str(evaluate(rows[1], n)), 1)
                text = text[: rows.start()]
            values[value] = (op, text.strip(), type_)
        return values

    def calls(self, n, kernels, numbered):
        """Returns one text for each dispatch and output, at n."""
        values = self.buffers(n)
        numbers = {}

        def name(value):
            op, text, type_ = values[value]
            if op == "ref":
                return f"{text} : {type_}"
            if not numbered:
                return type_
            return f"#{numbers.setdefault(value, len(numbers))} : {type_}"

        calls = []
        for line in self.lines:
            found = re.match(
                r"exec.dispatch @([^(]+)\((.*?)\) params \[(.*?)\] "
                r"offsets \[(.*?)\] outputs (\d+)",
                line,
            )
            if found:
                params = [evaluate(p, n) for p in found[3].split(", ")]
                buffers = [name(value) for value in found[2].split(", ")]
                calls.append(
                    f"{kernels[found[1]]} {params} [{found[4]}] {found[5]} "
                    + ", ".join(buffers)
                )
            found = re.match(r"exec.output (\S+) (%\S+) :", line)
            if found:
                calls.append(f"output {found[1]} {name(found[2])}")
        return calls

    def stages(self, n):
        """Returns the stage of each dispatch at n; without a schedule each dispatch has its
        own stage."""
        stages = range(sum(line.startswith("exec.dispatch") for line in self.lines))
        for line in self.lines:
            found = re.match(r"exec.schedule from (\d+) \[(.*)\]$", line)
            if found and int(found[1]) <= n:
                stages = [
                    stage
                    for stage, calls in enumerate(re.findall(r"\[(.*?)\]", found[2]))
                    for _ in calls.split(", ")
                ]
        return list(stages)

    def barriers(self, n):
        """Returns the number of barriers at n."""
        return max(self.stages(n), default=0)

    def lives(self, n):
        """Returns the offset and the stages of each buffer of the program at n."""
        stages = self.stages(n)
        end = max(stages, default=0) + 1
        lives = {}
        place = 0
        for line in self.lines:
            found = re.match(r"(%\S+) = exec\.alloc ?(.*?) ?: memref<(\S+)>$", line)
            if found:
                lives[found[1]] = life = Life(found[1], found[2], found[3], n)
                if line.find(" input ") >= 0:
                    life.use(0)
            uses = [place for place in re.findall(r"%\w+", line) if place in lives]
            if line.startswith("exec.dispatch"):
                for value in uses:
                    lives[value].use(stages[place])
                place += 1
            elif line.startswith("exec.output"):
                for value in uses:
                    lives[value].use(end)
        return [life for life in lives.values() if life.last >= 0]


def read(path):
    """Returns the texts of kernels by name, and all programs."""
    kernels, programs, body = {}, [], None
    for line in open(path):
        text = re.sub(r" loc\(.*\)$", "", line.rstrip()).strip()
        if text.startswith("exec.kernel"):
            found = re.match(r"exec.kernel @(\S+) (.*)$", text)
            body = found[1]
            kernels[body] = found[2]
            if not text.endswith("{"):
                body = None
        elif body:
            kernels[body] += "\n" + text
            if line.startswith("  }"):
                body = None
        elif text.startswith("exec.program"):
            programs.append(Program(text))
        elif programs:
            programs[-1].lines.append(text)
    return kernels, programs
