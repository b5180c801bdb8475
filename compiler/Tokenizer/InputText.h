//===- InputText.h - A tokenizer's files as text ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_INPUTTEXT_H
#define MTP_COMPILER_TOKENIZER_INPUTTEXT_H

#include "runtime/core/Result.h"

#include <filesystem>
#include <string>

namespace mtp {

/// Returns true if there is a regular file. A device or pipe may be endless.
bool isInputFile(const std::filesystem::path &path);

/// Returns the bytes of a regular file of at most 256 MiB. Fails for a Git LFS
/// pointer.
Result<std::string> readInputFile(const std::filesystem::path &path);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_INPUTTEXT_H
