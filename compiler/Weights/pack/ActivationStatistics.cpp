//===- ActivationStatistics.cpp - How strong inputs are -------------------===//

#include "compiler/Weights/pack/ActivationStatistics.h"

#include <cmath>
#include <cstring>

namespace mtp {

/// Returns the number of inputs whose triangle has `count` numbers; -1 if there
/// is none.
static int64_t inputsOf(int64_t count) {
  auto inputs = int64_t((std::sqrt(8 * double(count) + 1) - 1) / 2 + 0.5);
  return inputs * (inputs + 1) / 2 == count ? inputs : -1;
}

/// Calls `take` with each key of a tensor's name.
template <typename TakeT>
static void forKeys(std::string_view name, TakeT take) {
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
      return invalidArgument("'" + path +
                             "': expected n * (n + 1) / 2 f32 of \"" + name +
                             "\", from mtp-run --collect-activations");
    forKeys(name, [&, name = name](std::string_view key) {
      statistics.tensors.emplace(key, name);
    });
  }
  return statistics;
}

Result<std::vector<float>>
ActivationStatistics::momentsOf(const WeightRecipe &recipe) const {
  std::vector<float> moments;
  const WeightSource &source = recipe.sources.front();
  auto found = tensors.find(source.keyPattern);
  if (found == tensors.end() || source.transpose)
    return moments;
  MTP_ASSIGN_OR_RETURN(TensorView tensor, file.get(found->second));
  int64_t inputs = inputsOf(tensor.shape[0]), k = recipe.k;
  int64_t end = source.colEnd < 0 ? inputs : source.colEnd;
  if (end > inputs || end - source.colBegin != k)
    return invalidArgument("statistics of \"" + source.keyPattern +
                           "\": expected " + std::to_string(k) +
                           " inputs, got " + std::to_string(inputs));
  moments.resize(size_t(k * k));
  for (int64_t i = 0; i < k; ++i) {
    // Row r of the triangle begins after r rows, each one shorter.
    int64_t r = source.colBegin + i;
    int64_t at = r * inputs - r * (r - 1) / 2;
    std::memcpy(moments.data() + i * k + i,
                tensor.bytes.data() + at * int64_t(sizeof(float)),
                size_t(k - i) * sizeof(float));
    for (int64_t j = i; j < k; ++j) {
      float value = moments[size_t(i * k + j)];
      if (!std::isfinite(value))
        return invalidArgument("statistics of \"" + source.keyPattern +
                               "\": expected finite numbers, got NaN or "
                               "infinity");
      moments[size_t(j * k + i)] = value;
    }
  }
  return moments;
}

Result<std::vector<float>>
ActivationStatistics::energiesOf(const WeightRecipe &recipe) const {
  MTP_ASSIGN_OR_RETURN(std::vector<float> moments, momentsOf(recipe));
  std::vector<float> energies;
  for (size_t i = 0; i < moments.size(); i += size_t(recipe.k) + 1)
    energies.push_back(moments[i]);
  return energies;
}

} // namespace mtp
