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
import re
import shutil
import subprocess
import sys
import typing

TINY = "dsv3-mtp1 dsv3-yarn-mtp2 dsv3-chain-mtp2 mimo-mtp1 glm4moe-mtp1 glm4moe-qknorm-mtp1".split()
PLAIN = "llama-gqa llama-tied qwen2 qwen3 qwen3moe".split()
# What only the choice of experts tells apart.
ROUTED = "dsv3-negative glm4moe-negative".split()
NAMED = "ernie-moe minimax-m2 hy3-mtp1 qwen3next-mtp1 qwen35-mtp1 qwen35moe-mtp1".split()
HERE = pathlib.Path(__file__).parent
# Code for processors without AVX-512, which any other runs, too.
V3 = ["--target-cpu=x86-64-v3"]
WIDE = ["--max-batch=8", "--max-context=128", "--prefill-chunk=32"]
# The time of the tests grows with the envelope: the whole one is for one type of each
# model, and a smaller one for the other types and options.
SMALL = ["--max-batch=4", "--max-context=128", "--prefill-chunk=32"]
# For the simulator, windows of more than 32 rows: of 36 slots, or of 12 with two drafts.
BOTH, CUDA = ["--target=cpu,gpu-sim"], ["--target=cpu,cuda"]
SHORT = ["--max-context=64", "--prefill-chunk=16"]
ALONE, DRAFTED = SHORT + ["--max-batch=36"], SHORT + ["--max-batch=12", "-k=2"]
TREE = "[-1, 0, 0, 1]"
# What --draft-tree reads, in the folder of the artifacts.
PATHS = "[[0], [1], [2], [0, 0], [0, 1], [1, 0], [2, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0, 0]]"
STATIC, BEAM = "--draft-tree=@paths.json", "--draft-tree=dynamic:4,3,12"
SHARP = BEAM + ",sharp=2"
V3_MODELS = "dsv3-mtp1 dsv3-chain-mtp2 mimo-mtp1 glm4moe-mtp1 llama-gqa qwen3moe".split()
# With hidden states for drafters that fall behind.
BEHIND = "eagle wide".split()
METHODS = ("lookup branches rejection siblings topology eagle_tree eagle2 eagle26 lookahead "
           "dflash heads_tree head_layers block_drawn suffix lookup_eagle lookup_tree wish").split()
# Methods whose windows have three rows or four.
FEW_ROWS = {"head_layers", "reduced", "walked", "heads", "wide"}
# Methods beside whose rounds prompts are read, on the simulator, too; the last one's rounds may
# stop.
BESIDE = ("eagle_tree eagle2 dflash lookahead random_tree ngram reduced walked eagle heads wide "
          "early early_tree latest between typical credit channel block grammar").split()
# The same on the CPU alone.
BESIDE_ON_CPU = ("lookup branches siblings topology eagle26 heads_tree head_layers suffix "
                 "lookup_eagle lookup_tree wish rejection block_drawn").split()
# Drafters in folders that draft all places at once, and how many.
PARALLEL = {"pard": 4, "heads": 3, "p-eagle": 4}
# Methods with a budget of rows, less than the windows of three slots have.
TRIMMED = {"eagle26": 70, "lookahead": 150, "topology": 11}
# Recurrent layers beside attention.
HYBRIDS = {
    "hybrid": {},
    "hybrid.int8": {"flags": ["--quantize=int8"]},
    "hybrid.int4": {"flags": ["--quantize=int4", "--quantize-head=int8"]},
    "hybrid.mixed": {"envelope": "round_prompt_rows = 12, catch_up_rows = 20,"},
    "hybrid.trimmed": {"envelope": "max_rows = 14,"},
}
# What methods import.
FUNCTIONS = ["two_branches.mlir", "beam.mlir"]


class Job(typing.NamedTuple):
    name: str
    # Of oracle/tiny.py; None for the bundled one.
    model: typing.Optional[str]
    dtype: typing.Optional[str]
    importing: list
    compiling: list
    # What is other in config.json.
    config: dict = {}
    # Whether the module drafts the tree TREE, and not a chain.
    is_tree: bool = False
    # Of oracle/tiny_drafters.py, in a folder of its own.
    drafter: typing.Optional[str] = None


