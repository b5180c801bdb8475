//===- Durable.h - Files that survive a power failure -----------*- C++ -*-===//
//
// A file system may write the new name of a file to the disk before the bytes
// of the file. If the power then fails, the file is empty. So a file that
// replaces another one is flushed first. Caches need none of this: they check
// an entry when they read it, and make it again.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_DURABLE_H
#define MTP_RUNTIME_CORE_DURABLE_H

#include <string>

namespace mtp {

/// Writes the bytes of an open file to the disk, if its file system can do so.
/// Returns zero or the error number.
int flushFile(int file);

/// Renames a flushed file in an open folder, or below the current folder if
/// `folder` is AT_FDCWD. Then writes the folder of `to` to the disk as far as
/// possible: without that, a power failure may bring the old file back, which
/// is whole. Returns zero or the error number of renaming.
int renameFlushed(int folder, const std::string &from, const std::string &to);

} // namespace mtp

#endif // MTP_RUNTIME_CORE_DURABLE_H
