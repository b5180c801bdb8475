//===- MappedFile.cpp - A file in memory, read only -----------------------===//

#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mtp;

namespace {
/// Closes a descriptor at the end of a scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};
} // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a FIFO must fail below rather than wait for a writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    std::string message = strCat("cannot open: ", std::strerror(errno));
    return errno == ENOENT ? notFound(message) : invalidArgument(message);
  }
  struct stat info;
  if (::fstat(file.fd, &info) != 0)
    return invalidArgument(strCat("cannot stat: ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return invalidArgument("expected a regular file");
  uint64_t size = uint64_t(info.st_size);
  if (size == 0)
    return std::unique_ptr<MappedFile>(new MappedFile(nullptr, 0));
  void *bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (bytes == MAP_FAILED)
    return resourceExhausted(
        strCat("cannot map ", size, " bytes: ", std::strerror(errno)));
  return std::unique_ptr<MappedFile>(
      new MappedFile(static_cast<const uint8_t *>(bytes), size));
}

MappedFile::~MappedFile() {
  if (bytes)
    ::munmap(const_cast<uint8_t *>(bytes), length);
}
