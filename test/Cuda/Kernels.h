//===- Kernels.h - An artifact of kernels written by hand -------*- C++ -*-===//

#ifndef MTP_TEST_CUDA_KERNELS_H
#define MTP_TEST_CUDA_KERNELS_H

#include "test/Runtime/ArtifactBuilder.h"

namespace mtp::test {

/// Elements (i32) that a block of a test kernel works on: a thread each.
inline constexpr uint32_t kRow = 32;
/// Elements of a page of the cache, of which kernels use the first kRow.
inline constexpr uint32_t kPageElements = 64;
inline constexpr uint32_t kSlots = 3;
/// Programs of the artifact by index. Decode and prefill are for n slots or
/// rows; what they do is of no use to a session.
enum Programs : uint32_t {
  /// Row b: "count"[b] += 1; the page that "page_table" has for slot b gets
  /// 100 * count[b] + lane in its first row; the output "seen" of n rows is
  /// what is then in those pages; the state "counts" is "count", and "again" is
  /// "limit" - "count".
  kDecode,
  kPrefill,
  /// [x i32[2][32]] -> weight * x + constant; the weight is read ahead of the
  /// wait, and 2 x in dynamic shared memory of 64 KiB.
  kAffine,
  /// Reads a row behind its input.
  kBeyond,
};

/// An artifact for the simulator with all that.
ArtifactBuilder makeGpuModel();

/// The image of its kernels.
const std::vector<uint8_t> &gpuImage();

} // namespace mtp::test

#endif // MTP_TEST_CUDA_KERNELS_H
