//===- Durable.cpp - Files that survive a power failure -------------------===//

#include "runtime/core/Durable.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace mtp;

int mtp::flushFile(int file) {
  while (::fsync(file) != 0) {
    if (errno == EINTR)
      continue;
    // The file system has no disk.
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0
                                                                     : errno;
  }
  return 0;
}

int mtp::renameFlushed(int folder, const std::string &from,
                       const std::string &to) {
  if (::renameat(folder, from.c_str(), folder, to.c_str()) != 0)
    return errno;
  size_t slash = to.rfind('/');
  std::string parent =
      slash == std::string::npos ? "." : to.substr(0, slash + 1);
  int opened =
      ::openat(folder, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened >= 0) {
    (void)flushFile(opened);
    ::close(opened);
  }
  return 0;
}
