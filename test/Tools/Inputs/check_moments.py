#!/usr/bin/env python3
"""check_moments.py FILE ROWS.npy NAME COUNT: compares tensor NAME of a safetensors file, the upper
triangle of sums, with the sums over the first COUNT rows."""

import json
import struct
import sys


def read_rows(path):
    data = open(path, "rb").read()
    length = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + length].decode()
    rows, width = eval(header.split("'shape':")[1].split(")")[0].strip() + ")")
    values = struct.unpack(f"<{rows * width}f", data[10 + length :])
    return [values[r * width : (r + 1) * width] for r in range(rows)]


def read_tensor(path, name):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8 : 8 + length])[name]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    assert entry["dtype"] == "F32" and entry["shape"] == [(end - begin) // 4], entry
    return struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])


def main():
    path, rows_path, name, count = sys.argv[1:]
    rows = read_rows(rows_path)[: int(count)]
    sums = iter(read_tensor(path, name))
    width = len(rows[0])
    for i in range(width):
        for j in range(i, width):
            expected, found = sum(row[i] * row[j] for row in rows), next(sums)
            assert abs(found - expected) <= 1e-4 * (1 + abs(expected)), (i, j, found, expected)
    assert next(sums, None) is None, "expected no more sums"


main()
