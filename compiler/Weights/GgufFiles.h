//===- GgufFiles.h - The files of a GGUF model ------------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_GGUFFILES_H
#define MTP_COMPILER_WEIGHTS_GGUFFILES_H

#include "runtime/core/Result.h"

#include <string>
#include <vector>

namespace mtp {

/// Returns true if a path is a GGUF file, or a folder of such files without
/// safetensors.
bool isGgufPath(const std::string &path);

/// Returns the files of the only model at a GGUF path: a file, all shards of
/// the set that a file belongs to, or the only file or set in a folder. Files
/// of image encoders (mmproj*) and of MTP modules (mtp-*) do not count. The
/// first file has the metadata.
Result<std::vector<std::string>> findGgufFiles(const std::string &path);

/// Returns the files of MTP modules (mtp-*) in a folder of a GGUF model.
std::vector<std::string> findModuleFiles(const std::string &path);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_GGUFFILES_H
