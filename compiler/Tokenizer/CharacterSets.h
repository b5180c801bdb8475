//===- CharacterSets.h - The library's sets of characters -------*- C++ -*-===//
//
// Members of character sets, for use between brackets in PCRE2's syntax.
// Hugging Face's tokenizers library, for which the files are written, has two
// regex engines and tables of its own, which disagree with one another. The
// members here were compared with the library over all code points
// (test/oracle/tokenizer_steps.py).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TOKENIZER_CHARACTERSETS_H
#define MTP_COMPILER_TOKENIZER_CHARACTERSETS_H

#include <string_view>

namespace mtp {

/// Returns the members of \w within brackets of a file's pattern.
std::string_view wordMembers();
/// Returns the members of \w outside of brackets.
std::string_view onigurumaWordMembers();
/// Returns the members of \w in the pre-tokenizer Whitespace.
std::string_view rustWordMembers();

/// Returns the members at which Punctuation and BertPreTokenizer split: ASCII
/// punctuation and the punctuation of Unicode 8, for any version of PCRE2.
std::string_view punctuationMembers();

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_CHARACTERSETS_H