def jobs():
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
    # Names, norms and routing of their own.
    for model in NAMED:
        yield f"{model}.f32", model, "f32", SMALL + (["-k=3"] if "mtp" in model else []), []
    # As long as the oracle's long text.
    yield ("qwen3next-mtp1.long", "qwen3next-mtp1", "f32",
           ["--max-batch=2", "--max-context=1088", "--prefill-chunk=64", "-k=2"], [])
    # Whose drafts are accepted, mostly.
    yield "qwen35-mtp1.bf16", "qwen35-mtp1", "bf16", SMALL + ["-k=4"], []
    # One module at all depths though there are two; other pages and chunks.
    yield ("dsv3-chain-mtp2.reuse", "dsv3-chain-mtp2", "f32",
           SMALL + ["-k=4", "--draft-depth-policy=reuse"], [])
    yield ("dsv3-chain-mtp2.page8", "dsv3-chain-mtp2", "f32",
           ["--max-batch=2", "--max-context=128", "--prefill-chunk=128", "--page=8", "-k=3"], [])
    # Every machine runs what a processor without AVX-512 would: each form of
    # attention, of a layer and of a weight.
    for model in V3_MODELS:
        drafts = ["-k=4"] if "mtp" in model else []
        yield f"{model}.bf16v3", model, "bf16", SMALL + drafts, V3
    yield "dsv3-chain-mtp2.v3", "dsv3-chain-mtp2", "f32", SMALL + ["-k=2"], V3
    yield ("dsv3-chain-mtp2.int8v3", "dsv3-chain-mtp2", "bf16", SMALL + ["-k=2"],
           V3 + ["--quantize=int8"])
    # Integer weights: MLA, dense and MoE layers with modules in both formats, a
    # dense model, and what processors without AVX-512 run.
    yield ("dsv3-chain-mtp2.int8", "dsv3-chain-mtp2", "bf16", SMALL + ["-k=4"],
           ["--quantize=int8"])
    yield ("dsv3-chain-mtp2.int4", "dsv3-chain-mtp2", "f32", SMALL + ["-k=4"],
           ["--quantize=int4,group=32", "--quantize-head=int8",
            "--quantize-embedding=int4,group=32"])
    yield "qwen3.int8", "qwen3", "f32", SMALL, ["--quantize=int8,group=128"]
    yield ("qwen3moe.int4v3", "qwen3moe", "bf16", SMALL,
           V3 + ["--quantize=int4", "--quantize-embedding=int8"])
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
    yield from mixed_jobs()
    # Drafters that fall behind, and catch up over 64 tokens.
    behind = ["--max-batch=2", "--max-context=320", "--prefill-chunk=32", "--catch-up-rows=64"]
    yield ("dsv3-chain-mtp2.behind", "dsv3-chain-mtp2", "f32", behind + ["-k=3"], [])
    yield "mimo-mtp1.behind", "mimo-mtp1", "bf16", behind + ["-k=2"], []
    yield "mimo-tree.behind", "mimo-mtp1", "f32", behind + ["-k=3"], [], {}, True
    for drafter in ("heads", "p-eagle"):
        yield (f"{drafter}.behind", "llama-chain", "f32", behind + [f"-k={PARALLEL[drafter]}"],
               [], {}, False, drafter)
    yield from library_jobs()
    yield from block_jobs()
    yield from ending_jobs()
    yield from module_tree_jobs()
    for drafter, k in PARALLEL.items():
        yield (f"{drafter}.f32", "llama-chain", "f32", SMALL + [f"-k={k}"], [], {}, False,
               drafter)
    for name, options in (("bundled", []), ("bundled.v3", V3)):
        yield name, None, None, ["--max-batch=4", "--max-context=256", "-k=4"], options
    yield ("bundled.behind", None, None,
           ["--max-batch=4", "--max-context=320", "-k=4", "--catch-up-rows=64"], [])
    # Those that cannot.
    never = ["--catch-up-rows=0", "--max-context=96", "--prefill-chunk=16", "-k=3"]
    yield "dsv3-chain.gap", "dsv3-chain-mtp2", "bf16", never, BOTH + V3
    yield "mimo-tree.gap", "mimo-mtp1", "bf16", never, BOTH + V3, {}, True
    yield ("bundled.gap", None, None,
           ["--max-batch=4", "--max-context=320", "-k=4", "--catch-up-rows=0"], [])


