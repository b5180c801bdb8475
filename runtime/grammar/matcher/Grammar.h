//===- Grammar.h - A compiled grammar ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MATCHER_GRAMMAR_H
#define MTP_RUNTIME_GRAMMAR_MATCHER_GRAMMAR_H

#include "runtime/grammar/automaton/Automaton.h"
#include "runtime/grammar/core/Limits.h"

namespace mtp::grammar {

/// A set of texts, as an automaton. Immutable; any number of threads,
/// vocabularies and matchers may share one. compile() (Compile.h) makes it.
class Grammar {
public:
  Grammar(Automaton automaton, const Limits &limits)
      : states(std::move(automaton)), bounds(limits) {}

  const Automaton &automaton() const { return states; }
  const Limits &limits() const { return bounds; }

private:
  Automaton states;
  Limits bounds;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MATCHER_GRAMMAR_H
