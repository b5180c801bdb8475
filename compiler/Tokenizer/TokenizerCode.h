//===- TokenizerCode.h - A pattern that stands in Python code ---*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_TOKENIZERCODE_H
#define MTP_COMPILER_TOKENIZER_TOKENIZERCODE_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp {

/// The file of code beside a tokenizer_config.json that its "auto_map" names,
/// without a folder. Fails with Unimplemented where it names none.
Result<std::string> findTokenizerCode(std::string_view tokenizerConfig);

/// The pattern that such code assigns to `pat_str`, once: a raw string, or raw
/// strings in a list that "|" joins. Nothing is run; code of any other form
/// fails with Unimplemented. `name` is the file's in messages.
Result<std::string> readPatternOfCode(std::string_view code,
                                      const std::string &name);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_TOKENIZERCODE_H
