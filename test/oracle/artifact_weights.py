#!/usr/bin/env python3
"""Compares the weights of an artifact with the folder that has their values. Standard library only.

  python3 artifact_weights.py FOLDER ARTIFACT EXEC DUMP [--format TEXT]...
      EXEC is the module of `mtpc --dump-phases-to`, which names each weight's sources; DUMP is the
      output of `mtp-dump --json`. Each TEXT must be the format of a weight: "int4 32 f16 offset".

A value of the artifact is scale * q + offset, rounded to f32 once. It must have the bits of the
folder's value. Weights of f32 are compared as well if the folder has them in F32. Layouts are read as FORMAT.md defines them, independent of the compiler.
"""
import argparse, array, json, re, struct, sys

import gguf_files

BIAS = {"int8": 128, "int6": 32, "int5": 16, "int4": 8, "e2m1": 0, "nl4": 0}
STEP = {"int8": 4, "int6": 16, "int5": 32, "int4": 8, "e2m1": 8, "nl4": 8}
TABLES = {"e2m1": [2 * x for x in gguf_files.E2M1], "nl4": gguf_files.CURVE}


def numbers(data, at, scales):
    kind = "<32f" if scales == "f32" else "<32e"
    return struct.unpack_from(kind, data, at), at + struct.calcsize(kind)


