//===- DrafterSpec.h - The drafter that is asked for ------------*- C++ -*-===//
//
// The value of --drafter: a method without weights and its numbers, or a
// folder. Also the value of --before: a lookup with precedence over the
// drafter.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_PLAN_DRAFTERSPEC_H
#define MTP_COMPILER_IMPORT_PLAN_DRAFTERSPEC_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtp::importer {

enum class DrafterKind {
  Modules,   ///< The MTP modules of the model, if it has any.
  Lookup,    ///< n-grams of the sequence so far.
  Suffix,    ///< Counts of tokens after suffixes of the sequence so far.
  Lookahead, ///< A window of guesses, verified beside n-grams seen before.
  Folder,    ///< A drafter with weights, in a folder or a GGUF file.
};

/// The n-gram sizes that a lookup searches for, in tokens: 1 <= least <= most
/// <= kMostLookup.
struct LookupSizes {
  int64_t least = 0, most = 0;
};

/// Largest n-gram of a lookup, in tokens (library/lookup.mlir).
inline constexpr int64_t kMostLookup = 8;

/// The number of columns of the window, of tokens per n-gram, and of guesses to
/// verify. 2 <= window, 3 <= ngram, 1 <= guesses, and rows() is within a slot's
/// limit.
struct LookaheadSizes {
  int64_t window = 0, ngram = 0, guesses = 0;

  /// Returns the number of rows of a slot, including the anchor's.
  int64_t rows() const { return (ngram - 1) * window + guesses * (ngram - 1); }
  /// Returns the depth of the tree of these rows, which is the largest number
  /// of drafts that a round accepts.
  int64_t depth() const { return window + ngram - 3; }
};

struct DrafterSpec {
  DrafterKind kind = DrafterKind::Modules;
  LookupSizes lookup;
  LookaheadSizes lookahead;
  /// The path, for a folder or a GGUF file.
  std::string folder;
};

/// Reads `lookup[:min,max]`, `suffix`, `lookahead:W,N,G` or the path of a
/// folder or of a GGUF file. A folder that has the name of a method needs a "/"
/// in its path. An error lists the known methods.
Result<DrafterSpec> parseDrafterSpec(std::string_view text);

/// Reads `lookup[:min,max]`, the value of --before.
Result<LookupSizes> parseBefore(std::string_view text);

/// Returns the method with its numbers, for messages: "lookup:2,5".
std::string methodName(const DrafterSpec &spec);
/// Returns a lookup with its numbers, for messages.
std::string lookupName(const LookupSizes &sizes);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_DRAFTERSPEC_H