def module_tree_jobs():
    """Trees of a model's own modules: one per depth, and one for all, whose beam ranks by squares;
    three, the last of which runs over nodes of two depths; with prompts beside rounds, and of
    drafters that fall behind."""
    model, reuse = "dsv3-chain-mtp2", "--draft-depth-policy=reuse"
    beside, behind = ["--round-prompt-rows=12"], ["--max-batch=2", "--max-context=320",
                                                  "--prefill-chunk=32", "--catch-up-rows=64"]
    never = ["--catch-up-rows=0", "--max-context=96", "--prefill-chunk=16"]
    for name, tree, other in (("static", STATIC, STATIC), ("beam", BEAM, SHARP)):
        yield f"mtp-{name}", model, "f32", SMALL + [tree], []
        yield f"mtp-{name}.reuse", model, "f32", SMALL + [other, reuse], []
        yield f"mtp-{name}.three", "dsv3-chain-mtp3", "f32", SMALL + [tree], []
        yield f"mtp-{name}.mixed", model, "f32", SMALL + beside + [tree], []
        yield f"mtp-{name}.behind", model, "f32", behind + [tree], []
        yield f"mtp-{name}.gap", model, "bf16", never + [tree], []
        yield (f"mtp-{name}.sim", model, "bf16", SHORT + ["--max-batch=6", tree], BOTH + V3)


def ending_jobs():
    """Chains that end where the drafter finds its drafts unlikely, beside what it finds them in
    one that does not end; with prompts beside rounds, and for the simulator."""
    beside = ["--round-prompt-rows=12"]
    for model, k, least in (("dsv3-chain-mtp2", 4, 0.99), ("mimo-mtp1", 3, 0.3)):
        sure = ["--confidence", str(least)]
        yield f"{model}.sure", model, "f32", SMALL + [f"-k={k}"] + sure, []
        yield f"{model}.suremixed", model, "f32", SMALL + beside + [f"-k={k}"] + sure, []
        yield f"{model}.chances", model, "f32", SMALL + [f"-k={k}"], []
        yield (f"{model}.suresim", model, "bf16",
               SHORT + beside + ["--max-batch=12", f"-k={k}"] + sure, BOTH + V3)
    for drafter in ("eagle3", "draft-model"):
        yield (f"{drafter}.sure", "llama-chain", "f32", SMALL + ["-k=4", "--confidence=0.5"], [],
               {}, False, drafter)
    yield ("dsv3-chain-mtp2.surebehind", "dsv3-chain-mtp2", "f32",
           ["--max-batch=2", "--max-context=320", "--prefill-chunk=32", "--catch-up-rows=64",
            "-k=3", "--confidence=0.99"], [])


def mixed_jobs():
    """Rows of prompts beside those of rounds, on the CPU and on the simulator. There they come
    to more than the 32 that a product's tile has."""
    few, many = ["--round-prompt-rows=12"], ["--round-prompt-rows=24"]
    for model, options in (("dsv3-chain-mtp2", ["-k=4"]), ("mimo-mtp1", ["-k=2"]),
                           ("llama-gqa", [])):
        yield f"{model}.mixed", model, "f32", SMALL + few + options, []
    yield "mimo-tree.mixed", "mimo-mtp1", "f32", SMALL + few + ["-k=3"], [], {}, True
    yield ("dsv3-chain-mtp2.trimmed", "dsv3-chain-mtp2", "f32",
           SMALL + few + ["--max-rows=9", "-k=4"], [])
    sim = BOTH + V3
    yield "dsv3-chain-mtp2.mixedsim", "dsv3-chain-mtp2", "bf16", SMALL + many + ["-k=2"], sim
    yield ("mimo-mtp1.mixedsim", "mimo-mtp1", "bf16", SMALL + many + ["-k=2"],
           sim + ["--quantize=int8"])
    yield "llama-gqa.mixedsim", "llama-gqa", "f32", SMALL + few, sim
    yield "mimo-tree.mixedsim", "mimo-mtp1", "bf16", SMALL + few + ["-k=3"], sim, {}, True
    yield ("mimo-mtp1.mixedlibrary", "mimo-mtp1", "bf16", SMALL + few + ["-k=2"],
           sim + ["--library-rows=32"])


def block_jobs():
    """Drafters in folders that fill a block, on the CPU and on the simulator: with 16 rows,
    prompts beside rounds, trimmed, in integers, and one that falls behind and catches up."""
    sizes = ["--max-context=128", "--prefill-chunk=32"]
    for drafter, batch, options, flags in (
            ("dflash-wide", 4, [], []), ("dspark", 8, ["--confidence=0.5"], []),
            ("dflash-speculators", 8, ["--round-prompt-rows=12", "-k=4"], []),
            ("dspark-speculators", 4, ["--max-rows=9", "-k=4"], ["--quantize=int8"]),
            ("dflash-deepspec", 4, ["-k=3"], ["--quantize=int4,group=32"])):
        yield (f"{drafter}.block", "llama-chain", "f32",
               sizes + [f"--max-batch={batch}"] + options, BOTH + V3 + flags, {}, False, drafter)
    yield ("dspark.behind", "llama-chain", "f32",
           ["--max-batch=2", "--max-context=320", "--prefill-chunk=32", "--catch-up-rows=64"], [],
           {}, False, "dspark")


