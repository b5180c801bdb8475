//===- GrammarCompiler.cpp - Constraints of requests ----------------------===//

#include "tools/mtp-serve/engine/GrammarCompiler.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

/// Returns a text that only equal grammars have.
static std::string keyOf(const GrammarRequest &asked) {
  const grammar::Source &source = asked.source;
  std::string key = strCat(int(source.kind), asked.isCompact ? "c" : "w",
                           source.text.size(), ":", source.text);
  for (const std::string &choice : source.choices)
    key += strCat(choice.size(), ":", choice);
  return key;
}

Result<std::shared_ptr<const TokenConstraint>>
GrammarCompiler::make(const GrammarRequest &asked) {
  grammar::Limits limits;
  if (asked.isCompact)
    limits.whitespace = 0;
  MTP_ASSIGN_OR_RETURN(auto compiled, grammar::compile(asked.source, limits));
  if (!vocabulary) {
    MTP_ASSIGN_OR_RETURN(
        vocabulary,
        grammarVocabulary(*facts.tokenizer, facts.vocab, facts.generation.eos));
  }
  return makeConstraint(std::move(compiled), vocabulary, facts.tokenizer);
}

MaybeError
GrammarCompiler::compile(const GrammarRequest &asked,
                         std::shared_ptr<const TokenConstraint> &constraint) {
  std::string key = keyOf(asked);
  auto found = std::ranges::find(kept, key, &Kept::key);
  if (found == kept.end()) {
    Result<std::shared_ptr<const TokenConstraint>> made = make(asked);
    if (!made)
      return wrongField(asked.field, std::string(made.status().message()));
    kept.push_front({std::move(key), std::move(*made)});
    if (kept.size() > kMostKept)
      kept.pop_back();
  } else {
    kept.splice(kept.begin(), kept, found);
  }
  constraint = kept.front().constraint;
  return std::nullopt;
}
