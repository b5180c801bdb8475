//===- ConstraintCache.cpp - Constraints of equal grammars ----------------===//

#include "runtime/constraint/ConstraintCache.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;

/// Returns a text that only equal grammars have.
static std::string keyOf(const grammar::Source &source, bool isCompact) {
  std::string key = strCat(int(source.kind), isCompact ? "c" : "w",
                           source.text.size(), ":", source.text);
  for (const std::string &choice : source.choices)
    key += strCat(choice.size(), ":", choice);
  return key;
}

Result<std::shared_ptr<const TokenConstraint>>
ConstraintCache::make(const grammar::Source &source, bool isCompact) {
  grammar::Limits limits;
  if (isCompact)
    limits.whitespace = 0;
  MTP_ASSIGN_OR_RETURN(auto compiled, grammar::compile(source, limits));
  if (!vocabulary) {
    auto made = grammarVocabulary(tokenizer, vocab, ends);
    if (!made)
      return made.status();
    vocabulary = std::move(*made);
  }
  return makeConstraint(std::move(compiled), vocabulary);
}

Result<std::shared_ptr<const TokenConstraint>>
ConstraintCache::find(const grammar::Source &source, bool isCompact) {
  std::string key = keyOf(source, isCompact);
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(kept, key, &Kept::key);
  if (found == kept.end()) {
    MTP_ASSIGN_OR_RETURN(auto constraint, make(source, isCompact));
    kept.push_front({std::move(key), std::move(constraint)});
    if (kept.size() > kMostKept)
      kept.pop_back();
  } else {
    kept.splice(kept.begin(), kept, found);
  }
  return kept.front().constraint;
}
