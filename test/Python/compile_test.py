#!/usr/bin/env python3
"""From models and modules to artifacts by the Python package, arrays of functions, and types.

usage: compile_test.py BUILD [unittest's arguments]
"""

import json
import logging
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import support

BUILD = support.begin()
import numpy as np

import mtpc

FUNCTIONS = """
module {
func.func @picks(%drafts: tensor<4x2xi32>, %picks: tensor<4x3xi32>)
    -> (tensor<4xi32>, tensor<4xi32>) {
  %count, %next = mtp.accept_tokens %drafts, %picks
      : tensor<4x2xi32>, tensor<4x3xi32> -> tensor<4xi32>, tensor<4xi32>
  return %count, %next : tensor<4xi32>, tensor<4xi32>
}
func.func @silu(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = mtp.silu %x : tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
}
"""


class Folders(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))


class Compile(Folders):
    def test_cache_is_the_command_lines(self):
        with self.assertLogs("mtpc", logging.INFO) as logs:
            model = support.bundled()
        self.assertIn("mtpc", logs.output[0])
        cache = pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "mtpc" / "models"
        self.assertEqual(pathlib.Path(model.path).parent, cache)
        with self.assertLogs("mtpc", logging.INFO) as logs:
            again = support.bundled()
        self.assertEqual(again.path, model.path)
        self.assertRegex("\n".join(logs.output), "loads the artifact of .* from the cache")
        done = subprocess.run(
            ["mtp-run", support.BUNDLED, "--drafter", "lookup:1,3", "--max-batch", "4",
             "--max-context", "512", "--import", "-k 3", "--prompt", "Once", "-n", "4"],
            check=True, capture_output=True, text=True)
        self.assertIn("from the cache", done.stderr)

    def test_properties(self):
        model = support.bundled()
        self.assertEqual(model.envelope.max_k, 3)
        self.assertEqual(model.envelope.max_batch, 4)
        self.assertEqual(model.envelope.max_context, 512)
        self.assertEqual((model.device, model.rule, model.is_lossy), ("cpu", "exact", False))
        self.assertIn("lookup", model.method)
        self.assertTrue(model.producer.startswith("mtpc"))
        self.assertEqual(model.generation.eos, (0,))
        self.assertIn(model.path, repr(model))

    def test_flags_and_output(self):
        made = self.folder / "model.bin"
        model = mtpc.compile(support.BUNDLED, drafter="suffix", k=2, max_context=256,
                             quantize="int8", quantize_embedding="none", kv_dtype="f32",
                             output=made)
        self.assertEqual((model.path, made.exists()), (str(made), True))
        listing = mtpc.dump(model)
        self.assertIn("int8", listing)
        again = mtpc.Model(made)
        self.assertEqual(again.generate("Once", max_tokens=8).tokens,
                         model.generate("Once", max_tokens=8).tokens)

    def test_failures(self):
        with self.assertRaisesRegex(mtpc.InvalidArgumentError, "flag of mtp-import or mtpc"):
            mtpc.compile(support.BUNDLED, no_such_flag=True)
        with self.assertRaises(mtpc.CompileError) as caught, self.assertLogs("mtpc"):
            mtpc.compile(support.BUNDLED, quantize="int3")
        self.assertRegex(str(caught.exception), "mtpc failed .*: .*error: .*int3")
        self.assertEqual(caught.exception.code, "FailedPrecondition")
        self.assertTrue(caught.exception.lines)
        with self.assertLogs("mtpc"), self.assertRaisesRegex(
                mtpc.CompileError, "mtp-import failed .*--page .*'many'"):
            mtpc.compile(support.BUNDLED, page="many")
        for k in ("many", -1, 1.5):
            with self.assertRaisesRegex(mtpc.InvalidArgumentError, "^k: expected a whole number"):
                mtpc.compile(support.BUNDLED, k=k)
        with self.assertRaises(mtpc.CompileError) as caught:
            mtpc.compile_text("module { not MLIR }")
        self.assertRegex(str(caught.exception), "mtpc failed .*error:")
        with self.assertRaisesRegex(mtpc.Error, "nothing"):
            mtpc.compile("/nothing/here")
        with self.assertRaisesRegex(mtpc.InvalidArgumentError, "expected no drafter"):
            path = self.folder / "m.mlir"
            path.write_text(FUNCTIONS, encoding="utf-8")
            mtpc.compile(path, drafter="lookup")

    def test_import_and_module(self):
        shutil.copytree(support.BUNDLED, self.folder / "hf")
        module = mtpc.import_model(self.folder / "hf", self.folder / "model.mlir",
                                   drafter="lookup:1,3", k=3, max_batch=4, max_context=512)
        text = module.read_text(encoding="utf-8")
        self.assertIn("mtp.round", text)
        expected = support.bundled().generate("Once upon a time", max_tokens=20).tokens
        # Both ways to a model; the second reads weights of a folder.
        for model in (mtpc.compile(module), mtpc.compile_text(text, folder=self.folder)):
            self.assertEqual(model.generate("Once upon a time", max_tokens=20).tokens, expected)
        path = pathlib.Path(model.path)
        self.assertIn("envelope k 3", mtpc.dump(model))
        del model
        self.assertFalse(path.exists())

    def test_ctrl_c_ends_the_programs(self):
        code = f"""
import logging, sys, mtpc
class Handler(logging.Handler):
    def emit(self, record):
        if "imports and compiles" in record.getMessage():
            print("compiles", flush=True)
logging.getLogger("mtpc").setLevel(logging.INFO)
logging.getLogger("mtpc").addHandler(Handler())
try:
    mtpc.compile({str(support.BUNDLED)!r}, k=1, kernel_cache="off")
except KeyboardInterrupt:
    print("still here")
"""
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder))
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                              env=environment) as child:
            self.assertEqual(child.stdout.readline(), "compiles\n")
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode), ("still here\n", 0))
        left = [path.name for path in (self.folder / "mtpc" / "models").iterdir()]
        self.assertEqual([name for name in left if name.endswith((".bin", ".work"))], [])

    def test_tune(self):
        model = mtpc.compile(support.BUNDLED, drafter="lookup:1,3", k=1, max_batch=1,
                             max_context=64, threads=1)
        with self.assertLogs("mtpc", logging.INFO):
            profile = mtpc.tune(model, minutes=0.05, prompts=["Once upon", "The king"],
                                max_tokens=16, context=[16])
        self.assertTrue(profile.report()["machines"][0]["decisions"])
        self.assertIn("profile version", mtpc.dump(profile))
        self.assertTrue(json.loads(mtpc.dump(profile.path, json=True)))
        with self.assertRaisesRegex(mtpc.InvalidArgumentError, "got a profile"):
            mtpc.dump(profile, program="decode")
        expected = model.generate("Once upon", max_tokens=20).tokens
        for session in (mtpc.Model(model.path, profile=profile, threads=1).session(k="auto"),
                        model.session(k="auto", profile=profile.path, threads=1)):
            self.assertEqual(session.generate("Once upon", max_tokens=20).tokens, expected)
        # Costs are of one thread.
        with self.assertLogs("mtpc", logging.WARNING) as logs:
            model.session(k="auto", profile=profile, threads=2)
        self.assertIn("profile: machines.threads: expected 2, got 1", "\n".join(logs.output))
        with self.assertRaisesRegex(mtpc.FailedPreconditionError, "expected a profile of"):
            mtpc.Model(support.bundled("suffix").path, profile=profile)
        made = self.folder / "model.profile"
        self.assertEqual(mtpc.tune(model.path, made, minutes=0.02, max_tokens=16, context=[16],
                                   threads=1, merge=profile).path, str(made))
        self.assertTrue(made.exists())
        path = pathlib.Path(profile.path)
        del profile
        self.assertFalse(path.exists())
        with self.assertRaisesRegex(mtpc.CompileError, "mtp-tune failed .*nothing"):
            mtpc.tune("/nothing/here", made)

    def test_profiles_choose_tunables(self):
        """mtpc takes tunables from the profile, and its content is a part of the cache's key."""
        def compiled(profile, **options):
            return mtpc.compile(support.BUNDLED, drafter="lookup:1,3", k=1, max_batch=1,
                                max_context=64, **dict({"threads": 1}, profile=profile, **options))

        def write(name, artifact, *choices):
            support.run_tool("mtp_tuned_profile", artifact, self.folder / name, "1", *choices)
            return self.folder / name

        plain = compiled(None)
        self.assertNotIn(", profile ", mtpc.dump(plain))
        tuned = write("a.profile", plain.path, "cpu-prefetch-bytes=2048=0.9")
        model = compiled(tuned)
        self.assertRegex(mtpc.dump(model), "profile [0-9a-f]+, cpu-prefetch-bytes=2048")
        texts = [one.generate("Once upon", max_tokens=20).tokens for one in (plain, model)]
        self.assertEqual(*texts)
        same = shutil.copy(tuned, self.folder / "b.profile")
        self.assertEqual(compiled(mtpc.Profile(same)).path, model.path)
        other = compiled(write("a.profile", plain.path, "cpu-block-rows=4=0.9"))
        self.assertNotEqual(other.path, model.path)
        self.assertRegex(mtpc.dump(other), "profile [0-9a-f]+, cpu-block-rows=4")
        # The threads of the profile, and its model.
        with self.assertLogs("mtpc"), self.assertRaisesRegex(
                mtpc.CompileError, "--profile: .*with 2 threads .*with 1 threads"):
            compiled(tuned, threads=2)
        with self.assertLogs("mtpc"), self.assertRaisesRegex(
                mtpc.CompileError, "expected a profile of .*suffix"):
            mtpc.compile(support.BUNDLED, drafter="suffix", threads=1, profile=tuned)
        with self.assertRaises(mtpc.NotFoundError):
            compiled(self.folder / "none.profile")
        shutil.copytree(support.BUNDLED, self.folder / "hf")
        module = mtpc.import_model(self.folder / "hf", self.folder / "model.mlir",
                                   drafter="lookup:1,3", k=1, max_batch=1, max_context=64)
        for made in (mtpc.compile(module, profile=tuned, threads=1),
                     mtpc.compile_text(module.read_text(encoding="utf-8"), folder=self.folder,
                                       profile=tuned, threads=1)):
            self.assertRegex(mtpc.dump(made), "profile [0-9a-f]+, cpu-block-rows=4")

    def test_profiles_decide_trees(self):
        """mtp-import takes the arrangement of drafts from the profile of a dynamic tree."""
        hf = self.folder / "hf"
        support.run_tool(sys.executable, "-B", support.TREE / "test" / "oracle" / "tiny.py",
                         "mimo-mtp1", "-o", hf)

        def compiled(**options):
            return mtpc.compile(hf, max_batch=2, max_context=96, page=8, prefill_chunk=16,
                                threads=1, **options)

        def measured(model):
            return mtpc.tune(model, minutes=0.1, max_tokens=32, context=[16])

        wide = compiled(draft_tree="dynamic:3,3,16", show_drafts=True)
        profile = measured(wide)
        with self.assertLogs("mtpc", logging.INFO) as logs:
            tuned = compiled(profile=profile)
        self.assertRegex("\n".join(logs.output), "(?s)profile: it decides .*chosen: (chain|tree)")
        self.assertNotEqual(tuned.method, wide.method)
        self.assertNotIn(", profile ", mtpc.dump(tuned))
        texts = [model.generate([1, 2, 3], max_tokens=40).tokens for model in (wide, tuned)]
        self.assertEqual(*texts)
        # The profile of a chain decides k, if a chain is asked for, and fits the result.
        chain = measured(compiled(k=2))
        with self.assertLogs("mtpc", logging.INFO) as logs:
            again = compiled(draft_tree="chain", profile=chain)
        self.assertRegex("\n".join(logs.output), "chosen: chain, -k [12]")
        self.assertRegex(mtpc.dump(again), ", profile [0-9a-f]+")

    def test_dump(self):
        model = support.bundled()
        tool = subprocess.run(["mtp-dump", model.path, "--json"], check=True, capture_output=True,
                              text=True).stdout
        self.assertEqual(json.loads(mtpc.dump(model, json=True)), json.loads(tool))
        program = json.loads(mtpc.dump(model.path, json=True))["plans"][0]["programs"][0]["name"]
        self.assertIn(program, mtpc.dump(model, program=program))
        with self.assertRaises(mtpc.NotFoundError):
            mtpc.dump(model, program="no such program")


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = mtpc.compile_text(FUNCTIONS)

    def test_by_name(self):
        self.assertEqual(sorted(self.model.functions), ["picks", "silu"])
        self.assertIsNone(self.model.envelope)
        kind = self.model.function_type("picks")
        self.assertEqual([port.shape for port in kind.inputs], [(4, 2), (4, 3)])
        self.assertEqual([port.element for port in kind.outputs], ["i32", "i32"])
        drafts = [[1, 2], [1, 2], [1, 2], [1, 2]]
        picks = np.array([[1, 2, 3], [1, 9, 3], [9, 2, 3], [9, 1, 2]], np.int32)
        count, following = self.model.call("picks", drafts, picks)
        self.assertEqual((count.dtype, count.tolist()), (np.int32, [2, 1, 0, 0]))
        self.assertEqual(following.tolist(), [3, 9, 9, 9])
        x = np.linspace(-2, 2, 4).reshape(2, 2)
        result, = self.model.call("silu", x[:, ::-1])
        np.testing.assert_allclose(result, (x / (1 + np.exp(-x)))[:, ::-1], rtol=1e-5, atol=1e-6)
        self.assertTrue(result.flags.owndata or result.base is not None)

    def test_wrong_arrays(self):
        for inputs in ([[[1, 2]] * 4], [[[1, 2]] * 3, [[1, 2, 3]] * 4],
                       [[[1.5, 2]] * 4, [[1, 2, 3]] * 4], [[[2**31, 2]] * 4, [[1, 2, 3]] * 4]):
            with self.assertRaises(mtpc.InvalidArgumentError):
                self.model.call("picks", *inputs)

    def test_bf16(self):
        from mtpc import arrays
        port = mtpc.TensorType("x", "bf16", (6,))
        values = np.array([1, -2.5, 1 + 2**-8, 1 + 3 * 2**-8, np.inf, np.nan], np.float32)
        element, shape, raw = arrays.from_array(values, port)
        back = arrays.to_array((element, shape, raw))
        # Ties go to the even neighbour.
        np.testing.assert_array_equal(back, [1, -2.5, 1, 1 + 2**-6, np.inf, np.nan])


