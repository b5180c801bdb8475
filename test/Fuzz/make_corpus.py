"""make_corpus.py ARTIFACT PROFILE DIR: writes small, well-formed inputs for each fuzz target, so
that the fuzzers start past the first checks."""
import json, os, random, struct, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle")
sys.path.insert(0, ROOT)
import gguf_files  # noqa: E402
import gguf_models  # noqa: E402
import quantized_folders  # noqa: E402
import template_cases  # noqa: E402
import tiny  # noqa: E402

artifact, profile, out = sys.argv[1:]


def write(target, name, data):
    with open(os.path.join(out, target, name), "wb") as f:
        f.write(data)


# A fake model, and a compiled one.
plans = os.path.join(ROOT, "..", "Artifact", "golden_v1_4.bin")
for name, path in (("", artifact), ("_plans", plans)):
    data = open(path, "rb").read()
    offset, size = struct.unpack_from("<QQ", data, 8)
    write("artifact", "whole" + name, b"\0" + data)
    write("artifact", "program" + name, b"\1" + data[offset:offset + size])

# The FlatBuffer follows a header of 24 bytes.
data = open(profile, "rb").read()
write("profile", "whole", b"\0" + data)
write("profile", "tables", b"\1" + data[24:])

# A prefix of two pages of four tokens, and a copy of states, with hashes of zero.
tables = (b"tiny" + struct.pack("<2I", 0, 0) + struct.pack("<10i", *range(10)) + bytes(2)
          + struct.pack("<3Q", 9, 8, 1) + bytes(1) + bytes(16))
parts = 2 * (bytes(32) + bytes(16)) + bytes(8 + 32) + bytes(16)
head = struct.pack("<8s2I16s6Q6I", b"MTPPREFX", 1, 0, bytes(16), 0, 0,
                   104 + len(tables) + len(parts), 10, 32, 8, 4, 1, 2, 1, 1, 4)
write("prefix", "hashless", b"\1" + head + tables + parts)

for name, config in tiny.MODELS.items():
    write("config", name, json.dumps(config).encode())

keys = {**gguf_models.config_keys(tiny.MODELS["llama-gqa"]),
        **gguf_models.tokenizer_keys(tiny.tokenizer(112))}
path = os.path.join(out, "gguf", "model")
gguf_files.write_gguf(path, keys, [("token_embd.weight", "F32", [2, 2], bytes(16)),
                                   ("blk.0.attn_q.weight", "Q4_K", [4, 256], bytes(576)),
                                   ("blk.0.ffn_up_exps.weight", "NVFP4", [2, 1, 64], bytes(72)),
                                   ("blk.0.ffn_up_exps.scale", "F32", [2], bytes(8))])

# Heads in another order, and a projection in two parts.
for name in ("qwen35-mtp1", "dsv3-mtp1"):
    path = os.path.join(out, "gguf", name)
    gguf_files.write_gguf(path, gguf_models.config_keys(gguf_models.text_config(tiny.MODELS[name])),
                          [("blk.0.ssm_a", "F32", [4], bytes(16)),
                           ("blk.0.attn_gate.weight", "F32", [96, 1], bytes(384)),
                           ("blk.1.attn_k_b.weight", "F32", [2, 3, 2], bytes(48)),
                           ("blk.1.attn_v_b.weight", "F32", [2, 1, 3], bytes(24))])

header = {"__metadata__": {"format": "pt"},
          "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
          "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
          "c": {"dtype": "F8_E4M3", "shape": [0], "data_offsets": [22, 22]}}
text = json.dumps(header).encode()
write("safetensors", "three", struct.pack("<Q", len(text)) + text + bytes(22))

# A weight of each quantised format, with the formats' own configs.
kinds = {"mixed": quantized_folders.MIXED,
         **{kind: [(quantized_folders.gptq, {"v2": kind == "gptq_v2", **options})
                   for options in quantized_folders.GPTQ] for kind in ("gptq", "gptq_v2")}}
path = os.path.join(out, "stored", "file")
for kind, formats in kinds.items():
    config = json.dumps({"quantization_config": quantized_folders.config_of(kind)}).encode()
    for i, (make, options) in enumerate(formats):
        parts, _ = make(random.Random(i), 32, 64, **options)
        quantized_folders.edit_weights.write(path, {"w" + key: t for key, t in parts.items()})
        with open(path, "rb") as f:
            write("stored", f"{kind}{i}", config + b"\0" + f.read())
os.remove(path)

write("tokenizer", "json", b"J" + json.dumps(tiny.tokenizer(112)).encode())
write("tokenizer", "text", b" abaab \xc3\xa9")

for name, source, _ in template_cases.language():
    write("template", name.replace(" ", "_"), source.encode())
write("template", "variables", b"{{ x }}{{ y|tojson }}" + b"\0" + b'{"x": 1e3, "y": [{"z": null}]}')

