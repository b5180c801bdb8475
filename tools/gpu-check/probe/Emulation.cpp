//===- Emulation.cpp - A model of bf16 mma on the host --------------------===//

#include "Emulation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mtp::gpu_check;

float mtp::gpu_check::fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

uint16_t mtp::gpu_check::toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

namespace {
/// number * 2^(exponent - scale). `exponent` is the one that alignment uses.
struct Term {
  int64_t number = 0;
  int exponent = -1000;
  int scale = 0;
};
} // namespace

static Term fromFloat(float value) {
  if (value == 0)
    return {};
  int e;
  float m = std::frexp(value, &e); // 0.5 <= |m| < 1
  return {static_cast<int64_t>(std::ldexp(m, 24)), e - 1, 23};
}

static Term product(uint16_t x, uint16_t y, bool normalized) {
  Term a = fromFloat(fromBf16(x)), b = fromFloat(fromBf16(y));
  if (!a.number || !b.number)
    return {};
  // Eight bits each, so 16 together.
  Term r = {(a.number >> 16) * (b.number >> 16), a.exponent + b.exponent, 14};
  if (normalized && std::llabs(r.number) >= (1 << 15)) {
    r.exponent += 1;
    r.scale += 1;
  }
  return r;
}

/// Returns the term as a multiple of 2^(exponent - bits).
static int64_t align(const Term &term, int exponent, int bits, bool floor) {
  if (!term.number)
    return 0;
  int shift = term.exponent - term.scale - (exponent - bits);
  if (shift >= 0)
    return term.number << shift;
  if (shift < -62)
    return floor && term.number < 0 ? -1 : 0;
  if (floor)
    return term.number >> -shift;
  int64_t cut = std::llabs(term.number) >> -shift;
  return term.number < 0 ? -cut : cut;
}

static float toFloat(int64_t sum, int exponent, bool nearest) {
  if (nearest)
    return std::ldexp(static_cast<float>(sum), exponent);
  int64_t magnitude = std::llabs(sum);
  int length = 0;
  while (length < 63 && magnitude >> length)
    ++length;
  int cut = std::max(0, length - 24);
  float value =
      std::ldexp(static_cast<float>(magnitude >> cut), exponent + cut);
  return sum < 0 ? -value : value;
}

/// Returns true, and sets `sum`, if a term is infinite or NaN.
static bool special(float c, const uint16_t *a, const uint16_t *b, float &sum) {
  bool found = !std::isfinite(c);
  sum = found ? c : 0;
  for (int k = 0; k < 16; ++k) {
    float x = fromBf16(a[k]), y = fromBf16(b[k]);
    if (std::isfinite(x) && std::isfinite(y))
      continue;
    found = true;
    sum += x * y;
  }
  return found;
}

float MmaModel::run(float c, const uint16_t *a, const uint16_t *b) const {
  float sum;
  if (special(c, a, b, sum))
    return sum;
  for (int first = 0; first < 16; first += width) {
    Term terms[17];
    int count = 0;
    terms[count++] = fromFloat(c);
    for (int k = first; k < first + width; ++k)
      terms[count++] = product(a[k], b[k], normalized);
    int top = -1000;
    for (int i = 0; i < count; ++i)
      if (terms[i].number)
        top = std::max(top, terms[i].exponent);
    int64_t total = 0;
    for (int i = 0; i < count; ++i)
      total += align(terms[i], top, 23 + extra, floor);
    c = total ? toFloat(total, top - 23 - extra, nearest) : 0.0f;
  }
  return c;
}

std::string MmaModel::name() const {
  return "blocks of " + std::to_string(width) + ", " + std::to_string(extra) +
         " bits more" + (normalized ? ", products normalized" : "") +
         (floor ? ", terms floored" : ", terms cut") +
         (nearest ? ", sum to nearest" : ", sum cut");
}
