//===- FileLock.h - Locks between processes ---------------------*- C++ -*-===//
//
// Locks of flock(2). The system frees the lock of a process that ends, however
// it ends.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CACHE_FILELOCK_H
#define MTP_RUNTIME_CACHE_FILELOCK_H

#include "runtime/cache/Descriptor.h"
#include "runtime/core/Result.h"

#include <functional>
#include <optional>
#include <string>

namespace mtp::cache {

/// The exclusive lock of a name in a folder. The lock's file exists only while
/// the lock is held, or after its process was killed.
class FileLock {
public:
  FileLock(FileLock &&) = default;
  /// Frees the lock and removes its file.
  ~FileLock();

  /// Waits for the lock. Calls `onWait` once if another process holds it.
  /// Fails if the file system has no locks.
  static Result<FileLock> acquire(int folder, const std::string &name,
                                  const std::function<void()> &onWait);

  /// Takes the lock; nothing if another process holds it, or on a failure.
  static std::optional<FileLock> tryAcquire(int folder,
                                            const std::string &name);

private:
  FileLock(int folder, std::string name, Descriptor file);

  /// A duplicate, so that the lock may outlive the caller's.
  Descriptor folder;
  std::string name;
  Descriptor file;
};

/// Locks an open file against removal by other processes. Waits while another
/// process removes it. Returns false on a failure.
bool lockShared(int file);

/// Returns whether no process has locked an open file by lockShared().
/// Afterwards lockShared() waits until the file is closed.
bool lockUnused(int file);

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_FILELOCK_H
