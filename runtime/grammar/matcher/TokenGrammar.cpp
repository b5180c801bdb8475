//===- TokenGrammar.cpp - A grammar over a vocabulary ---------------------===//

#include "runtime/grammar/matcher/TokenGrammar.h"

using namespace mtp::grammar;

const std::shared_ptr<TokenGrammar::Generation> &TokenGrammar::current() {
  if (!generation || generation->masks.bytes() > grammar().limits().cacheBytes)
    return renew();
  return generation;
}

const std::shared_ptr<TokenGrammar::Generation> &TokenGrammar::renew() {
  generation = std::make_shared<Generation>(grammar(), vocabulary());
  return generation;
}
