//===- Philox.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Philox4x32 with 10 rounds, after Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011). Four words are a pure function of a counter and a
// key. Noise can therefore be addressed by position instead of drawn in order.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CPU_PHILOX_H
#define MTP_RUNTIME_DEVICE_CPU_PHILOX_H

#include <array>
#include <cstdint>

namespace mtp {

/// Returns four random words for a counter of four words and a key of two.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t left = uint64_t(0xD2511F53) * counter[0];
    uint64_t right = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(right >> 32) ^ counter[1] ^ key[0], uint32_t(right),
               uint32_t(left >> 32) ^ counter[3] ^ key[1], uint32_t(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CPU_PHILOX_H
