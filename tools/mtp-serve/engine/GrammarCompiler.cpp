//===- GrammarCompiler.cpp - Constraints of requests ----------------------===//

#include "tools/mtp-serve/engine/GrammarCompiler.h"

using namespace mtp;
using namespace mtp::serve;

MaybeError
GrammarCompiler::compile(const GrammarRequest &asked,
                         std::shared_ptr<const TokenConstraint> &constraint) {
  if (!cache)
    cache.emplace(*facts.tokenizer, facts.vocab, facts.generation.eos);
  auto found = cache->find(asked.source, asked.isCompact);
  if (!found)
    return wrongField(asked.field, std::string(found.status().message()));
  constraint = std::move(*found);
  return std::nullopt;
}
