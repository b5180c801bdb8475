//===- TextFile.h - Text files that users name ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_TEXTFILE_H
#define MTP_TOOLS_SUPPORT_TEXTFILE_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Limit on the bytes of a text file.
inline constexpr uint64_t kMostTextBytes = 64 << 20;

/// Returns the text of a regular file. Fails for other files, such as folders
/// and pipes, and for more than `most` bytes.
Result<std::string> readTextFile(const std::string &path,
                                 uint64_t most = kMostTextBytes);

/// Returns the lines of a text that are not empty, without their ends.
std::vector<std::string> linesOf(std::string_view text);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_TEXTFILE_H
