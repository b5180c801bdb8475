//===- Layout.h - Where a weight lies in the packed order -------*- C++ -*-===//
//
// The definition in numbers of what generate/products.py describes, and the
// same for activations.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_GPU_CHECK_LAYOUT_H
#define MTP_GPU_CHECK_LAYOUT_H

#include <cstddef>
#include <string>

namespace mtp::gpu_check {

struct Layout {
  std::string kind; // bf16, s8 or s4
  size_t inputs, rows, unroll;

  bool quantized() const { return kind != "bf16"; }
  /// Inputs of a block, bytes of its weights in a tile of 16 rows.
  size_t block() const { return quantized() ? 64 : 32; }
  size_t blockBytes() const { return kind == "s4" ? 512 : 1024; }
  size_t chunkBytes() const {
    return unroll * (blockBytes() + (quantized() ? 64 : 0));
  }
  size_t chunkOf(size_t row, size_t block) const {
    return (row / 16 * (inputs / this->block() / unroll) + block / unroll) *
           chunkBytes();
  }
  size_t bytes() const { return chunkOf(rows, 0); }

  /// Byte of a weight; for s4, `nibble` says which half.
  size_t weight(size_t row, size_t input, size_t &nibble) const {
    size_t i = row % 16, block = input / this->block(),
           e = input % this->block(), per = this->block() / 4;
    size_t t = e / per, j = e % per / (per / 2), q = e % (per / 2) / (per / 4),
           h = e % (per / 4);
    size_t lane = 4 * (i % 8) + t, word = i / 8 + 2 * q;
    nibble = kind == "s4" ? j : 0;
    return chunkOf(row, block) + block % unroll * blockBytes() +
           (kind == "s4" ? 0 : j * 512) + lane * 16 + word * 4 +
           h * (quantized() ? 1 : 2);
  }

  /// Byte of the scale of a row's weights in a block.
  size_t scale(size_t row, size_t block) const {
    size_t i = row % 16;
    return chunkOf(row, block) + unroll * blockBytes() + block % unroll * 64 +
           i % 8 * 8 + i / 8 * 4;
  }

  /// Byte of an activation among `tokens`.
  size_t activation(size_t token, size_t input, size_t tokens) const {
    return (input / block() * tokens + token) * 64 +
           input % block() * (quantized() ? 1 : 2);
  }
};

} // namespace mtp::gpu_check

#endif // MTP_GPU_CHECK_LAYOUT_H
