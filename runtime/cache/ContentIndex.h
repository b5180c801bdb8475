//===- ContentIndex.h - Digests of files ------------------------*- C++ -*-===//
//
// The digest of a file covers all its bytes. A file of many gigabytes takes
// seconds to read, so the digest is kept in an index. It is used again while
// five properties of the file are equal: device, inode, size, modification time
// and change time, both in nanoseconds. The system sets the change time at each
// write; no program can set it back. A digest is kept only if both times are
// some seconds older than the start of the reading: a later write then gives
// another time even where the file system counts whole seconds.
//
// An index never gives a wrong digest for a file that was changed by writing,
// renaming or copying. It does not notice changes that the system does not
// record: writes to the device below a mounted file system, or writes of a
// running program through an old mapping. A change while the clock was set back
// to the nanosecond of the file is not noticed either.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CACHE_CONTENTINDEX_H
#define MTP_RUNTIME_CACHE_CONTENTINDEX_H

#include "runtime/cache/Digest.h"
#include "runtime/core/Result.h"

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <sys/stat.h>

namespace mtp::cache {

/// Properties that the system changes with each write to a file.
struct FileStamp {
  uint64_t device, inode, bytes;
  /// Nanoseconds since 1970.
  int64_t modified, changed;

  explicit FileStamp(const struct stat &info);
  FileStamp() = default;
  auto operator<=>(const FileStamp &) const = default;
};

/// Digests of files, kept in a file of a cache's folder. Not for several
/// threads.
class ContentIndex {
public:
  /// Reads the index in `folder`, which must stay open. A missing or foreign
  /// index is empty.
  explicit ContentIndex(int folder);

  /// Returns the digest of a file, from the index or by reading the file.
  /// `onRead` learns the bytes of each part that is read. Fails if the file
  /// cannot be read or changes meanwhile.
  Result<Digest> digest(const std::string &path,
                        const std::function<void(uint64_t)> &onRead = {});

  /// Returns whether digest() would read the file.
  bool needsReading(const std::string &path) const;

  /// Writes the index if it changed. A failure only costs time later.
  void save();

private:
  struct Known {
    Digest digest;
    /// Order of use; larger is later.
    uint64_t order;
  };

  void load();

  int folder;
  std::map<FileStamp, Known> known;
  uint64_t nextOrder = 0;
  bool isChanged = false;
};

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_CONTENTINDEX_H
