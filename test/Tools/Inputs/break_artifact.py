"""break_artifact.py GOOD: writes broken copies into the current folder."""
import sys

good = open(sys.argv[1], "rb").read()


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


write("empty.bin", b"")
write("cut_header.bin", good[:40])
write("cut.bin", good[:-1])
write("foreign.bin", b"\x7fELF" + good[4:])
write("version.bin", good[:4] + (9).to_bytes(4, "little") + good[8:])
write("schema.bin", good[:32] + bytes(32) + good[64:])
write("features.bin", good.replace(b"avx2", b"axv2"))
