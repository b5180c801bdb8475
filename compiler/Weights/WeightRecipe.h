//===- WeightRecipe.h - How packed weights are made -------------*- C++ -*-===//
//
// A recipe says which pieces of which tensors make one packed weight of the
// artifact, and in which layout. Sizes follow from the recipe alone, so a plan
// can be made before there are any weights.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_WEIGHTRECIPE_H
#define MTP_COMPILER_WEIGHTS_WEIGHTRECIPE_H

#include "runtime/core/Result.h"
#include "runtime/schema/WeightFormat.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp {

enum class WeightLayout : uint8_t {
  /// The sources' rows of k elements, one source after the other, without
  /// padding; where n is 1, vectors that are k elements together. Quantised: a
  /// table of n rows of k, each by itself (WeightFormat::rowBytes()).
  Raw,
  /// Panels of W outputs: f32 [N/W][K][W], bf16 [N/W][K/2][W][2]. N is padded
  /// to W and K (bf16) to 2, with zeros.
  Panels,
  /// As Panels, with two sources of n/2 rows each: panel 2t holds rows W*t.. of
  /// the first (gate), panel 2t+1 the same rows of the second (up).
  GatedPanels,
};

/// A rectangle of a tensor, or one such rectangle per matrix of a stack. A
/// tensor of one dimension counts as a column.
struct WeightSource {
  /// The tensor's key. In a stack over tensors it holds "{}", which stands for
  /// 0, 1, ... count-1.
  std::string keyPattern;
  /// Rows and columns of the tensor as stored; an end of -1 is the tensor's.
  int64_t rowBegin = 0, rowEnd = -1;
  int64_t colBegin = 0, colEnd = -1;
  /// Takes the rectangle's columns as output rows.
  bool transpose = false;
  /// In a stack over row blocks of one tensor, the rows between two blocks:
  /// matrix s takes the rows [rowBegin + s*headStride, rowEnd + s*headStride).
  int64_t headStride = 0;
  /// If not empty: only these rows of the tensor, in this order.
  std::vector<int32_t> picks;
  /// What the tensor has to have, -1 in a dimension of any size; empty where
  /// nothing is known of it.
  std::vector<int64_t> shape;

  bool operator==(const WeightSource &) const = default;
};

struct WeightRecipe {
  std::string name;
  WeightLayout layout = WeightLayout::Raw;
  /// Of the packed form. A Raw weight that is quantised has its scales per row,
  /// others per output.
  WeightFormat format;
  /// Inputs, i.e. the width of a row.
  int64_t k = 1;
  /// Outputs, i.e. rows of all sources together.
  int64_t n = 0;
  /// Matrices in the stack, packed one after the other.
  int64_t count = 1;
  std::vector<WeightSource> sources;
  /// Outputs of a panel, W. Quantised panels have the file format's.
  int64_t panelWidth = QuantizedPanel::kOutputs;
  /// Whether panels are in the order of tensor cores (FragmentOrder.h).
  bool fragments = false;

  /// Recipes that are equal give the same bytes.
  bool operator==(const WeightRecipe &) const = default;
};

/// The widest panel that can be packed.
inline constexpr int64_t kMaxPanelWidth = 256;

/// Checks what can be checked without weights. The other functions here and
/// the packer are only for recipes that pass.
Status verifyRecipe(const WeightRecipe &recipe);

/// Bytes of the packed weight.
int64_t packedBytes(const WeightRecipe &recipe);

/// Panels of one matrix, and bytes of a panel. Of a quantised table: how many
/// times 32 rows there are, the last one perhaps fewer, and the bytes of 32
/// rows.
int64_t panelCount(const WeightRecipe &recipe);
int64_t panelBytes(const WeightRecipe &recipe);

/// Whether a recipe is one of plain elements without panels.
bool isFlat(const WeightRecipe &recipe);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_WEIGHTRECIPE_H
