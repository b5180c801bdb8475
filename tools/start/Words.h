//===- Words.h - Words of a flag's value ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_START_WORDS_H
#define MTP_TOOLS_START_WORDS_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace mtp::start {

/// Splits a text into words as a shell does: at spaces, with single quotes,
/// double quotes and backslashes. No other character is special, so nothing is
/// expanded or run. Fails at a quote or a backslash without its end.
Result<std::vector<std::string>> splitWords(std::string_view text);

} // namespace mtp::start

#endif // MTP_TOOLS_START_WORDS_H
