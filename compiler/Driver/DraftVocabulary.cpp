//===- DraftVocabulary.cpp - Value of --draft-vocab -----------------------===//

#include "compiler/Driver/DraftVocabulary.h"
#include "compiler/Weights/InputFile.h"
#include "runtime/core/StrCat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <unordered_set>

using namespace mtp;

/// Room for one line per token of a vocabulary of millions.
static constexpr size_t kMaxFileBytes = size_t(64) << 20;

namespace {
struct TokenCount {
  int32_t token;
  uint64_t count;
};
} // namespace

static Result<std::vector<TokenCount>> parseCounts(llvm::StringRef text,
                                                   const std::string &path) {
  std::vector<TokenCount> counts;
  // Not a DenseSet, which reserves two numbers that a file may hold.
  std::unordered_set<int32_t> seen;
  for (int64_t line = 1; !text.empty(); ++line) {
    auto [content, rest] = text.split('\n');
    text = rest;
    content = content.trim();
    if (content.empty())
      continue;
    auto [first, second] = content.split(' ');
    TokenCount entry;
    if (first.getAsInteger(10, entry.token) || entry.token < 0 ||
        second.trim().getAsInteger(10, entry.count)) {
      return invalidArgument(strCat(path, ":", line,
                                    ": expected a token id and a count, got '",
                                    std::string_view(content), "'"));
    }
    if (!seen.insert(entry.token).second) {
      return invalidArgument(strCat(path, ":", line,
                                    ": expected every token once, got ",
                                    entry.token, " again"));
    }
    counts.push_back(entry);
  }
  return counts;
}

Result<std::vector<int32_t>>
mtp::compiler::readDraftVocabulary(std::string_view value) {
  auto [path, option] = llvm::StringRef(value).split(',');
  size_t size = 0;
  bool hasSize = option.consume_front("size=");
  if (path.empty() || (hasSize && (option.getAsInteger(10, size) || !size)) ||
      (!hasSize && path.size() != value.size())) {
    return invalidArgument(strCat(
        "expected --draft-vocab=FILE[,size=N] with N of at least 1, got '",
        value, "'"));
  }
  MTP_ASSIGN_OR_RETURN(std::string text,
                       readTextFile(path.str(), kMaxFileBytes));
  MTP_ASSIGN_OR_RETURN(std::vector<TokenCount> counts,
                       parseCounts(text, path.str()));
  if (counts.empty() || counts.size() < size) {
    return invalidArgument(strCat(
        "expected at least ", std::max<size_t>(size, 1), " tokens in '",
        std::string_view(path), "' (--draft-vocab), got ", counts.size()));
  }
  llvm::sort(counts, [](const TokenCount &a, const TokenCount &b) {
    return a.count != b.count ? a.count > b.count : a.token < b.token;
  });
  if (hasSize)
    counts.resize(size);
  std::vector<int32_t> tokens;
  for (const TokenCount &entry : counts)
    tokens.push_back(entry.token);
  llvm::sort(tokens);
  return tokens;
}
