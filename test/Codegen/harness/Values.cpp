//===- Values.cpp - Random values and packed weights of tests -------------===//

#include "Harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace mtp::codegen;

/// Returns a number from 0 up to but without 1.
static float uniform(std::mt19937 &generator) {
  float number = float(uint32_t(generator())) * 0x1p-32f;
  return std::min(number, 0x1.fffffep-1f);
}

/// Returns two independent numbers of the standard normal distribution, by
/// Marsaglia's polar method. std::normal_distribution returns these numbers,
/// too, but takes a logarithm of long double for each.
static std::pair<float, float> twoNormal(std::mt19937 &generator) {
  float x, y, square;
  do {
    x = 2.0f * uniform(generator) - 1.0f;
    y = 2.0f * uniform(generator) - 1.0f;
    square = x * x + y * y;
  } while (square > 1.0f || square == 0.0f);
  float factor = std::sqrt(-2.0f * std::log(square) / square);
  return {y * factor, x * factor};
}

std::vector<float> test::randomFloats(size_t count, uint32_t seed,
                                      float scale) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i += 2) {
    auto [first, second] = twoNormal(generator);
    values[i] = first * scale;
    if (i + 1 < count)
      values[i + 1] = second * scale;
  }
  return values;
}

uint16_t test::bf16Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits | 0x400000) >> 16);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float test::toBF16(float value) {
  uint32_t bits = uint32_t(bf16Bits(value)) << 16;
  std::memcpy(&value, &bits, 4);
  return value;
}

double test::silu(double x) { return x / (1.0 + std::exp(-x)); }

double test::geluTanh(double x) {
  double z = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  // For negative z the sum 1 + tanh(z) loses digits.
  return x / (1.0 + std::exp(-2.0 * z));
}

std::vector<uint8_t> test::packWeights(const std::vector<float> &w, int n,
                                       int k, bool bf16, bool gated) {
  int outputs = gated ? n / 2 : n, tasks = (outputs + 31) / 32;
  int panels = gated ? 2 * tasks : tasks, depth = bf16 ? (k + 1) / 2 * 2 : k;
  std::vector<uint8_t> packed(size_t(panels) * depth * 32 * (bf16 ? 2 : 4));
  for (int panel = 0; panel < panels; ++panel)
    for (int lane = 0; lane < 32; ++lane) {
      int output = (gated ? panel / 2 : panel) * 32 + lane;
      if (output >= outputs)
        continue;
      int row = gated && panel % 2 ? outputs + output : output;
      for (int i = 0; i < k; ++i) {
        float value = w[size_t(row) * k + i];
        size_t base = size_t(panel) * depth * 32;
        if (bf16) {
          uint16_t bits = bf16Bits(value);
          size_t at = base + (size_t(i / 2) * 32 + lane) * 2 + i % 2;
          std::memcpy(&packed[at * 2], &bits, 2);
        } else {
          std::memcpy(&packed[(base + size_t(i) * 32 + lane) * 4], &value, 4);
        }
      }
    }
  return packed;
}

std::vector<uint8_t> test::packHeads(const std::vector<float> &w, int heads,
                                     int n, int k, bool bf16) {
  std::vector<uint8_t> packed;
  for (int h = 0; h < heads; ++h) {
    std::vector<uint8_t> head = packWeights(
        {w.begin() + h * n * k, w.begin() + (h + 1) * n * k}, n, k, bf16);
    packed.insert(packed.end(), head.begin(), head.end());
  }
  return packed;
}

// From the PTX manual's table of A in m16n8k16. Element i of a lane is in row
// lane / 4, or 8 rows below for i = 2, 3, 6, 7. Its column is
// 2 (lane % 4) + i % 2, or 8 columns to the right for i >= 4. A lane's columns
// of both fragments are eight neighbours of the 32 inputs, four of each.
std::vector<uint8_t> test::toFragments(const std::vector<uint8_t> &panels,
                                       int k) {
  std::vector<uint8_t> result(panels.size());
  size_t panelBytes = size_t(k) * 64, at = 0;
  for (size_t panel = 0; panel < panels.size(); panel += panelBytes)
    for (int block = 0; block < k; block += 32)
      for (int tile = 0; tile < 32; tile += 16)
        for (int fragment = 0; fragment < 2; ++fragment)
          for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 8; ++i, at += 2) {
              int output = tile + lane / 4 + (i / 2 % 2 ? 8 : 0);
              int input = block + 8 * (lane % 4) + 4 * fragment +
                          (i >= 4 ? 2 : 0) + i % 2;
              size_t from =
                  panel + (size_t(input / 2) * 32 + output) * 4 + input % 2 * 2;
              std::memcpy(&result[at], &panels[from], 2);
            }
  return result;
}