def library_jobs():
    """Prompts whose whole chunks a library multiplies."""
    for model, options in (("llama-gqa", []), ("mimo-mtp1", ["-k=2"])):
        yield (f"{model}.library", model, "bf16",
               ["--max-batch=2", "--max-context=128", "--prefill-chunk=32"] + options,
               BOTH + V3 + ["--library-rows=32"])


def gpu_jobs():
    """Every architecture for the simulated GPU, with a plan for the CPU beside it whose bits
    are the same on every machine."""
    sim = BOTH + V3
    yield "llama-gqa.sim", "llama-gqa", "bf16", ALONE, sim
    yield "mistral.sim", "mistral", "f32", ALONE, sim
    yield "qwen2.sim", "qwen2", "f32", ALONE, sim
    yield "qwen3.sim", "qwen3", "f32", ALONE, sim + ["--quantize=int8,group=128"]
    yield "qwen3moe.sim", "qwen3moe", "bf16", ALONE, sim
    yield "ernie-moe.sim", "ernie-moe", "bf16", ALONE, sim
    yield "minimax-m2.sim", "minimax-m2", "f32", ALONE, sim
    yield ("llama-tied.sim", "llama-tied", "f32", ALONE,
           sim + ["--quantize-embedding=int8,group=32"])
    yield "mimo-mtp1.sim", "mimo-mtp1", "bf16", DRAFTED, sim
    yield "glm4moe-mtp1.sim", "glm4moe-mtp1", "bf16", DRAFTED, sim
    # Recurrent layers, and experts beside those of the first.
    yield "qwen3next-mtp1.sim", "qwen3next-mtp1", "f32", DRAFTED, sim
    yield "qwen35-mtp1.sim", "qwen35-mtp1", "bf16", DRAFTED, sim
    yield "dsv3-chain-mtp2.sim", "dsv3-chain-mtp2", "bf16", DRAFTED, sim
    yield "dsv3-yarn-mtp2.sim", "dsv3-yarn-mtp2", "f32", DRAFTED, sim
    yield ("dsv3-int8.sim", "dsv3-chain-mtp2", "bf16", DRAFTED,
           sim + ["--quantize=int8", f"--draft-vocab={HERE}/Inputs/draft_counts.txt,size=90"])
    yield ("dsv3-int4.sim", "dsv3-chain-mtp2", "f32", DRAFTED,
           sim + ["--quantize=int4,group=32", "--quantize-head=int8",
                  "--quantize-embedding=int4,group=32"])
    # Contexts of five parts, which blocks share.
    yield ("dsv3-parts.sim", "dsv3-chain-mtp2", "bf16",
           ["--max-context=2100", "--prefill-chunk=128", "--max-batch=2", "-k=2"], sim)
    # Trees of grouped and of latent attention, in bf16.
    tree = SHORT + ["--max-batch=9", "-k=3"]
    yield "mimo-tree.sim", "mimo-mtp1", "bf16", tree, sim, {}, True
    yield "kimi-tree.sim", "dsv3-mtp1", "bf16", tree, sim, {"model_type": "kimi_k2"}, True
    behind = ["--max-batch=2", "--max-context=96", "--prefill-chunk=16", "--catch-up-rows=20"]
    yield ("dsv3-chain.behindsim", "dsv3-chain-mtp2", "bf16", behind + ["-k=3"], sim)
    yield "mimo-tree.behindsim", "mimo-mtp1", "bf16", behind + ["-k=3"], sim, {}, True
    for drafter, k in PARALLEL.items():
        yield (f"{drafter}.sim", "llama-chain", "f32", SHORT + ["--max-batch=9", f"-k={k}"],
               sim, {}, False, drafter)
    yield "bundled.sim", None, None, SHORT + ["--max-batch=1", "-k=2"], sim


def newest(paths):
    return max(os.path.getmtime(p) for p in paths)


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(c) for c in command)}\n{done.stdout}")


