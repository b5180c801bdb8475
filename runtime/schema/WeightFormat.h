//===- WeightFormat.h - Formats of weight elements --------------*- C++ -*-===//
//
// One value describes a weight's elements and their sizes, for quantisation,
// packing, buffer planning, multiplication and file checks. A weight of
// integers is
//
//   value = scale * q + offset
//
// with a scale and an offset for each output and group of inputs. Without an
// offset q is signed, and its format's bias is added when it is stored. With an
// offset q is the stored unsigned integer. Elements with a table store the
// number of q in the table. The formats of GGUF and of the
// quantiser are values of this description:
//
//   Q4_0, Q5_0, Q8_0   int4, int5, int8 in groups of 32, f16 scales
//   Q4_1, Q5_1         int4, int5 in groups of 32, f16 scales, offset
//   Q4_K, K4           int4 in groups of 32, f16x6 scales, offset
//   Q5_K, K5           int5 in groups of 32, f16x6 scales, offset
//   Q6_K, head6        int6 in groups of 16, f16x8 scales
//   Q3_K               int4 in groups of 16, f16x8 scales
//   Q2_K               int4 in groups of 16, f16x8 scales, offset
//   IQ4_NL, IQ4_XS     nl4 in groups of 32, f16 or f16x8 scales
//   MXFP4, NVFP4       e2m1 in groups of 32 or 16, e8m0 or e4m3 scales
//
// A new kind of elements needs an enumerator here, its row in `kWeightFormats`,
// and a case wherever the compiler then reports a missing one. A new kind of
// scales needs an enumerator and its name in `kWeightScales`, its place in
// QuantizedPanel, and a reader where the compiler reports a missing case.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_WEIGHTFORMAT_H
#define MTP_RUNTIME_SCHEMA_WEIGHTFORMAT_H

