#!/usr/bin/env python3
"""Tests the scripts of models/drafters/smollm2 that need no PyTorch, on tiny seeded models. Needs
numpy and a C compiler.

  drafter_scripts_test.py --build BUILD --cc COMPILER
"""

import argparse
import collections
import contextlib
import ctypes
import gzip
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path[:0] = [str(SOURCE / "test"), str(SOURCE / "models/drafters/smollm2"), str(HERE)]
import packages

packages.skip_without("numpy")
import measure
import numpy as np
import product
import prompts
import reference
import states

BUILD, COMPILER = pathlib.Path(), ""
SPEC_BENCH = "spec_bench.question.jsonl"
# The structs of mtp.h that product.py mirrors.
STRUCTS = {"mtp_tensor": product.Tensor, "mtp_session_options": product.Options,
           "mtp_request": product.Request, "mtp_update": product.Update,
           "mtp_statistics": product.Statistics}
NUMBERS = {"MTP_F32": product.F32, "MTP_I32": product.I32, "MTP_FAILED": product.FAILED}


def call(program, *flags):
    done = subprocess.run([BUILD / "bin" / program, *map(str, flags)], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"{program} {' '.join(map(str, flags))}: {done.stderr}")
    return done.stdout


def write_prompts(folder):
    """Writes prompts in the files that prompts.py reads: 30 of each category."""
    categories = prompts.CHAT + ("translation", "rag") + prompts.PARTLY
    lines = [json.dumps({"category": c, "turns": [f"{c} number {i}"]})
             for c in categories for i in range(30)]
    (folder / SPEC_BENCH).write_text("\n".join(lines) + "\n")
    with gzip.open(folder / "HumanEval.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"prompt": f"def f{i}():\n"}) + "\n" for i in range(30))


class Prompts(unittest.TestCase):
    def check(self, folder):
        train, held = prompts.published(folder)
        self.assertTrue(train and held)
        self.assertFalse({text for _, text in train} & {text for _, text in held})
        self.assertFalse({category for category, _ in train} & set(prompts.HELD_OUT))
        count = collections.Counter(category for category, _ in held)
        for category in (*prompts.PARTLY, "humaneval"):
            self.assertEqual(count[category], prompts.LAST)
        # All measured prompts are held out.
        measured = measure.held_out(folder, 1000)
        self.assertLessEqual({text for texts in measured.values() for text in texts},
                             {text for _, text in held})
        own, rng = {text for _, text in held}, random.Random(1)
        self.assertFalse(any(prompts.composed(rng) in own for _ in range(2000)))

    def test_held_out(self):
        with tempfile.TemporaryDirectory() as folder:
            write_prompts(pathlib.Path(folder))
            self.check(folder)

    def test_published(self):
        shared = os.environ.get("MTP_SHARED_DATA") or SOURCE.parent / "shared/data"
        folder = pathlib.Path(shared) / "prompts"
        if not (folder / SPEC_BENCH).exists():
            self.skipTest(f"no {folder}")
        self.check(folder)


def struct_program():
    """Returns a C program that prints sizes, fields and numbers of mtp.h as lines of JSON."""
    lines = []
    for name, mirror in STRUCTS.items():
        lines.append(f'printf("[\\"%s\\", %zu]\\n", "{name}", sizeof({name}));')
        for field, *_ in mirror._fields_:
            if field != "others":
                lines.append(f'printf("[\\"%s\\", %zu, %zu]\\n", "{name}.{field}", '
                             f"offsetof({name}, {field}), sizeof((({name} *)0)->{field}));")
    lines += [f'printf("[\\"%s\\", %d]\\n", "{name}", (int){name});' for name in NUMBERS]
    return "#include <mtp/mtp.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n" + \
        "\n".join(lines) + "\nreturn 0;\n}\n"


class Structs(unittest.TestCase):
    def test_header(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "structs"
            subprocess.run([COMPILER, "-x", "c", "-", f"-I{SOURCE / 'runtime/include'}", "-o",
                            program], input=struct_program(), text=True, check=True)
            printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        for name, *found in map(json.loads, printed.stdout.splitlines()):
            struct, _, field = name.partition(".")
            if name in NUMBERS:
                self.assertEqual(found, [NUMBERS[name]], name)
            elif field:
                own = getattr(STRUCTS[struct], field)
                self.assertEqual(found, [own.offset, own.size], name)
            elif hasattr(STRUCTS[struct], "others"):
                # The library writes the whole struct of a caller that made room for it.
                self.assertLessEqual(found[0], ctypes.sizeof(STRUCTS[struct]), name)


class Taps(reference.Model):
    """The reference, which keeps the streams that enter norms."""

    def __init__(self, path):
        super().__init__(path)
        self.streams = {}

    def norm(self, x, name):
        self.streams[name] = x
        return super().norm(x, name)


class States(unittest.TestCase):
    def test_target(self):
        """Compares states of two texts, whose rows share calls, with the reference's streams."""
        taps, rows, rng = [0, 1, 2], 8, random.Random(1)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            oracle = SOURCE / "test/oracle"
            for command in (("tiny.py", "llama-tied", "-o", folder / "hf", "--dtype", "f32"),
                            ("gguf_models.py", "model", folder / "hf", "-o", folder / "m.gguf")):
                subprocess.run([sys.executable, "-B", oracle / command[0], *command[1:]],
                               stdout=subprocess.DEVNULL, check=True)
            call("mtp-import", folder / "m.gguf", "-o", folder / "m.mlir", "--max-batch", 4,
                 "--max-context", 64, "--kv-dtype", "f32")
            module = states.with_states((folder / "m.mlir").read_text(), rows, taps)
            (folder / "states.mlir").write_text(module)
            call("mtpc", folder / "states.mlir", "-o", folder / "states.bin", "--jobs", 1)
            texts = [[rng.randrange(112) for _ in range(n)] for n in (11, 6)]
            got = self.product(str(folder / "states.bin"), texts, rows)
            model = Taps(folder / "m.gguf")
            for i, ids in enumerate(texts):
                model.states([(reference.Sequence(model), ids)])
                for tap, norm in enumerate(("blk.0.attn_norm", "blk.1.attn_norm", "output_norm")):
                    wanted = model.streams[norm]
                    error = np.abs(got[i][:, tap] - wanted).max() / np.abs(wanted).max()
                    self.assertLess(error, 1e-5, f"text {i}, {norm}")

    def product(self, artifact, texts, count):
        """Returns the states of each text [rows, taps, width], from calls of `count` rows."""
        session = product.Session(artifact)
        rows = [(token, slot, at) for slot, ids in enumerate(texts)
                for at, token in enumerate(ids)]
        found = [[] for _ in texts]
        for begin in range(0, len(rows), count):
            part = rows[begin:begin + count]
            full = part + [(0, 0, -1)] * (count - len(part))
            result = np.stack(session.call("states", *np.array(full, np.int32).T), 1)
            for (_, slot, _), row in zip(part, result):
                found[slot].append(row)
        session.close()
        return [np.stack(of) for of in found]


class Measure(unittest.TestCase):
    def test_length(self):
        """Compares the table of tokens per round with mtp-run's counts."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_prompts(folder)
            tiny = SOURCE / "test/oracle/tiny.py"
            subprocess.run([sys.executable, "-B", tiny, "dsv3-mtp1", "-o", folder / "hf"],
                           stdout=subprocess.DEVNULL, check=True)
            call("mtp-import", folder / "hf", "-o", folder / "m.mlir", "-k", 2, "--max-batch", 4,
                 "--max-context", 160)
            call("mtpc", folder / "m.mlir", "-o", folder / "m.bin", "--jobs", 1)
            argv = ["measure.py", "length", name, f"tiny={folder / 'm.bin'}:2", "--each", "2",
                    "--tokens", "12", "--longest", "100", "--temperatures", "0"]
            printed = io.StringIO()
            with unittest.mock.patch.object(sys, "argv", argv), contextlib.redirect_stdout(printed):
                measure.main()
            head, _, row = [[cell.strip() for cell in line.split("|")[1:-1]]
                            for line in printed.getvalue().splitlines()]
            self.assertEqual(head[:4] + head[-1:], ["drafter", "k", "T", "chat", "all"])
            self.assertEqual(row[:3], ["tiny", "2", "0"])
            wanted = self.lengths(str(folder / "m.bin"), measure.held_out(folder, 2))
            self.assertEqual(row[3:], wanted)

    def lengths(self, artifact, of):
        session, total, cells = product.Session(artifact), [0, 0], []
        for texts in of.values():
            count = [0, 0]
            for text in texts:
                ids = session.encode(prompts.chat(text))[-100:]
                run = json.loads(call("mtp-run", artifact, "--json", "-k", 2, "-n", 12,
                                      "--temperature", 0, "--no-bos", "--ids",
                                      ",".join(map(str, ids))))
                count[0] += run["round_tokens"]
                count[1] += run["slot_rounds"]
            total = [a + b for a, b in zip(total, count)]
            cells.append(f"{count[0] / count[1]:.2f}")
        session.close()
        return cells + [f"{total[0] / total[1]:.2f}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cc", required=True)
    arguments, rest = parser.parse_known_args()
    BUILD, COMPILER = arguments.build.resolve(), arguments.cc
    os.environ["MTP_BUILD_DIR"] = str(BUILD)
    unittest.main(argv=[sys.argv[0], *rest])
