#!/usr/bin/env python3
"""Checks the tables of an artifact from `mtp-dump --json`: a maximum number of bytes, and a
maximum number of programs per k."""

import collections
import json
import sys

artifact = json.load(sys.stdin)
most_bytes, most_programs = (int(number) for number in sys.argv[1:])
if artifact["program_bytes"] > most_bytes:
    sys.exit(f"{artifact['program_bytes']} bytes, expected at most {most_bytes}")
programs = collections.Counter(
    program["k"]
    for program in artifact["plans"][0]["programs"]
    if program["kind"] == "decode"
)
if not programs or max(programs.values()) > most_programs:
    sys.exit(f"expected at most {most_programs} for each k, got {dict(programs)}")
