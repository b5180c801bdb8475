//===- Mma.cpp - mma.sync of the tensor cores -----------------------------===//
//
// Fragments as in the PTX manual. Lane l has g = l / 4 and t = l % 4. A
// register of A holds two 16-bit elements or four bytes. They are in row g
// (registers 0, 2) or g + 8 (1, 3), in the first half of K (0, 1) or the second
// (2, 3), from column 2t or 4t of the half on. B is the same with columns for
// rows. C and D hold rows g and g + 8, columns 2t and 2t + 1.
//
// Integer results are exact. For floats, the hardware's order and width of sums
// inside one mma are not documented. Here it is one chain of fused
// multiply-adds, in the order of K, and tests against a device need a
// tolerance.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"
#include "Collectives.h"
#include <cmath>
#include <cstring>

using namespace mtp::gpusim;

static float bf16ToFloat(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static float f16ToFloat(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  float value = exponent == 31
                    ? (fraction ? NAN : INFINITY)
                    : std::ldexp(float(exponent ? fraction + 1024 : fraction),
                                 (exponent ? exponent : 1) - 25);
  return half & 0x8000 ? -value : value;
}

namespace {
template <typename Sum>
struct Arguments {
  uint32_t a[4], b[2];
  Sum c[4];
};

/// Operands of one mma as matrices; kDepth is K.
template <typename Element, typename Sum, int kDepth>
struct Product {
  Element a[16][kDepth], b[kDepth][8];
  Sum c[16][8];
};
} // namespace

/// Distributes the registers of all lanes over the matrices. `decode` returns
/// an element of a register, which holds kPerWord elements.
template <typename Element, typename Sum, int kDepth, typename DecodeA,
          typename DecodeB>
static void gather(const Lanes &lanes, Product<Element, Sum, kDepth> &product,
                   DecodeA decodeA, DecodeB decodeB) {
  constexpr int kPerWord = kDepth / 8;
  for (int l = 0; l < 32; ++l) {
    Arguments<Sum> own;
    std::memcpy(&own, lanes.lane[l]->arguments, sizeof own);
    int g = l / 4, t = l % 4;
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < kPerWord; ++e)
        product.a[g + 8 * (r & 1)][kPerWord * t + e + kDepth / 2 * (r >> 1)] =
            decodeA(own.a[r], e);
    for (int r = 0; r < 2; ++r)
      for (int e = 0; e < kPerWord; ++e)
        product.b[kPerWord * t + e + kDepth / 2 * r][g] = decodeB(own.b[r], e);
    for (int r = 0; r < 4; ++r)
      product.c[g + 8 * (r >> 1)][2 * t + (r & 1)] = own.c[r];
  }
}

template <typename Sum>
static void scatter(const Lanes &lanes, const Sum (&c)[16][8]) {
  for (int l = 0; l < 32; ++l) {
    int g = l / 4, t = l % 4;
    Sum own[4];
    for (int r = 0; r < 4; ++r)
      own[r] = c[g + 8 * (r >> 1)][2 * t + (r & 1)];
    std::memcpy(lanes.lane[l]->result, own, sizeof own);
  }
}

template <float (*decode)(uint16_t)>
static void multiplyFloats(const Lanes &lanes) {
  Product<float, float, 16> product;
  auto element = [](uint32_t word, int e) {
    return decode(uint16_t(word >> 16 * e));
  };
  gather(lanes, product, element, element);
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < 16; ++k)
        product.c[m][n] =
            std::fma(product.a[m][k], product.b[k][n], product.c[m][n]);
  scatter(lanes, product.c);
}

template <typename A, typename B, bool saturate>
static void multiplyBytes(const Lanes &lanes) {
  Product<int32_t, int32_t, 32> product;
  gather(
      lanes, product,
      [](uint32_t word, int e) { return int32_t(A(word >> 8 * e)); },
      [](uint32_t word, int e) { return int32_t(B(word >> 8 * e)); });
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      int64_t sum = product.c[m][n];
      for (int k = 0; k < 32; ++k)
        sum += product.a[m][k] * product.b[k][n];
      if (saturate)
        sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      product.c[m][n] = int32_t(sum);
    }
  scatter(lanes, product.c);
}

#define MTP_MMA(name, compute)                                                 \
  void calls::name(void *result, const void *arguments) {                      \
    meet(#name, kFullWarp, result, arguments, compute);                        \
  }
#define MTP_MMA_BYTES(types, A, B)                                             \
  MTP_MMA(mma_m16n8k32_row_col_##types, (multiplyBytes<A, B, false>))          \
  MTP_MMA(mma_m16n8k32_row_col_satfinite_##types, (multiplyBytes<A, B, true>))
MTP_MMA(mma_m16n8k16_row_col_bf16, multiplyFloats<bf16ToFloat>)
MTP_MMA(mma_m16n8k16_row_col_f32_f32, multiplyFloats<f16ToFloat>)
MTP_MMA_BYTES(s8, int8_t, int8_t)
MTP_MMA_BYTES(u8, uint8_t, uint8_t)
MTP_MMA_BYTES(u8_s8, uint8_t, int8_t)
MTP_MMA_BYTES(s8_u8, int8_t, uint8_t)
#undef MTP_MMA_BYTES
#undef MTP_MMA

// The functions below are not a warp's instructions, but compute for one
// thread.

/// Adds the products of four pairs of bytes to a sum.
template <typename A>
static void dotBytes(void *result, const void *arguments) {
  struct {
    A a[4];
    int8_t b[4];
    int32_t sum;
  } own;
  std::memcpy(&own, arguments, sizeof own);
  for (int i = 0; i < 4; ++i)
    own.sum = int32_t(uint32_t(own.sum) + uint32_t(own.a[i] * own.b[i]));
  std::memcpy(result, &own.sum, sizeof own.sum);
}

void calls::idp4a_s_s(void *result, const void *arguments) {
  dotBytes<int8_t>(result, arguments);
}

void calls::idp4a_u_s(void *result, const void *arguments) {
  dotBytes<uint8_t>(result, arguments);
}

// Each of the lowest four halves of bytes of `which` has the number of a byte
// in its low three bits. If its fourth bit is set, the byte's sign fills the
// result.
void calls::prmt(void *result, const void *arguments) {
  struct {
    int8_t bytes[8];
    uint32_t which;
  } own;
  std::memcpy(&own, arguments, sizeof own);
  int8_t picked[4];
  for (int i = 0; i < 4; ++i) {
    uint32_t number = own.which >> 4 * i & 15;
    int8_t byte = own.bytes[number & 7];
    picked[i] = number & 8 ? int8_t(byte < 0 ? -1 : 0) : byte;
  }
  std::memcpy(result, picked, sizeof picked);
}
