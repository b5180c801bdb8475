//===- WeightTable.h - The weights that a model asks for --------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_WEIGHTTABLE_H
#define MTP_COMPILER_IMPORT_WEIGHTTABLE_H

#include "compiler/Weights/WeightSet.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace mtp::importer {

/// Checks every weight that the importer refers to against the checkpoint, and
/// decides the type that it is kept in. Without a checkpoint (structure only)
/// the config's type decides.
class WeightTable {
public:
  /// `storedType` is what files hold that are not there to be looked at;
  /// `matrixType` overrides what matrices are kept in.
  WeightTable(WeightType storedType, std::optional<WeightType> matrixType)
      : storedType(storedType), matrixType(matrixType) {}

  /// Opens the checkpoint in a folder; from now on weights must exist.
  Status open(const std::string &folder);

  /// The type (BF16 or F32) to keep a weight in. It must be there with `shape`
  /// under every prefix and, with `stack` > 0, for every number in place of
  /// "{}", and all of these must be kept in one type.
  Result<WeightType> resolve(std::span<const std::string> prefixes,
                             const std::string &key,
                             std::span<const int64_t> shape, int64_t stack);

  /// The files to name in the module: paths as given to open().
  std::vector<std::string> sources() const;

private:
  Result<WeightType> check(const std::string &key,
                           std::span<const int64_t> shape) const;
  /// What a file would hold.
  WeightType impliedType(const std::string &key, size_t rank) const;
  /// What a weight is kept in that is stored as `stored`.
  Result<WeightType> keptType(WeightType stored, size_t rank) const;

  WeightType storedType;
  std::optional<WeightType> matrixType;
  std::optional<WeightSet> weights;
};

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_WEIGHTTABLE_H
