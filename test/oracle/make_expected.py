#!/usr/bin/env python3
"""Writes expected/*.json with torch and transformers (see README.md).

  python3 make_expected.py            the tiny models and the bundled model
  python3 make_expected.py tiny | bundled | NAME...
"""
import json, os, re, shutil, sys, tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tiny
from reference import Net, load
from reference_hybrid import HybridNet

BUNDLED = os.path.join(HERE, "..", "..", "models", "bundled", "hf")
PROMPT = "Once upon a time the hen\nran into the pond."
BUNDLED_PROMPTS = ["Once upon a time there was a little girl who lived in", "The old man looked at the boy and said,",
                   "In the morning the king called his three sons, and"]


def oracle(folder):
    """Returns transformers' model in binary32 with eager attention. All of its weights are loaded.
    """
    from safetensors.torch import save_file
    import transformers
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    # The meaning of a config's keys is taken from transformers only.
    name = os.path.basename(folder).split(".")[0]
    kind = HybridNet if name in tiny.HYBRIDS else Net
    net = None if name in tiny.KEYS else kind(folder)
    if name in tiny.HYBRIDS:
        run_row_by_row()
    c, w = (net.c, net.w) if net else load(folder)
    c, mine = dict(c), c
    n = c["num_hidden_layers"]
    if c["model_type"] == "mimo":   # the body is Qwen2's
        c.update(model_type="qwen2", architectures=["Qwen2ForCausalLM"])
    main = {k: v for k, v in w.items() if not k.startswith(("model.mtp_layers.", "mtp."))
            and not (k.startswith("model.layers.") and int(k.split(".")[2]) >= n)}
    with tempfile.TemporaryDirectory() as t:
        json.dump({**c, "torch_dtype": "float32"}, open(os.path.join(t, "config.json"), "w"))
        save_file(main, os.path.join(t, "model.safetensors"), metadata={"format": "pt"})
        m, info = transformers.AutoModelForCausalLM.from_pretrained(
            t, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    bad = {k: v for k, v in info.items() if v and k in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    assert not bad, bad
    return m.eval(), net, mine


def run_row_by_row():
    """Makes transformers run the recurrence row by row as in decoding. Chunks would add in another
    order."""
    from transformers.models.qwen3_5 import modeling_qwen3_5 as dense
    from transformers.models.qwen3_5_moe import modeling_qwen3_5_moe as moe
    from transformers.models.qwen3_next import modeling_qwen3_next as first
    for file in (dense, moe, first):
        file.torch_chunk_gated_delta_rule = file.torch_recurrent_gated_delta_rule


class Modules:
    """transformers' own MTP modules for the model `m` of config `c`, loaded from `folder`."""

    def __init__(self, m, c, folder):
        from transformers.modeling_layers import MtpModel
        count = c["num_nextn_predict_layers"]
        first = c["num_hidden_layers"]
        self.isHybrid = "linear_num_key_heads" in c
        if self.isHybrid:   # The class does not announce the module.
            m.config.num_mtp_layers = 1
            m.config.mtp_layer_types = ["full_attention"]
        # The class recognises modules' weights by the published models' numbers of layers.
        pattern = re.compile("|".join(rf"^model\.layers\.{first + d}\." for d in range(count)))
        if not self.isHybrid:
            MtpModel.get_mtp_weights_regex = staticmethod(lambda main_model: pattern)
        m.config.name_or_path = folder
        if c["model_type"] == "glm4_moe_lite":  # The class has no modules.
            m.config.num_mtp_layers = count
            m.config.mtp_mlp_layer_types = ["sparse"] * count
        self.model = MtpModel.from_pretrained(m).eval()
        self.model.config._attn_implementation = "eager"

    def module(self, d, tokens, h):
        """Like Net.module, with the class's positions, which begin d further on."""
        e = self.model.embed_tokens(torch.tensor([tokens])).clone()
        if not self.isHybrid:
            e[0, 0] = 0  # as in vLLM and the reports; the class does not zero it
        x = self.model.forward_layer(d - 1, h[None], torch.arange(d, d + len(tokens))[None], None,
                                     inputs_embeds=e)
        return self.model.shared_head(x)[0], x[0]


def modules_of(m, net, c, folder):
    """Returns the function that runs a module: transformers' class if it can, else the reference.
    Both agree."""
    if not c.get("num_nextn_predict_layers"):
        return None
    # transformers does not read hy_v3's module, which has vLLM's names.
    if c["model_type"] in ("mimo", "hy_v3") or not c.get("mtp_hidden_states_post_norm", True):
        return net.module
    modules = Modules(m, c, folder)

    def module(d, tokens, h):
        logits, x = modules.module(d, tokens, h)
        if net:
            mine, y = net.module(d, tokens, h)
            diff = max(float((mine - logits).abs().max()), float((y - x).abs().max()))
            assert diff < 2e-4, diff
        return logits, x
    return module


def digits(rows):
    return [[float("%.9g" % v) for v in r] for r in rows.tolist()]


def greedy(m, prompt, count):
    ids, margin = list(prompt), 1e9
    for _ in range(count):
        l = m(torch.tensor([ids])).logits[0, -1]
        top = l.topk(2)[0]
        margin = min(margin, float(top[0] - top[1]))
        ids.append(int(l.argmax()))
    return ids, margin


def far(m, net):
    """Returns logits at position 1,024 for two different first tokens. Attention sees the first token
    too, so the reference also runs without it: the recurrence alone must distinguish the tokens."""
    ids = [tiny.splitmix64(i) % m.config.vocab_size for i in range(1025)]
    other = [(ids[0] + 1) % m.config.vocab_size] + ids[1:]
    logits = torch.stack([m(torch.tensor([i])).logits[0, -1] for i in (ids, other)])
    margin = net.margin   # the margin of the texts before this one
    net.hides_first = True
    carried = torch.stack([net.head(net.target(i))[-1] for i in (ids, other)])
    net.hides_first, net.margin = False, margin
    seen, kept = (float((x[0] - x[1]).abs().max()) for x in (logits, carried))
    assert kept > 1e-3, kept
    print(f"    token 0 at position 1024: {seen:.4f}, by the recurrence alone {kept:.4f}")
    return {"tokens": ids, "first": other[0], "logits": digits(logits)}


def summary(logits, rows, full=True):
    out = {"argmax": logits.argmax(-1).tolist(), "max": [float("%.9g" % v) for v in logits.max(-1)[0].tolist()]}
    if full:
        out["rows"], out["logits"] = rows, digits(logits[rows])
    else:
        v, i = logits[rows].topk(8, -1)
        out["rows"], out["top8"], out["top8_logits"] = rows, i.tolist(), digits(v)
    return out


@torch.no_grad()
def run(folder, name, dtype, prompts, count, full):
    m, net, c = oracle(folder)
    count_mtp = c.get("num_nextn_predict_layers", 0)
    module = modules_of(m, net, c, folder)
    results = []
    for text, prompt in prompts:
        ids, margin = greedy(m, prompt, count)
        N, P = len(ids), len(prompt)
        out = m(torch.tensor([ids]), output_hidden_states=True)
        target, h = out.logits[0], out.hidden_states[-1][0]
        assert target.isfinite().all()
        diff = 0.0
        if net:
            mine = net.head(net.target(ids))
            diff = float((mine - target).abs().max())
            hdiff = float((net.target(ids) - h).abs().max())
            assert diff < 2e-4 and hdiff < 2e-4, (name, diff, hdiff)
        rows = list(range(P - 4, P)) + [N - 3, N - 2]
        r = {"text": text, "prompt": prompt, "greedy": ids[P:], "greedy_min_margin": round(margin, 6),
             "target": summary(target, rows + [N - 1], full), "drafts": []}
        carried = [h]
        for d in range(1, count_mtp + 1):
            logits, x = module(d, ids[d:], carried[-1][:N - d])
            carried.append(x)
            s = summary(logits, [i for i in rows if i < N - d], full)
            hit = [a == ids[i + d + 1] for i, a in enumerate(s["argmax"]) if P - 1 <= i < N - d - 1]
            r["drafts"].append({"module": d, "accepted": f"{sum(hit)}/{len(hit)}", **s})
        if count_mtp:   # drafts from the prompt: row P-1 and the target's next token ids[P]
            known, logits_c, chain = ids[:P + 1], [], []
            hh = m(torch.tensor([ids[:P]]), output_hidden_states=True).hidden_states[-1][0]
            if count_mtp > 1:   # module d at row P-1
                for d in range(1, count_mtp + 1):
                    l, hh = module(d, (known + chain)[d:d + P], hh)
                    logits_c.append(l[-1])
                    chain.append(int(l[-1].argmax()))
            else:             # module 1 again, one row further each time, on its carried state
                for k in range(3):
                    l, x = module(1, (known + chain)[1:1 + P + k], hh)
                    logits_c.append(l[-1])
                    chain.append(int(l[-1].argmax()))
                    hh = torch.cat((hh, x[-1:]))
            l = torch.stack(logits_c)
            r["chain"] = {"mode": "modules" if count_mtp > 1 else "reuse", "row": P - 1, "next": ids[P], "ids": chain}
            if full:
                r["chain"]["logits"] = digits(l)
        if isinstance(net, HybridNet):
            r["far"] = far(m, net)
        router = net.margin if net else float("inf")
        r["router_min_margin"] = round(router, 6) if router < 1e9 else None
        results.append(r)
        print(f"{name}.{dtype}: plain-vs-transformers {diff:.1e}, margin {margin:.4f}, router {router:.5f}, spread "
              f"{float(target.std()):.2f}, distinct {len(set(ids[P:]))}/{count}",
              " ".join(d["accepted"] for d in r["drafts"]))
    return {"model": name, "dtype": dtype, "vocab_size": m.config.vocab_size, "results": results}


def dump(x, name):
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    with open(os.path.join(HERE, "expected", name + ".json"), "w") as f:
        json.dump(x, f, separators=(",", ":"))
        f.write("\n")


def main():
    torch.set_num_threads(1)
    from tokenizers import Tokenizer
    what = sys.argv[1:] or ["tiny", "bundled"]
    names = [n for n in tiny.MODELS if n not in tiny.TREES | tiny.GEMMAS] if "tiny" in what else [n for n in what if n in tiny.MODELS]
    if names:
        with tempfile.TemporaryDirectory() as t:
            for name in names:
                for dtype in ("f32", "bf16"):
                    folder = os.path.join(t, name + "." + dtype)
                    tiny.write(name, folder, dtype)
                    ids = Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).encode(PROMPT).ids[:24]
                    dump(run(folder, name, dtype, [(None, ids)], 32, True), f"{name}.{dtype}")
                    shutil.rmtree(folder)
    if "bundled" in what:
        tok = Tokenizer.from_file(os.path.join(BUNDLED, "tokenizer.json"))
        prompts = [(p, tok.encode(p).ids) for p in BUNDLED_PROMPTS]
        x = run(BUNDLED, "bundled", "bf16", prompts, 48, False)
        for r in x["results"]:
            r["greedy_text"] = tok.decode(r["greedy"])
        dump(x, "bundled")


if __name__ == "__main__":
    main()
