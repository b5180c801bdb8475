#!/usr/bin/env python3
"""Changes the token of a column in d2t, or writes all tokens instead of offsets.

  edit_map.py FILE COLUMN=TOKEN
  edit_map.py FILE tokens
"""
import array, os, sys

import edit_weights

path, edit = sys.argv[1:]
tensors = edit_weights.read(path)
dtype, shape, data = tensors["d2t"]
offsets = array.array("q", data)
if edit == "tokens":
    offsets = array.array("q", [column + offset for column, offset in enumerate(offsets)])
else:
    column, token = map(int, edit.split("="))
    offsets[column] = token - column
tensors["d2t"] = (dtype, shape, offsets.tobytes())
edit_weights.write(path, tensors)
