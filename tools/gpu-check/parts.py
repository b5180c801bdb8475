"""The parts of a run: each is a process of its own, whose lines `gpu-check` collects."""

import glob
import json
import os
import re
import shutil

import subprocess
import sys
import tarfile
import tempfile
import time
from typing import Callable, NamedTuple

import artifact
import npy
from models import MODELS, TINY
from report import check, data, report

ALL_MODELS = {**MODELS, **TINY}


class Part(NamedTuple):
    run: Callable
    seconds: int
    # Whether it has something to ask of the simulator, too.
    simulated: bool = False


def read_about(folder):
    """What the kit says of itself; it is unpacked when it is first asked."""
    path = os.path.join(folder, "unpacked", "kit.json")
    if not os.path.exists(path):
        # Under another name until all of it is there.
        with tarfile.open(os.path.join(folder, "kit.tar.xz")) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(os.path.join(folder, "unpacking"))
        os.rename(os.path.join(folder, "unpacking", "unpacked"),
                  os.path.join(folder, "unpacked"))
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Kit:
    """The folder that --prepare made, and how its programs are called."""

    def __init__(self, folder, scratch):
        self.scratch = scratch
        self.folder = os.path.abspath(os.path.join(folder, "unpacked"))
        about = read_about(folder)
        self.chip, self.models = about["chip"], about["models"]
        self.environment = {**os.environ,
                            "LD_LIBRARY_PATH": os.path.join(self.folder, "lib")}

    def run(self, tool, *flags, more=None):
        """The result of one of the kit's programs."""
        command = [os.path.join(self.folder, "bin", tool), *map(str, flags)]
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**self.environment, **(more or {})})

    def output(self, tool, *flags):
        """What it prints; a failure is one of the part."""
        done = self.run(tool, *flags)
        if done.returncode:
            raise RuntimeError(f"{tool} {' '.join(map(str, flags))}: status "
                               f"{done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def fill(self, name):
        """The artifact of a model, with its weights."""
        whole = os.path.join(self.scratch, name + ".bin")
        start = time.time()
        self.output("mtp-fill", f"{self.folder}/models/{name}.fill", "-o", whole)
        gigabytes = os.path.getsize(whole) / 1e9
        report(f"{name}: GB of artifact", gigabytes)
        report(f"{name}: seconds to make its weights", time.time() - start)
        return whole


def roomy_folder():
    """Memory where there is plenty of it, else a disk."""
    for folder in ("/dev/shm", tempfile.gettempdir()):
        if os.path.isdir(folder) and shutil.disk_usage(folder).free > 40 << 30:
            return folder
    return tempfile.gettempdir()


def run_bench(kit, name, path, flags):
    """Runs mtp-bench; prints its main figures and keeps all of them."""
    bench = json.loads(kit.output("mtp-bench", path, "--device=cuda", "--json", "--turns=3",
                                  *flags))
    data("bench", {"model": name, **bench})
    rate = bench["machine"]["median"]["bytes_per_second"]
    report(f"{name}: copy GB/s, both directions", rate / 1e9)
    for point in bench["points"]:
        what = f"{name}: batch {point['batch']}, k {point['k']}, context {point['context']}"
        report(f"{what}: us", point["seconds"] * 1e6)
        report(f"{what}: share", point["bytes"] / point["seconds"] / rate)
    for entry in bench["speculative"]:
        report(f"{name}: batch {entry['batch']}, k {entry['k']}, context {entry['context']}: "
               "R over R at the limits", entry["r"] / entry["r_at_limit"])


def time_start(kit, name, path):
    """From the call to the first token, the file being in memory."""
    times = []
    for _ in range(2):
        begin = time.time()
        kit.output("mtp-run", path, "--device=cuda", "--ids=1", "-n", 1, "--ignore-eos",
                   "--max-batch=1", "--json")
        times.append(time.time() - begin)
    report(f"{name}: seconds from start to first token", min(times))


def model_part(*names):
    def part(kit):
        for name in names:
            if name not in kit.models:
                continue
            path = kit.fill(name)
            time_start(kit, name, path)
            for flags in ALL_MODELS[name].benches:
                run_bench(kit, name, path, flags)
            os.remove(path)
    return part


def kernels(kit):
    """The kernels of test/Codegen, on what their tests gave them."""
    run_probe(kit, "kernels", os.path.join(kit.folder, "kernels"))


def tests(kit):
    """test/E2E/gpu_test.cpp on that driver: small models against the CPU, and every k, batch,
    preemption and reuse against plain decoding."""
    results = os.path.join(kit.scratch, "tests.json")
    names = [name[:-4] for name in os.listdir(os.path.join(kit.folder, "tests"))]
    chosen = ":".join(f"*/{re.sub('[-.]', '_', name)}" for name in sorted(names))
    done = kit.run("mtp_e2e_gpu_tests", f"--gtest_output=json:{results}",
                   f"--gtest_filter={chosen}",
                   more={"MTP_E2E_ARTIFACTS": os.path.join(kit.folder, "tests")})
    with open(results, encoding="utf-8") as file:
        suites = json.load(file)["testsuites"]
    count = 0
    for suite in suites:
        for test in suite["testsuite"]:
            if test["result"] == "SKIPPED":
                report(f"{suite['name']}.{test['name']}", "skipped")
                continue
            count += 1
            failures = test.get("failures", [])
            check(f"{suite['name']}.{test['name']}", not failures,
                  failures and failures[0]["failure"][:1000])
    check("tests ran", count > 0 and done.returncode in (0, 1), done.stderr[-1000:])


def generated(kit, path, k, *flags):
    """The tokens of three sequences."""
    prompts = [f"--ids={','.join(str(7 * i * i % 250 + 1) for i in range(n))}"
               for n in (1, 6, 19)]
    text = kit.output("mtp-run", path, "--device=cuda", *prompts, "-n", 12, "-k", k,
                      "--ignore-eos", "--json", *flags)
    return [sequence["output_ids"] for sequence in json.loads(text)["sequences"]]


def logits(kit, path, device):
    """The target's logits of 32 rows, two sequences of 16."""
    rows = range(32)
    arguments = ([7 * i * i % 250 for i in rows], [i // 16 for i in rows],
                 [i % 16 for i in rows])
    out = os.path.join(kit.scratch, f"{device}.npy")
    kit.output("mtp-run", path, f"--device={device}", "--function=@prompt_logits",
               *[f"--input=32xi32={json.dumps(values)}" for values in arguments],
               f"--output=@{out}")
    return npy.read_floats(out)


def wide(kit):
    """Layers of true widths: the CPU's logits, and the same tokens at every k."""
    for name in kit.models:
        model = ALL_MODELS[name]
        if not model.compared:
            continue
        path = kit.fill(name)
        cpu, gpu = logits(kit, path, "cpu"), logits(kit, path, "cuda")
        largest = max(map(abs, cpu))
        worst = max(abs(a - b) for a, b in zip(cpu, gpu)) / largest
        report(f"{name}: largest error of the logits over the largest", worst)
        check(f"{name}: logits are the CPU's", len(cpu) == len(gpu) and worst < 0.03, worst)
        most = int(model.importing[model.importing.index("-k") + 1])
        plain = generated(kit, path, 0)
        for k in range(1, most + 1):
            drafted = generated(kit, path, k)
            check(f"{name}: k = {k} gives k = 0's tokens", drafted == plain,
                  f"{drafted} for {plain}")
        os.remove(path)


def loop(kit):
    """Rounds in a loop on the device, several for each launch."""
    if "--rounds-per-launch" not in kit.output("mtp-bench", "--help"):
        report("skipped", "this mtp-bench has no --rounds-per-launch")
        return
    for name in ("llama-1b", "mimo-7b", "tiny"):
        if name not in kit.models:
            continue
        path, model = kit.fill(name), ALL_MODELS[name]
        most = int(model.importing[model.importing.index("-k") + 1])
        for k in sorted({0, most}):
            one, many = (generated(kit, path, k, f"--rounds-per-launch={rounds}")
                         for rounds in (1, 16))
            check(f"{name}: k = {k}, 16 rounds for a launch give the tokens of 1", one == many,
                  f"{many} for {one}")
        # A small model's context has room for few.
        rounds = 4 if kit.chip == "sim" else 16
        for flags in model.benches:
            run_bench(kit, f"{name}, in the loop", path,
                      (*flags, f"--rounds-per-launch={rounds}"))
        os.remove(path)


def products(kit):
    """The products of true widths in chains, and the library's for the same shapes."""
    lines = []
    for name in kit.models:
        if ALL_MODELS[name].compared:
            path = kit.fill(name)
            dump = kit.output("mtp-dump", path, "--json")
            lines += [f"product {line}"
                      for line in artifact.products(path, dump, name, kit.scratch)]
            os.remove(path)
    shapes = [line.replace("product", "shape", 1) for line in lines if "type=bf16" in line]
    simulated = kit.chip == "sim"
    sizes = "chain pool=4194304 length=2" if simulated else \
        "chain pool=6442450944 length=60"
    with open(os.path.join(kit.scratch, "manifest"), "w", encoding="utf-8") as file:
        file.write("\n".join([sizes, *lines, *shapes]) + "\n")
    run_probe(kit, "products", kit.scratch)
    run_probe(kit, "cublaslt", kit.scratch)


def sanitizer(kit):
    """NVIDIA's checks of memory and synchronisation, on a small model."""
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(program):
        report("skipped", "no compute-sanitizer")
        return
    folder = os.path.join(kit.folder, "tests")
    # Grouped attention, and latent attention with experts and modules.
    chosen = ("llama-gqa.sim.bin", "dsv3-chain-mtp2.sim.bin")
    for name in sorted(set(os.listdir(folder)) & set(chosen)):
        path = os.path.join(folder, name)
        for tool in ("memcheck", "racecheck", "synccheck", "initcheck"):
            command = [program, "--tool", tool, "--error-exitcode", "9",
                       os.path.join(kit.folder, "bin", "mtp-run"), path, "--device=cuda",
                       "--ids=1,2,3", "--ids=4", "-n", "4", "--ignore-eos", "--print-ids"]
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  env=kit.environment)
            text = done.stdout + done.stderr
            check(f"{tool} of {name}",
                  done.returncode == 0 and "SUMMARY: 0" in text, text[-1500:])


def baseline(kit):
    """A PyTorch step of the same shapes, in the same run."""
    script = os.path.join(os.path.dirname(kit.folder), "baseline.py")
    for name in ("llama-1b", "llama-8b", "mimo-7b", "tiny"):
        if name not in kit.models:
            continue
        done = subprocess.run([sys.executable, script,
                               os.path.join(kit.folder, "models", name + ".json"), name],
                              text=True, check=False)
        if done.returncode:
            report(f"{name}: PyTorch's step", f"failed, status {done.returncode}")


def run_probe(kit, name, folder):
    program = os.path.join(kit.folder, "bin", "gpu_probe")
    done = subprocess.run([program, folder, name, *cublaslt()], check=False,
                          env=kit.environment)
    if done.returncode:
        raise RuntimeError(f"gpu_probe {name}: status {done.returncode}")


def probe(name):
    return lambda kit: run_probe(kit, name, os.path.join(kit.folder, "probe"))


def cublaslt():
    """The library that the variable names, or that PyTorch or the toolkit brought."""
    if os.environ.get("MTP_CUBLASLT"):
        return [os.environ["MTP_CUBLASLT"]]
    if os.environ.get("MTP_CUDA_DRIVER"):
        return []  # what the machine has is for another driver
    places = [os.path.join(path, "nvidia", "*", "lib") for path in sys.path]
    for place in [*places, "/usr/local/cuda*/lib64", "/usr/lib/x86_64-linux-gnu"]:
        for path in sorted(glob.glob(os.path.join(place, "libcublasLt.so.*"))):
            return [path]
    return []


# In the order of a run; the seconds are those after which a part is cut off.
PARTS = {
    "bandwidth": Part(probe("bandwidth"), 30),
    "load": Part(probe("load"), 30),
    "edges": Part(probe("edges"), 60),
    "kernels": Part(kernels, 60, simulated=True),
    "tests": Part(tests, 90, simulated=True),
    "wide": Part(wide, 90, simulated=True),
    "1b": Part(model_part("llama-1b", "tiny"), 60, simulated=True),
    "8b": Part(model_part("llama-8b"), 90),
    "8b-integers": Part(model_part("llama-8b-int8", "llama-8b-int4"), 90),
    "mimo": Part(model_part("mimo-7b", "mimo-7b-drafts-32k"), 120),
    "loop": Part(loop, 60, simulated=True),
    "baseline": Part(baseline, 120, simulated=True),
    "deepseek": Part(model_part("deepseek"), 90),
    "attention": Part(model_part("attention-gqa", "attention-mla"), 90),
    "products": Part(products, 120, simulated=True),
    "sanitizer": Part(sanitizer, 90),
    "order": Part(probe("order"), 40),
    "numbers": Part(probe("numbers"), 60),
    "elementary": Part(probe("elementary"), 60, simulated=True),
    "graphs": Part(probe("graphs"), 50),
}


def for_kit(kit):
    """The parts that a kit can run."""
    return {name: part for name, part in PARTS.items()
            if part.simulated or kit["chip"] != "sim"}


def run(folder, name, scratch):
    try:
        PARTS[name].run(Kit(folder, scratch))
    except RuntimeError as error:
        sys.exit(f"error: {error}")
