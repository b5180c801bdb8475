"""Lists what kernels the plans of some models have: kernel_configs.py EXEC.mlir...

A line has a kind and the parameters that stand between `<` and `>` of its attribute, as the tests
of kernels run it (test/Codegen/WholeModels_test.cpp): inputs and formats are those of the plan, but
there are few outputs, experts and tokens, and what only says where rows lie is left out. Kinds that
this file does not know are an error.
"""
import re
import sys

# Of a kind: parameters with the values that they get here; None leaves them out.
ROWS = {"x_stride": None, "y_stride": None, "residual_stride": None}
EXPERTS = {"experts": "5", "top_k": "2"}
KINDS = {
    "add": {},
    "attention": {},
    "attention_join": {},
    "attention_parts": {},
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
    "take_rows": {},
    "unpack": {"n": "32"},
    "unpack_rows": {},
    "write_state": {},
    "write_state_at": {},
}
# A library's, which the simulator has code of its own for, and one without sizes of a model.
OTHERS = ["gemm", "pack_rows", "pack_prompts"]


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
            # A kernel that carries its body has no sizes.
            if body or kind in OTHERS:
                continue
            values = dict(PARAMETER.findall(params))
            assert ", ".join(f"{key} = {value}" for key, value in values.items()) == params, line
            for key, value in KINDS[kind].items():
                if key in values:
                    values[key] = value
            if values.get("activation") == "swiglu" or values.get("gated") == "true":
                values["n"] = "64"
            left = (f"{key} = {value}" for key, value in values.items() if value)
            yield f"{kind} {', '.join(left)}"


found = {line for name in sys.argv[1:] for line in lines(name)}
print("\n".join(sorted(found)))
