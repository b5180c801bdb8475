#!/usr/bin/env python3
"""The wheel: made from the build, and used in a fresh virtual environment.

usage: wheel_test.py BUILD [unittest's arguments]

The environment has no tools of the build in PATH. The examples of the pages
in tools/python run there.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support

BUILD = support.begin()
for name in ("nanobind", "scikit_build_core", "auditwheel"):
    support.packages.skip_without(name)
PACKAGES = os.environ["PYTHONPATH"].split(os.pathsep)[1]
PAGES = [support.TREE / "tools" / "python" / name
         for name in ("README.md", "OPTIONS.md", "ACCEPT_RULE.md")]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def blocks():
    """Returns the Python examples of the pages, with the headings above them."""
    heading, found, block = "", [], None
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for line in text.splitlines():
        if line.startswith("#") and block is None:
            heading = line.lstrip("# ")
        if line.startswith("```"):
            if block is not None:
                found.append((heading, "\n".join(block) + "\n"))
            block = [] if line == "```python" else None
        elif block is not None:
            block.append(line)
    return found


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        work = tempfile.TemporaryDirectory(dir=BUILD / "test" / "Python")
        cls.addClassCleanup(work.cleanup)
        cls.work = pathlib.Path(work.name)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("XDG_CACHE_HOME", "PYTHONPATH")}
        print(run(sys.executable, "-B", str(support.TREE / "tools/python/build_wheel.py"),
                  str(BUILD), str(cls.work), env=environment).strip(), flush=True)
        cls.wheel, = cls.work.glob("*.whl")
        run(sys.executable, "-m", "venv", "--without-pip", str(cls.work / "venv"))
        cls.python = cls.work / "venv" / "bin" / "python"
        run(sys.executable, "-m", "pip", "--python", str(cls.python), "install", "--quiet",
            "--no-deps", "--no-index", str(cls.wheel))
        cls.site = next((cls.work / "venv" / "lib").glob("python*/site-packages"))
        # numpy of tools/setup --packages.
        (cls.site / "packages.pth").write_text(PACKAGES + "\n", encoding="utf-8")

    def use(self, code, folder):
        """Runs code in the environment, with nothing of the build."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder),
                       "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
        if "MTPC_KERNEL_CACHE" in os.environ:
            environment["MTPC_KERNEL_CACHE"] = os.environ["MTPC_KERNEL_CACHE"]
        return run(str(self.python), "-B", "-c", code, cwd=folder, env=environment)

    def test_platform_and_content(self):
        self.assertRegex(self.wheel.name, r"^mtpc-[\d.]+-cp\d+-cp\d+-manylinux_2_36_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
        for expected in ("mtpc/py.typed", "mtpc/_core.pyi", "mtpc/bin/mtpc", "mtpc/bin/mtp-import",
                         "mtpc/bin/mtp-tune"):
            self.assertIn(expected, names)
        self.assertTrue(any("libLLVM" in name for name in names))
        source = {path.name for path in (support.TREE / "tools/python/mtpc").iterdir()
                  if path.is_file()}
        self.assertEqual(source - {pathlib.Path(name).name for name in names}, set())

    def test_libraries_come_from_the_wheel(self):
        for name in ("mtpc", "mtp-import", "mtp-tune"):
            listing = run("ldd", str(self.site / "mtpc" / "bin" / name))
            for library in ("LLVM", "MLIR", "simdjson", "sentencepiece", "pcre2"):
                lines = [line for line in listing.splitlines() if library in line]
                for line in lines:
                    self.assertIn(str(self.site), line)
            self.assertNotIn("not found", listing)

    def test_compiles_and_generates(self):
        out = self.use(f"import mtpc; m = mtpc.compile({str(support.BUNDLED)!r}, k=1); "
                       "print(mtpc.__file__); print(m.generate('Once', max_tokens=5).text)",
                       self.work)
        self.assertIn(str(self.site), out)
        self.assertEqual(len(out.splitlines()) > 1, True)

    def test_examples_of_the_pages(self):
        found = blocks()
        headings = [heading for heading, _ in found]
        for heading in ("Chat", "Scoring a file", "Comparing drafters", "A new accept rule",
                        "Log-probabilities and rules", "Stop strings and grammars",
                        "Calls of tools", "Profiles"):
            self.assertIn(heading, headings)
        folder = self.work / "examples"
        shutil.copytree(support.BUNDLED, folder / "story")
        for heading, code in found:
            if "SmolLM2" in code:
                continue
            with self.subTest(heading):
                out = self.use(code, folder)
                print(f"-- {heading}\n{out}", flush=True)
                self.assertTrue(out)

    def test_source_distributions_are_refused(self):
        with self.assertRaisesRegex(AssertionError, "expected a wheel .*, got a source"):
            run(sys.executable, "-B", "-c", "import wheel_backend; wheel_backend.build_sdist('.')",
                cwd=support.TREE / "tools" / "python",
                env=dict(os.environ, PYTHONPATH=os.pathsep.join(["wheel", PACKAGES])))

    def test_the_rule_has_30_lines(self):
        code, = [code for heading, code in blocks() if heading == "A new accept rule"]
        rule = re.search(r'RULE = """(.*?)"""', code, re.DOTALL)[1]
        self.assertLessEqual(len(rule.splitlines()), 30)

    def test_the_test_of_the_rule_finds_a_lossy_rule(self):
        code, = [code for heading, code in blocks() if heading == "A new accept rule"]
        lossy = code.replace("arith.cmpi eq, %token, %wanted", "arith.cmpi ne, %token, %zero")
        self.assertNotEqual(lossy, code)
        folder = self.work / "lossy"
        shutil.copytree(support.BUNDLED, folder / "story")
        with self.assertRaisesRegex(AssertionError, "the rule changes the output"):
            self.use(lossy, folder)


if __name__ == "__main__":
    support.main()
