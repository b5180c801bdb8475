//===- Output.cpp - Destination of a tool's results -----------------------===//

#include "tools/support/Output.h"
#include "runtime/core/Durable.h"
#include "runtime/core/StrCat.h"
#include "runtime/core/UniqueName.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mtp;

void mtp::reserveStandardStreams() {
  // open() takes the lowest free number.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 &&
        ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
      return;
}

/// Writes all of `text`; returns zero or the error number.
static int writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    text.remove_prefix(size_t(written));
  }
  return 0;
}

Status mtp::writeStandardOutput(std::string_view text, std::string_view what) {
  int error = writeAll(STDOUT_FILENO, text);
  return error == 0 ? okStatus()
                    : resourceExhausted(strCat(
                          "cannot write ", what,
                          " to standard output: ", std::strerror(error)));
}

Status OutputFile::failure(int error) const {
  return invalidArgument(
      strCat("cannot write '", path, "': ", std::strerror(error)));
}

/// Resolves links of `path`; returns `path` itself if the file does not exist
/// yet.
static std::string resolved(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  std::string target = real ? real : path;
  std::free(real);
  return target;
}

int OutputFile::openTemporary() {
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  isUnnamed = descriptor >= 0;
  if (isUnnamed || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
    return isUnnamed ? 0 : errno;
  // Without unnamed files, a killed process leaves the temporary file.
  std::string name = path + ".XXXXXX";
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0)
    return errno;
  temporary = name;
  return 0;
}

int OutputFile::nameTemporary() {
  if (!isUnnamed)
    return 0;
  std::string self = strCat("/proc/self/fd/", descriptor);
  std::string name = uniqueName(strCat(path, ".tmp"));
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) != 0)
    return errno;
  temporary = name;
  return 0;
}

Result<std::unique_ptr<OutputFile>>
OutputFile::create(const std::string &path, const std::string &input) {
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  struct stat old, in;
  bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && ::stat(input.c_str(), &in) == 0 && old.st_dev == in.st_dev &&
      old.st_ino == in.st_ino)
    return invalidArgument(
        strCat("expected an output unlike '", input, "', got '", path, "'"));
  if (exists && (!S_ISREG(old.st_mode) || ::access(path.c_str(), W_OK) != 0)) {
    file->descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file->descriptor < 0)
      return file->failure(errno);
    return file;
  }
  file->path = resolved(path);
  if (int error = file->openTemporary())
    return file->failure(error);
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file->descriptor, exists ? old.st_mode & 07777 : 0666 & ~mask))
    return file->failure(errno);
  return file;
}

Status OutputFile::commit(std::string_view text) {
  int error = writeAll(descriptor, text);
  bool isReplaced = isUnnamed || !temporary.empty();
  if (error == 0 && isReplaced)
    error = flushFile(descriptor);
  if (error == 0)
    error = nameTemporary();
  if (::close(descriptor) != 0 && error == 0)
    error = errno;
  descriptor = -1;
  if (error == 0 && isReplaced) {
    error = renameFlushed(AT_FDCWD, temporary, path);
    if (error == 0)
      temporary.clear();
  }
  return error == 0 ? okStatus() : failure(error);
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}
