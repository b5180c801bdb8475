"""The models that a kit has: how each is made, and what is asked of it there."""

from typing import NamedTuple


class Model(NamedTuple):
    # Of models/shapes.py, and what is other in its config.json.
    shape: str
    config: dict = {}
    importing: tuple = ()
    compiling: tuple = ()
    # Runs of mtp-bench, by their flags.
    benches: tuple = ()
    # Whether these run with rounds in a loop on the device, too.
    loops: bool = True
    # Whether the launches of a session are looked at behind them.
    session: bool = False
    # What a run of mtp-bench has to build for the graphs of a session, and for how many pairs
    # of slots and drafts.
    graphs: tuple = ()
    pairs: int = 0
    # Whether there is a plan for the CPU too, to compare with.
    compared: bool = False
    # Lines of a list for --draft-vocab; 0 for none.
    drafts: int = 0
    # Tokens of the prompts that are timed; 0 for none.
    prompt: int = 0


PLAIN = ("-k", "0", "--max-batch=32", "--max-context=1088", "--prefill-chunk=128")
DRAFTED = ("-k", "4", "--max-batch=8", "--max-context=1088", "--prefill-chunk=128")
# A step of 1 to 32 rows, a slot each.
STEPS = (("--measure=decode", "--context=512", "--batch=1,2,4,8,16,32"),)
ROUNDS = (("--measure=speculative", "--context=512", "--k=0,1,2,3,4",
           "--acceptance=0.85,0.72,0.6,0.5"),)
GRAPHS = ("--batch=1,2,3,4,5,6,7,8", "--k=0,1,2,3,4")
# DeepSeek-V3 with two layers of experts and its module, a quarter of the experts: what a
# step reads of a layer is as in the whole model.
DEEPSEEK = {"num_hidden_layers": 5, "n_routed_experts": 64}
# 1 GB of entries and more in every layer's turn; windows of 1, 2, 4 and 8 rows.
WINDOWS = ("-k", "7", "--max-batch=16", "--max-context=32896", "--prefill-chunk=128")
ATTENTION = (("--measure=speculative", "--context=4096", "--batch=1,16", "--k=0,1,3,7"),
             ("--measure=speculative", "--context=32768", "--batch=1,4", "--k=0,1,3,7"))
# Entries of a quarter of the bytes: twice the slots, so that a GB of them is read, too.
LATENT_WINDOWS = ("-k", "7", "--max-batch=32", "--max-context=32896", "--prefill-chunk=128")
LATENT = (("--measure=speculative", "--context=4096", "--batch=1,32", "--k=0,1,3,7"),
          ("--measure=speculative", "--context=32768", "--batch=1,4", "--k=0,1,3,7"))
# Chunks as they are by default, larger ones, which pay better, and a prompt at once.
PROMPTS = ("-k", "0", "--max-batch=1", "--max-context=2176", "--prefill-chunk=128")
LARGE_PROMPTS = ("-k", "0", "--max-batch=1", "--max-context=2176", "--prefill-chunk=512")
WHOLE_PROMPTS = ("-k", "0", "--max-batch=1", "--max-context=2176", "--prefill-chunk=2048")
ONE = ("-k", "0", "--max-batch=8", "--max-context=128", "--prefill-chunk=32")
TWO = ("-k", "2", "--max-batch=4", "--max-context=128", "--prefill-chunk=32")

MODELS = {
    "llama-1b": Model("llama-1b", {}, PLAIN, (), STEPS),
    "llama-8b": Model("llama-8b", {}, PLAIN, (), STEPS),
    "llama-8b-int8": Model("llama-8b", {}, PLAIN, ("--quantize=int8",), STEPS),
    "llama-8b-int4": Model("llama-8b", {}, PLAIN, ("--quantize=int4",), STEPS),
    "mimo-7b": Model("mimo-7b", {}, DRAFTED, (), ROUNDS, session=True, graphs=GRAPHS, pairs=40),
    "mimo-7b-drafts-32k": Model("mimo-7b", {}, DRAFTED, (), ROUNDS, drafts=32000),
    "deepseek": Model("deepseek-v3", DEEPSEEK, DRAFTED, (), ROUNDS),
    # Attention is most of their time, with few weights beside it.
    "attention-gqa": Model("mimo-7b", {"num_hidden_layers": 8, "vocab_size": 4096},
                           WINDOWS, (), ATTENTION, loops=False),
    "attention-mla": Model("deepseek-v3", {"num_hidden_layers": 8, "vocab_size": 4096,
                                           "first_k_dense_replace": 8,
                                           "n_routed_experts": 16},
                           LATENT_WINDOWS, (), LATENT, loops=False),
    "prompts-8b": Model("llama-8b", {}, PROMPTS, prompt=2048),
    "prompts-8b-512": Model("llama-8b", {}, LARGE_PROMPTS, ("--library-rows=512",),
                            prompt=2048),
    "prompts-8b-2048": Model("llama-8b", {}, WHOLE_PROMPTS, ("--library-rows=2048",),
                             prompt=2048),
    # True widths, few layers and tokens: compared with the CPU.
    "wide-llama-1b": Model("llama-1b", {"num_hidden_layers": 1}, ONE, compared=True),
    "wide-llama-8b": Model("llama-8b", {"num_hidden_layers": 1}, ONE, compared=True),
    "wide-llama-8b-int8": Model("llama-8b", {"num_hidden_layers": 1, "vocab_size": 4096}, ONE,
                                ("--quantize=int8",), compared=True),
    "wide-llama-1b-int4": Model("llama-1b", {"num_hidden_layers": 1, "vocab_size": 4096}, ONE,
                                ("--quantize=int4",), compared=True),
    "wide-mimo-7b": Model("mimo-7b", {"num_hidden_layers": 1, "vocab_size": 4096}, TWO,
                          compared=True),
    "wide-deepseek": Model("deepseek-v3", {"num_hidden_layers": 2, "first_k_dense_replace": 1,
                                           "n_routed_experts": 16, "vocab_size": 4096}, TWO,
                           compared=True),
}

# For the simulator: the same questions, seconds each.
SMALL = {"hidden_size": 64, "num_hidden_layers": 1, "intermediate_size": 128,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
         "vocab_size": 256}
SHORT = ("-k", "2", "--max-batch=2", "--max-context=64", "--prefill-chunk=32")
TINY = {
    "tiny": Model("mimo", SMALL, SHORT, (),
                  (("--measure=decode,speculative", "--context=32", "--batch=1,2",
                    "--k=0,1,2", "--acceptance=0.8,0.5", "--rounds=1"),),
                  graphs=("--batch=1,2", "--k=0,1,2"), pairs=6),
    "prompts-tiny": Model("llama", SMALL, ("-k", "0", "--max-batch=1", "--max-context=128",
                                           "--prefill-chunk=32"), ("--library-rows=32",),
                          prompt=80),
    "wide-tiny-int8": Model("mimo", SMALL, SHORT, ("--quantize=int8",), compared=True),
}
