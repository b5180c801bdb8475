//===- BadWordTokens.cpp - Token sequences of a bad word ------------------===//

#include "runtime/tokenizer/BadWordTokens.h"

#include <algorithm>

using namespace mtp;

Status mtp::addBadWord(const Tokenizer &tokenizer, std::string_view word,
                       std::vector<std::vector<TokenId>> &sequences) {
  word.remove_prefix(
      std::min(word.find_first_not_of(" \t\n\v\f\r"), word.size()));
  if (word.empty())
    return invalidArgument("expected a bad word with a character besides "
                           "spaces");
  EncodeOptions options{/*addSpecial=*/false, /*parseSpecial=*/true};
  MTP_ASSIGN_OR_RETURN(std::vector<TokenId> first,
                       tokenizer.encode(word, options));
  MTP_ASSIGN_OR_RETURN(std::vector<TokenId> spaced,
                       tokenizer.encode(" " + std::string(word), options));
  bool isOther = !first.empty() && spaced.size() == first.size() &&
                 spaced.front() != first.front();
  if (!first.empty())
    sequences.push_back(std::move(first));
  if (isOther)
    sequences.push_back(std::move(spaced));
  return okStatus();
}
