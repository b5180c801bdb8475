//===- WeightFormat.h - Formats of weight elements --------------*- C++ -*-===//
//
// One value describes a weight's elements and their sizes, for quantisation,
// packing, buffer planning, multiplication and file checks. A new format needs
// an enumerator here, its row in `kWeightFormats`, and a case wherever the
// compiler then reports a missing one.
//
// Checkpoint formats have features that these formats lack: a table of values
// that integers index, an offset per group, 8-bit floats. Each would be a field
// next to `group`, or an enumerator, and part of `panelBytes`.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_WEIGHTFORMAT_H
#define MTP_RUNTIME_SCHEMA_WEIGHTFORMAT_H

#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/IntegerFragments.h"
#include "runtime/schema/QuantizedPanel.h"
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace mtp {

enum class WeightElements : uint8_t { F32, BF16, Int8, Int4 };

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
};

inline constexpr WeightElementsInfo kWeightFormats[] = {
    {WeightElements::F32, "f32", 32, 0, false},
    {WeightElements::BF16, "bf16", 16, 0, false},
    {WeightElements::Int8, "int8", 8, 128, true},
    {WeightElements::Int4, "int4", 4, 8, true},
};

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

  constexpr bool operator==(const WeightFormat &) const = default;

  constexpr const WeightElementsInfo &info() const {
    return kWeightFormats[static_cast<unsigned>(elements)];
  }
  constexpr std::string_view name() const { return info().name; }
  constexpr int64_t bits() const { return info().bits; }
  constexpr int bias() const { return info().bias; }
  constexpr bool isQuantized() const { return info().isQuantized; }
  constexpr bool isBF16() const { return elements == WeightElements::BF16; }
  /// Whether the elements are known. A file may have unknown elements; other
  /// functions must not be called for them.
  constexpr bool isKnown() const {
    return static_cast<unsigned>(elements) < std::size(kWeightFormats);
  }
  /// Whether there is a valid group if the elements need one, and none
  /// otherwise.
  constexpr bool isValid() const {
    return isKnown() && (isQuantized() ? isQuantGroup(group) : group == 0);
  }

  /// Returns the bytes of one element that is not quantised.
  constexpr int64_t elementBytes() const { return bits() / 8; }

  /// Returns the panel of `k` inputs of a quantised format.
  constexpr QuantizedPanel panel(int64_t k) const { return {bits(), group, k}; }
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
      return fragments(k).isPossible();
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
