//===- DrafterSpec.h - Which drafter is asked for ---------------*- C++ -*-===//
//
// What --drafter says: a method without weights with its numbers, or a folder.
// And what
// --before says: a lookup whose drafts come first.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERSPEC_H
#define MTP_COMPILER_IMPORT_DRAFTERSPEC_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtp::importer {

enum class DrafterKind {
  Modules,   ///< The MTP modules of the model, if it has any.
  Lookup,    ///< n-grams of the tokens so far.
  Suffix,    ///< Counts of what followed suffixes of the tokens so far.
  Lookahead, ///< A window of guesses beside runs that were seen.
  Folder,    ///< A drafter with weights, in a folder of its own.
};

/// Sizes of the n-grams that a lookup looks for, in tokens: 1 <= least <= most
/// <= kMostLookup.
struct LookupSizes {
  int64_t least = 0, most = 0;
};

/// Tokens of the longest n-gram (Drafters/lookup.mlir).
inline constexpr int64_t kMostLookup = 8;

/// Columns of the window, tokens of the n-grams, and guesses that are verified:
/// 2 <= window, 3 <= ngram, 1 <= guesses, and as few rows as a slot may have.
struct LookaheadSizes {
  int64_t window = 0, ngram = 0, guesses = 0;

  /// Rows of a slot, the anchor's among them.
  int64_t rows() const { return (ngram - 1) * window + guesses * (ngram - 1); }
  /// How deep the tree of these rows is, and so how many drafts a round
  /// accepts.
  int64_t depth() const { return window + ngram - 3; }
};

struct DrafterSpec {
  DrafterKind kind = DrafterKind::Modules;
  LookupSizes lookup;
  LookaheadSizes lookahead;
  /// Of a folder: its path.
  std::string folder;
};

/// Reads `lookup[:min,max]`, `suffix`, `lookahead:W,N,G` or the path of a
/// folder. A folder whose name is a method's is written with a "/". An error
/// says what is known.
Result<DrafterSpec> parseDrafterSpec(std::string_view text);

/// Reads `lookup[:min,max]`, the value of --before.
Result<LookupSizes> parseBefore(std::string_view text);

/// The name of the method with its numbers, for people: "lookup:2,5".
std::string methodName(const DrafterSpec &spec);
/// The same of a lookup alone.
std::string lookupName(const LookupSizes &sizes);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERSPEC_H
