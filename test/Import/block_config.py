#!/usr/bin/env python3
"""Writes config.json of Qwen3-8B, or of a drafter that was published for it.

  block_config.py target|dflash|dspark FOLDER

dflash: z-lab's Qwen3-8B-DFlash-b16. dspark: DeepSpec's dspark_qwen3_8b_block7.
"""
import json
import os
import sys

QWEN = {"model_type": "qwen3", "hidden_act": "silu", "hidden_size": 4096,
        "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "vocab_size": 151936,
        "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000,
        "rope_scaling": None, "attention_bias": False, "tie_word_embeddings": False,
        "use_sliding_window": False, "sliding_window": None, "max_window_layers": 36,
        "torch_dtype": "bfloat16", "bos_token_id": 151643, "eos_token_id": 151645}
BLOCK = {"num_hidden_layers": 5, "num_target_layers": 36, "layer_types": ["full_attention"] * 5}
TAPS = {"target_layer_ids": [1, 9, 17, 25, 33], "mask_token_id": 151669}
CONFIGS = {
    "target": {"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 36},
    "dflash": {"architectures": ["DFlashDraftModel"], **BLOCK, "block_size": 16,
               "dflash_config": TAPS},
    "dspark": {"architectures": ["Qwen3DSparkModel"], **BLOCK, **TAPS, "block_size": 7,
               "markov_rank": 256, "markov_head_type": "vanilla", "enable_confidence_head": True,
               "confidence_head_with_markov": True},
}
kind, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "config.json"), "w", encoding="utf8") as file:
    json.dump({**QWEN, **CONFIGS[kind]}, file)
