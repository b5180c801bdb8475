"""Extracts the products of an artifact for gpu_probe."""

import json
import os
import re

# Maximum number of rows to run, and the minimum size of a weight.
MOST_ROWS = 32
LEAST_BYTES = 4 << 10


def sum_of(terms, rows):
    """Evaluates a contract's number of bytes, such as "16384*p0 + 0"."""
    total = 0
    for term in terms.split("+"):
        product = 1
        for factor in term.strip().split("*"):
            product *= rows if factor == "p0" else int(factor)
        total += product
    return total


def config_of(kernel):
    return dict(re.findall(r"(\w+) = <?([\w.]+)", kernel["config"]))


def image_of(path, dump, plan):
    """Returns the code of a plan."""
    segment = dump["segments"][dump["plans"][plan]["images"][0]["segment"]]
    # As in FORMAT.md: after header, tables and seal.
    base = (64 + dump["program_bytes"] + 8 + 4095) // 4096 * 4096
    with open(path, "rb") as file:
        file.seek(base + segment["offset"])
        return file.read(segment["bytes"])


def product_line(name, image, kernel):
    """Returns a line of the manifest, or None if the kernel is no product of one parameter."""
    contract = kernel["contract"]
    if not kernel["kind"].startswith("linear") or kernel["params"] != 1:
        return None
    fixed = [i for i, b in enumerate(contract["buffers"])
             if "p0" not in b["bytes"] and not b["written"]]
    sizes = [sum_of(b["bytes"], MOST_ROWS) for b in contract["buffers"]]
    weight = max(fixed, key=lambda i: sizes[i], default=None)
    if weight is None or sizes[weight] < LEAST_BYTES:
        return None
    config = config_of(kernel)
    kind = config["format"]
    name = f"{name} {kernel['kind']} {config['n']} x {config['k']} {kind}".replace(" ", "_")
    # Another kernel prepares the rows.
    if config.get("prepared") == "true":
        name += "_prepared"
    fields = {"name": name, "image": image, "symbol": kernel["symbol"],
              "threads": kernel["threads"], "shared": kernel["shared_bytes"],
              "tasks": contract["tasks"], "group": contract["rows_per_group"],
              "live": int(kernel["takes_live"]),
              "weight": weight, "bytes": sizes[weight], "rows": config["n"],
              "inputs": config["k"], "type": kind, "buffers": ",".join(map(str, sizes))}
    return " ".join(f"{key}={value}" for key, value in fields.items())


def products(path, text, name, folder):
    """Writes the code of a GPU's plan next to the manifest, and returns the manifest's lines."""
    dump = json.loads(text)
    number = next(i for i, plan in enumerate(dump["plans"])
                  if plan["target"]["arch"] == "nvptx")
    image = f"{name}.image"
    with open(os.path.join(folder, image), "wb") as file:
        file.write(image_of(path, dump, number))
    lines = [product_line(name, image, kernel) for kernel in dump["plans"][number]["kernels"]]
    found = {}
    for line in filter(None, lines):
        # Keeps the first kernel of each shape.
        found.setdefault(line.split()[0], line)
    return list(found.values())