class Types(unittest.TestCase):
    def test_mypy(self):
        support.packages.skip_without("mypy")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir",
             os.devnull, "--python-version", "3.10", str(support.TREE / "tools/python/mtpc"),
             str(support.TREE / "test/Python/Inputs/typed.py")],
            cwd=support.TREE / "test", capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout.splitlines()[-1][:7], done.stderr), ("Success", ""),
                         done.stdout)

    def test_stub_of_the_extension(self):
        """The stub names what the extension has, and nothing else."""
        from mtpc import _core
        stub = (support.TREE / "tools/python/mtpc/_core.pyi").read_text(encoding="utf-8")
        import ast
        for node in ast.parse(stub).body:
            if isinstance(node, ast.ClassDef):
                names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                real = {name for name in vars(getattr(_core, node.name))
                        if not name.startswith("__")}
                self.assertEqual(names - {"__init__"}, real)
        defined = {node.name for node in ast.parse(stub).body
                   if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(defined | {"version"}, {n for n in dir(_core) if not n.startswith("__")})

    def test_fields_have_docstrings(self):
        import ast
        source = (support.TREE / "tools/python/mtpc/types.py").read_text(encoding="utf-8")
        for kind in ast.parse(source).body:
            body = kind.body if isinstance(kind, ast.ClassDef) else []
            for field, after in zip(body, [*body[1:], None]):
                if isinstance(field, ast.AnnAssign):
                    text = after.value if isinstance(after, ast.Expr) else None
                    self.assertIsInstance(text, ast.Constant, f"{kind.name}.{field.target.id}")

    def test_docstrings(self):
        for name in mtpc.__all__:
            thing = getattr(mtpc, name)
            self.assertTrue(isinstance(thing, str) or thing.__doc__, name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if callable(value) and not member.startswith("_"):
                    self.assertTrue(value.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    support.main()
