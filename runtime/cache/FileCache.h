//===- FileCache.h - Large files on disk ------------------------*- C++ -*-===//
//
// A folder of large files, for example compiled models, of which each is made
// by one process while others wait. A file in the cache is whole: it is made in
// a folder of its own and renamed. The files stay in place, so that a program
// can map them.
//
// Entry NAME, the digest of its key in hexadecimal digits, consists of
//   NAME.bin   the file; its modification time is the time of the last use
//   NAME.txt   its size and its description
//   NAME.lock  held by the process that makes the file
//   NAME.work  the folder in which that process makes it
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CACHE_FILECACHE_H
#define MTP_RUNTIME_CACHE_FILECACHE_H

#include "runtime/cache/Digest.h"
#include "runtime/cache/FileLock.h"

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mtp::cache {

/// Size, date and origin of a file.
struct FileDescription {
  uint64_t bytes = 0;
  /// Seconds since 1970.
  time_t made = 0;
  /// One line for people: what the file was made of.
  std::string text;
};

/// A file in use. No process removes it while this object exists.
struct UsedFile {
  std::string path;
  FileDescription description;
  /// Holds the shared lock.
  Descriptor file;
};

/// The right to make a file. Removes the work folder at its end.
class FileMaker {
public:
  FileMaker(FileMaker &&other) noexcept
      : name(std::move(other.name)), work(std::exchange(other.work, {})),
        lock(std::move(other.lock)) {}
  ~FileMaker();

  /// Returns the path of an empty folder for all files of the work. The folder
  /// is removed when this object ends, or by the next process after a kill.
  const std::string &folder() const { return work; }

private:
  friend class FileCache;
  FileMaker(std::string name, std::string work, FileLock lock)
      : name(std::move(name)), work(std::move(work)), lock(std::move(lock)) {}

  std::string name;
  std::string work;
  /// The last member, so that it is freed after the folder is removed.
  FileLock lock;
};

/// Files on disk. Any number of processes may share a folder.
class FileCache {
public:
  /// Opens the cache in `folder`, which is created if it is missing. Fails as
  /// openPrivateFolder() does. trim() keeps at most `mostBytes` bytes.
  static Result<std::unique_ptr<FileCache>> open(const std::string &folder,
                                                 uint64_t mostBytes);

  /// Returns the file of `key`, or nothing. A file that belongs to another
  /// user, that others may write to, or that has another size than its
  /// description says is a miss.
  std::optional<UsedFile> find(const Digest &key);

  /// Waits until no other process makes the file of `key`. Calls `onWait` once
  /// if it has to wait. The other process may then have made the file.
  Result<FileMaker> make(const Digest &key,
                         const std::function<void()> &onWait);

  /// Puts `made`, a file in the work folder, into the cache, and replaces an
  /// older file of the key.
  Result<UsedFile> commit(const FileMaker &maker, const std::string &made,
                          const std::string &text);

  /// Removes the least recently used files until the cache is within its size,
  /// and all that killed processes left. Keeps files in use.
  void trim();

  /// A file of list().
  struct ListedFile {
    std::string path;
    FileDescription description;
    time_t used;
    bool isInUse;
  };
  /// Lists the files, the most recently used first.
  std::vector<ListedFile> list() const;

  /// Removes all files that are not in use. Returns the number of files in use.
  size_t clear();

  /// Returns the descriptor of the folder, valid while this object exists.
  int descriptor() const { return folder.get(); }

private:
  FileCache(std::string path, Descriptor folder, uint64_t mostBytes)
      : path(std::move(path)), folder(std::move(folder)), mostBytes(mostBytes) {
  }

  std::optional<FileDescription> describe(const std::string &name) const;
  bool remove(const std::string &name);
  void removeLeftovers();

  std::string path;
  Descriptor folder;
  uint64_t mostBytes;
};

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_FILECACHE_H
