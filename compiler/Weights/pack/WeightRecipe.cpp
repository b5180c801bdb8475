//===- WeightRecipe.cpp - Recipes of packed weights -----------------------===//

#include "compiler/Weights/pack/WeightRecipe.h"

#include <limits>

namespace mtp {

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// Limit of a weight's size. Leaves room for padding and for the sum over a
/// model.
constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 1024;

Status verifySource(const WeightRecipe &recipe, const WeightSource &source) {
  const std::string context = "source \"" + source.keyPattern + "\": ";
  if (source.keyPattern.empty())
    return invalidArgument("expected a key in every source");
  if (source.rowBegin < 0 || source.colBegin < 0 || source.rowEnd < -1 ||
      source.colEnd < -1)
    return invalidArgument(context + "expected rows and columns of at least 0");
  if ((source.rowEnd >= 0 && source.rowEnd < source.rowBegin) ||
      (source.colEnd >= 0 && source.colEnd < source.colBegin))
    return invalidArgument(context + "expected ends not before begins");
  if (source.headStride < 0)
    return invalidArgument(context + "expected a stride of at least 0, got " +
                           std::to_string(source.headStride));
  bool isPattern = source.keyPattern.find("{}") != std::string::npos;
  if (isPattern && source.headStride != 0)
    return invalidArgument(context +
                           "expected either \"{}\" or a stride, got both");
  if (recipe.count > 1 && !isPattern && source.headStride == 0)
    return invalidArgument(context + "expected \"{}\" or a stride in a stack");
  if (!source.picks.empty() &&
      (recipe.layout != WeightLayout::Panels || recipe.count != 1 ||
       source.transpose || source.rowBegin != 0 || source.rowEnd >= 0))
    return invalidArgument(context + "expected picked rows of a whole tensor "
                                     "in panels");
  if (source.headStride != 0 && source.rowEnd < 0)
    return invalidArgument(context + "expected an end of rows with a stride");
  return okStatus();
}

Status verifyFormat(const WeightRecipe &recipe) {
  const WeightFormat &format = recipe.format;
  if (!format.isKnown())
    return invalidArgument("expected elements of a weight's format, got " +
                           std::to_string(unsigned(format.elements)));
  if (!format.isValid())
    return invalidArgument(
        (format.isQuantized()
             ? "expected a group of 16 or a multiple of 32 inputs up to 128 "
               "that suits the scales of "
             : "expected no group of ") +
        std::string(format.name()) + ", got " + std::to_string(format.group));
  if (!format.isQuantized())
    return okStatus();
  if (recipe.panelWidth != QuantizedPanel::kOutputs)
    return invalidArgument("expected panels of 32 outputs of integers, got " +
                           std::to_string(recipe.panelWidth));
  if (recipe.layout != WeightLayout::Raw)
    return okStatus();
  if (recipe.count != 1)
    return invalidArgument("expected one matrix in a table of integers, got " +
                           std::to_string(recipe.count));
  if (!format.isPlain())
    return invalidArgument("expected f32 scales without offsets in a table "
                           "of integers, got other scales");
  return okStatus();
}

Status verifyFragments(const WeightRecipe &recipe) {
  if (!recipe.fragments || (recipe.layout != WeightLayout::Raw &&
                            recipe.format.canBeInFragments(recipe.k) &&
                            recipe.panelWidth == FragmentOrder::kOutputs))
    return okStatus();
  return invalidArgument("expected panels of 32 outputs in BF16 or groups of "
                         "32, 64 or 128 inputs, and a k that is a multiple of "
                         "32 for fragments, got a k of " +
                         std::to_string(recipe.k));
}

} // namespace

Status verifyRecipe(const WeightRecipe &recipe) {
  auto check = [&]() -> Status {
    if (recipe.k < 1 || recipe.n < 1 || recipe.count < 1)
      return invalidArgument("expected k, n and count of at least 1, got " +
                             std::to_string(recipe.k) + ", " +
                             std::to_string(recipe.n) + " and " +
                             std::to_string(recipe.count));
    if (recipe.panelWidth < 1 || recipe.panelWidth > kMaxPanelWidth)
      return invalidArgument("expected panels of 1 to " +
                             std::to_string(kMaxPanelWidth) + " outputs, got " +
                             std::to_string(recipe.panelWidth));
    int64_t bytes;
    if (__builtin_mul_overflow(recipe.k, recipe.n, &bytes) ||
        __builtin_mul_overflow(bytes, recipe.count, &bytes) ||
        bytes > kMaxBytes || recipe.k > kMaxBytes / (8 * recipe.panelWidth) ||
        recipe.count > kMaxBytes / (8 * recipe.panelWidth) / recipe.k)
      return outOfRange("the packed weight has more bytes than can be counted");
    if (recipe.sources.empty())
      return invalidArgument("expected at least one source");
    if (recipe.layout == WeightLayout::GatedPanels &&
        (recipe.sources.size() != 2 || recipe.n % 2 != 0))
      return invalidArgument("expected two sources and an even n, got " +
                             std::to_string(recipe.sources.size()) + " and " +
                             std::to_string(recipe.n));
    for (const WeightSource &source : recipe.sources)
      MTP_RETURN_IF_ERROR(verifySource(recipe, source));
    MTP_RETURN_IF_ERROR(verifyFormat(recipe));
    return verifyFragments(recipe);
  };
  return check().withContext("weight \"" + recipe.name + "\"");
}

int64_t packedBytes(const WeightRecipe &recipe) {
  if (recipe.layout == WeightLayout::Raw)
    return recipe.count * recipe.n * recipe.format.rowBytes(recipe.k);
  return recipe.count * panelCount(recipe) * panelBytes(recipe);
}

int64_t panelCount(const WeightRecipe &recipe) {
  if (recipe.layout == WeightLayout::GatedPanels)
    return 2 * ceilDiv(recipe.n / 2, recipe.panelWidth);
  return ceilDiv(recipe.n, recipe.panelWidth);
}

int64_t panelBytes(const WeightRecipe &recipe) {
  return recipe.format.panelBytes(recipe.k, recipe.panelWidth);
}

bool isFlat(const WeightRecipe &recipe) {
  return recipe.layout == WeightLayout::Raw && !recipe.format.isQuantized();
}

} // namespace mtp
