//===- UnicodeForms.h - Unicode's normal forms and lower case ---*- C++ -*-===//

#ifndef MTP_RUNTIME_UTF8_UNICODEFORMS_H
#define MTP_RUNTIME_UTF8_UNICODEFORMS_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp {

enum class UnicodeForm { Nfc, Nfd, Nfkc, Nfkd };

/// Appends the normal form of `text`, which must be well-formed UTF-8.
///
/// Fails with ResourceExhausted on very long runs of combining marks, because
/// sorting them takes quadratic time.
Status appendNormalized(std::string_view text, UnicodeForm form,
                        std::string &out);

/// Appends the lower case of every character. The neighbours of a character do
/// not matter.
void appendLowercase(std::string_view text, std::string &out);

} // namespace mtp

#endif // MTP_RUNTIME_UTF8_UNICODEFORMS_H
