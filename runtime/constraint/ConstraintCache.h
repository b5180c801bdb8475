//===- ConstraintCache.h - Constraints of equal grammars --------*- C++ -*-===//

#ifndef MTP_RUNTIME_CONSTRAINT_CONSTRAINTCACHE_H
#define MTP_RUNTIME_CONSTRAINT_CONSTRAINTCACHE_H

#include "runtime/constraint/KeptConstraints.h"

#include <vector>

namespace mtp {

/// Compiles grammars over the vocabulary of one tokenizer. Requests with equal
/// grammars share a constraint, which keeps its masks. Any thread may call
/// find(); one grammar at a time is compiled.
class ConstraintCache {
public:
  /// `tokenizer` must outlive the cache. `vocab` and `ends` are as for
  /// grammarVocabulary().
  ConstraintCache(const Tokenizer &tokenizer, uint32_t vocab,
                  std::vector<int32_t> ends)
      : tokenizer(tokenizer), vocab(vocab), ends(std::move(ends)) {}

  /// Returns the constraint of a grammar. `isCompact`: JSON has no white space
  /// between tokens. Fails as grammar::compile() and grammarVocabulary() do.
  Result<std::shared_ptr<const TokenConstraint>>
  find(const grammar::Source &source, bool isCompact);

private:
  Result<std::shared_ptr<const TokenConstraint>>
  make(const grammar::Source &source, bool isCompact);

  const Tokenizer &tokenizer;
  uint32_t vocab;
  std::vector<int32_t> ends;
  /// Made for the first grammar.
  std::shared_ptr<const grammar::Vocabulary> vocabulary;
  KeptConstraints kept;
};

} // namespace mtp

#endif // MTP_RUNTIME_CONSTRAINT_CONSTRAINTCACHE_H
