//===- CharacterSets.h - What the library means by a set --------*- C++ -*-===//
//
// Members of sets of characters, to be put between brackets of a pattern in
// PCRE2's syntax. The tokenizer library that files are written for has two
// engines and tables of its own, which do not agree with one another; the
// members here were compared with it over all code points
// (test/oracle/tokenizer_steps.py).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TOKENIZER_CHARACTERSETS_H
#define MTP_COMPILER_TOKENIZER_CHARACTERSETS_H

#include <string_view>

namespace mtp {

/// \w within brackets of a pattern that a file gives.
std::string_view wordMembers();
/// \w outside of brackets.
std::string_view onigurumaWordMembers();
/// \w of the pre-tokenizer Whitespace.
std::string_view rustWordMembers();

/// What Punctuation and BertPreTokenizer cut at: ASCII's, and those of Unicode
/// 8, whatever version PCRE2 knows.
std::string_view punctuationMembers();

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_CHARACTERSETS_H
