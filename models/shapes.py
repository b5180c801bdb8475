#!/usr/bin/env python3
"""Writes the config of a model, for measuring.

  shapes.py SHAPE DIR

llama, mimo and deepseek have about a billion parameters; the others are those of
released models.

There are no weights: `mtp-import --no-weights` reads the config alone, and
`mtpc --random-weights` makes the weights straight in the artifact.
"""

import argparse
import json
import os
import sys

COMMON = {"hidden_act": "silu", "vocab_size": 32000, "max_position_embeddings": 8192,
          "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
          "torch_dtype": "bfloat16", "bos_token_id": 1, "eos_token_id": 2}

# Grouped-query attention, dense: 1.10 billion.
DENSE = {"hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 8192,
         "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64}

SHAPES = {
    "llama": {"architectures": ["LlamaForCausalLM"], "model_type": "llama",
              "rope_theta": 500000, **DENSE},
    # The same with biases and an MTP module: 1.17 billion.
    "mimo": {"architectures": ["MiMoForCausalLM"], "model_type": "mimo",
             "rope_theta": 640000, "attention_bias": True,
             "use_sliding_window": False, "num_nextn_predict_layers": 1, **DENSE},
    # Latent attention and experts, of which a token takes 6 of 48, with two MTP
    # modules: 1.13 billion, of which a plain step of one row reads 0.2.
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

    # Llama-3.2-1B, Llama-3.1-8B, MiMo-7B and DeepSeek-V3 as they were released.
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
    with open(path, "w") as file:
        json.dump({**COMMON, **SHAPES[options.shape]}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
