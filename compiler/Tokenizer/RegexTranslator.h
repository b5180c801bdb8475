//===- RegexTranslator.h - From Oniguruma's syntax to PCRE2's ---*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_REGEXTRANSLATOR_H
#define MTP_COMPILER_TOKENIZER_REGEXTRANSLATOR_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp {

/// Translates Hugging Face's patterns, which are in Oniguruma's Ruby syntax, to
/// PCRE2's. Some elements have another meaning in PCRE2: `\s` and `\w` are
/// different sets, and `x{1,3}+` is possessive instead of a repetition. `^` is
/// not the start of each line, and a script's name means its extensions. The
/// result has an equal meaning in PCRE2 with UTF and UCP. Fails with
/// InvalidArgument for syntax whose meaning is not known to be equal. The
/// result may still fail to compile in PCRE2.
Result<std::string> translateRegex(std::string_view pattern);

/// Returns a pattern that matches exactly this text.
std::string escapeRegex(std::string_view text);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_REGEXTRANSLATOR_H
