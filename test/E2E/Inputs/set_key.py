#!/usr/bin/env python3
"""Sets a key of a JSON object in place: set_key.py FILE KEY JSON"""
import json
import sys

path, key, value = sys.argv[1:]
with open(path, encoding="utf8") as file:
    fields = json.load(file)
fields[key] = json.loads(value)
with open(path, "w", encoding="utf8") as file:
    json.dump(fields, file)
