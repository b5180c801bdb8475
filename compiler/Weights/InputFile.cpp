//===- InputFile.cpp - A read-only file in memory ------------------------===//

#include "compiler/Weights/InputFile.h"

#include "compiler/Weights/LfsPointer.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mtp {

namespace {

std::string inQuotes(const std::string &path) { return "\"" + path + "\""; }

Status osError(const char *action, const std::string &path, int error) {
  std::string message = std::string("cannot ") + action + " " + inQuotes(path) +
                        ": " + std::strerror(error);
  return error == ENOENT ? notFound(std::move(message))
                         : failedPrecondition(std::move(message));
}

} // namespace

Result<InputFile> InputFile::open(const std::string &path) {
  InputFile file;
  file.name = path;
  // With O_NONBLOCK, opening a pipe returns at once, so that it can be refused.
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor < 0)
    return osError("open", path, errno);
  struct stat info;
  if (::fstat(file.descriptor, &info) != 0)
    return osError("inspect", path, errno);
  if (!S_ISREG(info.st_mode))
    return invalidArgument("expected a regular file, got something else at " +
                           inQuotes(path));
  file.modified = info.st_mtim;
  file.size = size_t(info.st_size);
  if (file.size == 0)
    return file;
  void *map =
      ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (map == MAP_FAILED) {
    file.size = 0;
    return osError("map", path, errno);
  }
  file.data = static_cast<const uint8_t *>(map);
  MTP_RETURN_IF_ERROR(checkNotLfsPointer(
      {static_cast<const char *>(map), file.size}, file.name));
  return file;
}

InputFile::InputFile(InputFile &&other) noexcept
    : name(std::move(other.name)), data(std::exchange(other.data, nullptr)),
      size(std::exchange(other.size, 0)),
      descriptor(std::exchange(other.descriptor, -1)),
      modified(other.modified) {}

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(data, other.data);
  std::swap(size, other.size);
  std::swap(descriptor, other.descriptor);
  std::swap(modified, other.modified);
  return *this;
}

InputFile::~InputFile() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), size);
  if (descriptor >= 0)
    ::close(descriptor);
}

Status InputFile::checkUnchanged() const {
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return osError("inspect", name, errno);
  if (size_t(info.st_size) == size && info.st_mtim.tv_sec == modified.tv_sec &&
      info.st_mtim.tv_nsec == modified.tv_nsec)
    return okStatus();
  return dataLoss(inQuotes(name) + " changed while it was read");
}

Result<std::string> readTextFile(const std::string &path, size_t maxBytes) {
  MTP_ASSIGN_OR_RETURN(InputFile file, InputFile::open(path));
  if (file.bytes().size() > maxBytes)
    return outOfRange("expected at most " + std::to_string(maxBytes) +
                      " bytes in " + inQuotes(path) + ", got " +
                      std::to_string(file.bytes().size()));
  return std::string(file.bytes().begin(), file.bytes().end());
}

} // namespace mtp
