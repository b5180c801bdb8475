"""Writes .npy files, valid and invalid, into the current folder."""


def write(name, header, data, version=b"\x01\x00"):
    text = header.encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data)


ONES = bytes.fromhex("0000803f") * 8
HEADER = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
write("right.npy", HEADER % ("<f4", False, (2, 4)), ONES)
write("short.npy", HEADER % ("<f4", False, (2, 4)), ONES[:-1])
write("huge.npy", HEADER % ("<f4", False, (2**62, 4)), ONES)
write("object.npy", HEADER % ("|O", False, (2, 4)), ONES)
write("fortran.npy", HEADER % ("<f4", True, (2, 4)), ONES)
with open("text.npy", "w") as f:
    f.write("1, 2, 3, 4\n")
