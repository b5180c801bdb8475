//===- CacheFolder.h - A private folder of a cache --------------*- C++ -*-===//
//
// Caches hold native code. A cache is therefore used only if its folder belongs
// to the user and no other user may write to it. Each file in it is checked
// again when it is opened.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CACHE_CACHEFOLDER_H
#define MTP_RUNTIME_CACHE_CACHEFOLDER_H

#include "runtime/cache/Descriptor.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace mtp::cache {

/// Prefix of the names of files that a process has not finished.
inline constexpr std::string_view kTemporary = "tmp.";

/// Returns $XDG_CACHE_HOME/mtpc/`name`, or ~/.cache/mtpc/`name`. Empty if
/// neither XDG_CACHE_HOME nor HOME holds an absolute path.
std::string defaultFolder(std::string_view name);

/// Returns whether a file belongs to this user and no other user may write to
/// it.
bool isPrivate(const struct stat &info);

/// Opens a folder, which is created if it is missing. Fails if the folder
/// cannot be created or opened, belongs to another user, or is writable for
/// others.
Result<Descriptor> openPrivateFolder(const std::string &path);

/// Opens a regular private file for reading. Returns a closed descriptor if
/// there is none: a link, a pipe, or a file of another user. `info` receives
/// its properties.
Descriptor openPrivateFile(int folder, const std::string &name,
                           struct stat &info);

/// Reads `bytes` bytes. Returns false if the file is too short or cannot be
/// read.
bool readAll(int file, void *to, size_t bytes);

/// Writes `bytes` bytes. Returns false, and sets errno, if that fails.
bool writeAll(int file, const void *from, size_t bytes);

/// Writes a file in `folder` under a temporary name and renames it, so that
/// other processes see the whole file or none. `parts` follow each other. A
/// failure leaves no file. The file is not flushed: after a power failure it
/// may be empty or damaged, so readers must check it and make it again.
Status writeWhole(int folder, const std::string &name,
                  std::initializer_list<std::string_view> parts);

/// A file of a cache.
struct StoredFile {
  std::string name;
  uint64_t bytes;
  /// Time of the last use: the file's modification time.
  timespec used;
};

/// Lists the regular files of a folder, the most recently used first. Removes
/// temporary files of killed processes, and leaves out other temporary files.
std::vector<StoredFile> listFiles(int folder);

/// Calls `remove` for the least recently used files, until the others have at
/// most `mostBytes` bytes. `files` come from listFiles().
void removeBeyond(const std::vector<StoredFile> &files, uint64_t mostBytes,
                  const std::function<void(const StoredFile &)> &remove);

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_CACHEFOLDER_H
