"""Writes a GGUF file with the first layers of another one. Standard library only."""

import struct

# Bytes of a value by its type; 8 is a text, 9 an array.
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
ALIGNMENT = 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 4

    def take(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.take("Q")
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def skip(self, kind):
        if kind == 8:
            self.text()
        elif kind == 9:
            kind, count = self.take("I"), self.take("Q")
            if kind in SIZES:
                self.at += SIZES[kind] * count
            else:
                for _ in range(count):
                    self.skip(kind)
        else:
            self.at += SIZES[kind]


def is_kept(name, layers):
    parts = name.split(b".")
    return parts[0] != b"blk" or int(parts[1]) < layers


def cut(source, target, layers):
    """Copies `source` with its first `layers` layers; tensors lie in the order of the table."""
    with open(source, "rb") as file:
        data = memoryview(file.read())
    reader = Reader(data)
    version, tensors, keys = reader.take("I"), reader.take("Q"), reader.take("Q")
    begin, header = reader.at, None
    for _ in range(keys):
        name, kind = reader.text(), reader.take("I")
        if name.endswith(b".block_count"):
            header = bytes(data[begin:reader.at]) + struct.pack("<I", layers)
            begin = reader.at + 4
        reader.skip(kind)
    header += bytes(data[begin:reader.at])
    table = []
    for _ in range(tensors):
        name, rank = reader.text(), reader.take("I")
        shape = [reader.take("Q") for _ in range(rank)]
        table.append((name, shape, reader.take("I"), reader.take("Q")))
    first = -(-reader.at // ALIGNMENT) * ALIGNMENT
    ends = [entry[3] for entry in table[1:]] + [len(data) - first]
    body, rows = [], b""
    for (name, shape, kind, at), end in zip(table, ends):
        if is_kept(name, layers):
            rows += struct.pack(f"<Q{len(name)}sI{len(shape)}QIQ", len(name), name, len(shape),
                                *shape, kind, sum(map(len, body)))
            body.append(data[first + at:first + end])
    head = b"GGUF" + struct.pack("<IQQ", version, len(body), keys) + header + rows
    with open(target, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for part in body:
            file.write(part)
