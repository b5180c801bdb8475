"""poison_weight.py FILE KEY: makes the tensor's first element a NaN."""
import json, sys

with open(sys.argv[1], "r+b") as f:
    length = int.from_bytes(f.read(8), "little")
    tensor = json.loads(f.read(length))[sys.argv[2]]
    f.seek(8 + length + tensor["data_offsets"][0])
    f.write({"F32": b"\0\0\xc0\x7f", "BF16": b"\xc0\x7f"}[tensor["dtype"]])
