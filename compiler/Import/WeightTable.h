//===- WeightTable.h - The weights that a model asks for --------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_WEIGHTTABLE_H
#define MTP_COMPILER_IMPORT_WEIGHTTABLE_H

#include "compiler/Weights/WeightSet.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

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

  /// Adds files of a folder with a wanted key (WeightSet::addBeside()).
  Status openBeside(const std::string &folder,
                    const std::function<bool(std::string_view)> &isWanted);

  /// Opens a drafter's files beside it, whose keys begin with `prefix`. F16
  /// matrices of theirs are kept as BF16: drafts decide no token.
  Status addDrafter(const std::vector<std::string> &files,
                    const std::string &prefix);

  /// The type (BF16 or F32) to keep a weight in. It must be there with `shape`
  /// under every prefix and, with `stack` > 0, for every number in place of
  /// "{}". If these are of different types, the wider one is kept.
  Result<WeightType> resolve(std::span<const std::string> prefixes,
                             const std::string &key,
                             std::span<const int64_t> shape, int64_t stack);

  /// The files to name in the module: paths as given to open().
  std::vector<std::string> sources() const;
  /// What stands in front of the keys of each; empty where all have nothing.
  const std::vector<std::string> &prefixes() const { return filePrefixes; }

  /// Whether there is a checkpoint.
  bool isOpen() const { return weights.has_value(); }
  /// Whether the checkpoint has a key; without a checkpoint none is there.
  bool contains(const std::string &key) const;
  /// Whether the checkpoint has a key that begins so.
  bool containsUnder(const std::string &prefix) const;
  /// Whether two tensors have the same shape and the same values.
  Result<bool> areEqual(const std::string &a, const std::string &b) const;
  /// The keys that no call of resolve() named, sorted, without the scales of
  /// other weights, which follow these, and without what an index does not
  /// name.
  std::vector<std::string> unused() const;

private:
  Result<WeightType> check(const std::string &key,
                           std::span<const int64_t> shape);
  /// What a file would hold.
  WeightType impliedType(const std::string &key, size_t rank) const;
  /// What a weight is kept in that is stored as `stored`.
  Result<WeightType> keptType(WeightType stored, size_t rank) const;

  WeightType storedType;
  std::optional<WeightType> matrixType;
  std::optional<WeightSet> weights;
  std::vector<std::string> filePrefixes;
  std::string drafterPrefix;
  std::set<std::string, std::less<>> used;
};

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_WEIGHTTABLE_H
