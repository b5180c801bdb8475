//===- MappedFile.cpp - A file in memory, read only -----------------------===//

#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace mtp;

namespace {
/// A regular file, open for reading, and its length. The destructor closes it.
class RegularFile {
public:
  static Result<RegularFile> open(const std::string &path);
  RegularFile(RegularFile &&other) noexcept
      : fd(std::exchange(other.fd, -1)), length(other.length) {}
  ~RegularFile() {
    if (fd >= 0)
      ::close(fd);
  }
  uint64_t size() const { return length; }

  /// Maps new pages with the file's content; `size` is not zero.
  Result<uint8_t *> map() const { return pages(MAP_PRIVATE, fd); }
  /// Maps new pages of zeros, of the file's length.
  Result<uint8_t *> allocate() const {
    return pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  }
  Status readInto(uint8_t *to) const;

private:
  explicit RegularFile(int fd) : fd(fd) {}
  Result<uint8_t *> pages(int flags, int fd) const;

  int fd;
  uint64_t length = 0;
};
} // namespace

Result<RegularFile> RegularFile::open(const std::string &path) {
  // O_NONBLOCK: opening a FIFO must fail below rather than wait for a writer.
  RegularFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) {
    std::string message = strCat("cannot open: ", std::strerror(errno));
    return errno == ENOENT ? notFound(message) : invalidArgument(message);
  }
  struct stat info;
  if (::fstat(file.fd, &info) != 0)
    return invalidArgument(strCat("cannot stat: ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return invalidArgument("expected a regular file");
  file.length = uint64_t(info.st_size);
  return file;
}

Result<uint8_t *> RegularFile::pages(int flags, int from) const {
  int access = from < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
  void *bytes = ::mmap(nullptr, length, access, flags, from, 0);
  if (bytes == MAP_FAILED)
    return resourceExhausted(
        strCat("cannot map ", length, " bytes: ", std::strerror(errno)));
  return static_cast<uint8_t *>(bytes);
}

Status RegularFile::readInto(uint8_t *to) const {
  for (uint64_t done = 0; done < length;) {
    ssize_t count = ::pread(fd, to + done, length - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return dataLoss(strCat("cannot read: ", std::strerror(errno)));
    if (count == 0)
      return dataLoss(
          strCat("expected ", length, " bytes, the file ended at ", done));
    done += uint64_t(count);
  }
  return okStatus();
}

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(RegularFile file, RegularFile::open(path));
  if (file.size() == 0)
    return std::unique_ptr<MappedFile>(new MappedFile(nullptr, 0));
  MTP_ASSIGN_OR_RETURN(uint8_t *bytes, file.map());
  return std::unique_ptr<MappedFile>(new MappedFile(bytes, file.size()));
}

Result<std::unique_ptr<MappedFile>> MappedFile::copy(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(RegularFile file, RegularFile::open(path));
  if (file.size() == 0)
    return std::unique_ptr<MappedFile>(new MappedFile(nullptr, 0));
  MTP_ASSIGN_OR_RETURN(
      MemoryReservation reservation,
      hostMemory().reserve(file.size(), "the file's bytes", hostMemoryLimit()));
  MTP_ASSIGN_OR_RETURN(uint8_t *bytes, file.allocate());
  std::unique_ptr<MappedFile> copied(new MappedFile(bytes, file.size()));
  copied->reservation = std::move(reservation);
  // Before the first write. A kernel without large pages is no failure.
  ::madvise(bytes, file.size(), MADV_HUGEPAGE);
  MTP_RETURN_IF_ERROR(file.readInto(bytes));
  ::mprotect(bytes, file.size(), PROT_READ);
  return copied;
}

MappedFile::~MappedFile() {
  if (bytes)
    ::munmap(const_cast<uint8_t *>(bytes), length);
}
