"""Writes configs of a small model with a module and of one without: NAME NAME"""
import json
import sys

SHAPE = {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
         "vocab_size": 256, "rope_theta": 10000}
for name, more in zip(sys.argv[1:], ({"attention_bias": True, "num_nextn_predict_layers": 1},
                                     {"tie_word_embeddings": True})):
    with open(name, "w", encoding="utf-8") as file:
        json.dump({**SHAPE, **more}, file)
