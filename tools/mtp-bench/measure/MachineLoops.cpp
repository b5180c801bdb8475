//===- MachineLoops.cpp - Loops that measure a processor ------------------===//
//
// A loop has sixteen independent sums. That is more than any known processor
// needs to hide the latency of a multiply-add, and few enough for its
// registers. The loop is chosen by the processor that the tool runs on, not by
// the processor that the tool was built for.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-bench/measure/MachineLoops.h"
#include "runtime/artifact/CpuFeatures.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace mtp;
using namespace mtp::bench;

static bool has(const char *feature) {
  return cpuFeature(feature) == FeatureState::Present;
}

static uint64_t readWords(const uint8_t *data, size_t bytes) {
  uint64_t sums[8] = {}, words[8];
  for (size_t at = 0; at < bytes; at += sizeof(words)) {
    std::memcpy(words, data + at, sizeof(words));
    for (size_t i = 0; i < 8; ++i)
      sums[i] ^= words[i];
  }
  uint64_t sum = 0;
  for (uint64_t part : sums)
    sum ^= part;
  return sum;
}

static constexpr int kSums = 16;

/// Multiplies and adds on any processor, as the compiler vectorizes the loop.
static void addPlain(int64_t steps, float *result) {
  float sums[kSums] = {}, a = result[0], b = result[1];
  for (int64_t i = 0; i < steps; ++i)
    for (float &sum : sums)
      sum = sum * a + b;
  for (float sum : sums)
    result[0] += sum;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) static uint64_t
readAvx512(const uint8_t *data, size_t bytes) {
  __m512i sums[8];
  for (__m512i &sum : sums)
    sum = _mm512_setzero_si512();
  for (size_t at = 0; at < bytes; at += 512)
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
      sums[i] = _mm512_xor_si512(
          sums[i], _mm512_loadu_si512(data + at + size_t(i) * 64));
  for (int i = 1; i < 8; ++i)
    sums[0] = _mm512_xor_si512(sums[0], sums[i]);
  alignas(64) uint64_t words[8];
  _mm512_store_si512(words, sums[0]);
  uint64_t all = 0;
  for (uint64_t word : words)
    all ^= word;
  return all;
}

__attribute__((target("avx2"))) static uint64_t readAvx2(const uint8_t *data,
                                                         size_t bytes) {
  __m256i sums[8];
  for (__m256i &sum : sums)
    sum = _mm256_setzero_si256();
  for (size_t at = 0; at < bytes; at += 256)
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i)
      sums[i] = _mm256_xor_si256(
          sums[i], _mm256_loadu_si256(reinterpret_cast<const __m256i *>(
                       data + at + size_t(i) * 32)));
  for (int i = 1; i < 8; ++i)
    sums[0] = _mm256_xor_si256(sums[0], sums[i]);
  alignas(32) uint64_t words[4];
  _mm256_store_si256(reinterpret_cast<__m256i *>(words), sums[0]);
  return words[0] ^ words[1] ^ words[2] ^ words[3];
}

__attribute__((target("avx512f"))) static void addAvx512(int64_t steps,
                                                         float *result) {
  __m512 a = _mm512_set1_ps(result[0]), b = _mm512_set1_ps(result[1]);
  __m512 sums[kSums];
  for (__m512 &sum : sums)
    sum = b;
  for (int64_t i = 0; i < steps; ++i)
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s)
      sums[s] = _mm512_fmadd_ps(sums[s], a, b);
  for (__m512 sum : sums)
    result[0] += _mm512_cvtss_f32(sum);
}

/// Multiplies and adds with AVX2. Twelve sums and the two factors fill all but
/// two of the sixteen registers.
__attribute__((target("avx2,fma"))) static void addAvx2(int64_t steps,
                                                        float *result) {
  __m256 a = _mm256_set1_ps(result[0]), b = _mm256_set1_ps(result[1]);
  __m256 sums[12];
  for (__m256 &sum : sums)
    sum = b;
  for (int64_t i = 0; i < steps; ++i)
#pragma GCC unroll 12
    for (int s = 0; s < 12; ++s)
      sums[s] = _mm256_fmadd_ps(sums[s], a, b);
  for (__m256 sum : sums)
    result[0] += _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f,avx512bf16"))) static void
dotBf16(int64_t steps, float *result) {
  __m512 seed = _mm512_set1_ps(result[1]);
  __m512bh a = _mm512_cvtne2ps_pbh(seed, seed), b = a;
  __m512 sums[kSums];
  for (__m512 &sum : sums)
    sum = seed;
  for (int64_t i = 0; i < steps; ++i)
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s)
      sums[s] = _mm512_dpbf16_ps(sums[s], a, b);
  for (__m512 sum : sums)
    result[0] += _mm512_cvtss_f32(sum);
}

