"""All artifacts of the end-to-end tests, one row each; artifacts.py makes them.

artifact_table_test.py checks the table: no two rows make equal artifacts, and each row names
exactly the tests that use it.
"""

import typing


class Artifact(typing.NamedTuple):
    """A row. In a flag, INPUTS/ is the folder Inputs and OUT/ the folder of the artifacts."""
    name: str
    # A checkpoint, NAME.TYPE of oracle/tiny.py or of CHECKPOINTS, with +DRAFTER of
    # oracle/tiny_drafters.py; types.gguf of oracle/gguf_files.py; or a module of Inputs.
    model: str
    # Flags of mtp-import; for a module of Inputs the keys of its envelope.
    importing: str
    # Flags of mtpc.
    compiling: str
    # NAME_test.cpp or NAME.test of this folder; ptxas.py; and `kit`, tools/gpu-check/prepare.py.
    tests: str
    # A change of the imported module: a function of module_edits.py.
    edit: str = ""


# Checkpoints other than a plain model of oracle/tiny.py: the model, and the changes of its
# config.json.
CHECKPOINTS = {"kimi-mtp1.bf16": ("dsv3-mtp1.bf16", {"model_type": "kimi_k2"})}
# The target of oracle/tiny_drafters.py's drafters, and its checkpoint in this tree.
BUNDLED = "bundled"
# The functions that modules of Inputs import.
FUNCTIONS = ["two_branches.mlir", "beam.mlir"]
# The contents of OUT/paths.json.
PATHS = "[[0], [1], [2], [0, 0], [0, 1], [1, 0], [2, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0, 0]]"

# Code for processors without AVX-512, which runs on any other too.
V3 = "--target-cpu=x86-64-v3"
BOTH, CPU = "--target=cpu,gpu-sim", "--target=cpu"
# Plans for the simulated GPU and for the CPU, whose bits are equal on all machines.
SIM = BOTH + " " + V3

# The tests' time grows with the envelope.
WIDE = "--max-batch=8 --max-context=128 --prefill-chunk=32"
SMALL = "--max-batch=4 --max-context=128 --prefill-chunk=32"
MIXED = " --max-mixed-prefill-tokens=12"
PAIR = "--max-batch=2 --max-context=128 --prefill-chunk=32"
SHORT = "--max-context=64 --prefill-chunk=16"
ALONE, DRAFTED = SHORT + " --max-batch=36", SHORT + " --max-batch=12 -k=2"
BEHIND = "--max-batch=2 --max-context=320 --prefill-chunk=32 --catch-up-rows=64"
BEHIND_SIM = "--max-batch=2 --max-context=96 --prefill-chunk=16 --catch-up-rows=20"
NEVER = "--catch-up-rows=0 --max-context=96 --prefill-chunk=16"
STATIC, BEAM = " --draft-tree=OUT/paths.json", " --draft-tree=dynamic:4,3,12"
SHARP = BEAM + ",sharp=2"
PLAIN = " --without-logit-rules"
# Drafts of 90 of the 112 tokens.
FREQUENT = "--draft-vocab=INPUTS/draft_counts.txt,size=90"

