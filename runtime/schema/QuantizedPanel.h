//===- QuantizedPanel.h - The bytes of a panel of integers ------*- C++ -*-===//
//
// Byte counts and places of quantised weights, for packing, buffer planning,
// multiplication and file checks. FORMAT.md describes the layout in prose.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H
#define MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H

#include <cstdint>

namespace mtp {

/// The smallest and the largest number of inputs that may share a scale.
/// Numbers between them are multiples of `kQuantGroupStep`.
inline constexpr int64_t kMinQuantGroup = 16;
inline constexpr int64_t kQuantGroupStep = 32;
inline constexpr int64_t kMaxQuantGroup = 128;
/// Group size if none is given.
inline constexpr int64_t kDefaultQuantGroup = 64;
/// Number of inputs that share the f16 numbers of scales with two levels.
inline constexpr int64_t kQuantBlock = 256;

inline constexpr bool isQuantGroup(int64_t group) {
  return group == kMinQuantGroup ||
         (group > 0 && group <= kMaxQuantGroup && group % kQuantGroupStep == 0);
}

/// How the scale of a group is stored, and its offset if the format has one.
enum class WeightScales : uint8_t {
  /// One f32.
  F32,
  /// One f16.
  F16,
  /// An unsigned integer of 6 bits, times an f16 of 256 inputs. The offset is
  /// the negative of such a product.
  F16x6,
  /// A signed integer of 8 bits, times an f16 of 256 inputs.
  F16x8,
  /// A byte e: 2^(e - 128).
  E8M0,
  /// A byte: half of an unsigned float with 4 bits of exponent and 3 of
  /// mantissa. 127 is 0.
  E4M3,
};

/// A panel: 32 outputs of a matrix with `k` inputs, block by block. A block is
/// a header with the scales of its groups, followed by the integers of each
/// group. Scales with two levels have blocks of 256 inputs, scales of one byte
/// have blocks of two groups, other scales have blocks of one group. Each field
/// has one number for each of the 32 outputs.
struct QuantizedPanel {
  /// 8, 6, 5 or 4.
  int64_t bits;
  /// Number of inputs that share a scale; the last group has the remaining
  /// inputs.
  int64_t group;
  int64_t k;
  WeightScales scales = WeightScales::F32;
  bool hasOffset = false;

  static constexpr int64_t kOutputs = 32;
  /// Bytes of one f32 per output.
  static constexpr int64_t kScaleBytes = kOutputs * 4;
  /// Upper bound of a block's bytes.
  static constexpr int64_t kMostBlockBytes =
      2 * kScaleBytes + kOutputs * (kQuantBlock + kQuantBlock / 8);

  constexpr bool hasTwoLevels() const {
    return scales == WeightScales::F16x6 || scales == WeightScales::F16x8;
  }
  /// Whether a scale is one byte.
  constexpr bool hasByteScales() const {
    return scales == WeightScales::E8M0 || scales == WeightScales::E4M3;
  }
  constexpr int64_t groups() const { return (k + group - 1) / group; }

  //===--------------------------------------------------------------------===//
  // Integers
  //===--------------------------------------------------------------------===//

  /// Returns the inputs of a step: the smallest unit of storage, which has
  /// whole words of four bytes. A word of int8 has four inputs, a word of int4
  /// has eight. Integers of 5 and 6 bits have their low four bits like int4,
  /// followed by one word with the high bits of all inputs.
  constexpr int64_t stepInputs() const {
    return bits == 8 ? 4 : bits == 4 ? 8 : bits == 6 ? 16 : 32;
  }
  /// Returns the words of a step for each output.
  constexpr int64_t stepWords() const { return stepInputs() * bits / 32; }
  constexpr int64_t stepBytes() const { return kOutputs * 4 * stepWords(); }
  /// Returns `inputs` rounded up to whole steps.
  constexpr int64_t storedInputs(int64_t inputs) const {
    return (inputs + stepInputs() - 1) / stepInputs() * stepInputs();
  }
  /// Returns the bytes of the integers of a group of `inputs`.
  constexpr int64_t dataBytes(int64_t inputs) const {
    return kOutputs * storedInputs(inputs) * bits / 8;
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// Returns the inputs of a block and its number of groups.
  constexpr int64_t blockInputs() const {
    return hasTwoLevels() ? kQuantBlock : hasByteScales() ? 2 * group : group;
  }
  constexpr int64_t blockGroups() const { return blockInputs() / group; }
  constexpr int64_t fullBlocks() const { return k / blockInputs(); }
  /// Returns the number of inputs of an incomplete last block, or 0.
  constexpr int64_t restInputs() const { return k % blockInputs(); }

  /// Returns the bytes of one number for each output: an f32, an f16 or a byte.
  /// Scales of one byte have such bytes for each group of a block.
  constexpr int64_t scaleBytes() const {
    return kOutputs * (hasByteScales()               ? 1
                       : scales == WeightScales::F32 ? 4
                                                     : 2);
  }
  /// Returns the place of the offsets in a header; the scales are at 0.
  constexpr int64_t offsetsAt() const { return scaleBytes(); }
  /// Returns the place of the second level. For f16x6 the second level begins
  /// with one word for each output. Bits 4g and 4g + 1 of the word are the high
  /// bits of scale g, and the next two bits are the high bits of offset g. A
  /// byte for each group and output follows, with the low bits of the scale in
  /// its low half and the low bits of the offset in its high half. For f16x8
  /// the second level is a byte for each group and output, then a byte for each
  /// offset.
  constexpr int64_t secondLevelAt() const {
    return scaleBytes() * (hasOffset ? 2 : 1);
  }
  constexpr int64_t lowBitsAt() const { return secondLevelAt() + 4 * kOutputs; }
  /// Returns the place of the second level of the offsets, for 8 bits.
  constexpr int64_t secondOffsetsAt(int64_t inputs) const {
    return secondLevelAt() + kOutputs * groupsOf(inputs);
  }
  constexpr int64_t groupsOf(int64_t inputs) const {
    return (inputs + group - 1) / group;
  }
  /// Returns the bytes of the header of a block of `inputs`.
  constexpr int64_t headerBytes(int64_t inputs) const {
    int64_t bytes = secondLevelAt();
    if (hasByteScales())
      bytes = scaleBytes() * groupsOf(inputs);
    if (scales == WeightScales::F16x6)
      bytes = lowBitsAt() + kOutputs * groupsOf(inputs);
    if (scales == WeightScales::F16x8)
      bytes += kOutputs * groupsOf(inputs) * (hasOffset ? 2 : 1);
    return (bytes + 63) / 64 * 64;
  }
  /// Returns the bytes of a block of `inputs`: a multiple of 64.
  constexpr int64_t blockBytes(int64_t inputs) const {
    return headerBytes(inputs) + inputs / group * dataBytes(group) +
           dataBytes(inputs % group);
  }
  constexpr int64_t bytes() const {
    return fullBlocks() * blockBytes(blockInputs()) +
           (restInputs() ? blockBytes(restInputs()) : 0);
  }

  /// Bytes of a group of `inputs` and of a whole row in a table that is stored
  /// row by row. Such tables have one f32 scale per group and no offset. A row
  /// is a panel with one output, so both sizes are multiples of 4.
  constexpr int64_t rowGroupBytes(int64_t inputs) const {
    return blockBytes(inputs) / kOutputs;
  }
  constexpr int64_t rowBytes() const { return bytes() / kOutputs; }
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_QUANTIZEDPANEL_H
