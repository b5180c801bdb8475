//===- QuantizedPanel.h - The bytes of a panel of integers ------*- C++ -*-===//
//
// Who packs quantised weights, who plans their buffers, who multiplies by them
// and who checks a file all count their bytes here. FORMAT.md is the prose.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H
#define MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H

#include <cstdint>

namespace mtp {

/// The least and the largest number of inputs that may share a scale; all
/// multiples of the least one in between are allowed.
inline constexpr int64_t kMinQuantGroup = 32;
inline constexpr int64_t kMaxQuantGroup = 128;
/// What is taken where nobody asks for a number.
inline constexpr int64_t kDefaultQuantGroup = 64;

inline constexpr bool isQuantGroup(int64_t group) {
  return group >= kMinQuantGroup && group <= kMaxQuantGroup &&
         group % kMinQuantGroup == 0;
}

/// A panel: 32 outputs of a matrix of `k` inputs, group by group. A group is 32
/// scales of f32, one per output, and then its integers.
struct QuantizedPanel {
  /// 8 or 4.
  int64_t bits;
  /// Inputs that share a scale; the last group has what is left.
  int64_t group;
  int64_t k;

  static constexpr int64_t kOutputs = 32;
  static constexpr int64_t kScaleBytes = kOutputs * 4;
  /// No group has more bytes, scales included.
  static constexpr int64_t kMostGroupBytes =
      kScaleBytes + kOutputs * kMaxQuantGroup;

  constexpr int64_t groups() const { return (k + group - 1) / group; }
  constexpr int64_t fullGroups() const { return k / group; }
  /// Inputs of the last group where that is not full, else 0.
  constexpr int64_t restInputs() const { return k % group; }

  /// `inputs` rounded up to what is stored together: four bytes, which one
  /// instruction multiplies, or the two such quads that share four bytes.
  constexpr int64_t storedInputs(int64_t inputs) const {
    int64_t together = bits == 8 ? 4 : 8;
    return (inputs + together - 1) / together * together;
  }
  /// Bytes of a group of `inputs`, scales included: a multiple of 128.
  constexpr int64_t groupBytes(int64_t inputs) const {
    return kScaleBytes + kOutputs * storedInputs(inputs) * bits / 8;
  }
  constexpr int64_t bytes() const {
    return fullGroups() * groupBytes(group) +
           (restInputs() ? groupBytes(restInputs()) : 0);
  }

  /// A table is looked up row by row, so a row has its words of a panel, scales
  /// and integers, one after the other: the bytes of a group of `inputs` and of
  /// a whole row, both multiples of 4.
  constexpr int64_t rowGroupBytes(int64_t inputs) const {
    return groupBytes(inputs) / kOutputs;
  }
  constexpr int64_t rowBytes() const { return bytes() / kOutputs; }
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H
