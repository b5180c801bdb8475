#!/usr/bin/env python3
"""Writes config.json of an EAGLE-3 drafter of llama-chain, in speculators' format.

  speculators_config.py FOLDER KEY=JSON...
"""
import json
import os
import sys

LAYERS = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 80,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
          "num_hidden_layers": 1, "vocab_size": 112, "rms_norm_eps": 1e-5}
config = {"speculators_model_type": "eagle3", "draft_vocab_size": 112,
          "transformer_layer_config": LAYERS}
for change in sys.argv[2:]:
    key, value = change.split("=")
    (LAYERS if key in LAYERS else config)[key] = json.loads(value)
with open(os.path.join(sys.argv[1], "config.json"), "w", encoding="utf8") as file:
    json.dump(config, file)
