"""Writes a safetensors file. Standard library only."""

import json
import struct


def write(path, tensors):
    """Writes `tensors`, given as names, shapes and flat values, as f32."""
    header, body = {}, b""
    for name, shape, values in tensors:
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
