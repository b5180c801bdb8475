//===- TokenGrammar.h - A grammar over a vocabulary -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MATCHER_TOKENGRAMMAR_H
#define MTP_RUNTIME_GRAMMAR_MATCHER_TOKENGRAMMAR_H

#include "runtime/grammar/mask/MaskCache.h"
#include "runtime/grammar/matcher/Grammar.h"

#include <mutex>

namespace mtp::grammar {

/// A grammar over a vocabulary, and the states and masks that its matchers
/// share. Any number of threads may use one: a lock is held during each
/// operation of a matcher.
///
/// If states and masks exceed Limits::cacheBytes, new ones begin empty. Each
/// matcher moves to the new ones at its next operation. So results do not
/// depend on what is in memory.
class TokenGrammar {
public:
  TokenGrammar(std::shared_ptr<const Grammar> grammar,
               std::shared_ptr<const Vocabulary> vocabulary)
      : sharedGrammar(std::move(grammar)), tokens(std::move(vocabulary)) {}

  const Grammar &grammar() const { return *sharedGrammar; }
  const Vocabulary &vocabulary() const { return *tokens; }

private:
  friend class Matcher;

  /// States and masks. Ids of frontiers are valid within one generation.
  struct Generation {
    Generation(const Grammar &grammar, const Vocabulary &vocabulary)
        : machine(grammar.automaton(), grammar.limits()),
          masks(machine, vocabulary, grammar.limits()) {}
    Machine machine;
    MaskCache masks;
  };

  /// Return the present generation, or a new one. The caller holds the lock.
  const std::shared_ptr<Generation> &current();
  const std::shared_ptr<Generation> &renew();

  std::shared_ptr<const Grammar> sharedGrammar;
  std::shared_ptr<const Vocabulary> tokens;
  std::mutex mutex;
  std::shared_ptr<Generation> generation;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MATCHER_TOKENGRAMMAR_H
