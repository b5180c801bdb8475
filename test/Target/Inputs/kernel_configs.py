"""Lists the kernels in the plans of some models: kernel_configs.py EXEC.mlir...

A line has a kind and the parameters between `<` and `>` of its attribute, in the form that the
kernel tests run (test/Codegen/WholeModels_test.cpp). Inputs and formats are those of the plan.
Outputs, experts and tokens are reduced, and parameters of row locations are left out. An unknown
kind is an error.
"""
import re
import sys

# Parameters by kind, with the values that they get here; None leaves them out.
ROWS = {"x_stride": None, "y_stride": None, "residual_stride": None}
EXPERTS = {"experts": "5", "top_k": "2"}
KINDS = {
    "add": {},
    "attention": {},
    "attention_combine": {},
    "attention_split_kv": {},
    "concat": {},
    "embed": {"vocab": "11"},
    "head_linear": {"heads": "2", **ROWS},
    "kv_append": {},
    "linear": {"n": "32", **ROWS},
    "linear_argmax": {"n": "48", **ROWS},
    "mask_first": {},
    "moe_combine": {},
    "moe_down": {"n": "32", **EXPERTS},
    "moe_gate_up": {"inter": "32", **EXPERTS},
    "moe_plan": {},
    "moe_route": {},
    "prepare_rows": {**ROWS},
    "read_state": {},
    "rms_norm": {},
    "rope": {},
    "rope_kv_append": {},
    "rope_qkv_append": {},
    "round_rows": {},
    "sample_join": {},
    "sample_scan": {},
    "swiglu": {},
    "gather_rows": {},
    "unpack": {"n": "32"},
    "unpack_rows": {},
    "write_state": {},
    "write_state_at": {},
}
GATES = ["swiglu", "geglu_tanh"]
# Products of a library, which the simulator implements itself, a kind without model sizes, and the
# rules of logits, whose test has sizes of its own.
OTHERS = ["gemm", "pack_rows", "pack_prompts", "process_logits"]


KERNEL = re.compile(r"\s*exec\.kernel @\S+ #exec\.(\w+)<(.*)>( \{)?")
# A value may be an attribute or a type with parameters of its own.
PARAMETER = re.compile(r"(\w+) = ((?:<[^<>]*>|[^,<>])+)(?:, |$)")


def lines(name):
    with open(name) as file:
        for line in file:
            found = KERNEL.fullmatch(line.rstrip())
            if not found:
                assert "exec.kernel" not in line, line
                continue
            kind, params, body = found.groups()
            # A kernel with a body has no sizes.
            if body or kind in OTHERS:
                continue
            values = dict(PARAMETER.findall(params))
            assert ", ".join(f"{key} = {value}" for key, value in values.items()) == params, line
            for key, value in KINDS[kind].items():
                if key in values:
                    values[key] = value
            if values.get("activation") in GATES or values.get("gated") == "true":
                values["n"] = "64"
            left = (f"{key} = {value}" for key, value in values.items() if value)
            yield f"{kind} {', '.join(left)}"


found = {line for name in sys.argv[1:] for line in lines(name)}
print("\n".join(sorted(found)))
