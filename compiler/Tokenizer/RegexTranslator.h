//===- RegexTranslator.h - From Oniguruma's syntax to PCRE2's ---*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_REGEXTRANSLATOR_H
#define MTP_COMPILER_TOKENIZER_REGEXTRANSLATOR_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp {

/// Hugging Face's patterns are Oniguruma's, in Ruby syntax. They look like
/// PCRE2's, but some mean other things there: `\s` and `\w` are other sets,
/// `x{1,3}+` repeats instead of being possessive, `^` is every line's start,
/// and a script name is not its extensions. Yields a pattern that means the
/// same to PCRE2 with UTF and UCP, or fails with InvalidArgument on syntax that
/// is not known to; whether the rest compiles is for PCRE2 to say.
Result<std::string> translateRegex(std::string_view pattern);

/// A pattern that matches just this text.
std::string escapeRegex(std::string_view text);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_REGEXTRANSLATOR_H
