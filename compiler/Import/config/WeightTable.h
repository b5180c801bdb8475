//===- WeightTable.h - The weights that a model uses ------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_CONFIG_WEIGHTTABLE_H
#define MTP_COMPILER_IMPORT_CONFIG_WEIGHTTABLE_H

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

/// Checks each weight that the importer refers to against the checkpoint, and
/// decides its element type. Without a checkpoint (structure only) the config's
/// type decides.
class WeightTable {
public:
  /// `storedType` is assumed for weights without a file. `matrixType` overrides
  /// the type in which matrices are kept.
  WeightTable(WeightType storedType, std::optional<WeightType> matrixType)
      : storedType(storedType), matrixType(matrixType) {}

  /// Opens the checkpoint in a folder, or a model in GGUF. After this call each
  /// weight must exist.
  Status open(const std::string &folder);

  /// Adds files of a folder that hold a wanted key (WeightSet::addMixed()).
  Status openBeside(const std::string &folder,
                    const std::function<bool(std::string_view)> &isWanted);

  /// Opens a drafter's files too, with `prefix` added to their keys. Their F16
  /// matrices are kept as BF16, because drafts decide no token.
  Status addDrafter(const std::vector<std::string> &files,
                    const std::string &prefix);

  /// Returns the type (BF16 or F32) in which to keep a weight. The weight must
  /// exist with `shape` under each prefix and, if `stack` > 0, for each number
  /// in place of "{}". The widest type among them is kept.
  Result<WeightType> resolve(std::span<const std::string> prefixes,
                             const std::string &key,
                             std::span<const int64_t> shape, int64_t stack);

  /// Returns the files to name in the module, as paths given to open().
  std::vector<std::string> sources() const;
  /// Returns the key prefix of each file. Empty if no file has one.
  const std::vector<std::string> &prefixes() const { return filePrefixes; }

  /// Returns true if there is a checkpoint.
  bool isOpen() const { return weights.has_value(); }
  /// Returns true if the checkpoint has a key. False without a checkpoint.
  bool contains(const std::string &key) const;
  /// Returns the names of the formats of weights under a prefix, without those
  /// under `except` if it is not empty: "BF16 and int4 (AWQ)".
  std::string typesUnder(const std::string &prefix,
                         const std::string &except = "") const;
  /// Returns true if a weight is stored as codes and scales.
  bool isQuantized() const;
  /// Returns true if a key of the checkpoint begins with `prefix`.
  bool containsUnder(const std::string &prefix) const;
  /// Returns true if two tensors have equal shapes and equal values.
  Result<bool> areEqual(const std::string &a, const std::string &b) const;
  /// Returns the keys that no call of resolve() named, sorted. Keys that an
  /// index omits are left out, and biases of zeros of quantised weights.
  std::vector<std::string> unused() const;

private:
  /// Returns true for a bias of zeros of a quantised weight, which some tools
  /// add to models without biases.
  bool isEmptyBias(const std::string &key) const;
  Result<WeightType> check(const std::string &key,
                           std::span<const int64_t> shape);
  /// Returns the type of a weight without a file.
  WeightType impliedType(const std::string &key, size_t rank) const;
  /// Returns the type in which a weight stored as `stored` is kept.
  WeightType keptType(WeightType stored, size_t rank) const;

  WeightType storedType;
  std::optional<WeightType> matrixType;
  std::optional<WeightSet> weights;
  std::vector<std::string> filePrefixes;
  std::string drafterPrefix;
  std::set<std::string, std::less<>> used;
};

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_CONFIG_WEIGHTTABLE_H
