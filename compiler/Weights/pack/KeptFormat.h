//===- KeptFormat.h - Formats that keep stored weights ----------*- C++ -*-===//
//
// A tensor with blocks can be packed without loss: its integers and scales go
// to a panel as they are. A weight with several sources has the smallest format
// that represents all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_KEPTFORMAT_H
#define MTP_COMPILER_WEIGHTS_PACK_KEPTFORMAT_H

#include "compiler/Weights/pack/PanelCodes.h"
#include "compiler/Weights/pack/WeightRecipe.h"
#include "compiler/Weights/pack/WeightRows.h"

namespace mtp {

/// The sources of each matrix of a stack, in order.
using WeightStack = std::vector<std::vector<WeightRows>>;

/// Returns the smallest plain format that represents a format exactly, if there
/// is one: signed integers in groups of a multiple of 32 without offsets.
std::optional<WeightFormat> plainFormatOf(const WeightFormat &format);

/// Returns the smallest format that represents all sources exactly; nothing if
/// one of them has no blocks, or is read across its blocks.
std::optional<WeightFormat> keptFormatOf(const WeightStack &stack);

/// Finds the sources of a recipe and returns the format that keeps them. The
/// recipe's own format does not matter.
Result<std::optional<WeightFormat>> findKeptFormat(const WeightSet &weights,
                                                   const WeightRecipe &recipe);

/// Types of a recipe's sources.
struct StoredTypes {
  /// Each type once: "Q4_K, Q6_K". Empty for random weights.
  std::string names;
  /// Mean bits of an element.
  double bits = 0;
};
Result<StoredTypes> storedTypesOf(const WeightSet &weights,
                                  const WeightRecipe &recipe);

/// Reads `count` inputs of a row from `col` on, in the format that a weight
/// keeps, as output `output` of `codes`. Precondition: `format` represents
/// the rows' own format, and `col` is a multiple of PanelCodes::kInputs.
void readCodes(const WeightRows &rows, int64_t row, int64_t col, int64_t count,
               const WeightFormat &format, PanelCodes &codes, int64_t output);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_KEPTFORMAT_H
