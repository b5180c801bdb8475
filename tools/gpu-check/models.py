"""The models of a kit: how each one is made, and its checks and measurements."""

from typing import NamedTuple


class Model(NamedTuple):
    # Shape of models/shapes.py, and changes to its config.json.
    shape: str
    config: dict = {}
    importing: tuple = ()
    compiling: tuple = ()
    # Runs of mtp-bench, by their flags.
    benches: tuple = ()
    # True if these runs also use rounds in a loop on the device.
    loops: bool = True
    # True if the launches of a session are checked afterwards.
    session: bool = False
    # Flags with which mtp-bench builds all graphs of a session, and the number of pairs of slots
    # and drafts.
    graphs: tuple = ()
    pairs: int = 0
    # True if there is also a plan for the CPU, for comparison.
    compared: bool = False
    # Number of lines of a list for --draft-vocab; 0 for none.
    drafts: int = 0
    # Number of tokens of the timed prompts; 0 for none.
    prompt: int = 0


PLAIN = ("-k", "0", "--max-batch=32", "--max-context=1088", "--prefill-chunk=128")
DRAFTED = ("-k", "4", "--max-batch=8", "--max-context=1088", "--prefill-chunk=128")
# A step of 1 to 32 rows, one for each slot.
STEPS = (("--measure=decode", "--context=512", "--batch=1,2,4,8,16,32"),)
ROUNDS = (("--measure=speculative", "--context=512", "--k=0,1,2,3,4",
           "--acceptance=0.85,0.72,0.6,0.5"),)
GRAPHS = ("--batch=1,2,3,4,5,6,7,8", "--k=0,1,2,3,4")
# DeepSeek-V3 with two layers of experts and its module, and a quarter of the experts. A step reads
# the same data of a layer as in the whole model.
DEEPSEEK = {"num_hidden_layers": 5, "n_routed_experts": 64}
# 1 GB of entries or more in a pass over all layers; windows of 1, 2, 4 and 8 rows.
WINDOWS = ("-k", "7", "--max-batch=16", "--max-context=32896", "--prefill-chunk=128")
ATTENTION = (("--measure=speculative", "--context=4096", "--batch=1,16", "--k=0,1,3,7"),
             ("--measure=speculative", "--context=32768", "--batch=1,4", "--k=0,1,3,7"))
# Entries with a quarter of the bytes. With twice the slots, a GB of them is read here, too.
LATENT_WINDOWS = ("-k", "7", "--max-batch=32", "--max-context=32896", "--prefill-chunk=128")
LATENT = (("--measure=speculative", "--context=4096", "--batch=1,32", "--k=0,1,3,7"),
          ("--measure=speculative", "--context=32768", "--batch=1,4", "--k=0,1,3,7"))
# Default chunks, larger chunks, which are more efficient, and a whole prompt at once.
PROMPTS = ("-k", "0", "--max-batch=1", "--max-context=2176", "--prefill-chunk=128")
LARGE_PROMPTS = ("-k", "0", "--max-batch=1", "--max-context=2176", "--prefill-chunk=512")
WHOLE_PROMPTS = ("-k", "0", "--max-batch=1", "--max-context=2176", "--prefill-chunk=2048")
ONE = ("-k", "0", "--max-batch=8", "--max-context=128", "--prefill-chunk=32")
TWO = ("-k", "2", "--max-batch=4", "--max-context=128", "--prefill-chunk=32")

MODELS = {
    "llama-1b": Model("llama-1b", {}, PLAIN, (), STEPS),
    "llama-8b": Model("llama-8b", {}, PLAIN, (), STEPS),
    "llama-8b-int8": Model("llama-8b", {}, PLAIN, ("--quantize=int8",), STEPS),
    "llama-8b-int4": Model("llama-8b", {}, PLAIN, ("--quantize=int4,symmetric",), STEPS),
    "mimo-7b": Model("mimo-7b", {}, DRAFTED, (), ROUNDS, session=True, graphs=GRAPHS, pairs=40),
    "mimo-7b-drafts-32k": Model("mimo-7b", {}, DRAFTED, (), ROUNDS, drafts=32000),
    "deepseek": Model("deepseek-v3", DEEPSEEK, DRAFTED, (), ROUNDS),
    # Attention takes most of the time: there are few other weights.
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
    # True widths, few layers and tokens: compared with the CPU. A tied head keeps its format: the
    # CPU's embedding would share its panels, which have other random values.
    "wide-llama-1b": Model("llama-1b", {"num_hidden_layers": 1}, ONE, compared=True),
    "wide-llama-8b": Model("llama-8b", {"num_hidden_layers": 1}, ONE, compared=True),
    "wide-llama-8b-int8": Model("llama-8b", {"num_hidden_layers": 1, "vocab_size": 4096}, ONE,
                                ("--quantize=int8,group=64",), compared=True),
    "wide-llama-1b-int4": Model("llama-1b", {"num_hidden_layers": 1, "vocab_size": 4096}, ONE,
                                ("--quantize=int4,symmetric", "--quantize-head=none"),
                                compared=True),
    "wide-mimo-7b": Model("mimo-7b", {"num_hidden_layers": 1, "vocab_size": 4096}, TWO,
                          compared=True),
    "wide-deepseek": Model("deepseek-v3", {"num_hidden_layers": 2, "first_k_dense_replace": 1,
                                           "n_routed_experts": 16, "vocab_size": 4096}, TWO,
                           compared=True),
}

# For the simulator: the same checks, some seconds each.
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
    "wide-tiny-int8": Model("mimo", SMALL, SHORT, ("--quantize=int8,group=64",), compared=True),
}
