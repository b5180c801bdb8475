//===- ConstraintCache.cpp - Constraints of equal grammars ----------------===//

#include "runtime/constraint/ConstraintCache.h"

using namespace mtp;

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
  return kept.find(constraintKey(source, isCompact),
                   [&] { return make(source, isCompact); });
}
