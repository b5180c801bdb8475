//===- CacheFolder.cpp - A private folder of a cache ----------------------===//

#include "runtime/cache/CacheFolder.h"

#include "runtime/core/StrCat.h"
#include "runtime/core/UniqueName.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <tuple>

using namespace mtp;
using namespace mtp::cache;

/// Age in seconds after which no process writes to a temporary file any more.
static constexpr time_t kAbandoned = 3600;

std::string cache::defaultFolder(std::string_view name) {
  auto absolute = [](const char *variable) -> std::string {
    const char *value = std::getenv(variable);
    return value && value[0] == '/' ? value : "";
  };
  if (std::string cache = absolute("XDG_CACHE_HOME"); !cache.empty())
    return strCat(cache, "/mtpc/", name);
  if (std::string home = absolute("HOME"); !home.empty())
    return strCat(home, "/.cache/mtpc/", name);
  return "";
}

bool cache::isPrivate(const struct stat &info) {
  return info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Creates a folder and the folders above it, for this user only. Returns an
/// error number, or zero.
static int createFolders(const std::filesystem::path &path) {
  std::filesystem::path made;
  for (const std::filesystem::path &part : path) {
    made /= part;
    if (::mkdir(made.c_str(), S_IRWXU) == 0)
      continue;
    int error = errno;
    struct stat info;
    if (::stat(made.c_str(), &info) != 0)
      return error;
    if (!S_ISDIR(info.st_mode))
      return ENOTDIR;
  }
  return 0;
}

Result<Descriptor> cache::openPrivateFolder(const std::string &path) {
  if (int error = createFolders(path))
    return failedPrecondition(
        strCat("cannot create '", path, "': ", std::strerror(error)));
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info;
  if (!folder.isOpen() || ::fstat(folder.get(), &info) != 0)
    return failedPrecondition(
        strCat("cannot open '", path, "': ", std::strerror(errno)));
  if (info.st_uid != ::geteuid())
    return failedPrecondition(strCat("expected '", path, "' to belong to user ",
                                     ::geteuid(), ", got user ", info.st_uid));
  if (!isPrivate(info))
    return failedPrecondition(
        strCat("expected that only the owner of '", path,
               "' may write to it, got more permissions (chmod go-w)"));
  return folder;
}

Descriptor cache::openPrivateFile(int folder, const std::string &name,
                                  struct stat &info) {
  Descriptor file(::openat(folder, name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.isOpen() && ::fstat(file.get(), &info) == 0 &&
      S_ISREG(info.st_mode) && isPrivate(info))
    return file;
  return Descriptor();
}

bool cache::readAll(int file, void *to, size_t bytes) {
  auto *place = static_cast<char *>(to);
  while (bytes > 0) {
    ssize_t got = ::read(file, place, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    place += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool cache::writeAll(int file, const void *from, size_t bytes) {
  auto *place = static_cast<const char *>(from);
  while (bytes > 0) {
    ssize_t put = ::write(file, place, bytes);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    place += put;
    bytes -= static_cast<size_t>(put);
  }
  return true;
}

Status cache::writeWhole(int folder, const std::string &name,
                         std::initializer_list<std::string_view> parts) {
  auto failed = [](const char *what) {
    return failedPrecondition(
        strCat("cannot ", what, ": ", std::strerror(errno)));
  };
  std::string temporary = uniqueName(kTemporary);
  Descriptor file(::openat(folder, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
  if (!file.isOpen())
    return failed("create an entry");
  bool isWritten = std::ranges::all_of(parts, [&](std::string_view part) {
    return writeAll(file.get(), part.data(), part.size());
  });
  Status status = isWritten ? okStatus() : failed("write an entry");
  if (isWritten &&
      ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
    status = failed("name an entry");
  if (!status.isOk())
    ::unlinkat(folder, temporary.c_str(), 0);
  return status;
}

/// Opens a folder for listing; null if that fails.
static std::unique_ptr<DIR, int (*)(DIR *)> openListing(int folder) {
  Descriptor again(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR *listing = again.isOpen() ? ::fdopendir(again.get()) : nullptr;
  if (listing)
    again.release();
  return {listing, ::closedir};
}

std::vector<StoredFile> cache::listFiles(int folder) {
  std::vector<StoredFile> files;
  auto listing = openListing(folder);
  time_t now = ::time(nullptr);
  while (const dirent *entry = listing ? ::readdir(listing.get()) : nullptr) {
    struct stat info;
    if (::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    std::string name = entry->d_name;
    if (!name.starts_with(kTemporary))
      files.push_back(
          {name, static_cast<uint64_t>(info.st_size), info.st_mtim});
    else if (info.st_mtime + kAbandoned < now)
      ::unlinkat(folder, name.c_str(), 0);
  }
  std::ranges::sort(files, [](const StoredFile &a, const StoredFile &b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) >
           std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  return files;
}

void cache::removeBeyond(
    const std::vector<StoredFile> &files, uint64_t mostBytes,
    const std::function<void(const StoredFile &)> &remove) {
  uint64_t kept = 0;
  for (const StoredFile &file : files) {
    kept += file.bytes;
    if (kept > mostBytes)
      remove(file);
  }
}
