//===- CharClass.h - White space and word characters ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_CHARCLASS_H
#define MTP_RUNTIME_TOKENIZER_CHARCLASS_H

#include <cstdint>

namespace mtp {

/// Returns Unicode's White_Space property.
bool isWhiteSpace(uint32_t codePoint);

/// Returns whether `\w` of Unicode's recommendation for regular expressions
/// matches. It matches letters, marks, decimal digits, letter numbers,
/// connector punctuation and the two joiners.
bool isWordCharacter(uint32_t codePoint);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_CHARCLASS_H