grammars = {
    "object": (b"S", b'{"type":"object","properties":{"a":{"type":"integer","minimum":-3},'
               b'"b":{"enum":["x",null]}},"required":["a"],"additionalProperties":false}',
               b'{"a": 5, "b": null}'),
    "cases": (b"S", b'{"$ref":"#/$defs/t","$defs":{"t":{"anyOf":[{"type":"array","maxItems":3,'
              b'"items":{"$ref":"#/$defs/t"}},{"type":"string","format":"date"}]}}}',
              b'[["2024-02-29"]]'),
    "merged": (b"S", b'{"allOf":[{"type":"string","maxLength":4},{"minLength":2}],'
               b'"oneOf":[{"const":"ab"},{"const":"cd"}]}', b'"ab"'),
    "regex": (b"R", rb"^(?:a|[^b-d\\]\w{2,3})+\.(x|y)?$", b"aezz.x"),
    "gbnf": (b"G", b'root ::= "(" (root | [a-c]{1,2})* ")" # c\nx ::= "\\n" .', b"((ab)c)"),
    "choice": (b"C", b"abc", b"ab"),
}
for name, (kind, source, text) in grammars.items():
    write("grammar", name, kind + source + b"\0" + text)

# Answers with tool calls: a format, the size of pieces, and the text.
VALUES = '{"s": "x", "i": 1, "a": [1, {"k": null}]}'
TAGGED = ("<function=f>\n<parameter=s>\nx\n</parameter>\n"
          "<parameter=a>[1, {'k': None}]</parameter>")
CALLS = ["plain",
         'a <tool_call>\n{"name": "f", "arguments": ' + VALUES + "}\n</tool_call>",
         "<tool_call>\n" + TAGGED + "\n</function>\n</tool_call>",
         '{"name": "f", "parameters": ' + VALUES + '}; {"name": "g"}',
         "[f(s='x', i=1, a=[1, {\"k\": None}]), g()]",
         '[TOOL_CALLS]f[ARGS]' + VALUES + '[TOOL_CALLS][{"name": "g", "arguments": {}}]',
         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n" +
         VALUES + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>" + VALUES +
         "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
         '<｜DSML｜parameter name="s" string="true">x'
         "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
         "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
         "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
         "<|tool_call_argument_begin|>" + VALUES + "<|tool_call_end|><|tool_calls_section_end|>",
         '<minimax:tool_call>\n<invoke name="f"><parameter name="s">x</parameter></invoke>\n'
         "</minimax:tool_call>",
         "<seed:tool_call>\n" + TAGGED + "</function></seed:tool_call>",
         "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>" + VALUES +
         "<|call|>",
         '<|tool_call>call:f{s:<|"|>x<|"|>,a:[1,{k:null}]}<tool_call|>',
         '<|tool_call|>[{"name": "f", "arguments": ' + VALUES + "}]",
         '[{"name": "f", "parameters": ' + VALUES + "}]"]
for number, text in enumerate(CALLS):
    write("calls", str(number), bytes([number, 6]) + text.encode())
# The schema of a tool, for grammars of calls in JSON, tags, Python's form and Gemma's.
SCHEMA = {"type": "object", "required": ["s", "m"], "properties": {
    "s": {"type": "string"}, "m": {"type": ["string", "integer"]}, "e": {"enum": ["a<", 1, None]},
    "l": {"type": "array", "items": {"$ref": "#/$defs/x"}}}, "$defs": {"x": {"type": "string",
                                                                       "pattern": "^[a-c]{2}$"}}}
for number in (1, 2, 4, 14):
    write("calls", f"grammar{number}", bytes([128 + number, 1]) + json.dumps(SCHEMA).encode())

bodies = {
    "ids": {"prompt": [[1, 2], [3]], "max_tokens": 5, "n": 2, "seed": 7, "stop_token_ids": [4]},
    "text": {"prompt": "one", "stop": ["a", "b"], "stream": True, "k": "auto", "echo": True,
             "stream_options": {"include_usage": True}, "temperature": 0.5, "top_p": 0.9},
    "chat": {"messages": [{"role": "user", "content": "a"},
                          {"role": "user", "content": [{"type": "text", "text": "b"}]}],
             "chat_template_kwargs": {"x": [1, None, {"y": 1.5}]}, "tools": [], "logit_bias": {}},
    "rules": {"prompt": [1], "logit_bias": {"3": 1.5, "63": -1e9}, "allowed_token_ids": [1, 3],
              "frequency_penalty": -2, "presence_penalty": 2, "repetition_penalty": 1.5,
              "min_tokens": 3, "max_tokens": 4, "ignore_eos": True},
    "pairs": {"prompt": [1], "logit_bias": [[3, 1.5], [4, False]], "repeat_penalty": 1.2,
              "repeat_last_n": -1, "n_predict": 4},
    "resume": {"prompt": [1], "stream": True, "logprobs": 1, "max_tokens": 5, "resume": {
        "seed": 7, "created": 5, "events": 2, "answers": [
            {"tokens": [4, 5], "scores": [[-1082130432, 9, -1082130432], [0]]}]}},
    # Too large for a template: the request is refused without a crash.
    "large": {"messages": [{"role": "u"}], "reasoning_effort": 2**64 - 1},
}
for name, body in bodies.items():
    write("request", name, json.dumps(body).encode())
