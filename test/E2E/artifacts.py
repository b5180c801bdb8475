#!/usr/bin/env python3
"""Builds the artifacts that the end-to-end tests run. Standard library only.

  artifacts.py --tools BIN --source ROOT --out DIR

Every artifact DIR/NAME.bin is imported and compiled with the tools of BIN, and
made anew only when a tool, this file or the model is newer than it. With --chip only
those for the simulated GPU are made, for that chip and any x86-64; with --only NAME,..
these.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

TINY = "dsv3-mtp1 dsv3-yarn-mtp2 dsv3-chain-mtp2 mimo-mtp1 glm4moe-mtp1 glm4moe-qknorm-mtp1".split()
PLAIN = "llama-gqa llama-tied qwen2 qwen3 qwen3moe".split()
# What only the choice of experts tells apart.
ROUTED = "dsv3-negative glm4moe-negative".split()
HERE = pathlib.Path(__file__).parent
WIDE = ["--max-batch=8", "--max-context=128", "--prefill-chunk=32"]
# The time of the tests grows with the envelope: the whole one is for one type of each
# model, and a smaller one for the other types and options.
SMALL = ["--max-batch=4", "--max-context=128", "--prefill-chunk=32"]


def jobs():
    """(artifact, tiny model or None, dtype, import options, compile options)"""
    for model in TINY:
        yield f"{model}.f32", model, "f32", WIDE + ["-k=8"], []
        wide = model == "dsv3-chain-mtp2"
        options = WIDE + ["-k=8"] if wide else SMALL + ["-k=4"]
        yield f"{model}.bf16", model, "bf16", options, []
    for model in PLAIN:
        yield f"{model}.f32", model, "f32", WIDE, []
        yield f"{model}.bf16", model, "bf16", WIDE, []
    for model in ROUTED:
        for dtype in ("f32", "bf16"):
            yield (f"{model}.{dtype}", model, dtype,
                   ["--max-batch=2", "--max-context=128", "--prefill-chunk=32"], [])
    # One module at all depths though there are two; other pages and chunks;
    # kernels for processors without AVX-512.
    yield ("dsv3-chain-mtp2.reuse", "dsv3-chain-mtp2", "f32",
           SMALL + ["-k=4", "--draft-depth-policy=reuse"], [])
    yield ("dsv3-chain-mtp2.page8", "dsv3-chain-mtp2", "f32",
           ["--max-batch=2", "--max-context=128", "--prefill-chunk=128", "--page=8", "-k=3"], [])
    yield ("dsv3-chain-mtp2.v3", "dsv3-chain-mtp2", "f32", SMALL + ["-k=2"],
           ["--target-cpu=x86-64-v3"])
    yield ("qwen3moe.bf16v3", "qwen3moe", "bf16", SMALL, ["--target-cpu=x86-64-v3"])
    # Integer weights: MLA, dense and MoE layers with modules in both formats, a
    # dense model, and what processors without AVX-512 run.
    yield ("dsv3-chain-mtp2.int8", "dsv3-chain-mtp2", "bf16", SMALL + ["-k=4"],
           ["--quantize=int8"])
    yield ("dsv3-chain-mtp2.int4", "dsv3-chain-mtp2", "f32", SMALL + ["-k=4"],
           ["--quantize=int4,group=32", "--quantize-head=int8",
            "--quantize-embedding=int4,group=32"])
    yield "qwen3.int8", "qwen3", "f32", SMALL, ["--quantize=int8,group=128"]
    yield ("qwen3moe.int4v3", "qwen3moe", "bf16", SMALL,
           ["--quantize=int4", "--quantize-embedding=int8", "--target-cpu=x86-64-v3"])
    # Integers in the embedding alone, beside a head of the same tensor.
    yield ("llama-tied.embed8", "llama-tied", "f32", SMALL,
           ["--quantize-embedding=int8,group=32"])
    # Drafts of 90 of the 112 tokens, from a head that is integers.
    yield ("dsv3-chain-mtp2.draft90", "dsv3-chain-mtp2", "f32",
           SMALL + ["-k=4"],
           [f"--draft-vocab={HERE}/Inputs/draft_counts.txt,size=90",
            "--quantize=int8"])
    # Positions in parts, which one worker adds up or several share.
    for name, workers in (("parts", 1), ("shared", 16)):
        yield (f"dsv3-chain-mtp2.{name}", "dsv3-chain-mtp2", "bf16",
               ["--max-batch=2", "--max-context=2100", "--prefill-chunk=64", "-k=2"],
               [f"--workers={workers}"])
    # Plans for the CPU and for the simulated GPU.
    for model, options in (("llama-gqa", []), ("qwen3moe", []), ("mimo-mtp1", ["-k=2"]),
                           ("glm4moe-mtp1", ["-k=2"]), ("dsv3-chain-mtp2", ["-k=2"])):
        yield (f"{model}.sim", model, "bf16",
               ["--max-batch=2", "--max-context=64", "--prefill-chunk=16"] + options,
               ["--target=cpu,cuda", "--chip=sim"])
    yield "bundled", None, None, ["--max-batch=4", "--max-context=256", "-k=4"], []


def newest(paths):
    return max(os.path.getmtime(p) for p in paths)


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}\n{done.stdout}")


def allow_context(checkpoint, importing):
    """Lets the model be as long as `importing` wants it; no weight is longer for it."""
    context = next(int(o.split("=")[1]) for o in importing if o.startswith("--max-context="))
    config = json.loads((checkpoint / "config.json").read_text())
    if config["max_position_embeddings"] < context:
        config["max_position_embeddings"] = context
        (checkpoint / "config.json").write_text(json.dumps(config))


def build(args, job):
    name, model, dtype, importing, compiling = job
    oracle = args.source / "test/oracle"
    checkpoint = args.source / "models/bundled/hf"
    inputs = [__file__, args.tools / "mtp-import", args.tools / "mtpc"]
    inputs += [oracle / "tiny.py"] if model else checkpoint.iterdir()
    artifact = args.out / f"{name}.bin"
    if artifact.exists() and artifact.stat().st_mtime > newest(inputs):
        return
    original, checkpoint = checkpoint, args.out / name
    if not model:
        # A module names weights beside or below itself only.
        shutil.copytree(original, checkpoint, dirs_exist_ok=True)
    else:
        run(sys.executable, oracle / "tiny.py", model, "-o", checkpoint, "--dtype", dtype)
        allow_context(checkpoint, importing)
    source = args.out / f"{name}.mlir"
    run(args.tools / "mtp-import", checkpoint, "-o", source, *importing)
    run(args.tools / "mtpc", source, "-o", artifact, *compiling)


def build_single(args):
    """Compiles dsv3-chain-mtp2.f32's model again, with a program for each batch and each
    number of rows."""
    name = "dsv3-chain-mtp2.single"
    artifact, source = args.out / f"{name}.bin", args.out / f"{name}.mlir"
    tools = args.tools / "mtp-import", args.tools / "mtpc", args.tools / "mtp-opt"
    importer, compiler, passes = tools
    if artifact.exists() and artifact.stat().st_mtime > newest([__file__, *tools]):
        return
    checkpoint = args.out / name
    run(sys.executable, args.source / "test/oracle/tiny.py", "dsv3-chain-mtp2",
        "-o", checkpoint, "--dtype", "f32")
    run(importer, checkpoint, "-o", source, *WIDE, "-k=3")
    run(compiler, source, "-o", args.out / "dsv3-chain-mtp2.ranges.bin")
    fused, calls = (args.out / f"{name}.{phase}.mlir" for phase in ("fuse", "calls"))
    run(compiler, source, "--compile-to=fuse", "-o", fused)
    rounds = ("--mtp-instantiate-rounds --mtp-expand-draft-chain --mtp-expand-verify "
              "--mtp-expand-accept --mtp-expand-commit --mtp-fuse-per-slot")
    lowering = ("--mtp-outline-control --mtp-sink-row-selection --mtp-place-cache-writes "
                "--mtp-convert-to-exec")
    run(passes, fused, *rounds.split(), "--mtp-specialize-shapes=single=true",
        *lowering.split(), "-o", calls)
    run(compiler, calls, "-o", artifact)


def build_module(args, name, weights):
    """Compiles Inputs/NAME.mlir with weights of Inputs/weights.py."""
    inputs = HERE / "Inputs"
    source, script = inputs / f"{name}.mlir", inputs / "weights.py"
    artifact = args.out / f"{name}.bin"
    if artifact.exists() and artifact.stat().st_mtime > newest(
            [__file__, source, script, args.tools / "mtpc"]):
        return
    run(sys.executable, script, args.out / weights)
    shutil.copy(source, args.out)
    run(args.tools / "mtpc", args.out / source.name, "-o", artifact)


def jobs_for(chip):
    """Those for GPUs, for another than the simulator and for any processor."""
    for *job, compiling in jobs():
        if "--chip=sim" in compiling:
            flags = [flag for flag in compiling if flag != "--chip=sim"]
            yield *job, flags + [f"--chip={chip}", "--target-cpu=x86-64-v3"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chip")
    parser.add_argument("--only")
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    failures = 0
    # Longest first: what has modules.
    chosen = list(jobs_for(args.chip) if args.chip else jobs())
    if args.only:
        chosen = [job for job in chosen if job[0] in args.only.split(",")]
    order = sorted(chosen, key=lambda job: "mtp" not in job[0])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [pool.submit(build, args, job) for job in order]
        if not args.chip:
            tasks.append(pool.submit(build_single, args))
            tasks.append(pool.submit(build_module, args, "tree", "tree.safetensors"))
        for done in tasks:
            try:
                done.result()
            except RuntimeError as error:
                print(f"artifacts: error: {error}", file=sys.stderr)
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