def stored(data, at, kind, inputs):
    """The stored integers of a group, by output, and the end of the group."""
    step, low = STEP[kind], 8 if kind == "int8" else 4
    words, rows = step * low // 32, [[] for _ in range(32)]
    high = {"int5": 1, "int6": 2}.get(kind, 0)
    for _ in range(-(-inputs // step)):
        for o in range(32):
            for i in range(step):
                byte = data[at + i * low // 32 * 128 + o * 4 + i % 4]
                q = byte if low == 8 else byte >> (4 if i % 8 >= 4 else 0) & 15
                if high:
                    top = data[at + words * 128 + o * 4 + i % 4]
                    q |= (top >> i // 4 * high & (1 << high) - 1) << 4
                rows[o].append(q)
        at += 128 * (words + (1 if high else 0))
    return [row[:inputs] for row in rows], at


def header(data, at, blob, groups):
    """The scales and offsets of a block's groups, by group and output, and the end of the header."""
    begin, scales = at, blob["scales"]
    if scales in ("e8m0", "e4m3"):
        value = (lambda b: 2.0**(b - 128)) if scales == "e8m0" else (lambda b: gguf_files.e4m3(b) / 2)
        result = [([value(b) for b in data[at + 32 * g:at + 32 * g + 32]], [0.0] * 32) for g in range(groups)]
        return result, at + -(-32 * groups // 64) * 64
    first, at = numbers(data, at, scales)
    other = [0.0] * 32
    if blob["has_offset"]:
        other, at = numbers(data, at, scales)
    if scales in ("f32", "f16"):
        result = [(first, other)]
    elif scales == "f16x6":
        words, at = struct.unpack_from("<32I", data, at), at + 128
        result = []
        for g in range(groups):
            low = data[at:at + 32]
            at += 32
            s = [low[o] & 15 | (words[o] >> 4 * g & 3) << 4 for o in range(32)]
            t = [low[o] >> 4 | (words[o] >> 4 * g + 2 & 3) << 4 for o in range(32)]
            result.append(([first[o] * s[o] for o in range(32)], [-(other[o] * t[o]) for o in range(32)]))
    else:
        levels = []
        for _ in range(2 if blob["has_offset"] else 1):
            levels.append([struct.unpack_from("<32b", data, at + 32 * g) for g in range(groups)])
            at += 32 * groups
        result = [([first[o] * levels[0][g][o] for o in range(32)],
                   [-(other[o] * levels[-1][g][o]) for o in range(32)]) for g in range(groups)]
    return result, begin + -(-(at - begin) // 64) * 64


def panel(data, at, blob, k):
    """The values of a panel, by output."""
    if blob["format"] == "elements":
        values = array.array("f", data[at:at + 128 * k])
        return [values[o::32] for o in range(32)], at + 128 * k
    group = blob["group"]
    block = {"f16x6": 256, "f16x8": 256, "e8m0": 2 * group, "e4m3": 2 * group}.get(blob["scales"], group)
    rows = [array.array("f") for _ in range(32)]
    for first in range(0, k, block):
        inputs = min(block, k - first)
        scales, at = header(data, at, blob, -(-inputs // group))
        for g, (scale, offset) in enumerate(scales):
            codes, at = stored(data, at, blob["format"], min(group, inputs - g * group))
            bias = 0 if blob["has_offset"] else BIAS[blob["format"]]
            for o in range(32):
                for q in codes[o]:
                    q = TABLES[blob["format"]][q] if blob["format"] in TABLES else q
                    value = scale[o] * (q - bias)
                    rows[o].append(value + offset[o] if blob["has_offset"] else value)
    return rows, at


def sources(text):
    for found in re.finditer(r'exec\.weight @("[^"]+"|\S+) #exec\.(\S+?)(?:<[^>]*>)? k (\d+) n (\d+) stack (\d+) '
                             r"\[(.*?)\] :", text):
        name, layout, k, n, stack, rest = found.groups()
        keys = re.findall(r'#exec\.source<key = "([^"]+)"(?:, shape = \[[^\]]*\])?([^>]*)>', rest)
        yield name.strip('"'), layout, int(k), int(n), int(stack), keys


def plain(blob):
    return "".join([blob["format"], f" {blob['group']}", f" {blob['scales']}", " offset" if blob["has_offset"] else ""])


def bits(row):
    """The bits of values. Zeros have no sign, which an offset loses."""
    return array.array("I", array.array("f", [x + 0.0 for x in row]).tobytes())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("folder", "artifact", "exec", "dump"):
        p.add_argument(name)
    p.add_argument("--format", action="append", default=[])
    a = p.parse_args()
    dump = json.load(open(a.dump, encoding="utf-8"))
    data = open(a.artifact, "rb").read()
    offset, size = struct.unpack_from("<QQ", data, 8)
    base = -(-(offset + size + 8) // 4096) * 4096
    values = {key: raw for key, (kind, _, raw) in gguf_files.read_safetensors(a.folder).items() if kind == "F32"}
    plan = dump["plans"][0]
    blobs = {b["name"]: b for b in plan["weights"]}
    seen, compared = set(), 0
    for name, layout, k, n, _, keys in sources(open(a.exec, encoding="utf-8").read()):
        blob = blobs.get(name)
        is_float = blob and blob["format"] == "elements" and blob["type"].endswith("f32") and layout != "raw"
        if not blob or not (is_float or blob["format"] in BIAS) or any(rest or key not in values for key, rest in keys):
            continue
        seen.add(plain(blob))
        at = base + dump["segments"][blob["segment"]]["offset"] + blob["offset"]
        expected = [values[key] for key, _ in keys]
        width = [len(data_) // (4 * k) for data_ in expected]
        rows = []
        for _ in range(sum(-(-w // 32) for w in width) if layout == "gated_panels" else -(-n // 32)):
            part, at = panel(data, at, blob, k)
            rows.append(part)
        flat = [row for part in (rows[0::2] + rows[1::2] if layout == "gated_panels" else rows) for row in part]
        place = 0
        for (key, _), data_, count in zip(keys, expected, width):
            want = array.array("f", data_)
            for i in range(count):
                if bits(flat[place + i]) != bits(want[i * k:i * k + k]):
                    bad = next(j for j in range(k) if flat[place + i][j:j + 1].tobytes() != want[i * k + j:i * k + j + 1].tobytes())
                    sys.exit(f"{key}, row {i}, column {bad}: expected {want[i * k + bad]!r}, got {flat[place + i][bad]!r} ({plain(blob)})")
                compared += k
            place += -(-count // 32) * 32 if layout == "gated_panels" else count
    print(f"{compared} values in {len(seen)} formats: " + "; ".join(sorted(seen)))
    missing = set(a.format) - seen
    if missing:
        sys.exit(f"expected weights of {sorted(missing)}, got {sorted(seen)}")


if __name__ == "__main__":
    main()
