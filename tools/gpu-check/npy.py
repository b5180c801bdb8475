"""Reads the arrays that mtp-run stores, without NumPy."""

import array
import struct


def read_floats(path):
    """Returns the elements of a .npy file of f32, flat."""
    with open(path, "rb") as file:
        if file.read(8)[:6] != b"\x93NUMPY":
            raise ValueError(f"{path}: expected a .npy file")
        header = file.read(struct.unpack("<H", file.read(2))[0]).decode("latin1")
        if "'<f4'" not in header:
            raise ValueError(f"{path}: expected elements of f32, got {header}")
        values = array.array("f")
        values.frombytes(file.read())
        return values
