//===- InputText.h - A tokenizer's files as text ----------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_INPUTTEXT_H
#define MTP_COMPILER_TOKENIZER_INPUTTEXT_H

#include "runtime/core/Result.h"

#include <filesystem>
#include <string>

namespace mtp {

/// Whether there is a regular file; a device or a pipe could be endless.
bool isInputFile(const std::filesystem::path &path);

/// The bytes of a regular file of up to 256 MiB that is no Git LFS pointer.
Result<std::string> readInputFile(const std::filesystem::path &path);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_INPUTTEXT_H
