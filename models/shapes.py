#!/usr/bin/env python3
"""Writes the config of a model, for measuring.

  shapes.py SHAPE DIR

llama, mimo, deepseek and qwen35 have about a billion parameters; the others are released models.

There are no weights: `mtp-import --no-weights` reads only the config, and `mtpc --random-weights`
makes the weights directly in the artifact.
"""

import argparse
import json
import os
import sys

COMMON = {"hidden_act": "silu", "vocab_size": 32000, "max_position_embeddings": 8192,
          "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
          "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2}

# Grouped-query attention, dense: 1.10 billion parameters.
DENSE = {"hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 8192,
         "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64}

# Qwen3.5 and similar models: three layers of four have a recurrence.
HYBRID = {"hidden_act": "silu", "full_attention_interval": 4, "head_dim": 256,
          "attn_output_gate": True, "linear_conv_kernel_dim": 4,
          "linear_key_head_dim": 128, "linear_value_head_dim": 128,
          "linear_num_key_heads": 16, "max_position_embeddings": 262144,
          "rms_norm_eps": 1e-6, "attention_bias": False}
ROTARY = {"rope_type": "default", "rope_theta": 10000000,
          "partial_rotary_factor": 0.25, "mrope_interleaved": True,
          "mrope_section": [11, 11, 10]}
QWEN35 = {**HYBRID, "rope_parameters": ROTARY, "vocab_size": 248320,
          "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False,
          "eos_token_id": 248044}

SHAPES = {
    "llama": {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
              "rope_theta": 500000, **DENSE},
    # Like llama, with biases and an MTP module: 1.17 billion.
    "mimo": {"architectures": ["MiMoForCausalLM"], "model_type": "mimo",
             "rope_theta": 640000, "attention_bias": True,
             "use_sliding_window": False, "num_nextn_predict_layers": 1, **DENSE},
    # Latent attention, 48 experts of which a token uses 6, and two MTP modules: 1.13 billion, of
    # which a plain step of one row reads 0.2.
    "deepseek": {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
        "hidden_size": 1024, "num_hidden_layers": 12, "intermediate_size": 4096,
        "moe_intermediate_size": 512, "n_routed_experts": 48,
        "num_experts_per_tok": 6, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "moe_layer_freq": 1, "n_group": 1, "topk_group": 1,
        "topk_method": "noaux_tc", "scoring_func": "sigmoid",
        "norm_topk_prob": True, "routed_scaling_factor": 1.5,
        "num_nextn_predict_layers": 2, "num_attention_heads": 16,
        "num_key_value_heads": 16, "q_lora_rank": 384, "kv_lora_rank": 256,
        "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64,
        "attention_bias": False, "rope_theta": 10000, "rope_scaling": None,
        "rope_interleave": True},

    # Twelve recurrent layers, four with attention, and an MTP module: 1.16 billion.
    "qwen35": {
        "architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text",
        **QWEN35, "vocab_size": 32000, "eos_token_id": 2, "hidden_size": 2048,
        "num_hidden_layers": 16, "intermediate_size": 6656, "num_attention_heads": 8,
        "num_key_value_heads": 2, "linear_num_value_heads": 16,
        "max_position_embeddings": 8192},

    # Released models: Llama-3.2-1B, Llama-3.1-8B, MiMo-7B, DeepSeek-V3, Qwen3.5-27B and -35B-A3B,
    # and Qwen3-Next-80B-A3B.
    "llama-1b": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "rope_theta": 500000, **DENSE, "vocab_size": 128256,
        "tie_word_embeddings": True},
    "llama-8b": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "rope_theta": 500000, "hidden_size": 4096, "num_hidden_layers": 32,
        "intermediate_size": 14336, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256},
    "mimo-7b": {
        "architectures": ["MiMoForCausalLM"], "model_type": "mimo",
        "rope_theta": 640000, "attention_bias": True, "use_sliding_window": False,
        "num_nextn_predict_layers": 1, "hidden_size": 4096, "num_hidden_layers": 36,
        "intermediate_size": 11008, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151680},
    "deepseek-v3": {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
        "hidden_size": 7168, "num_hidden_layers": 61, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "n_routed_experts": 256,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
        "moe_layer_freq": 1, "n_group": 8, "topk_group": 4,
        "topk_method": "noaux_tc", "scoring_func": "sigmoid",
        "norm_topk_prob": True, "routed_scaling_factor": 2.5,
        "num_nextn_predict_layers": 1, "num_attention_heads": 128,
        "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "attention_bias": False, "rope_theta": 10000, "rope_scaling": None,
        "rope_interleave": True, "vocab_size": 129280},
    "qwen3.5-27b": {
        "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
        "text_config": {
            "model_type": "qwen3_5_text", **QWEN35, "hidden_size": 5120,
            "num_hidden_layers": 64, "intermediate_size": 17408,
            "num_attention_heads": 24, "num_key_value_heads": 4,
            "linear_num_value_heads": 48}},
    "qwen3.5-35b-a3b": {
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "model_type": "qwen3_5_moe",
        "text_config": {
            "model_type": "qwen3_5_moe_text", **QWEN35, "hidden_size": 2048,
            "num_hidden_layers": 40, "num_attention_heads": 16,
            "num_key_value_heads": 2, "linear_num_value_heads": 32,
            "num_experts": 256, "num_experts_per_tok": 8,
            "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512}},
    # The config does not announce the module.
    "qwen3-next-80b-a3b": {
        "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next",
        **HYBRID, "rope_theta": 10000000, "partial_rotary_factor": 0.25,
        "hidden_size": 2048, "num_hidden_layers": 48, "intermediate_size": 5120,
        "num_attention_heads": 16, "num_key_value_heads": 2,
        "linear_num_value_heads": 32, "num_experts": 512, "num_experts_per_tok": 10,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "norm_topk_prob": True, "mtp_num_hidden_layers": 1, "vocab_size": 151936,
        "eos_token_id": 151645},
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=sorted(SHAPES))
    parser.add_argument("folder")
    options = parser.parse_args()
    path = os.path.join(options.folder, "config.json")
    if os.path.exists(path):
        sys.exit(f"shapes.py: error: expected a new file, {path} is there")
    os.makedirs(options.folder, exist_ok=True)
    shape = dict(SHAPES[options.shape])
    if "text_config" in shape:
        shape["text_config"] = {**COMMON, **shape["text_config"]}
    else:
        shape = {**COMMON, **shape}
    with open(path, "w") as file:
        json.dump(shape, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