/// Defines a loop over sums of integers. `STEP` computes the next sum from
/// `sum` and the factors `a`. This is a macro, since functions for different
/// instruction sets are not inlined into one another. The barrier keeps
/// products that do not depend on the sums inside the loop.
#define MTP_INTEGER_LOOP(NAME, TARGET, VECTOR, SUMS, STEP)                     \
  __attribute__((target(TARGET))) static void NAME(int64_t steps,              \
                                                   float *result) {            \
    VECTOR a = {}, sums[SUMS] = {};                                            \
    for (int64_t i = 0; i < steps; ++i)                                        \
      _Pragma("GCC unroll 16") for (VECTOR &sum : sums) {                      \
        asm volatile("" : "+v"(a));                                            \
        sum = STEP;                                                            \
      }                                                                        \
    for (const VECTOR &sum : sums)                                             \
      result[0] += float(sum[0]);                                              \
  }

MTP_INTEGER_LOOP(dotI8Avx512, "avx512f,avx512vnni", __m512i, kSums,
                 _mm512_dpbusd_epi32(sum, a, a))
MTP_INTEGER_LOOP(dotI8Avx, "avx2,avxvnni", __m256i, 12,
                 _mm256_dpbusd_avx_epi32(sum, a, a))

// Without dot products of four bytes: pairs of i16, since the sum of two
// products of bytes does not fit an i16. Products of int4 with bytes fit, and
// so do sums of a few of them.
MTP_INTEGER_LOOP(wordPairs, "avx2", __m256i, 12,
                 _mm256_add_epi32(sum, _mm256_madd_epi16(a, a)))
MTP_INTEGER_LOOP(bytePairs, "avx2", __m256i, 12,
                 _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, a)))
MTP_INTEGER_LOOP(wordPairs512, "avx512bw", __m512i, kSums,
                 _mm512_add_epi32(sum, _mm512_madd_epi16(a, a)))
MTP_INTEGER_LOOP(bytePairs512, "avx512bw", __m512i, kSums,
                 _mm512_add_epi16(sum, _mm512_maddubs_epi16(a, a)))
#undef MTP_INTEGER_LOOP

/// The configuration of the eight tile registers: `palette` 1, and the bytes
/// per row and rows of each.
struct TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);
/// A constant, since GCC assumes that _tile_loadconfig() reads eight bytes, and
/// drops the stores to the others.
alignas(64) static constexpr TileShapes tileShapes;

/// Multiplies zeros, which take tiles as long as other values.
__attribute__((target("amx-tile,amx-bf16"))) static void
tilesBf16(int64_t steps, float *) {
  _tile_loadconfig(&tileShapes);
  for (int64_t i = 0; i < steps; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

__attribute__((target("amx-tile,amx-int8"))) static void tilesI8(int64_t steps,
                                                                 float *) {
  _tile_loadconfig(&tileShapes);
  for (int64_t i = 0; i < steps; ++i) {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
  _tile_release();
}

uint64_t bench::readAll(const uint8_t *data, size_t bytes) {
  if (has("avx512f"))
    return readAvx512(data, bytes);
  return has("avx2") ? readAvx2(data, bytes) : readWords(data, bytes);
}

/// Returns the operations of a step: two per multiply-add, over all lanes and
/// sums.
static double ops(double lanes, double sums) { return 2 * lanes * sums; }

ArithmeticKernel bench::arithmeticKernel(Arithmetic type) {
  switch (type) {
  case Arithmetic::F32:
    if (has("avx512f"))
      return {addAvx512, ops(16, kSums)};
    if (has("avx2") && has("fma"))
      return {addAvx2, ops(8, 12)};
    return {addPlain, ops(1, kSums)};
  case Arithmetic::BF16:
    if (has("amx-tile") && has("amx-bf16"))
      return {tilesBf16, ops(16 * 16 * 32, 4)};
    if (has("avx512bf16"))
      return {dotBf16, ops(32, kSums)};
    return {};
  case Arithmetic::I8:
    if (has("amx-tile") && has("amx-int8"))
      return {tilesI8, ops(16 * 16 * 64, 4)};
    if (has("avx512vnni"))
      return {dotI8Avx512, ops(64, kSums)};
    if (has("avxvnni"))
      return {dotI8Avx, ops(32, 12)};
    if (has("avx512bw"))
      return {wordPairs512, ops(32, kSums)};
    if (has("avx2"))
      return {wordPairs, ops(16, 12)};
    return {};
  case Arithmetic::I4:
    // Four products are added at once, so I4 is no faster than I8.
    if (has("amx-int8") || has("avx512vnni") || has("avxvnni"))
      return {};
    if (has("avx512bw"))
      return {bytePairs512, ops(64, kSums)};
    if (has("avx2"))
      return {bytePairs, ops(32, 12)};
    return {};
  }
  return {};
}

#else

uint64_t bench::readAll(const uint8_t *data, size_t bytes) {
  return readWords(data, bytes);
}

ArithmeticKernel bench::arithmeticKernel(Arithmetic type) {
  if (type == Arithmetic::F32)
    return {addPlain, 2.0 * kSums};
  return {};
}

#endif
