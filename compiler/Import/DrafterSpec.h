//===- DrafterSpec.h - Which drafter is asked for ---------------*- C++ -*-===//
//
// What --drafter says: a method without weights with its numbers, or a folder.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERSPEC_H
#define MTP_COMPILER_IMPORT_DRAFTERSPEC_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp::importer {

enum class DrafterKind {
  Modules, ///< The MTP modules of the model, if it has any.
  Lookup,  ///< n-grams of the tokens so far.
  Folder,  ///< A drafter with weights, in a folder of its own.
};

/// Sizes of the n-grams that a lookup looks for, in tokens: 1 <= least <= most
/// <= kMostLookup.
struct LookupSizes {
  int64_t least = 0, most = 0;
};

/// Tokens of the longest n-gram (Drafters/lookup.mlir).
inline constexpr int64_t kMostLookup = 8;

struct DrafterSpec {
  DrafterKind kind = DrafterKind::Modules;
  LookupSizes lookup;
  /// Of a folder: its path.
  std::string folder;
};

/// Reads `lookup[:min,max]` or the path of a folder. A folder whose name is a
/// method's is written with a "/". An error says what is known.
Result<DrafterSpec> parseDrafterSpec(std::string_view text);

/// The name of the method with its numbers, for people: "lookup:2,5".
std::string methodName(const DrafterSpec &spec);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERSPEC_H
