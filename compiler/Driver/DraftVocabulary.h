//===- DraftVocabulary.h - What --draft-vocab asks for ----------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_DRAFTVOCABULARY_H
#define MTP_COMPILER_DRIVER_DRAFTVOCABULARY_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mtp::compiler {

/// Reads the value of the flag, FILE[,size=N]: the file has a line per token,
/// its id and how often it was counted. Returns the N most frequent tokens (all
/// of them without a size), ascending; of equally frequent ones the lower ids.
/// Errors name the line or the part of the value.
Result<std::vector<int32_t>> readDraftVocabulary(std::string_view value);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_DRAFTVOCABULARY_H
