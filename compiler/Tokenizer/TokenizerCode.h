//===- TokenizerCode.h - A pattern in Python code ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_TOKENIZERCODE_H
#define MTP_COMPILER_TOKENIZER_TOKENIZERCODE_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp {

/// Returns the Python file that "auto_map" of a tokenizer_config.json names,
/// without a folder. Fails with Unimplemented if it names none.
Result<std::string> findTokenizerCode(std::string_view tokenizerConfig);

/// Returns the pattern that Python code assigns to `pat_str`. There must be one
/// assignment, of a raw string or of raw strings in a list that "|" joins.
/// Nothing is executed; other forms fail with Unimplemented. `name` is the
/// file's name in messages.
Result<std::string> readPatternOfCode(std::string_view code,
                                      const std::string &name);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_TOKENIZERCODE_H
