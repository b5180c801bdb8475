#!/usr/bin/env python3
"""Replaces a kit's mtp-run, which is next to it as `real`. WRONG names its error:
`token`, a GPU takes another first token; `rounds`, a launch has one round; `slow`, it
takes a minute."""

import os
import sys
import time

arguments = sys.argv[1:]
if os.environ.get("WRONG") == "slow":
    time.sleep(60)
if os.environ.get("WRONG") == "token" and "--device=cuda" in arguments:
    for i, argument in enumerate(arguments):
        if argument.startswith("--input="):
            arguments[i] = argument.replace("=[0,", "=[1,")
            break
if os.environ.get("WRONG") == "rounds":
    arguments = [argument.replace("launch=16", "launch=1") for argument in arguments]
os.execv(os.path.join(os.path.dirname(sys.argv[0]), "real"), ["mtp-run", *arguments])