def adapt(checkpoint, job):
    """Changes the config as the job says, and lets the model be as long as the job wants
    it; no weight is longer for it."""
    context = next(int(o.split("=")[1]) for o in job.importing if o.startswith("--max-context="))
    config = json.loads((checkpoint / "config.json").read_text())
    config.update(job.config)
    text = config.get("text_config", config)
    text["max_position_embeddings"] = max(text["max_position_embeddings"], context)
    (checkpoint / "config.json").write_text(json.dumps(config))


def draft_tree(source):
    """Makes a tree of the imported round's chain."""
    text = source.read_text()
    for old, new in (("mtp.draft_chain {", f"mtp.draft_tree {TREE} {{"),
                     ("} : tensor<?x?xi32>\n", "} : tensor<?x3xi32>\n"),
                     ("mtp.verify %drafts {", f"mtp.verify %drafts tree {TREE} {{"),
                     (" exact {", f" exact tree {TREE} {{"),
                     ("(tensor<?x?xi32>) ->", "(tensor<?x3xi32>) ->"),
                     ("(tensor<?x?xi32>, tensor<", "(tensor<?x3xi32>, tensor<")):
        if text.count(old) != 1:
            raise RuntimeError(f"{source}: expected '{old}' once, got it {text.count(old)} times")
        text = text.replace(old, new)
    source.write_text(text)


def compiler_for(args, flags):
    """mtpc, or for the simulator mtpc with that as a target more."""
    return args.tools / ("mtpc_sim" if BOTH[0] in flags else "mtpc")


# Puts out of each round how likely the drafter finds each of its drafts.
CHANCES = """  %most = mtp.k
  %nothing = arith.constant 0 : index
  %some = arith.cmpi ugt, %most, %nothing : index
  scf.if %some {{
    %logs = mtp.log_softmax %from : tensor<?x?x{0}xf32>
    %each = mtp.gather %logs[%drafts] : tensor<?x?x{0}xf32>, tensor<?x?xi32> -> tensor<?x?xf32>
    %asked = mtp.slots : tensor<?xi32>
    %chances = mtp.per_slot %asked(%each) {{
    ^bb0(%index: index, %slot: i32, %own: tensor<?xf32>):
      %k = mtp.k
      %none = arith.constant 1.0 : f32
      %all = tensor.generate {{
      ^bb0(%j: index):
        %log = tensor.extract %own[%j] : tensor<?xf32>
        %is_one = arith.cmpi slt, %j, %k : index
        %chance = arith.select %is_one, %log, %none : f32
        tensor.yield %chance : f32
      }} : tensor<{1}xf32>
      mtp.yield %all : tensor<{1}xf32>
    }} : (tensor<?xi32>, tensor<?x?xf32>) -> tensor<?x{1}xf32>
    mtp.output "chances" %chances for slots : tensor<?x{1}xf32>
  }}
"""


def show_chances(source):
    """Lets the chain of an imported round put out the logarithms of its drafts' probabilities,
    1 where it has no draft."""
    text = source.read_text()
    columns = re.search(r"mtp\.accept .*\n *\^bb0\(%\w+: tensor<\?x(\d+)xf32>", text).group(1)
    most = re.search(r"max_k = (\d+)", text).group(1)
    for old, new in (("%drafts = mtp.draft_chain", "%drafts, %from = mtp.draft_chain"),
                     ("  } : tensor<?x?xi32>\n",
                      f"  }} : tensor<?x?xi32>, tensor<?x?x{columns}xf32>\n"
                      + CHANCES.format(columns, most))):
        if text.count(old) != 1:
            raise RuntimeError(f"{source}: expected '{old}' once, got it {text.count(old)} times")
        text = text.replace(old, new)
    source.write_text(text)


def build(args, job):
    oracle = args.source / "test/oracle"
    checkpoint = args.source / "models/bundled/hf"
    inputs = [__file__, args.tools / "mtp-import", compiler_for(args, job.compiling)]
    inputs += [oracle / "tiny_drafters.py"] if job.drafter else []
    inputs += [oracle / "tiny.py"] if job.model else checkpoint.iterdir()
    artifact = args.out / f"{job.name}.bin"
    if artifact.exists() and artifact.stat().st_mtime > newest(inputs):
        return
    original, checkpoint = checkpoint, args.out / job.name
    if not job.model:
        # A module names weights beside or below itself only.
        shutil.copytree(original, checkpoint, dirs_exist_ok=True)
    else:
        run(sys.executable, oracle / "tiny.py", job.model, "-o", checkpoint,
            "--dtype", job.dtype)
        adapt(checkpoint, job)
    source = args.out / f"{job.name}.mlir"
    drafter = []
    if job.drafter:
        folder = args.out / f"{job.name}.drafter"
        run(sys.executable, oracle / "tiny_drafters.py", job.drafter, "-o", folder,
            "--dtype", job.dtype)
        drafter = ["--drafter", folder]
    importing = [option.replace("@", f"{args.out}/") for option in job.importing]
    run(args.tools / "mtp-import", checkpoint, "-o", source, *importing, *drafter)
    if job.is_tree:
        draft_tree(source)
    if job.name.endswith(".chances"):
        show_chances(source)
    run(compiler_for(args, job.compiling), source, "-o", artifact, *job.compiling)


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


