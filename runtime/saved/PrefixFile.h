//===- PrefixFile.h - Files of saved prefixes -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_SAVED_PREFIXFILE_H
#define MTP_RUNTIME_SAVED_PREFIXFILE_H

#include "runtime/saved/PrefixFormat.h"

#include <string_view>

namespace mtp::saved {

/// Writes a file that only its user may read. It replaces a file of that path
/// as a whole, once all of its bytes are on the disk: readers see the old file
/// or the new one. A failure leaves no new file. ResourceExhausted if the disk
/// is full, InvalidArgument if another file than a saved prefix has the path,
/// else FailedPrecondition.
Status writeFile(const std::string &path, const PrefixImage &image);

/// Returns the bytes of a regular file; fails as readFile() does.
Result<uint64_t> sizeOfFile(const std::string &path);

/// Reads a regular file of at most `mostBytes` bytes; follows no link. NotFound
/// without such a file, ResourceExhausted if it is larger, else as decode().
Result<PrefixImage> readFile(const std::string &path, uint64_t mostBytes);

/// Whether a name from a client may be a file's: at most 128 bytes, none of
/// them a control character, '/' or '\', and no dot at its start.
bool isPlainName(std::string_view name);

/// Returns the bytes of the regular files in a folder, without the file `but`.
/// Removes what killed processes have left of unfinished files.
Result<uint64_t> folderBytes(const std::string &folder, std::string_view but);

/// Removes a saved prefix. NotFound if there is no file, InvalidArgument if the
/// file is something else.
Status removeFile(const std::string &path);

} // namespace mtp::saved

#endif // MTP_RUNTIME_SAVED_PREFIXFILE_H
