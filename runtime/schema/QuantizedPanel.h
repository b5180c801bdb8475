//===- QuantizedPanel.h - The bytes of a panel of integers ------*- C++ -*-===//
//
// Byte counts of quantised weights, for packing, buffer planning,
// multiplication and file checks. FORMAT.md describes the layout in prose.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H
#define MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H

#include <cstdint>

namespace mtp {

/// The smallest and the largest number of inputs that may share a scale. All
/// multiples of the smallest between them are allowed.
inline constexpr int64_t kMinQuantGroup = 32;
inline constexpr int64_t kMaxQuantGroup = 128;
/// Group size if none is given.
inline constexpr int64_t kDefaultQuantGroup = 64;

inline constexpr bool isQuantGroup(int64_t group) {
  return group >= kMinQuantGroup && group <= kMaxQuantGroup &&
         group % kMinQuantGroup == 0;
}

/// A panel: 32 outputs of a matrix with `k` inputs, group by group. A group is
/// 32 f32 scales, one per output, followed by its integers.
struct QuantizedPanel {
  /// 8 or 4.
  int64_t bits;
  /// Number of inputs that share a scale; the last group has the remaining
  /// inputs.
  int64_t group;
  int64_t k;

  static constexpr int64_t kOutputs = 32;
  static constexpr int64_t kScaleBytes = kOutputs * 4;
  /// Upper bound of a group's bytes, including scales.
  static constexpr int64_t kMostGroupBytes =
      kScaleBytes + kOutputs * kMaxQuantGroup;

  constexpr int64_t groups() const { return (k + group - 1) / group; }
  constexpr int64_t fullGroups() const { return k / group; }
  /// Returns the number of inputs of an incomplete last group, or 0.
  constexpr int64_t restInputs() const { return k % group; }

  /// Returns `inputs` rounded up to a unit of storage: four bytes, which one
  /// instruction multiplies, or two groups of four int4 that share four bytes.
  constexpr int64_t storedInputs(int64_t inputs) const {
    int64_t together = bits == 8 ? 4 : 8;
    return (inputs + together - 1) / together * together;
  }
  /// Returns the bytes of a group of `inputs`, including scales: a multiple of
  /// 128.
  constexpr int64_t groupBytes(int64_t inputs) const {
    return kScaleBytes + kOutputs * storedInputs(inputs) * bits / 8;
  }
  constexpr int64_t bytes() const {
    return fullGroups() * groupBytes(group) +
           (restInputs() ? groupBytes(restInputs()) : 0);
  }

  /// Bytes of a group of `inputs` and of a whole row in a table that is looked
  /// up row by row. A row has its scales and integers of a panel, one after the
  /// other. Both sizes are multiples of 4.
  constexpr int64_t rowGroupBytes(int64_t inputs) const {
    return groupBytes(inputs) / kOutputs;
  }
  constexpr int64_t rowBytes() const { return bytes() / kOutputs; }
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H