def build_module(args, name, parts, script, weights, envelope="", slots=8, flags=(),
                 targets=BOTH):
    """Compiles a module of the files `parts` of Inputs, with weights that a script there
    writes and perhaps more keys of the envelope."""
    parts = [HERE / "Inputs" / part for part in parts]
    functions = [HERE / "Inputs" / "methods" / function for function in FUNCTIONS]
    script, artifact = HERE / "Inputs" / script, args.out / f"{name}.bin"
    writer = HERE / "Inputs" / "tensor_file.py"
    if artifact.exists() and artifact.stat().st_mtime > newest(
            [__file__, *parts, *functions, script, writer, compiler_for(args, targets)]):
        return
    for function in functions:
        (args.out / function.name).write_text(function.read_text())
    run(sys.executable, script, args.out / weights)
    text = "".join(part.read_text() for part in parts)
    source = args.out / f"{name}.mlir"
    # Slots enough for windows of more than 32 rows.
    source.write_text(text.replace("max_batch = 4,", f"max_batch = {slots}, {envelope}"))
    run(compiler_for(args, targets), source, "-o", artifact, *targets, *flags)


def build_modules(args):
    for name, options in HYBRIDS.items():
        build_module(args, name, ["hybrid.mlir"], "hybrid.py", "hybrid.safetensors",
                     slots=4, **options)
    build_module(args, "tree", ["tree.mlir"], "weights.py", "tree.safetensors")
    for method in METHODS:
        build_module(args, method, [f"methods/{method}.mlir", "methods/target.mlir.in"],
                     "methods/weights.py", "methods.safetensors",
                     slots=12 if method in FEW_ROWS else 8)
    for method, rows in TRIMMED.items():
        build_module(args, f"{method}.trimmed",
                     [f"methods/{method}.mlir", "methods/target.mlir.in"],
                     "methods/weights.py", "methods.safetensors", f"max_rows = {rows},")
    for method in (*BESIDE, *BESIDE_ON_CPU):
        build_module(args, f"{method}.mixed",
                     [f"methods/{method}.mlir", "methods/target.mlir.in"],
                     "methods/weights.py", "methods.safetensors", "round_prompt_rows = 12,",
                     slots=12 if method in FEW_ROWS else 8,
                     targets=BOTH if method in BESIDE else ["--target=cpu"])
    for method in BEHIND:
        build_module(args, f"{method}.behind",
                     [f"methods/{method}.mlir", "methods/target.mlir.in"],
                     "methods/weights.py", "methods.safetensors", "catch_up_rows = 20,")


def jobs_for(chip):
    """Those for GPUs, but for the bundled model, for a chip or the simulator (sim)."""
    for job in [Job(*job) for job in (*gpu_jobs(), *library_jobs())]:
        if job.model:
            yield job if chip == "sim" else job._replace(
                compiling=[*CUDA, f"--chip={chip}", *job.compiling[len(BOTH):]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chip")
    parser.add_argument("--only")
    for name in ("--tools", "--source", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "paths.json").write_text(PATHS)
    failures = 0
    # Longest first: what has modules.
    chosen = list(jobs_for(args.chip)) if args.chip else [
        Job(*job) for job in (*jobs(), *gpu_jobs())]
    if args.only:
        chosen = [job for job in chosen if job.name in args.only.split(",")]
    order = sorted(chosen, key=lambda job: "mtp" not in job.name)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [pool.submit(build, args, job) for job in order]
        if not args.chip:
            tasks.append(pool.submit(build_single, args))
            tasks.append(pool.submit(build_modules, args))
        for done in tasks:
            try:
                done.result()
            except RuntimeError as error:
                print(f"artifacts: error: {error}", file=sys.stderr)
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
