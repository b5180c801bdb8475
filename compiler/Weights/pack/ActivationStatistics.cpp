//===- ActivationStatistics.cpp - How strong inputs are -------------------===//

#include "compiler/Weights/pack/ActivationStatistics.h"

#include "runtime/core/StrCat.h"

#include <cmath>
#include <cstring>

namespace mtp {

/// Returns the number of inputs whose triangle has `count` numbers; -1 if there
/// is none.
static int64_t inputsOf(int64_t count) {
  int64_t inputs = std::llround((std::sqrt(8 * double(count) + 1) - 1) / 2);
  return inputs * (inputs + 1) / 2 == count ? inputs : -1;
}

/// Calls `take` with each key of a tensor's name.
template <typename TakeT>
static void forKeys(std::string_view name, const TakeT &take) {
  while (!name.empty()) {
    size_t end = std::min(name.find(' '), name.size());
    take(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
}

Result<ActivationStatistics>
ActivationStatistics::open(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(WeightSet file, WeightSet::openFiles({&path, 1}));
  ActivationStatistics statistics(std::move(file));
  for (const auto &[name, number] : statistics.file.keys()) {
    MTP_ASSIGN_OR_RETURN(TensorView tensor, statistics.file.get(name));
    if (tensor.type != WeightType::F32 || tensor.shape.size() != 1 ||
        inputsOf(tensor.shape[0]) < 0)
      return invalidArgument(
          strCat("'", path, "': expected n * (n + 1) / 2 f32 of \"", name,
                 "\", from mtp-run --collect-activations"));
    forKeys(name, [&, name = name](std::string_view key) {
      statistics.tensors.emplace(key, name);
    });
  }
  return statistics;
}

Result<std::optional<ActivationStatistics::Moments>>
ActivationStatistics::find(const WeightRecipe &recipe) const {
  const WeightSource &source = recipe.sources.front();
  auto found = tensors.find(source.keyPattern);
  if (found == tensors.end() || source.transpose)
    return std::optional<Moments>();
  MTP_ASSIGN_OR_RETURN(TensorView tensor, file.get(found->second));
  int64_t inputs = inputsOf(tensor.shape[0]), k = recipe.k;
  int64_t end = source.colEnd < 0 ? inputs : source.colEnd;
  if (end > inputs || end - source.colBegin != k)
    return invalidArgument("statistics of \"" + source.keyPattern +
                           "\": expected " + std::to_string(k) +
                           " inputs, got " + std::to_string(inputs));
  return std::optional(Moments{tensor.bytes, inputs, source.colBegin});
}

Status ActivationStatistics::read(const WeightRecipe &recipe,
                                  const Moments &moments, int64_t row,
                                  std::span<float> out) {
  // Row r of the triangle begins after r rows, each one shorter.
  int64_t r = moments.begin + row;
  int64_t at = r * moments.inputs - r * (r - 1) / 2;
  std::memcpy(out.data(), moments.bytes.data() + at * int64_t(sizeof(float)),
              out.size_bytes());
  for (float value : out)
    if (!std::isfinite(value))
      return invalidArgument("statistics of \"" +
                             recipe.sources.front().keyPattern +
                             "\": expected finite numbers, got NaN or "
                             "infinity");
  return okStatus();
}

Result<std::vector<float>>
ActivationStatistics::momentsOf(const WeightRecipe &recipe) const {
  std::vector<float> moments;
  MTP_ASSIGN_OR_RETURN(std::optional<Moments> found, find(recipe));
  if (!found)
    return moments;
  int64_t k = recipe.k;
  moments.resize(size_t(k * k));
  for (int64_t i = 0; i < k; ++i) {
    std::span<float> row(moments.data() + i * k + i, size_t(k - i));
    MTP_RETURN_IF_ERROR(read(recipe, *found, i, row));
    for (int64_t j = i; j < k; ++j)
      moments[size_t(j * k + i)] = row[size_t(j - i)];
  }
  return moments;
}

Result<std::vector<float>>
ActivationStatistics::energiesOf(const WeightRecipe &recipe) const {
  std::vector<float> energies;
  MTP_ASSIGN_OR_RETURN(std::optional<Moments> found, find(recipe));
  if (!found)
    return energies;
  energies.resize(size_t(recipe.k));
  for (int64_t i = 0; i < recipe.k; ++i)
    MTP_RETURN_IF_ERROR(
        read(recipe, *found, i, std::span(energies).subspan(size_t(i), 1)));
  return energies;
}

} // namespace mtp
