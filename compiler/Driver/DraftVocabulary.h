//===- DraftVocabulary.h - Value of --draft-vocab ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_DRAFTVOCABULARY_H
#define MTP_COMPILER_DRIVER_DRAFTVOCABULARY_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mtp::compiler {

/// Reads the value of the flag, FILE[,size=N]. Each line of the file has a
/// token's id and its count. Returns the N most frequent tokens (all tokens if
/// there is no size), ascending; ties go to the lower ids. Errors name the line
/// or the part of the value.
Result<std::vector<int32_t>> readDraftVocabulary(std::string_view value);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_DRAFTVOCABULARY_H
