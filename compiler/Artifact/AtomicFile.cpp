//===- AtomicFile.cpp - A file that appears whole or not at all -----------===//

#include "compiler/Artifact/AtomicFile.h"

#include "runtime/core/Durable.h"
#include "runtime/core/UniqueName.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::compiler;

/// Returns the folder that holds `path`.
static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

static Status ioError(const std::string &path, const char *what, int error) {
  return unavailable("cannot " + std::string(what) + " '" + path +
                     "': " + std::strerror(error));
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  struct stat existing;
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode))
    return invalidArgument("expected a regular file or none at '" + path + "'");
  int fd = ::open(folderOf(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
  if (fd >= 0)
    return AtomicFile(path, fd, "");
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return ioError(path, "create a file beside", errno);
  // The file system has no unnamed files: choose a name.
  std::string temporary = uniqueName(path + ".tmp");
  fd = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
  if (fd < 0)
    return ioError(temporary, "create", errno);
  return AtomicFile(path, fd, temporary);
}

AtomicFile::AtomicFile(AtomicFile &&other)
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      fd(other.fd) {
  other.fd = -1;
  other.temporary.clear();
}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Status AtomicFile::fail(const char *what) { return ioError(path, what, errno); }

Status AtomicFile::writeAt(uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return fail("write");
    offset += written;
    bytes = bytes.subspan(written);
  }
  return Status();
}

Status AtomicFile::resize(uint64_t size) {
  if (::ftruncate(fd, size) != 0)
    return fail("resize");
  // Reserves the space, so that a full disk is an error now and not after the
  // last weight. Some file systems cannot reserve space.
  if (size > 0 && ::fallocate(fd, 0, 0, size) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS && errno != EINVAL)
    return fail("reserve space for");
  return Status();
}

Status AtomicFile::commit() {
  if (int error = flushFile(fd))
    return ioError(path, "flush", error);
  if (temporary.empty()) {
    // An unnamed file can get only a name that is free. It gets a temporary
    // name and is then renamed.
    temporary = uniqueName(path + ".tmp");
    std::string self = "/proc/self/fd/" + std::to_string(fd);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary.c_str(),
                 AT_SYMLINK_FOLLOW) != 0) {
      int error = errno;
      std::string wanted = std::move(temporary);
      temporary.clear(); // another process owns it
      return ioError(wanted, "name the new file", error);
    }
  }
  if (int error = renameFlushed(AT_FDCWD, temporary, path))
    return ioError(path, "replace", error);
  temporary.clear();
  return Status();
}
