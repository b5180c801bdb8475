"""Wrong wirings: edits of an imported model's text.

A mutant is a name and edits (function or None for the whole text, old, new,
count). Each edit must find its text `count` times. A change of the importer's
output therefore cannot silently turn a mutant into the correct model.
"""

CONCAT = "mtp.concat %enorm, %hnorm"
SWAPPED = "mtp.concat %hnorm, %enorm"
MASK = "%masked = mtp.mask_first %e, %rows : tensor<?x64xf32>\n"
RETURN = "return %logits, %norm :"
LAYER = "%x_1 = mtp.apply @moe_layer(%x_0, %rows)"


def claim(order="embedding_hidden", mask="true", carry="post_norm"):
    return f"<order = {order}, mask_first = {mask}, carry = {carry}>"


WIRINGS = {
    "[e; h] swapped": [("module", CONCAT, SWAPPED, 1)],
    "[e; h] swapped, and the claim with it": [
        ("module", CONCAT, SWAPPED, 1), (None, claim(), claim(order="hidden_embedding"), 1)],
    "mask of position 0 missing": [
        ("module", MASK, "", 1), ("module", "mtp.rms_norm %masked", "mtp.rms_norm %e", 1)],
    "mask of position 0 missing, and the claim with it": [
        ("module", MASK, "", 1), ("module", "mtp.rms_norm %masked", "mtp.rms_norm %e", 1),
        (None, claim(), claim(mask="false"), 1)],
    "module carries its state before the norm": [
        ("module", RETURN, "return %logits, %x :", 1)],
    "module carries its state before the norm, and the claim with it": [
        ("module", RETURN, "return %logits, %x :", 1),
        (None, claim(), claim(carry="pre_norm"), 1)],
    "target hands over its state before the norm": [
        ("target", "return %logits, %norm :", "return %logits, %x_1 :", 1)],
    "norms of embedding and state swapped": [
        ("module", '"enorm.weight"', '"other"', 1),
        ("module", '"hnorm.weight"', '"enorm.weight"', 1),
        ("module", '"other"', '"hnorm.weight"', 1)],
    "module without its last norm": [
        ("module", "mtp.linear %norm, %lm_head_w", "mtp.linear %x, %lm_head_w", 1)],
    "module's head is the embedding, not the target's head": [
        ("module", '"/lm_head.weight"', '"/model.embed_tokens.weight"', 1)],
    "modules in the wrong order": [
        (None, '"model.layers.3."', '"other"', 1),
        (None, '"model.layers.4."', '"model.layers.3."', 1),
        (None, '"other"', '"model.layers.4."', 1)],
    "one module at both depths": [(None, '"model.layers.4."', '"model.layers.3."', 1)],
    "modules share a cache layer": [(None, "@drafter_cache[1]", "@drafter_cache[0]", 1)],
    "module on the target's cache": [(None, "@drafter_cache[1]", "@target_cache[1]", 1)],
    "two layers on one cache layer": [(None, "@target_cache[2]", "@target_cache[1]", 1)],
    "cache layer off by one": [(None, "@target_cache[2]", "@target_cache[3]", 1)],
    "layer left out": [("target", "mtp.rms_norm %x_1, %norm_w", "mtp.rms_norm %x_0, %norm_w", 1),
                       ("target", LAYER, LAYER.replace("%x_1", "%unused"), 1)],
    "rope layout of halves": [("attention", "layout = interleaved", "layout = half", 2)],
    "rope layouts of query and key differ": [
        ("attention", "layout = interleaved> heads 4", "layout = half> heads 4", 1)],
    "rope base of query and key differ": [
        ("attention", "theta = 1.000000e+04, layout = interleaved> heads 4",
         "theta = 5.000000e+05, layout = interleaved> heads 4", 1)],
    "rope on the wrong columns": [("attention", "heads 4 of 24 offset 16", "heads 4 of 24", 1)],
    "attention scale of the wrong width": [
        ("attention", "scale 0.20412414523193154", "scale 0.25", 1)],
    "eps of 1e-5": [(None, "eps 9.9999999999999995E-7", "eps 1.0E-5", None)],
    "gate and up swapped": [
        ("mlp", "mtp.swiglu %gate_proj, %up_proj", "mtp.swiglu %up_proj, %gate_proj", 1)],
    "residual of the normed input": [
        ("experts", "residual %x :", "residual %post_attention_layernorm :", 1)],
    "routing not normalised": [("experts", " normalized scale", " scale", 1)],
    "experts not scaled": [("experts", "scale 2.500000e+00", "scale 1.000000e+00", 1)],
}

# For a model with recurrent layers.
HYBRID_WIRINGS = {
    "gate of a recurrent layer before its norm": [
        ("recurrence", "%norm = mtp.rms_norm %recalled,",
         "%early = mtp.swiglu %in_proj_z, %recalled : tensor<?x96xf32>\n"
         "    %norm = mtp.rms_norm %early,", 1),
        ("recurrence", "mtp.linear %gated,", "mtp.linear %norm,", 1)],
    "beta of a recurrence as it is projected": [
        ("recurrence", " beta %beta,", " beta %in_proj_b,", 1)],
    "decay of a recurrence from what beta is made of": [
        ("recurrence", "mtp.decay %in_proj_a", "mtp.decay %in_proj_b", 1)],
    "gate of attention is the query": [
        ("attention", "by %output_gate", "by %q_proj", 1)],
    "two layers on one recurrent state": [(None, "@target_memory[2]", "@target_memory[1]", 1)],
}


def function_span(text, name):
    begin = text.index(f"  func.func private @{name}(")
    return begin, text.index("\n  }\n", begin)


def mutate(text, edits):
    for function, old, new, count in edits:
        begin, end = function_span(text, function) if function else (0, len(text))
        found = text.count(old, begin, end)
        if found == 0 or count not in (None, found):
            raise ValueError(f"expected {count or 'some'} of '{old}', got {found}")
        text = text[:begin] + text[begin:end].replace(old, new) + text[end:]
    return text
