//===- Kernels.h - An artifact of kernels written by hand -------*- C++ -*-===//

#ifndef MTP_TEST_CUDA_KERNELS_H
#define MTP_TEST_CUDA_KERNELS_H

#include "test/Runtime/support/ArtifactBuilder.h"

namespace mtp::test {

/// Number of elements (i32) of a block of a test kernel: one per thread.
inline constexpr uint32_t kRow = 32;
/// Number of elements of a page of the cache. Kernels use the first kRow.
inline constexpr uint32_t kPageElements = 64;
inline constexpr uint32_t kSlots = 3;
/// Programs of the artifact by index. Decode and prefill take n slots or rows.
/// Their results are of no use to a session.
enum Programs : uint32_t {
  /// Row b: "count"[b] += 1; the page that "page_table" has for slot b gets 100
  /// * count[b] + lane in its first row. Afterwards the output "seen" of n rows
  /// is the contents of these pages, the state "counts" is "count", and "again"
  /// is "limit" - "count".
  kDecode,
  kPrefill,
  /// [x i32[2][32]] -> weight * x + constant. The weight is read before the
  /// wait, and 2 x is in dynamic shared memory of 64 KiB.
  kAffine,
  /// Reads a row after its input.
  kBeyond,
};

/// Returns an artifact for the simulator with all programs.
ArtifactBuilder makeGpuModel();

/// Returns the image of its kernels.
const std::vector<uint8_t> &gpuImage();

} // namespace mtp::test

#endif // MTP_TEST_CUDA_KERNELS_H
