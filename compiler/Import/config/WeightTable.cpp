//===- WeightTable.cpp - The weights that a model uses --------------------===//

#include "compiler/Import/config/WeightTable.h"

#include "compiler/Weights/pack/WeightRows.h"

#include <algorithm>

namespace mtp::importer {

namespace {

/// Returns the full key. A key that begins with "/" is absolute, as in
/// `mtp.weight`.
std::string expand(const std::string &prefix, const std::string &key,
                   int64_t number) {
  std::string full = key.starts_with("/") ? key.substr(1) : prefix + key;
  size_t at = full.find("{}");
  return at == std::string::npos ? full
                                 : full.replace(at, 2, std::to_string(number));
}

/// Returns a shape without its extents of 1 beyond `rank`: vectors stored as
/// [1, n], and filters of a convolution with one channel each.
std::vector<int64_t> withoutOnes(std::span<const int64_t> shape, size_t rank) {
  std::vector<int64_t> rest(shape.begin(), shape.end());
  while (rest.size() > rank) {
    auto one = std::ranges::find(rest, 1);
    if (one == rest.end())
      break;
    rest.erase(one);
  }
  return rest;
}

} // namespace

Status WeightTable::open(const std::string &folder) {
  MTP_ASSIGN_OR_RETURN(weights, WeightSet::openFolder(folder));
  return okStatus();
}

Status
WeightTable::openBeside(const std::string &folder,
                        const std::function<bool(std::string_view)> &isWanted) {
  return weights ? weights->addMixed(folder, isWanted) : okStatus();
}

Status WeightTable::addDrafter(const std::vector<std::string> &files,
                               const std::string &prefix) {
  std::vector<std::string> all = sources();
  filePrefixes.assign(all.size(), "");
  all.insert(all.end(), files.begin(), files.end());
  filePrefixes.resize(all.size(), prefix);
  drafterPrefix = prefix;
  MTP_ASSIGN_OR_RETURN(weights, WeightSet::openFiles(all, filePrefixes));
  return okStatus();
}

std::vector<std::string> WeightTable::sources() const {
  return weights ? weights->sources() : std::vector<std::string>();
}

bool WeightTable::contains(const std::string &key) const {
  return weights && weights->contains(key);
}

bool WeightTable::containsUnder(const std::string &prefix) const {
  if (!weights)
    return false;
  auto next = weights->keys().lower_bound(prefix);
  return next != weights->keys().end() && next->first.starts_with(prefix);
}

bool WeightTable::isQuantized() const {
  return weights && weights->hasQuantized();
}

std::string WeightTable::typesUnder(const std::string &prefix,
                                    const std::string &except) const {
  std::set<std::string_view> types;
  if (weights)
    for (auto it = weights->keys().lower_bound(prefix);
         it != weights->keys().end() && it->first.starts_with(prefix); ++it)
      if (Result<TensorView> tensor = weights->get(it->first);
          tensor && (except.empty() || !it->first.starts_with(except)))
        types.insert(tensor->format());
  std::string text;
  for (std::string_view type : types)
    text += (text.empty()              ? ""
             : type == *types.rbegin() ? " and "
                                       : ", ") +
            std::string(type);
  return text;
}

Result<bool> WeightTable::areEqual(const std::string &a,
                                   const std::string &b) const {
  MTP_ASSIGN_OR_RETURN(TensorView left, weights->get(a));
  MTP_ASSIGN_OR_RETURN(TensorView right, weights->get(b));
  if (!std::ranges::equal(left.shape, right.shape))
    return false;
  // Codes must be compared with their scales.
  bool areAlike =
      left.type == right.type && left.isInOrder() && right.isInOrder();
  if (areAlike && std::ranges::equal(left.bytes, right.bytes))
    return true;
  // Types may differ, and 0 and -0 have different bytes.
  auto rows = [&](const std::string &key) {
    WeightSource source;
    source.keyPattern = key;
    return WeightRows::resolve(*weights, source, 0);
  };
  MTP_ASSIGN_OR_RETURN(WeightRows leftRows, rows(a));
  MTP_ASSIGN_OR_RETURN(WeightRows rightRows, rows(b));
  int64_t cols = leftRows.cols();
  std::vector<float> x(static_cast<size_t>(cols)), y(x.size());
  for (int64_t row = 0; row < leftRows.rows(); ++row) {
    leftRows.read(row, 1, 0, cols, x.data(), cols);
    rightRows.read(row, 1, 0, cols, y.data(), cols);
    if (x != y)
      return false;
  }
  return true;
}

bool WeightTable::isEmptyBias(const std::string &key) const {
  constexpr std::string_view kBias = ".bias";
  if (!key.ends_with(kBias))
    return false;
  std::string weight = key.substr(0, key.size() - kBias.size()) + ".weight";
  if (!weights->contains(weight))
    return false;
  Result<TensorView> matrix = weights->get(weight), bias = weights->get(key);
  return matrix && bias && matrix->stored &&
         std::ranges::all_of(bias->bytes, [](uint8_t byte) { return !byte; });
}

std::vector<std::string> WeightTable::unused() const {
  std::vector<std::string> keys;
  if (!weights)
    return keys;
  for (const auto &[key, file] : weights->keys())
    if (!used.contains(key) && weights->isListed(key) && !isEmptyBias(key))
      keys.push_back(key);
  return keys;
}

WeightType WeightTable::keptType(WeightType stored, size_t rank) const {
  // Vectors are small, so values that bf16 cannot represent are kept exactly.
  if (rank == 1)
    return stored == WeightType::BF16 ? stored : WeightType::F32;
  if (matrixType)
    return *matrixType;
  if (stored == WeightType::F8E4M3)
    return WeightType::BF16;
  // F32 has all values of F16 and of blocks; BF16 does not.
  return stored == WeightType::F16 || hasBlocks(stored) ? WeightType::F32
                                                        : stored;
}

WeightType WeightTable::impliedType(const std::string &key, size_t rank) const {
  // All families keep this bias in f32, whatever the type of other weights is.
  if (key.ends_with("e_score_correction_bias") || key.ends_with("expert_bias"))
    return WeightType::F32;
  // Only matrices are stored as FP8.
  if (rank == 1 && storedType == WeightType::F8E4M3)
    return WeightType::BF16;
  return storedType;
}

Result<WeightType> WeightTable::check(const std::string &key,
                                      std::span<const int64_t> shape) {
  MTP_ASSIGN_OR_RETURN(TensorView tensor, weights->get(key));
  used.insert(key);
  std::vector<int64_t> extents = withoutOnes(tensor.shape, shape.size());
  if (!std::ranges::equal(shape, extents))
    return invalidArgument("weight \"" + key + "\": expected shape " +
                           formatShape(shape) + ", got " +
                           formatShape(extents) + " in \"" +
                           tensor.file->path() + "\"");
  // This also checks that the type is readable and has its scales.
  WeightSource source;
  source.keyPattern = key;
  if (shape.size() == 3)
    source.headStride = source.rowEnd = shape[1];
  else
    source.shape.assign(shape.begin(), shape.end());
  MTP_RETURN_IF_ERROR(WeightRows::resolve(*weights, source, 0).status());
  bool isDrafters = !drafterPrefix.empty() && key.starts_with(drafterPrefix);
  WeightType stored = tensor.type;
  // Like F16, integers times scales need more bits than BF16 has.
  if (tensor.stored && !tensor.stored->isFloat8())
    stored = WeightType::F16;
  if (isDrafters && stored == WeightType::F16)
    stored = WeightType::BF16;
  return keptType(stored, shape.size());
}

Result<WeightType> WeightTable::resolve(std::span<const std::string> prefixes,
                                        const std::string &key,
                                        std::span<const int64_t> shape,
                                        int64_t stack) {
  if (!weights)
    return keptType(impliedType(key, shape.size()), shape.size());
  // The wider of two types represents both exactly.
  std::optional<WeightType> common;
  for (const std::string &prefix : prefixes)
    for (int64_t i = 0; i < std::max<int64_t>(stack, 1); ++i) {
      MTP_ASSIGN_OR_RETURN(WeightType type,
                           check(expand(prefix, key, i), shape));
      common = common.value_or(type) == type ? type : WeightType::F32;
    }
  if (!common)
    return internalError("weight \"" + key + "\" is used under no prefix");
  return *common;
}

} // namespace mtp::importer
