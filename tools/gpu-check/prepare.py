"""Makes the folder that is copied to a machine with a GPU."""

import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

from models import MODELS, TINY

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOLS = ("gpu_probe", "mtp-bench", "mtp-dump", "mtp-fill", "mtp-run", "mtp-tune",
         "mtp_e2e_gpu_tests", "mtp_e2e_library_tests")
SCRIPTS = ("gpu-check", "artifact.py", "models.py", "npy.py", "parts.py",
           "report.py", "tables.py", "tuning.py", "baseline.py")
# Libraries that every machine has today. The kit contains all others that the tools load.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread)\.so|ld-linux")
MOST_BYTES = 56 << 20
SEED = 1


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                          check=False, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def tool(options, name):
    return os.path.join(options.build, "bin", name)


def copy_tools(options):
    """Copies the programs, and the libraries that they load."""
    for folder in ("bin", "lib"):
        os.makedirs(os.path.join(options.out, folder), exist_ok=True)
    for name in TOOLS:
        target = os.path.join(options.out, "bin", name)
        shutil.copy(tool(options, name), target)
        run("strip", target)
        for library, path in re.findall(r"(\S+) => (/\S+)", run("ldd", target)):
            if not SYSTEM.match(library):
                shutil.copy(path, os.path.join(options.out, "lib", library))


    # It is loaded before the driver of the other machine, so it must have no other dependency.
    shutil.copy(os.path.join(options.build, "tools", "gpu-check", "libgpu_watch.so"),
                os.path.join(options.out, "lib"))


def copy_machines(options):
    """Copies machines/, the rates with which mtp-tune --simulate predicts."""
    shutil.copytree(f"{ROOT}/tools/mtp-tune/machines", os.path.join(options.out, "machines"))


def make_model(options, name, model):
    """Makes models/NAME.fill, which mtp-fill completes on the other machine."""
    work = os.path.join(options.out, "work", name)
    run(sys.executable, f"{ROOT}/models/shapes.py", model.shape, work)
    path = os.path.join(work, "config.json")
    with open(path, encoding="utf-8") as file:
        config = {**json.load(file), **model.config}
    for flag in model.importing:
        if flag.startswith("--max-context="):
            config["max_position_embeddings"] = int(flag.split("=")[1])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    source, models = os.path.join(work, "model.mlir"), os.path.join(options.out, "models")
    run(tool(options, "mtp-import"), "--no-weights", work, "-o", source, *model.importing)
    # Any x86-64 of today: the other machine's processor is unknown.
    simulated = options.chip == "sim"
    target, chip = ("gpu-sim", []) if simulated else ("cuda", [f"--chip={options.chip}"])
    compiler = tool(options, "mtpc_sim" if simulated else "mtpc")
    targets = [f"--target={target}"]
    if model.compared:
        targets = [f"--target=cpu,{target}", "--target-cpu=x86-64-v3"]
    flags = [*targets, *chip, *model.compiling]
    if model.drafts:
        words = os.path.join(work, "counts")
        with open(words, "w", encoding="utf-8") as file:
            file.writelines(f"{token} {model.drafts - token}\n"
                            for token in range(model.drafts))
        flags.append(f"--draft-vocab={words},size={model.drafts}")
    run(compiler, source, "-o", f"{models}/{name}.fill", *flags,
        f"--random-weights={SEED}", "--omit-weights")
    shutil.copy(path, f"{models}/{name}.json")


def make_models(options, models):
    os.makedirs(os.path.join(options.out, "models"))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(make_model, options, *item) for item in models.items()]:
            job.result()


def make_tests(options):
    """Makes tests/, the small models of test/E2E, with weights, for the chip."""
    work = os.path.join(options.out, "work", "tests")
    run(sys.executable, f"{ROOT}/test/E2E/artifacts.py", "--tools", f"{options.build}/bin",
        "--source", ROOT, "--out", work, "--chip", options.chip,
        *(["--only", options.tests] if options.tests else []))
    folder = os.path.join(options.out, "tests")
    os.makedirs(folder)
    for path in glob.glob(work + "/*.bin"):
        shutil.copy(path, folder)


def record_kernels(options):
    """Makes kernels/, the inputs of the kernel tests, and their code for the chip."""
    folder = os.path.join(options.out, "kernels")
    os.makedirs(folder)
    if options.chip == "sim":
        with open(f"{folder}/manifest", "w", encoding="utf-8") as file:
            file.write("exact\n")
    environment = {**os.environ, "MTP_RECORD_KERNELS": folder,
                   "MTP_RECORD_CHIP": options.chip, "GTEST_TOTAL_SHARDS": str(options.jobs)}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(run, tool(options, "mtp_codegen_tests"),
                                f"--gtest_filter={options.kernels}",
                                env={**environment, "GTEST_SHARD_INDEX": str(shard)})
                    for shard in range(options.jobs)]:
            job.result()


def make_probe(options):
    """Makes probe/, the tests of the machine instead of the product."""
    out, probe = os.path.join(options.out, "probe"), os.path.join(HERE, "probe")
    os.makedirs(out)
    simulated = options.chip == "sim"
    for name in ("elementary", "loop_end"):
        # For the simulator the image has the name of the cubin.
        run(tool(options, "mtp_gpu_compile"), f"{probe}/{name}.mlir", f"--chip={options.chip}",
            "-o", f"{out}/{name}.cubin" if simulated else f"{out}/{name}")
    if simulated:
        with open(f"{out}/manifest", "w", encoding="utf-8") as file:
            file.write("elementary inputs=4096\n")
    else:
        run(f"{options.cuda}/bin/nvcc", f"-arch={options.chip}", "-std=c++17", "-cubin",
            f"{probe}/machine.cu", "-o", f"{out}/machine.cubin")


def commit():
    """Returns the tree's commit, with a mark for uncommitted changes."""
    try:
        name = run("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD").strip()
        return name + ("+" if run("git", "-C", ROOT, "status", "--porcelain") else "")
    except (OSError, RuntimeError):
        return "unknown"


def pack(options):
    """Packs the folder into one file."""
    with tarfile.open(os.path.join(options.prepare, "kit.tar.xz"), "w:xz",
                      preset=1 if options.chip == "sim" else 6) as archive:
        archive.add(options.out, arcname="unpacked")
    shutil.rmtree(options.out)
    for name in SCRIPTS:
        shutil.copy(os.path.join(HERE, name), options.prepare)
    return sum(os.path.getsize(os.path.join(options.prepare, name))
               for name in os.listdir(options.prepare))


def prepare(options):
    if os.path.exists(options.prepare):
        raise RuntimeError(f"expected a new folder for --prepare, {options.prepare} is there")
    models = TINY if options.chip == "sim" else MODELS
    if options.models:
        models = {name: {**MODELS, **TINY}[name] for name in options.models.split(",")}
    options.out = os.path.join(options.prepare, "unpacked")
    os.makedirs(options.out)
    copy_tools(options)
    copy_machines(options)
    make_models(options, models)
    make_tests(options)
    record_kernels(options)
    make_probe(options)
    with open(os.path.join(options.out, "kit.json"), "w", encoding="utf-8") as file:
        json.dump({"commit": commit(), "chip": options.chip, "models": list(models),
                   "tests": options.tests.split(",") if options.tests else []}, file)
    shutil.rmtree(os.path.join(options.out, "work"))
    size = pack(options)
    print(f"gpu-check: {len(models)} models, {size / 2**20:.1f} MiB in {options.prepare}")
    if size > MOST_BYTES:
        raise RuntimeError(f"expected at most {MOST_BYTES >> 20} MiB to travel, got {size}")
