//===- PrefixFile.cpp - Files of saved prefixes ---------------------------===//

#include "runtime/saved/PrefixFile.h"
#include "runtime/cache/CacheFolder.h"
#include "runtime/core/Durable.h"
#include "runtime/core/StrCat.h"
#include "runtime/core/UniqueName.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>

using namespace mtp;
using namespace mtp::saved;
using cache::Descriptor;

/// Prefix of the names of files that a process has not finished. No client can
/// name them.
static constexpr std::string_view kUnfinished = ".saving.";
/// Age in seconds after which no process writes to an unfinished file.
static constexpr time_t kAbandoned = 3600;

/// Returns the failure of a system call, by errno.
static Status failed(std::string_view what) {
  int error = errno;
  std::string text = strCat(what, " failed: ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    return resourceExhausted(std::move(text));
  if (error == ENOENT)
    return notFound(std::move(text));
  return failedPrecondition(std::move(text));
}

/// Splits a path into its folder and the name in it.
static std::pair<std::string, std::string> split(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == path.npos)
    return {".", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

static Descriptor openFolder(const std::string &folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool saved::isPlainName(std::string_view name) {
  auto isPlain = [](char c) {
    return uint8_t(c) >= 0x20 && c != 0x7f && c != '/' && c != '\\';
  };
  return !name.empty() && name.size() <= 128 && name[0] != '.' &&
         std::ranges::all_of(name, isPlain);
}

/// Opens a regular file.
static Result<Descriptor> openFile(const std::string &path, struct stat &info) {
  // A pipe without a writer must not block.
  Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.isOpen() || ::fstat(file.get(), &info) != 0)
    return failed(strCat("opening ", path));
  if (!S_ISREG(info.st_mode))
    return invalidArgument(strCat(path, ": expected a regular file"));
  return file;
}

/// Checks that a file, if there is one, is a saved prefix: a name from a client
/// must not replace or remove another file.
static Status checkOwn(const std::string &path) {
  struct stat info = {};
  Result<Descriptor> file = openFile(path, info);
  if (!file)
    return file.status();
  std::array<char, kPrefixMagic.size()> magic;
  if (!cache::readAll(file->get(), magic.data(), magic.size()) ||
      std::string_view(magic.data(), magic.size()) != kPrefixMagic)
    return invalidArgument(
        strCat(path, ": expected a saved prefix, got another file"));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Writes the bytes of an image to a new file, down to the disk.
static Status writeTo(int file, const PrefixImage &image) {
  MTP_RETURN_IF_ERROR(encode(image, [file](std::span<const uint8_t> bytes) {
    return cache::writeAll(file, bytes.data(), bytes.size())
               ? okStatus()
               : failed("writing a saved prefix");
  }));
  errno = flushFile(file);
  return errno == 0 ? okStatus() : failed("writing a saved prefix");
}

Status saved::writeFile(const std::string &path, const PrefixImage &image) {
  if (Status status = checkOwn(path);
      !status.isOk() && status.code() != StatusCode::NotFound)
    return status;
  auto [folderPath, name] = split(path);
  Descriptor folder = openFolder(folderPath);
  if (!folder.isOpen())
    return failed(strCat("opening ", folderPath));
  std::string unfinished = uniqueName(kUnfinished);
  Descriptor file(::openat(folder.get(), unfinished.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
  if (!file.isOpen())
    return failed(strCat("creating a file in ", folderPath));
  Status status = writeTo(file.get(), image);
  if (!status.isOk())
    status = status.withContext(path);
  else if (errno = renameFlushed(folder.get(), unfinished, name); errno != 0)
    status = failed(strCat("naming ", path));
  if (!status.isOk())
    ::unlinkat(folder.get(), unfinished.c_str(), 0);
  return status;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Result<uint64_t> saved::sizeOfFile(const std::string &path) {
  struct stat info = {};
  MTP_ASSIGN_OR_RETURN(Descriptor file, openFile(path, info));
  return uint64_t(info.st_size);
}

Result<PrefixImage> saved::readFile(const std::string &path,
                                    uint64_t mostBytes) {
  struct stat info = {};
  MTP_ASSIGN_OR_RETURN(Descriptor file, openFile(path, info));
  if (uint64_t(info.st_size) > mostBytes)
    return resourceExhausted(strCat(path, ": expected a file of at most ",
                                    mostBytes, " bytes, got ",
                                    uint64_t(info.st_size)));
  Result<PrefixImage> image =
      decode(uint64_t(info.st_size), [&](std::span<uint8_t> bytes) {
        return cache::readAll(file.get(), bytes.data(), bytes.size())
                   ? okStatus()
                   : dataLoss("expected a whole saved prefix, got a cut one");
      });
  if (!image)
    return image.status().withContext(path);
  return image;
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

Result<uint64_t> saved::folderBytes(const std::string &folder,
                                    std::string_view but) {
  std::unique_ptr<DIR, int (*)(DIR *)> listing(::opendir(folder.c_str()),
                                               ::closedir);
  if (!listing)
    return failed(strCat("opening ", folder));
  uint64_t bytes = 0;
  time_t now = std::time(nullptr);
  while (const dirent *entry = ::readdir(listing.get())) {
    std::string_view name = entry->d_name;
    struct stat info = {};
    if (name == but ||
        ::fstatat(::dirfd(listing.get()), entry->d_name, &info,
                  AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    if (name.starts_with(kUnfinished) && now - info.st_mtime > kAbandoned)
      ::unlinkat(::dirfd(listing.get()), entry->d_name, 0);
    else
      bytes += uint64_t(info.st_size);
  }
  return bytes;
}

Status saved::removeFile(const std::string &path) {
  MTP_RETURN_IF_ERROR(checkOwn(path));
  return ::unlink(path.c_str()) == 0 ? okStatus()
                                     : failed(strCat("removing ", path));
}
