//===- FileLock.cpp - Locks between processes -----------------------------===//
//
// The holder removes the lock's file before it frees the lock. A process that
// waited for this file then holds a lock of a file without a name, which
// excludes no other process, so it opens the name again.
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/FileLock.h"

#include "runtime/core/StrCat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

using namespace mtp;
using namespace mtp::cache;

/// Calls flock, again after each signal. Returns an error number, or zero.
static int lockFile(int file, int operation) {
  while (::flock(file, operation) != 0)
    if (errno != EINTR)
      return errno;
  return 0;
}

/// Returns whether `name` is a name of the open file.
static bool isNamed(int folder, const std::string &name, int file) {
  struct stat opened, named;
  return ::fstat(file, &opened) == 0 &&
         ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static Descriptor openLock(int folder, const std::string &name) {
  return Descriptor(::openat(folder, name.c_str(),
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                             S_IRUSR | S_IWUSR));
}

static Status cannotLock(const std::string &name, int error) {
  return failedPrecondition(
      strCat("cannot lock '", name, "': ", std::strerror(error)));
}

Result<FileLock> FileLock::acquire(int folder, const std::string &name,
                                   const std::function<void()> &onWait) {
  bool hasWaited = false;
  while (true) {
    Descriptor file = openLock(folder, name);
    if (!file.isOpen())
      return cannotLock(name, errno);
    int error = lockFile(file.get(), LOCK_EX | LOCK_NB);
    if (error == EWOULDBLOCK) {
      if (!hasWaited)
        onWait();
      hasWaited = true;
      error = lockFile(file.get(), LOCK_EX);
    }
    if (error)
      return cannotLock(name, error);
    if (isNamed(folder, name, file.get()))
      return FileLock(folder, name, std::move(file));
  }
}

std::optional<FileLock> FileLock::tryAcquire(int folder,
                                             const std::string &name) {
  Descriptor file = openLock(folder, name);
  if (!file.isOpen() || lockFile(file.get(), LOCK_EX | LOCK_NB) != 0 ||
      !isNamed(folder, name, file.get()))
    return std::nullopt;
  return FileLock(folder, name, std::move(file));
}

FileLock::FileLock(int folder, std::string name, Descriptor file)
    : folder(::fcntl(folder, F_DUPFD_CLOEXEC, 0)), name(std::move(name)),
      file(std::move(file)) {}

FileLock::~FileLock() {
  if (file.isOpen())
    ::unlinkat(folder.get(), name.c_str(), 0);
}

bool cache::lockShared(int file) { return lockFile(file, LOCK_SH) == 0; }

bool cache::lockUnused(int file) {
  return lockFile(file, LOCK_EX | LOCK_NB) == 0;
}
