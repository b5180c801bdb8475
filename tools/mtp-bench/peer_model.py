#!/usr/bin/env python3
"""Writes a GGUF file of 1.1 billion seeded F16 weights, for peers.py.

usage: peer_model.py FILE [--layers N]

The shape is TinyLlama's: hidden 2,048, feed-forward 5,632, 22 layers, 32 heads
with 4 for keys and values, a vocabulary of 32,000. All widths are multiples of
256, so llama-quantize has a K-quant for each matrix:

  llama-quantize FILE FILE.Q4_K_M.gguf Q4_K_M
  llama-quantize FILE FILE.Q8_0.gguf Q8_0

The vocabulary has byte tokens and made-up words. Needs numpy and gguf.
"""

import argparse

import gguf
import numpy

HIDDEN, FEED_FORWARD, HEADS, KV_HEADS, VOCABULARY = 2048, 5632, 32, 4, 32000


def vocabulary():
    """Pieces, scores and types of a tokenizer with byte fallback."""
    kinds = gguf.TokenType
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL] + [kinds.BYTE] * 256
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces += ["\u2581"] + list(letters)
    for number in range(VOCABULARY - len(pieces)):
        word = ""
        number += 26
        while number:
            number, letter = divmod(number, 26)
            word = letters[letter] + word
        pieces.append("\u2581" + word)
    types += [kinds.NORMAL] * (len(pieces) - len(types))
    return pieces, [-float(i) for i in range(len(pieces))], types


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--layers", type=int, default=22)
    args = parser.parse_args()
    out = gguf.GGUFWriter(args.file, "llama")
    out.add_name("llama 1.1B, seeded")
    out.add_context_length(2048)
    out.add_embedding_length(HIDDEN)
    out.add_block_count(args.layers)
    out.add_feed_forward_length(FEED_FORWARD)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_rope_dimension_count(HIDDEN // HEADS)
    out.add_rope_freq_base(10000.0)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(VOCABULARY)
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    pieces, scores, types = vocabulary()
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list(pieces)
    out.add_token_scores(scores)
    out.add_token_types(types)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    random = numpy.random.default_rng(45)

    def matrix(name, rows, columns):
        values = random.standard_normal((rows, columns), dtype=numpy.float32)
        out.add_tensor(name, (values * 0.02).astype(numpy.float16))

    def norm(name):
        out.add_tensor(name, numpy.ones(HIDDEN, numpy.float32))

    matrix("token_embd.weight", VOCABULARY, HIDDEN)
    key_values = HIDDEN // HEADS * KV_HEADS
    for layer in range(args.layers):
        norm(f"blk.{layer}.attn_norm.weight")
        matrix(f"blk.{layer}.attn_q.weight", HIDDEN, HIDDEN)
        matrix(f"blk.{layer}.attn_k.weight", key_values, HIDDEN)
        matrix(f"blk.{layer}.attn_v.weight", key_values, HIDDEN)
        matrix(f"blk.{layer}.attn_output.weight", HIDDEN, HIDDEN)
        norm(f"blk.{layer}.ffn_norm.weight")
        matrix(f"blk.{layer}.ffn_gate.weight", FEED_FORWARD, HIDDEN)
        matrix(f"blk.{layer}.ffn_up.weight", FEED_FORWARD, HIDDEN)
        matrix(f"blk.{layer}.ffn_down.weight", HIDDEN, FEED_FORWARD)
    norm("output_norm.weight")
    matrix("output.weight", VOCABULARY, HIDDEN)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
