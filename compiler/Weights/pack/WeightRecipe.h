//===- WeightRecipe.h - Recipes of packed weights ---------------*- C++ -*-===//
//
// A recipe lists the pieces of tensors that form one packed weight of the
// artifact, and its layout. The recipe alone determines sizes, so a plan can be
// made without weights.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_WEIGHTRECIPE_H
#define MTP_COMPILER_WEIGHTS_PACK_WEIGHTRECIPE_H

#include "runtime/core/Result.h"
#include "runtime/schema/WeightFormat.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mtp {

enum class WeightLayout : uint8_t {
  /// The sources' rows of k elements, concatenated without padding. If n is 1,
  /// vectors with k elements in total. Quantised: a table of n rows of k, each
  /// quantised separately (WeightFormat::rowBytes()).
  Raw,
  /// Panels of W outputs: f32 [N/W][K][W], bf16 [N/W][K/2][W][2]. N is padded
  /// with zeros to a multiple of W, and K (bf16) to a multiple of 2.
  Panels,
  /// Like Panels, with two sources of n/2 rows each. Panel 2t holds rows W*t..
  /// of the first source (gate), panel 2t+1 the rows W*t.. of the second (up).
  GatedPanels,
};

/// A rectangle of a tensor, or one such rectangle per matrix of a stack. A
/// tensor with one dimension counts as a column.
struct WeightSource {
  /// Key of the tensor. For a stack over tensors it contains "{}" in place of
  /// the numbers 0, 1, ... count-1.
  std::string keyPattern;
  /// Rows and columns of the stored tensor. An end of -1 is the tensor's end.
  int64_t rowBegin = 0, rowEnd = -1;
  int64_t colBegin = 0, colEnd = -1;
  /// True to use the rectangle's columns as output rows.
  bool transpose = false;
  /// For a stack over row blocks of one tensor, the distance of two blocks in
  /// rows. Matrix s takes the rows [rowBegin + s*headStride, rowEnd +
  /// s*headStride).
  int64_t headStride = 0;
  /// If not empty: only these rows of the tensor, in this order.
  std::vector<int32_t> picks;
  /// Required shape of the tensor; -1 allows any extent. Empty: unknown.
  std::vector<int64_t> shape;

  bool operator==(const WeightSource &) const = default;
};

struct WeightRecipe {
  std::string name;
  WeightLayout layout = WeightLayout::Raw;
  /// Format of the packed weight. A quantised Raw weight has scales per row,
  /// other quantised weights have scales per output.
  WeightFormat format;
  /// The number of inputs, which is the width of a row.
  int64_t k = 1;
  /// The number of outputs, which is the number of rows of all sources
  /// together.
  int64_t n = 0;
  /// The number of matrices in the stack, packed one after the other.
  int64_t count = 1;
  std::vector<WeightSource> sources;
  /// The number of outputs of a panel, W. Quantised panels have the file
  /// format's.
  int64_t panelWidth = QuantizedPanel::kOutputs;
  /// True if panels are in the order of tensor cores (FragmentOrder.h).
  bool fragments = false;
  /// Key of the RMS norm of the inputs, and the number that is added to its
  /// weights. Without statistics, a quantiser estimates the energies of the
  /// inputs with the weights (InputEnergies.h). Empty: unknown.
  std::string norm;
  int64_t normOffset = 0;
  /// True if the outputs are logits.
  bool isHead = false;

  /// Equal recipes of a model give equal bytes.
  bool operator==(const WeightRecipe &) const = default;
};

/// Largest supported panel width.
inline constexpr int64_t kMaxPanelWidth = 256;

/// Checks a recipe without weights. The other functions here and the packer
/// require a recipe that passes.
Status verifyRecipe(const WeightRecipe &recipe);

/// Returns the number of bytes of the packed weight.
int64_t packedBytes(const WeightRecipe &recipe);

/// Return the number of panels of one matrix, and the number of bytes of a
/// panel. In a quantised table 32 rows count as a panel; the last one may have
/// fewer rows.
int64_t panelCount(const WeightRecipe &recipe);
int64_t panelBytes(const WeightRecipe &recipe);

/// Returns true if a recipe has plain elements without panels.
bool isFlat(const WeightRecipe &recipe);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_WEIGHTRECIPE_H
