"""The parts of a run. Each is a process of its own, and `gpu-check` collects its output."""

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
import tuning
from models import MODELS, TINY
from report import check, data, report

ALL_MODELS = {**MODELS, **TINY}


class Part(NamedTuple):
    run: Callable
    seconds: int
    # True if the part also runs on the simulator.
    simulated: bool = False


def read_about(folder):
    """Returns the kit's description of itself. Unpacks the kit at the first call."""
    path = os.path.join(folder, "unpacked", "kit.json")
    if not os.path.exists(path):
        # Unpacked under another name until all of it is there.
        with tarfile.open(os.path.join(folder, "kit.tar.xz")) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(os.path.join(folder, "unpacking"))
        os.rename(os.path.join(folder, "unpacking", "unpacked"),
                  os.path.join(folder, "unpacked"))
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Kit:
    """The folder that --prepare made, and calls of its programs."""

    def __init__(self, folder, scratch):
        self.scratch = scratch
        self.folder = os.path.abspath(os.path.join(folder, "unpacked"))
        about = read_about(folder)
        self.chip, self.models = about["chip"], about["models"]
        # The driver may be in the folder of the variable.
        places = [os.path.join(self.folder, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, places)),
                            **{"MTP_CUBLASLT": path for path in cublaslt()}}

    def run(self, tool, *flags, more=None):
        """Runs one of the kit's programs and returns its result."""
        command = [os.path.join(self.folder, "bin", tool), *map(str, flags)]
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**self.environment, **(more or {})})

    def output(self, tool, *flags, more=None):
        """Returns the output of a program. A failure is a failure of the part."""
        done = self.run(tool, *flags, more=more)
        if done.returncode:
            raise RuntimeError(f"{tool} {' '.join(map(str, flags))}: status "
                               f"{done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def watched(self, tool, *flags):
        """Returns the output of a program, and its driver calls (probe/Watch.cpp)."""
        record = os.path.join(self.scratch, "watch.json")
        more = {"GPU_WATCH": record,
                "MTP_CUDA_DRIVER": os.path.join(self.folder, "lib", "libgpu_watch.so")}
        driver = os.environ.get("MTP_CUDA_DRIVER")
        if driver:
            # A link with the driver name that the library looks for.
            named = os.path.join(self.scratch, "libcuda.so.1")
            if not os.path.exists(named):
                os.symlink(os.path.abspath(driver), named)
            more["LD_LIBRARY_PATH"] = self.scratch + ":" + self.environment["LD_LIBRARY_PATH"]
        output = self.output(tool, *flags, more=more)
        with open(record, encoding="utf-8") as file:
            return output, json.load(file)

    @property
    def simulated(self):
        return self.chip == "sim"

    def fill(self, name):
        """Returns the artifact of a model, with its weights."""
        whole = os.path.join(self.scratch, name + ".bin")
        start = time.time()
        self.output("mtp-fill", f"{self.folder}/models/{name}.fill", "-o", whole)
        gigabytes = os.path.getsize(whole) / 1e9
        report(f"{name}: GB of artifact", gigabytes)
        report(f"{name}: seconds to make its weights", time.time() - start)
        return whole


def roomy_folder():
    """Returns a folder in memory if there is plenty of it, else on a disk."""
    for folder in ("/dev/shm", tempfile.gettempdir()):
        if os.path.isdir(folder) and shutil.disk_usage(folder).free > 40 << 30:
            return folder
    return tempfile.gettempdir()


# Number of rounds that a session launches at once on a GPU (preferredRounds in
# runtime/device/cuda).
ROUNDS_PER_LAUNCH = 16


def median(values):
    return sorted(values)[len(values) // 2]


def use_events(name, bench, record, rounds):
    """Replaces the host's times of rounds in a loop, which include the launch, by times of the
    GPU's clock."""
    loops = [i for i, graph in enumerate(record["graphs"]) if graph["loops"]]
    steps = {}
    for index, point in zip(loops, bench["points"], strict=True):
        times = [launch["us"] for launch in record["launches"]
                 if launch["graph"] == index and "us" in launch]
        point["host_seconds"] = point["seconds"]
        point["seconds"] = median(times) * 1e-6 / rounds
        steps[point["batch"], point["k"], point["context"]] = point["seconds"]
    clocks = [point["seconds"] / point["host_seconds"] for point in bench["points"]]
    check(f"{name}: the GPU's clock agrees with the host's",
          min(clocks) > 0.5 and max(clocks) < 1.2, clocks)
    for entry in bench["speculative"]:
        seconds = steps[entry["batch"], entry["k"], entry["context"]]
        entry["r"] = seconds / steps[entry["batch"], 0, entry["context"]]
        entry["seconds_per_round"] = seconds
        if entry["acceptance_length"]:
            entry["tokens_per_second"] = entry["batch"] * entry["acceptance_length"] / seconds
            entry["speedup"] = entry["acceptance_length"] / entry["r"]


def run_bench(kit, name, path, flags, rounds=1):
    """Runs mtp-bench, prints its main figures and keeps all of them."""
    flags = (path, "--device=cuda", "--json", f"--turns={1 if kit.simulated else 3}", *flags)
    if rounds == 1:
        bench = json.loads(kit.output("mtp-bench", *flags))
    else:
        output, record = kit.watched("mtp-bench", *flags, f"--rounds-per-launch={rounds}")
        bench = json.loads(output)
        use_events(name, bench, record, rounds)
    data("bench", {**bench, "model": name})
    rate = bench["machine"]["median"]["bytes_per_second"]
    report(f"{name}: copy GB/s, both directions", rate / 1e9)
    for point in bench["points"]:
        what = f"{name}: batch {point['batch']}, k {point['k']}, context {point['context']}"
        report(f"{what}: us", point["seconds"] * 1e6)
        report(f"{what}: share", point["bytes"] / point["seconds"] / rate)
    for entry in bench["speculative"]:
        report(f"{name}: batch {entry['batch']}, k {entry['k']}, context {entry['context']}: "
               "R over R at the limits", entry["r"] / entry["r_at_limit"])


def run_benches(kit, name, path):
    """Runs the benchmarks of a model, in the loop as sessions run, and with a launch per round."""
    model = ALL_MODELS[name]
    for flags in model.benches:
        if model.loops:
            # A small model's context has room for few rounds.
            run_bench(kit, f"{name}, in the loop", path, flags,
                      4 if kit.simulated else ROUNDS_PER_LAUNCH)
        if not model.loops or kit.simulated:
            run_bench(kit, name, path, flags)


def most_drafts(name):
    importing = ALL_MODELS[name].importing
    return int(importing[importing.index("-k") + 1])


def launches_of(kit, path, k, rounds):
    """Runs a session of one slot. Returns its rounds, and its launches without the first one,
    which has to build a graph."""
    output, record = kit.watched(
        "mtp-run", path, "--device=cuda", "--ids=1", "-n", 33 if kit.simulated else 321, "-k",
        k, "--ignore-eos", "--max-batch=1", f"--rounds-per-launch={rounds}", "--json")
    launches = record["launches"]
    graphs = [launch["graph"] for launch in launches]
    decode = max(set(graphs), key=graphs.count)
    return json.loads(output)["rounds"], [l for l in launches if l["graph"] == decode][1:]


def time_launches(kit, name, path):
    """Measures the number of host launches, and the idle time of the GPU between rounds. Idle is
    the time between the events of two launches. Within a launch of many rounds, it is the
    excess over the same number of launches of one round. Single launches also start and deliver
    the host's writes, so this excess is too small by a microsecond or two per round."""
    for k in sorted({0, most_drafts(name)}):
        what = f"{name}, k {k}"
        many = ROUNDS_PER_LAUNCH
        count, launches = launches_of(kit, path, k, many)
        _, alone = launches_of(kit, path, k, 1)
        total = len(launches) + 1
        report(f"{what}: rounds", count)
        report(f"{what}: host launches", total)
        check(f"{what}: a launch for {many} rounds", total <= -(-count // many),
              f"{total} for {count}")
        others = sum(launch["others"] for launch in launches)
        # The number of active rows is copied after a launch.
        check(f"{what}: one copy beside each graph at most", others <= len(launches), others)
        one = median([launch["us"] for launch in alone if "us" in launch])
        # The last launch has the remaining rounds.
        full = [launch for launch in launches if "us" in launch][:max(1, count // many - 1)]
        whole = median([launch["us"] for launch in full])
        gap = median([launch["gap_us"] for launch in full])
        inside = max(0, whole - many * one)
        report(f"{what}: us of a round, launched alone", one)
        report(f"{what}: us of a round in the loop", whole / many)
        report(f"{what}: us of idle GPU between launches", gap)
        report(f"{what}: share of idle GPU between rounds", (gap + inside) / (gap + whole))


def build_graphs(kit, name, path):
    """Builds the runtime's graphs for each number of slots and drafts. A session launches a graph
    of a round, and one of rounds in a loop."""
    model = ALL_MODELS[name]
    _, record = kit.watched("mtp-bench", path, "--device=cuda", "--json", "--turns=1",
                            "--measure=speculative", "--rounds=1", "--rounds-per-launch=2",
                            f"--context={32 if kit.simulated else 512}", *model.graphs)
    for loops, kind in ((True, "loops"), (False, "single rounds")):
        graphs = [graph for graph in record["graphs"] if graph["loops"] == loops]
        what = f"{name}: graphs of {kind}"
        check(f"{what}: one for each pair of slots and drafts", len(graphs) == model.pairs,
              len(graphs))
        report(what, len(graphs))
        report(f"{what}: nodes", sum(graph["nodes"] for graph in graphs))
        report(f"{what}: seconds to build",
               sum(graph["build_ms"] + graph["instantiate_ms"] for graph in graphs) / 1e3)
        report(f"{what}: MB of the device", sum(graph["bytes"] for graph in graphs) / 1e6)


def time_start(kit, name, path):
    """Measures the time from the call to the first token, with the file in memory."""
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
            run_benches(kit, name, path)
            if ALL_MODELS[name].session:
                time_launches(kit, name, path)
            if ALL_MODELS[name].graphs:
                build_graphs(kit, name, path)
            os.remove(path)
    return part


def kernels(kit):
    """Runs the kernels of test/Codegen on the inputs of their tests."""
    run_probe(kit, "kernels", os.path.join(kit.folder, "kernels"))


# Programs of test/E2E by the suffix of their artifacts' names.
TEST_PROGRAMS = {".sim": "mtp_e2e_gpu_tests", ".library": "mtp_e2e_library_tests"}


def run_tests(kit, program, names):
    """Runs a program of test/E2E on these artifacts."""
    results = os.path.join(kit.scratch, f"{program}.json")
    chosen = ":".join(f"*/{re.sub('[-.]', '_', name)}" for name in sorted(names))
    done = kit.run(program, f"--gtest_output=json:{results}", f"--gtest_filter={chosen}",
                   more={"MTP_E2E_ARTIFACTS": os.path.join(kit.folder, "tests")})
    suites = []
    if os.path.exists(results):
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
    check(f"{program} ran", count > 0 and done.returncode in (0, 1), done.stderr[-1000:])


def tests(kit):
    """Runs test/E2E/gpu_test.cpp and library_test.cpp on the driver. They compare small models
    with the CPU, and every k, batch, preemption and reuse with plain decoding."""
    names = [name[:-4] for name in os.listdir(os.path.join(kit.folder, "tests"))]
    for end, program in TEST_PROGRAMS.items():
        of_program = [name for name in names if name.endswith(end)]
        if of_program:
            run_tests(kit, program, of_program)


def time_prompts(kit, name, path, deterministic):
    """Times prompts with mtp-bench, after its graphs were built."""
    length = ALL_MODELS[name].prompt
    flags = ["--no-cublaslt"] if deterministic else []
    bench = json.loads(kit.output(
        "mtp-bench", path, "--device=cuda", "--json", f"--turns={1 if kit.simulated else 3}",
        "--measure=prefill", f"--prefill={length}", "--rounds=1", *flags))
    kernels = bench["prefill_kernels"]
    what = f"{name}, {'own kernels' if deterministic else 'library'}"
    expected = "own kernels (deterministic)" if deterministic else "cuBLASLt"
    check(f"{what}: multiply prompts", kernels.startswith(expected), kernels)
    data("prompts", {"model": what, "kernels": kernels, "prefill": bench["prefill"]})
    for prompt in bench["prefill"]:
        report(f"{what}: prompt of {prompt['tokens']}: tokens/s", prompt["tokens_per_second"])
        report(f"{what}: prompt of {prompt['tokens']}: ms",
               prompt["tokens"] / prompt["tokens_per_second"] * 1e3)


def run_prompt(kit, name, path, deterministic):
    """Runs a prompt with mtp-run, which builds its graphs. Reports the number of its tokens that
    the library multiplied, and the first generated token."""
    model = ALL_MODELS[name]
    chunk = int([flag for flag in model.importing
                 if flag.startswith("--prefill-chunk=")][0].split("=")[1])
    ids = ",".join(str(7 * i * i % 250 + 1) for i in range(model.prompt))
    flags = ["--no-cublaslt"] if deterministic else []
    result = json.loads(kit.output("mtp-run", path, "--device=cuda", f"--ids={ids}", "-n", 1,
                                   "--ignore-eos", "--max-batch=1", "--json", *flags))
    what = f"{name}, {'own kernels' if deterministic else 'library'}"
    prefill = result["prefill"]
    whole = 0 if deterministic else model.prompt // chunk * chunk
    check(f"{what}: tokens of {model.prompt} in whole chunks of the library",
          prefill["library_tokens"] == whole, prefill["library_tokens"])
    report(f"{what}: first prompt, with its graphs: seconds", prefill["seconds"])


def prefill(kit):
    """Times prompts with products by the library, and with own kernels."""
    for name in kit.models:
        if not ALL_MODELS[name].prompt:
            continue
        path = kit.fill(name)
        for deterministic in (False, True):
            run_prompt(kit, name, path, deterministic)
            time_prompts(kit, name, path, deterministic)
        os.remove(path)


def generated(kit, path, k, *flags):
    """Returns the tokens of three sequences, and the number of their rounds with padding rows."""
    prompts = [f"--ids={','.join(str(7 * i * i % 250 + 1) for i in range(n))}"
               for n in (1, 6, 19)]
    result = json.loads(kit.output("mtp-run", path, "--device=cuda", *prompts, "-n", 12, "-k", k,
                                   "--ignore-eos", "--json", *flags))
    return ([sequence["output_ids"] for sequence in result["sequences"]],
            result["decode"]["padded_rounds"])


def logits(kit, path, device):
    """Returns the target's logits of 32 rows, two sequences of 16."""
    rows = range(32)
    arguments = ([7 * i * i % 250 for i in rows], [i // 16 for i in rows],
                 [i % 16 for i in rows])
    out = os.path.join(kit.scratch, f"{device}.npy")
    kit.output("mtp-run", path, f"--device={device}", "--function=@prompt_logits",
               *[f"--input=32xi32={json.dumps(values)}" for values in arguments],
               f"--output=@{out}")
    return npy.read_floats(out)


def wide(kit):
    """Checks layers of true widths against the CPU's logits, and tokens at every k."""
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
        plain, _ = generated(kit, path, 0)
        for k in range(1, most_drafts(name) + 1):
            drafted, _ = generated(kit, path, k)
            check(f"{name}: k = {k} gives k = 0's tokens", drafted == plain,
                  f"{drafted} for {plain}")
        os.remove(path)


def loop(kit):
    """Checks that several rounds per launch give the tokens of one round per launch."""
    for name in ("llama-1b", "tiny"):
        if name not in kit.models:
            continue
        path = kit.fill(name)
        for k in sorted({0, most_drafts(name)}):
            one, many = (generated(kit, path, k, f"--rounds-per-launch={rounds}")[0]
                         for rounds in (1, ROUNDS_PER_LAUNCH))
            check(f"{name}: k = {k}, {ROUNDS_PER_LAUNCH} rounds for a launch give the tokens of 1",
                  one == many, f"{many} for {one}")
        time_launches(kit, name, path)
        os.remove(path)


def tune(kit):
    """Measures a profile, and compares it with predictions."""
    tuning.run(kit, generated)


def products(kit):
    """Times the products of true widths in chains, and the library's for the same shapes."""
    lines = []
    for name in kit.models:
        if ALL_MODELS[name].compared:
            path = kit.fill(name)
            dump = kit.output("mtp-dump", path, "--json")
            lines += [f"product {line}"
                      for line in artifact.products(path, dump, name, kit.scratch)]
            os.remove(path)
    shapes = [line.replace("product", "shape", 1) for line in lines
              if "type=bf16" in line and "_prepared" not in line]
    sizes = "chain pool=4194304 length=2" if kit.simulated else \
        "chain pool=6442450944 length=60"
    with open(os.path.join(kit.scratch, "manifest"), "w", encoding="utf-8") as file:
        file.write("\n".join([sizes, *lines, *shapes]) + "\n")
    run_probe(kit, "products", kit.scratch)
    run_probe(kit, "cublaslt", kit.scratch)


def sanitize(kit, tools, rounds):
    """Runs NVIDIA's checks on small models, with `rounds` rounds per launch."""
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(program):
        report("skipped", "no compute-sanitizer")
        return
    folder = os.path.join(kit.folder, "tests")
    # Grouped attention, and latent attention with experts and modules.
    chosen = ("llama-gqa.sim.bin", "dsv3-chain-mtp2.sim.bin")
    for name in sorted(set(os.listdir(folder)) & set(chosen)):
        path = os.path.join(folder, name)
        for tool in tools:
            # The driver says by an error how many parameters a kernel has.
            errors = ["--report-api-errors", "no"] if tool == "memcheck" else []
            command = [program, "--tool", tool, *errors, "--error-exitcode", "9",
                       os.path.join(kit.folder, "bin", "mtp-run"), path, "--device=cuda",
                       "--ids=1,2,3", "--ids=4", "-n", "4", "--ignore-eos", "--print-ids",
                       f"--rounds-per-launch={rounds}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  env=kit.environment)
            text = done.stdout + done.stderr
            check(f"{tool} of {name}, {rounds} rounds for a launch",
                  done.returncode == 0 and "SUMMARY: 0" in text, text[-1500:])


def sanitizer(kit):
    """Runs NVIDIA's checks of memory and synchronisation, with a launch for each round."""
    sanitize(kit, ("memcheck", "racecheck", "synccheck", "initcheck"), 1)


def sanitizer_loops(kit):
    """Runs the checks on rounds in a loop. It is not documented whether the tools follow
    conditional nodes."""
    sanitize(kit, ("memcheck", "racecheck"), 4)


def baseline(kit):
    """Times a PyTorch step of the same shapes, in the same run."""
    models = []
    for name in ("llama-1b", "llama-8b", "mimo-7b", "tiny"):
        if name in kit.models:
            models += [name, os.path.join(kit.folder, "models", name + ".json")]
    if not models:
        return
    # On a processor, only checks that it runs. On a GPU, a way that was started has 50 seconds to
    # end.
    flags = ["--device=cpu", "--ways=as it is", "--turns=3"] if kit.simulated else [
        f"--seconds={PARTS['baseline'].seconds - 50}"]
    done = subprocess.run([os.environ.get("MTP_TORCH_PYTHON", sys.executable),
                           os.path.join(os.path.dirname(kit.folder), "baseline.py"),
                           *flags, *models], text=True, check=False)
    check("PyTorch ran", done.returncode == 0, f"status {done.returncode}")


def run_probe(kit, name, folder):
    program = os.path.join(kit.folder, "bin", "gpu_probe")
    done = subprocess.run([program, folder, name, *cublaslt()], check=False,
                          env=kit.environment)
    if done.returncode:
        raise RuntimeError(f"gpu_probe {name}: status {done.returncode}")


def probe(name):
    return lambda kit: run_probe(kit, name, os.path.join(kit.folder, "probe"))


def cublaslt():
    """Returns the library of the variable MTP_CUBLASLT, or the one of PyTorch or the toolkit."""
    if os.environ.get("MTP_CUBLASLT"):
        return [os.environ["MTP_CUBLASLT"]]
    if os.environ.get("MTP_CUDA_DRIVER"):
        return []  # The machine's libraries are for another driver.
    places = [*(os.path.join(path, "nvidia", "*", "lib") for path in sys.path),
              "/usr/local/cuda*/lib64", "/usr/lib/x86_64-linux-gnu"]
    # CUDA 13's library, which the product uses, before older ones.
    for name in ("libcublasLt.so.13", "libcublasLt.so.*"):
        for place in places:
            for path in sorted(glob.glob(os.path.join(place, name))):
                return [path]
    return []


# In the order of a run. A machine with a GPU is lent for 15 minutes, including its start and all
# transfers, so two calls of 340 seconds must cover the most important parts. The parts of the first
# two calls fit even if each takes its whole limit. The first call covers the machine, the
# correctness of its kernels, and the figures of 1B and 8B. The second one covers integers,
# attention and experts. All other parts go into further calls, on another loan. The number is the
# limit of a part in seconds, at most MOST_SECONDS: about one and a half times what an H200 took
# (MEASURED.md). A part that may not fit is left to the next call (`--resume`), and a shorter one
# takes its place.
SECONDS = 340
MOST_SECONDS = 150
PARTS = {
    # The first call.
    "load": Part(probe("load"), 15),
    "bandwidth": Part(probe("bandwidth"), 15),
    "kernels": Part(kernels, 20, simulated=True),
    "1b": Part(model_part("llama-1b", "tiny"), 85, simulated=True),
    "8b": Part(model_part("llama-8b"), 120),
    "tests": Part(tests, 60, simulated=True),
    # The second call.
    "8b-integers": Part(model_part("llama-8b-int8", "llama-8b-int4"), 130),
    "attention": Part(model_part("attention-gqa", "attention-mla"), 120),
    "deepseek": Part(model_part("deepseek"), 80),
    # Further calls.
    "prefill": Part(prefill, 130, simulated=True),
    "tune": Part(tune, 120, simulated=True),
    "sanitizer": Part(sanitizer, 25),
    "wide": Part(wide, 50, simulated=True),
    "loop": Part(loop, 40, simulated=True),
    "carveout": Part(probe("carveout"), 25),
    "ring": Part(probe("ring"), 25),
    "mimo": Part(model_part("mimo-7b"), 90),
    "mimo-32k": Part(model_part("mimo-7b-drafts-32k"), 60),
    "baseline": Part(baseline, 130, simulated=True),
    "products": Part(products, 110, simulated=True),
    "sanitizer-loops": Part(sanitizer_loops, 60),
    "edges": Part(probe("edges"), 60),
    "graphs": Part(probe("graphs"), 50),
    "order": Part(probe("order"), 40),
    "numbers": Part(probe("numbers"), 60),
    "elementary": Part(probe("elementary"), 60, simulated=True),
}


# Times of a simulator mean nothing, and its machine may be busy.
SIMULATED_TIMES = 6


def for_kit(kit):
    """Returns the parts that a kit can run."""
    if kit["chip"] != "sim":
        return PARTS
    return {name: part._replace(seconds=SIMULATED_TIMES * part.seconds)
            for name, part in PARTS.items() if part.simulated}


def run(folder, name, scratch):
    try:
        PARTS[name].run(Kit(folder, scratch))
    except RuntimeError as error:
        sys.exit(f"error: {error}")
