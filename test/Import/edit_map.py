#!/usr/bin/env python3
"""Changes the token of a column in d2t: edit_map.py FILE COLUMN=TOKEN"""
import array, os, sys

import edit_weights

path, (column, token) = sys.argv[1], map(int, sys.argv[2].split("="))
tensors = edit_weights.read(path)
dtype, shape, data = tensors["d2t"]
offsets = array.array("q", data)
offsets[column] = token - column
tensors["d2t"] = (dtype, shape, offsets.tobytes())
edit_weights.write(path, tensors)
