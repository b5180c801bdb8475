//===- GroupCodes.h - Stored integers and scales ----------------*- C++ -*-===//
//
// The form in which readers of stored weights hand out groups of integers, so
// that a packer can keep them without loss.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_GROUPCODES_H
#define MTP_COMPILER_WEIGHTS_GROUPCODES_H

#include "compiler/Weights/WeightType.h"

#include <cstdint>

namespace mtp {

/// Scale and offset of a group as they are stored: numbers of a block, and
/// integers of the group. The value of integer q is
///
///   scale * ofScale * q - least * ofLeast
///
/// Both products of the scales are exact in f32.
struct GroupCodes {
  float scale = 0, least = 0;
  int ofScale = 1, ofLeast = 0;

  float scaleOf() const { return scale * float(ofScale); }
  float offsetOf() const { return -(least * float(ofLeast)); }
};

/// The kind of groups that a stored matrix has.
struct GroupForm {
  int64_t group = 0; ///< Inputs of a group; the last one may have fewer.
  int64_t bits = 0;  ///< Bits that hold each integer.
  /// False: integers are unsigned, and each group has an offset.
  bool isSigned = true;
  /// Type that holds each scale exactly: F16, F32, F8_E4M3 or F8_E8M0. For
  /// `isFloat4` it holds twice the scale.
  WeightType scaleType = WeightType::F32;
  /// True if the integers are twice the values of 4-bit floats: 0, 1, 2, 3, 4,
  /// 6, 8, 12 and their negatives.
  bool isFloat4 = false;

  bool operator==(const GroupForm &) const = default;
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GROUPCODES_H