ROWS = [Artifact(*row) for row in (
    # Each architecture with modules: the whole envelope for one type, a smaller one for the other,
    # because the tests' time grows with it.
    ("dsv3-mtp1.f32", "dsv3-mtp1.f32", WIDE + " -k=8", "", "drafts lossless oracle"),
    ("dsv3-mtp1.bf16", "dsv3-mtp1.bf16", SMALL + " -k=4", "", "drafts lossless oracle"),
    ("dsv3-yarn-mtp2.f32", "dsv3-yarn-mtp2.f32", WIDE + " -k=8", "", "drafts lossless oracle"),
    ("dsv3-yarn-mtp2.bf16", "dsv3-yarn-mtp2.bf16", SMALL + " -k=4", "", "drafts lossless oracle"),
    ("dsv3-chain-mtp2.f32", "dsv3-chain-mtp2.f32", WIDE + " -k=8", "",
     "drafts lossless oracle padding rounds"),
    ("dsv3-chain-mtp2.bf16", "dsv3-chain-mtp2.bf16", WIDE + " -k=8", "", "drafts lossless oracle"),
    ("mimo-mtp1.f32", "mimo-mtp1.f32", WIDE + " -k=8" + PLAIN, "",
     "constraint drafts logit_rules lossless oracle"),
    ("mimo-mtp1.bf16", "mimo-mtp1.bf16", SMALL + " -k=4", "", "drafts lossless oracle"),
    ("glm4moe-mtp1.f32", "glm4moe-mtp1.f32", WIDE + " -k=8", "", "drafts lossless oracle"),
    ("glm4moe-mtp1.bf16", "glm4moe-mtp1.bf16", SMALL + " -k=4", "", "drafts lossless oracle"),
    ("glm4moe-qknorm-mtp1.f32", "glm4moe-qknorm-mtp1.f32", WIDE + " -k=8", "",
     "drafts lossless oracle"),
    ("glm4moe-qknorm-mtp1.bf16", "glm4moe-qknorm-mtp1.bf16", SMALL + " -k=4", "",
     "drafts lossless oracle"),
    # Without modules.
    ("llama-gqa.f32", "llama-gqa.f32", WIDE, "", "lossless oracle"),
    ("llama-gqa.bf16", "llama-gqa.bf16", WIDE, "", "lossless oracle padding rounds"),
    ("llama-tied.f32", "llama-tied.f32", WIDE, "", "lossless oracle"),
    ("llama-tied.bf16", "llama-tied.bf16", WIDE, "", "lossless oracle"),
    ("qwen2.f32", "qwen2.f32", WIDE, "", "lossless oracle"),
    ("qwen2.bf16", "qwen2.bf16", WIDE, "", "lossless oracle"),
    ("qwen3.f32", "qwen3.f32", WIDE, "", "lossless oracle"),
    # Windows and thetas by layer, with a drafter without weights.
    ("gemma3.f32", "gemma3.f32", WIDE + " --drafter=lookup -k=4", "", "lossless oracle"),
    ("gemma3.bf16", "gemma3.bf16", SMALL + " --drafter=suffix -k=3", "", "lossless oracle"),
    ("qwen3.bf16", "qwen3.bf16", WIDE, "", "lossless oracle"),
    ("qwen3moe.f32", "qwen3moe.f32", WIDE, "", "lossless oracle"),
    ("qwen3moe.bf16", "qwen3moe.bf16", WIDE, "", "lossless oracle"),
    # Differences that only the choice of experts shows.
    ("dsv3-negative.f32", "dsv3-negative.f32", PAIR, "", "oracle"),
    ("dsv3-negative.bf16", "dsv3-negative.bf16", PAIR, "", "oracle"),
    ("glm4moe-negative.f32", "glm4moe-negative.f32", PAIR, "", "oracle"),
    ("glm4moe-negative.bf16", "glm4moe-negative.bf16", PAIR, "", "oracle"),
    # Families with their own names, norms and routing.
    ("ernie-moe.f32", "ernie-moe.f32", SMALL, "", "oracle"),
    ("minimax-m2.f32", "minimax-m2.f32", SMALL, "", "oracle"),
    ("hy3-mtp1.f32", "hy3-mtp1.f32", SMALL + " -k=3", "", "drafts lossless oracle"),
    ("qwen3next-mtp1.f32", "qwen3next-mtp1.f32", SMALL + " -k=3", "",
     "drafts lossless oracle padding"),
    ("qwen35-mtp1.f32", "qwen35-mtp1.f32", SMALL + " -k=3", "", "drafts lossless oracle"),
    ("qwen35moe-mtp1.f32", "qwen35moe-mtp1.f32", SMALL + " -k=3", "", "drafts lossless oracle"),
    # With the context of the oracle's long text.
    ("qwen3next-mtp1.long", "qwen3next-mtp1.f32",
     "--max-batch=2 --max-context=1088 --prefill-chunk=64 -k=2", "", "oracle"),
    # With mostly accepted drafts.
    ("qwen35-mtp1.bf16", "qwen35-mtp1.bf16", SMALL + " -k=4", "", "drafts lossless oracle"),
    # One module at all depths although there are two; other pages and chunks.
    ("dsv3-chain-mtp2.reuse", "dsv3-chain-mtp2.f32", SMALL + " -k=4 --draft-depth-policy=reuse", "",
     "lossless"),
    ("dsv3-chain-mtp2.page8", "dsv3-chain-mtp2.f32",
     "--max-batch=2 --max-context=128 --prefill-chunk=128 --page=8 -k=3", "", "lossless oracle"),
    # Code for processors without AVX-512, on all machines: each form of attention, of a layer and
    # of a weight.
    ("dsv3-mtp1.bf16v3", "dsv3-mtp1.bf16", SMALL + " -k=4", V3, "drafts oracle"),
    ("dsv3-chain-mtp2.bf16v3", "dsv3-chain-mtp2.bf16", SMALL + " -k=4", V3,
     "drafts lossless oracle"),
    ("mimo-mtp1.bf16v3", "mimo-mtp1.bf16", SMALL + " -k=4", V3, "drafts lossless oracle"),
    ("glm4moe-mtp1.bf16v3", "glm4moe-mtp1.bf16", SMALL + " -k=4", V3, "drafts oracle"),
    ("llama-gqa.bf16v3", "llama-gqa.bf16", SMALL, V3, "lossless oracle"),
    ("qwen3moe.bf16v3", "qwen3moe.bf16", SMALL, V3, "lossless oracle"),
    ("dsv3-chain-mtp2.v3", "dsv3-chain-mtp2.f32", SMALL + " -k=2", V3, "lossless oracle"),
    ("dsv3-chain-mtp2.int8v3", "dsv3-chain-mtp2.bf16", SMALL + " -k=2", V3 + " --quantize=int8",
     "lossless"),
    # Integer weights: MLA, dense and MoE layers with modules in both formats, a dense model, and
    # code for processors without AVX-512.
    ("dsv3-chain-mtp2.int8", "dsv3-chain-mtp2.bf16", SMALL + " -k=4", "--quantize=int8",
     "lossless"),
    ("dsv3-chain-mtp2.int4", "dsv3-chain-mtp2.f32", SMALL + " -k=4",
     "--quantize=int4,group=32,symmetric --quantize-head=int8 --quantize-embedding=int4,group=32",
     "lossless"),
    ("qwen3.int8", "qwen3.f32", SMALL, "--quantize=int8,group=128", "lossless"),
    ("qwen3moe.int4v3", "qwen3moe.bf16", SMALL,
     V3 + " --quantize=int4,symmetric --quantize-embedding=int8", "lossless"),
    # Formats of 4 to 6 bits with searched scales.
    ("dsv3-chain-mtp2.searched", "dsv3-chain-mtp2.f32", SMALL + " -k=4", "--quantize=int4",
     "lossless"),
    ("qwen3moe.searchedv3", "qwen3moe.bf16", SMALL, V3 + " --quantize=int4,bits=5.5", "lossless"),
    # A matrix of each type of GGUF with blocks, whose integers are kept.
    ("types", "types.gguf", SMALL + " --drafter=suffix -k=4", "", "lossless"),
    ("types.v3", "types.gguf", SMALL + " --drafter=suffix -k=4", V3, "lossless"),
    # Integers only in the embedding, beside a head made of the same tensor.
    ("llama-tied.embed8", "llama-tied.f32", SMALL, "--quantize-embedding=int8,group=32",
     "lossless"),
    # Drafts of frequent tokens, from an integer head.
    ("dsv3-chain-mtp2.draft90", "dsv3-chain-mtp2.f32", SMALL + " -k=4",
     FREQUENT + " --quantize=int8", "lossless"),
    # Caches of another type than the weights.
    ("mimo-mtp1.kvbf16", "mimo-mtp1.f32", SMALL + " -k=2 --kv-dtype=bf16", "", "lossless"),
    ("mimo-mtp1.kvint8", "mimo-mtp1.bf16", SMALL + " -k=4 --kv-dtype=int8", "", "lossless"),
    ("dsv3-chain-mtp2.kvint8", "dsv3-chain-mtp2.f32", SMALL + " -k=4 --kv-dtype=int8", "",
     "lossless"),
    ("llama-gqa.kvint8v3", "llama-gqa.bf16", SMALL + " --kv-dtype=int8", V3 + " --quantize=int8",
     "lossless"),
    ("qwen35-mtp1.kvint8", "qwen35-mtp1.bf16", SMALL + " -k=2 --kv-dtype=int8", "", "lossless"),
    ("mtp-static.kvint8", "dsv3-chain-mtp2.bf16", SMALL + STATIC + " --kv-dtype=int8", "",
     "lossless"),
    ("dflash-wide.kvint8", "llama-chain.f32+dflash-wide", SMALL + " --kv-dtype=int8", SIM,
     "lossless"),
    # Positions in splits, which one worker adds up or several share.
    ("dsv3-chain-mtp2.parts", "dsv3-chain-mtp2.bf16",
     "--max-batch=2 --max-context=2100 --prefill-chunk=64 -k=2", "--workers=1", "lossless"),
    ("dsv3-chain-mtp2.shared", "dsv3-chain-mtp2.bf16",
     "--max-batch=2 --max-context=2100 --prefill-chunk=64 -k=2", "--workers=16", "lossless"),
    # A program for a range of batches, and one for each batch and each number of rows.
    ("dsv3-chain-mtp2.ranges", "dsv3-chain-mtp2.f32", WIDE + " -k=3", "", "lossless"),
    ("dsv3-chain-mtp2.single", "dsv3-chain-mtp2.f32", WIDE + " -k=3", "", "lossless", "single"),
    # Mixed batches, on the CPU and on the simulator. On the simulator they have more than the 32
    # rows of a product's tile.
    ("dsv3-chain-mtp2.mixed", "dsv3-chain-mtp2.f32", SMALL + MIXED + " -k=4", "",
     "logprobs mixed pause"),
    ("mimo-mtp1.mixed", "mimo-mtp1.f32", SMALL + MIXED + " -k=2", "", "mixed"),
    ("llama-gqa.mixed", "llama-gqa.f32", SMALL + MIXED, "", "logprobs mixed pause"),
    ("mimo-tree.mixed", "mimo-mtp1.f32", SMALL + MIXED + " -k=3", "", "logprobs mixed pause",
     "tree"),
    ("dsv3-chain-mtp2.trimmed", "dsv3-chain-mtp2.f32",
     SMALL + MIXED + " --max-verify-tokens=9 -k=4", "", "budget"),
    ("dsv3-chain-mtp2.mixedsim", "dsv3-chain-mtp2.bf16",
     SMALL + " --max-mixed-prefill-tokens=24 -k=2",
     SIM, "live logprobs mixed pause"),
    ("mimo-mtp1.mixedsim", "mimo-mtp1.bf16", SMALL + " --max-mixed-prefill-tokens=24 -k=2",
     SIM + " --quantize=int8,group=64", "mixed"),
    ("llama-gqa.mixedsim", "llama-gqa.f32", SMALL + MIXED, SIM, "mixed"),
    ("mimo-tree.mixedsim", "mimo-mtp1.bf16", SMALL + MIXED + " -k=3", SIM,
     "live logprobs mixed", "tree"),
    ("mimo-mtp1.mixedlibrary", "mimo-mtp1.bf16", SMALL + MIXED + " -k=2",
     SIM + " --library-rows=32", "library"),
    # Drafters that miss entries, and catch up over 64 tokens.
    ("dsv3-chain-mtp2.behind", "dsv3-chain-mtp2.f32", BEHIND + " -k=3", "", "catch_up"),
    ("mimo-mtp1.behind", "mimo-mtp1.bf16", BEHIND + " -k=2", "", "catch_up"),
    ("mimo-tree.behind", "mimo-mtp1.f32", BEHIND + " -k=3", "", "catch_up", "tree"),
    ("heads.behind", "llama-chain.f32+heads", BEHIND + " -k=3", "", "catch_up"),
    ("p-eagle.behind", "llama-chain.f32+p-eagle", BEHIND + " -k=4", "", "catch_up"),
    # Prompts whose whole chunks go through a library.
    ("llama-gqa.library", "llama-gqa.bf16", PAIR, SIM + " --library-rows=32", "library kit"),
    ("mimo-mtp1.library", "mimo-mtp1.bf16", PAIR + " -k=2", SIM + " --library-rows=32",
     "library kit"),
    # Drafters in folders that fill a block, on the CPU and on the simulator: with 16 rows, with
    # mixed batches, trimmed, in integers, and one that catches up.
    ("dflash-wide.block", "llama-chain.f32+dflash-wide", SMALL, SIM, "lossless rounds"),
    ("dspark.block", "llama-chain.f32+dspark", WIDE + " --confidence=0.5", SIM,
     "budget ending gpu lossless rounds"),
    ("dflash-speculators.block", "llama-chain.f32+dflash-speculators",
     WIDE + MIXED + " -k=4", SIM, "gpu mixed"),
    ("dspark-speculators.block", "llama-chain.f32+dspark-speculators",
     SMALL + " --max-verify-tokens=9 -k=4",
     SIM + " --quantize=int8,group=64", "budget lossless"),
    ("dflash-deepspec.block", "llama-chain.f32+dflash-deepspec", SMALL + " -k=3",
     SIM + " --quantize=int4,group=32,symmetric", "lossless"),
    ("dspark.behind", "llama-chain.f32+dspark", BEHIND, "", "catch_up"),
    # Chains that end at unlikely drafts, and a chain without an end that outputs its probabilities;
    # with mixed batches, and for the simulator.
    ("dsv3-chain-mtp2.sure", "dsv3-chain-mtp2.f32", SMALL + " -k=4 --confidence=0.99", "",
     "ending lossless"),
    ("dsv3-chain-mtp2.suremixed", "dsv3-chain-mtp2.f32",
     SMALL + MIXED + " -k=4 --confidence=0.99", "", "mixed"),
    ("dsv3-chain-mtp2.chances", "dsv3-chain-mtp2.f32", SMALL + " -k=4", "", "ending", "chances"),
    ("dsv3-chain-mtp2.suresim", "dsv3-chain-mtp2.bf16",
     SHORT + MIXED + " --max-batch=12 -k=4 --confidence=0.99", SIM,
     "ending gpu live"),
    ("mimo-mtp1.sure", "mimo-mtp1.f32", SMALL + " -k=3 --confidence=0.3", "", "ending lossless"),
    ("mimo-mtp1.suremixed", "mimo-mtp1.f32",
     SMALL + MIXED + " -k=3 --confidence=0.3", "", "mixed"),
    ("mimo-mtp1.chances", "mimo-mtp1.f32", SMALL + " -k=3", "", "ending", "chances"),
    ("mimo-mtp1.suresim", "mimo-mtp1.bf16",
     SHORT + MIXED + " --max-batch=12 -k=3 --confidence=0.3", SIM, "gpu"),
    ("eagle3.sure", "llama-chain.f32+eagle3", SMALL + " -k=4 --confidence=0.5", "",
     "ending lossless"),
    ("draft-model.sure", "llama-chain.f32+draft-model", SMALL + " -k=4 --confidence=0.5", "",
     "lossless"),
    ("dsv3-chain-mtp2.surebehind", "dsv3-chain-mtp2.f32", BEHIND + " -k=3 --confidence=0.99", "",
     "catch_up"),
    # Trees of a model's own modules. One module per depth, and one for all depths with a beam
    # ranked by squares; these draft frequent tokens, on the simulator too. Three modules, the last
    # of which runs over nodes of two depths. With mixed batches, and with drafters that catch up.
    ("mtp-static", "dsv3-chain-mtp2.f32", SMALL + STATIC + PLAIN, "", "lossless"),
    ("mtp-static.reuse", "dsv3-chain-mtp2.f32", SMALL + STATIC + " --draft-depth-policy=reuse",
     FREQUENT, "lossless"),
    ("mtp-static.three", "dsv3-chain-mtp3.f32", SMALL + STATIC, "", "lossless"),
    ("mtp-static.mixed", "dsv3-chain-mtp2.f32", SMALL + MIXED + STATIC, "",
     "mixed"),
    ("mtp-static.behind", "dsv3-chain-mtp2.f32", BEHIND + STATIC, "", "catch_up"),
    ("mtp-static.gap", "dsv3-chain-mtp2.bf16", NEVER + STATIC, "", "catch_up"),
    ("mtp-static.sim", "dsv3-chain-mtp2.bf16", SHORT + " --max-batch=6" + STATIC, SIM, "gpu"),
    # Requests that change logits in all tests: a chain, a static tree, a tree that the program
    # computes, and a model without a drafter of its own.
    ("mimo-mtp1.rules", "mimo-mtp1.f32", SMALL + " -k=3", "",
     "constraint logit_rules lossless"),
    ("mtp-static.rules", "dsv3-chain-mtp2.f32", SMALL + STATIC, "", "constraint lossless"),
    ("mtp-beam.rules", "dsv3-chain-mtp2.f32", SMALL + BEAM, "",
     "constraint logit_rules lossless"),
    # More nodes than have masks.
    ("mtp-wide.rules", "dsv3-chain-mtp2.f32", PAIR + " --draft-tree=dynamic:4,5,20", "",
     "lossless"),
    ("qwen3.rules", "qwen3.bf16", SMALL + " --drafter=lookup -k=3", "", "constraint lossless"),
    # Drafts of frequent tokens, which have the rules of the tokens.
    ("mimo-few.rules", "mimo-mtp1.f32", SMALL + " -k=3", FREQUENT, "lossless"),
    # Accept rules other than exact.
    ("mtp-drawn.rules", "dsv3-chain-mtp2.f32", SMALL + " -k=3 --accept=rejection", "",
     "accept_rules"),
    ("mtp-block.rules", "dsv3-chain-mtp2.f32", SMALL + " -k=3 --accept=block", "",
     "accept_rules"),
    ("mtp-tried.rules", "dsv3-chain-mtp2.f32", SMALL + BEAM + " --accept=rejection", "",
     "accept_rules"),
    ("mtp-typical.rules", "dsv3-chain-mtp2.f32", SMALL + " -k=3 --accept=typical", "",
     "accept_rules"),
    # Likewise with mixed batches, for the CPU and the simulator.
    ("mimo-mtp1.masks", "mimo-mtp1.f32", SMALL + MIXED + " -k=3", SIM, "constraint"),
    ("mtp-static.masks", "dsv3-chain-mtp2.f32", SMALL + MIXED + STATIC, SIM, "constraint"),
    ("mtp-beam.masks", "dsv3-chain-mtp2.f32", SMALL + MIXED + BEAM, SIM, "constraint"),
    ("qwen3.masks", "qwen3.bf16", SMALL + MIXED + " --drafter=lookup -k=3", SIM, "constraint"),
    ("mimo-mtp1.rulessim", "mimo-mtp1.f32", DRAFTED, SIM, "gpu ptxas"),
    ("mtp-beam", "dsv3-chain-mtp2.f32", SMALL + BEAM + PLAIN, "", "lossless"),
    ("mtp-beam.reuse", "dsv3-chain-mtp2.f32", SMALL + SHARP + " --draft-depth-policy=reuse",
     FREQUENT, "lossless"),
    ("mtp-beam.three", "dsv3-chain-mtp3.f32", SMALL + BEAM, "", "lossless"),
    ("mtp-beam.mixed", "dsv3-chain-mtp2.f32", SMALL + MIXED + BEAM, "",
     "mixed"),
    ("mtp-beam.behind", "dsv3-chain-mtp2.f32", BEHIND + BEAM, "", "catch_up"),
    ("mtp-beam.gap", "dsv3-chain-mtp2.bf16", NEVER + BEAM, "", "catch_up"),
    ("mtp-beam.sim", "dsv3-chain-mtp2.bf16", SHORT + " --max-batch=6" + BEAM,
     SIM + " " + FREQUENT, "gpu"),
    # Drafters in folders that draft all positions at once.
    ("pard.f32", "llama-chain.f32+pard", SMALL + " -k=4", "", "lossless"),
    ("heads.f32", "llama-chain.f32+heads", SMALL + " -k=3", "", "lossless"),
    ("p-eagle.f32", "llama-chain.f32+p-eagle", SMALL + " -k=4", "", "lossless"),
    ("bundled", "bundled", "--max-batch=4 --max-context=256 -k=4", "", "drafts lossless oracle"),
    ("bundled.v3", "bundled", "--max-batch=4 --max-context=256 -k=4", V3, "oracle"),
    ("bundled.behind", "bundled", "--max-batch=4 --max-context=320 -k=4 --catch-up-rows=64", "",
     "catch_up"),
    # Drafters that cannot catch up.
    ("dsv3-chain.gap", "dsv3-chain-mtp2.bf16", NEVER + " -k=3", SIM, "catch_up"),
    ("mimo-tree.gap", "mimo-mtp1.bf16", NEVER + " -k=3", SIM, "catch_up", "tree"),
    ("bundled.gap", "bundled", "--max-batch=4 --max-context=320 -k=4 --catch-up-rows=0", "",
     "catch_up"),
    # Each architecture for the simulated GPU, with a CPU plan whose bits are equal on all machines.
    # Windows of more than 32 rows: of 36 slots, or of 12 with two drafts.
    ("llama-gqa.sim", "llama-gqa.bf16", ALONE, SIM, "gpu padding rounds kit ptxas"),
    ("mistral.sim", "mistral.f32", ALONE, SIM, "gpu kit ptxas"),
    ("qwen2.sim", "qwen2.f32", ALONE, SIM, "gpu kit ptxas"),
    ("qwen3.sim", "qwen3.f32", ALONE, SIM + " --quantize=int8,group=128", "gpu kit ptxas"),
    ("qwen3moe.sim", "qwen3moe.bf16", ALONE, SIM, "gpu kit ptxas"),
    ("ernie-moe.sim", "ernie-moe.bf16", ALONE, SIM, "gpu kit ptxas"),
    ("minimax-m2.sim", "minimax-m2.f32", ALONE, SIM, "gpu kit ptxas"),
    ("llama-tied.sim", "llama-tied.f32", ALONE, SIM + " --quantize-embedding=int8,group=32",
     "gpu kit ptxas"),
    ("mimo-mtp1.sim", "mimo-mtp1.bf16", DRAFTED, SIM, "gpu kit ptxas"),
    ("glm4moe-mtp1.sim", "glm4moe-mtp1.bf16", DRAFTED, SIM, "gpu kit ptxas"),
    # Recurrent layers; the first model has experts, too.
    ("qwen3next-mtp1.sim", "qwen3next-mtp1.f32", DRAFTED, SIM, "gpu kit padding ptxas"),
    ("qwen35-mtp1.sim", "qwen35-mtp1.bf16", DRAFTED, SIM, "gpu kit ptxas"),
    ("dsv3-chain-mtp2.sim", "dsv3-chain-mtp2.bf16", DRAFTED, SIM, "gpu padding rounds kit ptxas"),
    ("dsv3-yarn-mtp2.sim", "dsv3-yarn-mtp2.f32", DRAFTED, SIM, "gpu kit ptxas"),
    # A cache of integers.
    ("mimo-mtp1.kvint8sim", "mimo-mtp1.f32", DRAFTED + " --kv-dtype=int8", SIM, "gpu ptxas"),
    ("dsv3-int8.sim", "dsv3-chain-mtp2.bf16", DRAFTED,
     SIM + " --quantize=int8,group=64 " + FREQUENT, "gpu kit ptxas"),
    ("dsv3-int4.sim", "dsv3-chain-mtp2.f32", DRAFTED,
     SIM + " --quantize=int4,group=32,symmetric --quantize-head=int8,group=64"
     " --quantize-embedding=int4,group=32", "gpu kit ptxas"),
    # Formats that tensor cores do not multiply: searched ones in all kinds of products, an
    # embedding in a head's panels, and GGUF's types with blocks.
    ("dsv3-searched.sim", "dsv3-chain-mtp2.f32", DRAFTED, SIM + " --quantize=int4", "gpu ptxas"),
    ("llama-tied.searchedsim", "llama-tied.f32", ALONE, SIM + " --quantize=int4", "gpu ptxas"),
    ("types.sim", "types.gguf", DRAFTED + " --drafter=suffix", SIM, "gpu"),
    # Contexts of five splits, which blocks share.
    ("dsv3-parts.sim", "dsv3-chain-mtp2.bf16",
     "--max-context=2100 --prefill-chunk=128 --max-batch=2 -k=2", SIM, "gpu kit ptxas"),
    # Trees of grouped and of latent attention, in bf16.
    ("mimo-tree.sim", "mimo-mtp1.bf16", SHORT + " --max-batch=9 -k=3", SIM, "gpu rounds kit ptxas",
     "tree"),
    ("kimi-tree.sim", "kimi-mtp1.bf16", SHORT + " --max-batch=9 -k=3", SIM, "gpu kit ptxas",
     "tree"),
    ("dsv3-chain.behindsim", "dsv3-chain-mtp2.bf16", BEHIND_SIM + " -k=3", SIM, "catch_up ptxas"),
    ("mimo-tree.behindsim", "mimo-mtp1.bf16", BEHIND_SIM + " -k=3", SIM, "catch_up ptxas", "tree"),
    ("pard.sim", "llama-chain.f32+pard", SHORT + " --max-batch=9 -k=4", SIM, "gpu kit ptxas"),
    ("heads.sim", "llama-chain.f32+heads", SHORT + " --max-batch=9 -k=3", SIM, "gpu kit ptxas"),
    ("p-eagle.sim", "llama-chain.f32+p-eagle", SHORT + " --max-batch=9 -k=4", SIM, "gpu kit ptxas"),
    ("bundled.sim", "bundled", SHORT + " --max-batch=1 -k=2", SIM, "gpu ptxas"),
    # Recurrent layers beside attention.
    ("hybrid", "hybrid", "max_batch = 4", BOTH, "gpu hybrid hybrid_storm lossless padding ptxas"),
    ("hybrid.int8", "hybrid", "max_batch = 4", BOTH + " --quantize=int8,group=64",
     "gpu hybrid lossless ptxas"),
    ("hybrid.int4", "hybrid", "max_batch = 4",
     BOTH + " --quantize=int4,symmetric --quantize-head=int8,group=64",
     "gpu hybrid hybrid_storm lossless ptxas"),
    ("hybrid.mixed", "hybrid", "max_batch = 4, round_prompt_rows = 12, catch_up_rows = 20", BOTH,
     "hybrid hybrid_storm logprobs mixed ptxas"),
    ("hybrid.trimmed", "hybrid", "max_batch = 4, max_rows = 14", BOTH, "budget lossless ptxas"),
    ("tree", "tree", "", BOTH, "tree ptxas"),
    # Methods. With 12 slots the windows have three or four rows.
    ("lookup", "methods/lookup", "max_batch = 8", BOTH, "gpu rounds ptxas methods.test"),
    ("branches", "methods/branches", "max_batch = 8", BOTH, "gpu rounds tree ptxas methods.test"),
    ("rejection", "methods/rejection", "max_batch = 8", BOTH,
     "gpu lossless padding rounds ptxas methods.test"),
    ("siblings", "methods/siblings", "max_batch = 8", BOTH, "gpu rounds ptxas methods.test"),
    ("topology", "methods/topology", "max_batch = 8", BOTH,
     "budget gpu live rounds ptxas methods.test"),
    ("eagle_tree", "methods/eagle_tree", "max_batch = 8", BOTH,
     "gpu padding rounds ptxas methods.test"),
    ("eagle2", "methods/eagle2", "max_batch = 8", BOTH, "budget gpu rounds ptxas methods.test"),
    ("eagle26", "methods/eagle26", "max_batch = 8", BOTH, "budget gpu rounds ptxas methods.test"),
    ("lookahead", "methods/lookahead", "max_batch = 8", BOTH,
     "budget gpu padding rounds ptxas methods.test"),
    ("dflash", "methods/dflash", "max_batch = 8", BOTH, "gpu padding rounds ptxas methods.test"),
    ("heads_tree", "methods/heads_tree", "max_batch = 8", BOTH,
     "gpu padding rounds ptxas methods.test"),
    ("head_layers", "methods/head_layers", "max_batch = 12", BOTH, "gpu rounds ptxas methods.test"),
    ("block_drawn", "methods/block_drawn", "max_batch = 8", BOTH, "gpu rounds ptxas methods.test"),
    ("suffix", "methods/suffix", "max_batch = 8", BOTH,
     "gpu lossless padding rounds ptxas library.test"),
    ("lookup_eagle", "methods/lookup_eagle", "max_batch = 8", BOTH,
     "gpu lossless rounds ptxas library.test"),
    ("lookup_tree", "methods/lookup_tree", "max_batch = 8", BOTH,
     "gpu lossless ptxas library.test"),
    ("wish", "methods/wish", "max_batch = 8", BOTH, "ending gpu lossless rounds ptxas"),
    # A limit of rows below the windows of three slots.
    ("eagle26.trimmed", "methods/eagle26", "max_batch = 8, max_rows = 70", BOTH, "budget padding"),
    ("lookahead.trimmed", "methods/lookahead", "max_batch = 8, max_rows = 150", BOTH, "budget"),
    ("topology.trimmed", "methods/topology", "max_batch = 8, max_rows = 11", BOTH, "budget"),
    # Mixed batches, on the simulator too. The rounds of `grammar` may stop.
    ("eagle_tree.mixed", "methods/eagle_tree", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "mixed_methods"),
    ("eagle2.mixed", "methods/eagle2", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "mixed_methods"),
    ("dflash.mixed", "methods/dflash", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "mixed_methods"),
    ("lookahead.mixed", "methods/lookahead", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "mixed_methods"),
    ("random_tree.mixed", "methods/random_tree", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods padding rounds methods.test"),
    ("ngram.mixed", "methods/ngram", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("reduced.mixed", "methods/reduced", "max_batch = 12, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("walked.mixed", "methods/walked", "max_batch = 12, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("eagle.mixed", "methods/eagle", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds"),
    ("heads.mixed", "methods/heads", "max_batch = 12, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("wide.mixed", "methods/wide", "max_batch = 12, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("early.mixed", "methods/early", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("early_tree.mixed", "methods/early_tree", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("latest.mixed", "methods/latest", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("between.mixed", "methods/between", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("typical.mixed", "methods/typical", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu live mixed_methods rounds methods.test"),
    ("credit.mixed", "methods/credit", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("channel.mixed", "methods/channel", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("block.mixed", "methods/block", "max_batch = 8, round_prompt_rows = 12", BOTH,
     "gpu mixed_methods rounds methods.test"),
    ("grammar.mixed", "methods/grammar", "max_batch = 8, round_prompt_rows = 12", BOTH, "mixed"),
    # Mixed batches, only on the CPU.
    ("lookup.mixed", "methods/lookup", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("branches.mixed", "methods/branches", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("siblings.mixed", "methods/siblings", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("topology.mixed", "methods/topology", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("eagle26.mixed", "methods/eagle26", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("heads_tree.mixed", "methods/heads_tree", "max_batch = 8, round_prompt_rows = 12",
     CPU, "mixed_methods"),
    ("head_layers.mixed", "methods/head_layers", "max_batch = 12, round_prompt_rows = 12",
     CPU, "mixed_methods"),
    ("suffix.mixed", "methods/suffix", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("lookup_eagle.mixed", "methods/lookup_eagle", "max_batch = 8, round_prompt_rows = 12",
     CPU, "mixed_methods"),
    ("lookup_tree.mixed", "methods/lookup_tree", "max_batch = 8, round_prompt_rows = 12",
     CPU, "mixed_methods"),
    ("wish.mixed", "methods/wish", "max_batch = 8, round_prompt_rows = 12", CPU,
     "mixed_methods"),
    ("rejection.mixed", "methods/rejection", "max_batch = 8, round_prompt_rows = 12",
     CPU, "mixed_methods"),
    ("block_drawn.mixed", "methods/block_drawn", "max_batch = 8, round_prompt_rows = 12",
     CPU, "mixed_methods"),
    # With hidden states for drafters that catch up.
    ("eagle.behind", "methods/eagle", "max_batch = 8, catch_up_rows = 20", BOTH, "catch_up"),
    ("wide.behind", "methods/wide", "max_batch = 8, catch_up_rows = 20", BOTH, "catch_up"),
)]
