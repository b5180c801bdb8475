//===- Lanes.h - Numbers of 16 outputs --------------------------*- C++ -*-===//
//
// Vectors of the compiler, of which each element belongs to one output. All
// functions are inlined into functions that are compiled for several
// processors. Elements never meet and nothing is contracted, so all processors
// compute equal bits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_QUANTIZE_LANES_H
#define MTP_COMPILER_QUANTIZE_LANES_H

#include <cstdint>
#include <cstring>

// The dynamic loader of glibc chooses a version. It does so before the thread
// sanitizer is initialised, and the choosing function must not call the
// sanitizer.
#define MTP_LANES_INLINE [[gnu::always_inline]] inline
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define MTP_LANES_CLONES                                                       \
  [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define MTP_LANES_CLONES
#endif

namespace mtp::lanes {

inline constexpr int64_t kLanes = 16;
typedef float Lanes __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));

MTP_LANES_INLINE Lanes all(float value) { return value - Lanes{}; }

MTP_LANES_INLINE Lanes load(const float *from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

MTP_LANES_INLINE void store(const Lanes &lanes, float *to) {
  std::memcpy(to, &lanes, sizeof(lanes));
}

MTP_LANES_INLINE Lanes pick(Ints isFirst, Lanes first, Lanes second) {
  return isFirst ? first : second;
}

MTP_LANES_INLINE Lanes largest(Lanes a, Lanes b) { return pick(a > b, a, b); }
MTP_LANES_INLINE Lanes smallest(Lanes a, Lanes b) { return pick(a < b, a, b); }
MTP_LANES_INLINE Lanes magnitude(Lanes a) { return largest(a, -a); }

/// Rounds to the nearest integer, ties to even, for magnitudes below 2^22.
MTP_LANES_INLINE Lanes nearest(Lanes a) {
  return a + 12582912.0f - 12582912.0f;
}

MTP_LANES_INLINE Lanes limited(Lanes a, float least, float most) {
  return smallest(largest(a, all(least)), all(most));
}

/// Returns a / b, or 0 if b is 0.
MTP_LANES_INLINE Lanes quotient(Lanes a, Lanes b) {
  Ints isZero = b == all(0);
  return pick(isZero, all(0), a / pick(isZero, all(1), b));
}

} // namespace mtp::lanes

#endif // MTP_COMPILER_QUANTIZE_LANES_H
