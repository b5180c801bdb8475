//===- Emulation.h - A model of bf16 mma on the host ------------*- C++ -*-===//

#ifndef MTP_TOOLS_GPU_CHECK_PROBE_EMULATION_H
#define MTP_TOOLS_GPU_CHECK_PROBE_EMULATION_H

#include <cstdint>
#include <string>

namespace mtp::gpu_check {

/// A model of how a tensor core adds c and 16 products. It takes blocks of
/// `width` products at a time. All terms of a block and the sum so far are
/// aligned to the largest exponent, with `extra` bits in addition to f32's 23.
/// They are added exactly and rounded to f32.
struct MmaModel {
  int width = 16;
  int extra = 0;
  bool normalized = false; // exponents of products after normalization
  bool nearest = false;    // rounds the sum to nearest; else toward zero
  bool floor = false;      // cuts terms toward minus infinity; else toward zero

  std::string name() const;
  float run(float c, const uint16_t *a, const uint16_t *b) const;
};

float fromBf16(uint16_t bits);
uint16_t toBf16(float value);

} // namespace mtp::gpu_check

#endif // MTP_TOOLS_GPU_CHECK_PROBE_EMULATION_H
