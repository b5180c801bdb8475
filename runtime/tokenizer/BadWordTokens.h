//===- BadWordTokens.h - Token sequences of a bad word ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_BADWORDTOKENS_H
#define MTP_RUNTIME_TOKENIZER_BADWORDTOKENS_H

#include "mtp/tokenizer.h"

#include <vector>

namespace mtp {

/// Appends the token sequences of a bad word, as vLLM does. The first sequence
/// is of the word without spaces before it. The second one is of the word after
/// a space, if it has the length of the first and begins with another token.
/// Fails with InvalidArgument if the word is blank, and like
/// Tokenizer::encode().
Status addBadWord(const Tokenizer &tokenizer, std::string_view word,
                  std::vector<std::vector<TokenId>> &sequences);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_BADWORDTOKENS_H