#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/IntegerFragments.h"
#include "runtime/schema/QuantizedPanel.h"
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace mtp {

enum class WeightElements : uint8_t {
  F32,
  BF16,
  Int8,
  Int4,
  Int5,
  Int6,
  E2M1,
  NL4
};

/// Integers of the codes of tables: doubled floats of 4 bits, and the values of
/// GGUF's IQ4 types.
inline constexpr int8_t kE2M1Table[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                          0, -1, -2, -3, -4, -6, -8, -12};
inline constexpr int8_t kNL4Table[16] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// Properties of a kind of elements, without its group.
struct WeightElementsInfo {
  WeightElements elements;
  /// Name in flags, modules and dumps.
  std::string_view name;
  /// Bits of one element, without scales.
  int64_t bits;
  /// Number that is added to a stored integer so that it is not negative; 0 for
  /// floats.
  int bias;
  /// Whether `group` inputs share a scale.
  bool isQuantized;
  /// Integers of the stored codes; null if codes are integers plus the bias.
  const int8_t *table = nullptr;

  /// Whether a format of the elements can be plain (WeightFormat::isPlain).
  constexpr bool isPlain() const {
    return !isQuantized || (!table && (bits == 8 || bits == 4));
  }
};

inline constexpr WeightElementsInfo kWeightFormats[] = {
    {WeightElements::F32, "f32", 32, 0, false},
    {WeightElements::BF16, "bf16", 16, 0, false},
    {WeightElements::Int8, "int8", 8, 128, true},
    {WeightElements::Int4, "int4", 4, 8, true},
    {WeightElements::Int5, "int5", 5, 16, true},
    {WeightElements::Int6, "int6", 6, 32, true},
    {WeightElements::E2M1, "e2m1", 4, 12, true, kE2M1Table},
    {WeightElements::NL4, "nl4", 4, 128, true, kNL4Table},
};

/// Names of the scales in modules and dumps, in the order of WeightScales.
inline constexpr std::string_view kWeightScales[] = {"f32",   "f16",  "f16x6",
                                                     "f16x8", "e8m0", "e4m3"};

/// Returns the elements of that name, if they exist.
constexpr std::optional<WeightElements>
findWeightElements(std::string_view name) {
  for (const WeightElementsInfo &info : kWeightFormats)
    if (info.name == name)
      return info.elements;
  return std::nullopt;
}

struct WeightFormat {
  WeightElements elements = WeightElements::F32;
  /// Number of inputs that share a scale for quantised elements; 0 for others.
  int64_t group = 0;
  /// How scales and offsets are stored.
  WeightScales scales = WeightScales::F32;
  /// Whether each group has an offset.
  bool hasOffset = false;

  constexpr bool operator==(const WeightFormat &) const = default;

  constexpr const WeightElementsInfo &info() const {
    return kWeightFormats[static_cast<unsigned>(elements)];
  }
  constexpr std::string_view name() const { return info().name; }
  constexpr int64_t bits() const { return info().bits; }
  /// Returns the number that is added to an integer when it is stored.
  constexpr int bias() const { return hasOffset ? 0 : info().bias; }
  constexpr bool isQuantized() const { return info().isQuantized; }
  /// Returns the largest operand of a product: an integer plus the bias.
  constexpr int largestOperand() const {
    int largest = (1 << bits()) - 1;
    if (info().table)
      for (int i = largest = 0; i < 16; ++i)
        largest = std::max(largest, info().table[i] + bias());
    return largest;
  }
  constexpr bool isBF16() const { return elements == WeightElements::BF16; }
  /// Whether the elements are known. A file may have unknown elements; other
  /// functions must not be called for them.
  constexpr bool isKnown() const {
    return static_cast<unsigned>(elements) < std::size(kWeightFormats) &&
           static_cast<unsigned>(scales) < std::size(kWeightScales);
  }
  /// Whether integers have a valid group and scales that fit the group. Floats
  /// must have neither. Elements with a table and scales of one byte have no
  /// offset. Integers of 5 bits are stored in units of 32. Scales of two levels
  /// need groups that divide their block. f16x6 scales also need an offset, and
  /// at most 8 groups in a block.
  constexpr bool isValid() const {
    if (!isKnown())
      return false;
    if (!isQuantized())
      return group == 0 && scales == WeightScales::F32 && !hasOffset;
    if (!isQuantGroup(group) ||
        (elements == WeightElements::Int5 && group % kQuantGroupStep != 0))
      return false;
    if (hasOffset && (info().table || panel(1).hasByteScales()))
      return false;
    if (panel(1).hasTwoLevels() && kQuantBlock % group != 0)
      return false;
    return scales != WeightScales::F16x6 ||
           (hasOffset && group % kQuantGroupStep == 0);
  }
  /// Whether the format is one of floats, or of signed integers of 8 or 4 bits
  /// with f32 scales in groups of a multiple of 32. Tables that are stored row
  /// by row have only these formats, and so have weights in the order of tensor
  /// cores.
  constexpr bool isPlain() const {
    return scales == WeightScales::F32 && !hasOffset && info().isPlain() &&
           group % kQuantGroupStep == 0;
  }

  /// Returns a description for reports: "int4, group 32, f16, offset".
  std::string text() const {
    std::string result(name());
    if (isQuantized())
      result += ", group " + std::to_string(group);
    if (scales != WeightScales::F32)
      result += ", " + std::string(kWeightScales[unsigned(scales)]);
    return result + (hasOffset ? ", offset" : "");
  }

  /// Returns the bytes of one element that is not quantised.
  constexpr int64_t elementBytes() const { return bits() / 8; }

  /// Returns the panel of `k` inputs of a quantised format.
  constexpr QuantizedPanel panel(int64_t k) const {
    return {bits(), group, k, scales, hasOffset};
  }
  /// Returns the bits of a weight in panels of `k` inputs, scales included.
  constexpr double bitsPerWeight(int64_t k) const {
    return double(panelBytes(k, QuantizedPanel::kOutputs)) * 8 /
           double(QuantizedPanel::kOutputs * k);
  }
  /// Returns the bytes of a panel of `width` outputs and `k` inputs. bf16
  /// stores its inputs in pairs. A quantised panel has QuantizedPanel::kOutputs
  /// outputs.
  constexpr int64_t panelBytes(int64_t k, int64_t width) const {
    if (isQuantized())
      return panel(k).bytes();
    return width * (isBF16() ? (k + 1) / 2 * 4 : k * 4);
  }
  /// Returns the bytes of a row of a table, whose rows are looked up.
  constexpr int64_t rowBytes(int64_t k) const {
    return isQuantized() ? panel(k).rowBytes() : k * elementBytes();
  }

  /// Returns the order of tensor cores within a panel of a quantised format.
  constexpr IntegerFragments fragments(int64_t k) const {
    return {bits(), group, k};
  }
  /// Whether panels of `k` inputs can be in the order of tensor cores.
  constexpr bool canBeInFragments(int64_t k) const {
    switch (elements) {
    case WeightElements::F32:
      return false;
    case WeightElements::BF16:
      return k % FragmentOrder::kInputs == 0;
    case WeightElements::Int8:
    case WeightElements::Int4:
      return isPlain() && fragments(k).isPossible();
    case WeightElements::Int5:
    case WeightElements::Int6:
    case WeightElements::E2M1:
    case WeightElements::NL4:
      return false;
    }
    return false;
  }
};

static_assert([] {
  for (unsigned i = 0; i < std::size(kWeightFormats); ++i)
    if (kWeightFormats[i].elements != WeightElements(i))
      return false;
  return true;
}());

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_WEIGHTFORMAT_H
