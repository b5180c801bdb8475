//===- KernelCache.cpp - Compiled kernels on disk -------------------------===//
//
// An entry is FOLDER/XX/NAME. XX is the first two hexadecimal digits of the
// key, its shard; NAME is the other digits. The file begins with an
// EntryHeader. An entry is written to a temporary file and renamed, so that
// other processes see a whole entry or none.
//
//===----------------------------------------------------------------------===//

#include "compiler/KernelCache/KernelCache.h"

#include "runtime/core/StrCat.h"
#include "runtime/core/UniqueName.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

using namespace mtp;
using namespace mtp::compiler;

namespace {

constexpr char kMagic[8] = {'M', 'T', 'P', 'K', 'E', 'R', 'N', '1'};
constexpr unsigned kShards = 256;
/// Prefix of the names of files that a store has not finished.
constexpr const char *kTemporary = "tmp.";
/// Age in seconds after which no process writes to a temporary file any more.
constexpr time_t kAbandoned = 3600;

/// First bytes of an entry. The digest covers the key and the payload.
struct EntryHeader {
  char magic[8];
  uint64_t bytes;
  uint8_t digest[32];
};

/// A file descriptor that is closed at the end of the scope.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;

  bool isOpen() const { return number >= 0; }
  int get() const { return number; }
  /// Passes the descriptor to the caller.
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

/// A file of a shard.
struct StoredFile {
  std::string name;
  uint64_t bytes;
  /// Time of the last use.
  timespec used;
};

} // namespace

static std::string shardName(uint8_t shard) {
  return llvm::toHex(llvm::ArrayRef(shard), /*LowerCase=*/true);
}

static std::string entryName(const KernelKey &key) {
  return llvm::toHex(llvm::ArrayRef(key).drop_front(), /*LowerCase=*/true);
}

static std::string entryPath(const KernelKey &key) {
  return shardName(key[0]) + "/" + entryName(key);
}

static EntryHeader headerOf(const KernelKey &key,
                            std::span<const char> payload) {
  EntryHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.bytes = payload.size();
  llvm::BLAKE3 hasher;
  hasher.update(llvm::ArrayRef(key));
  hasher.update(llvm::StringRef(payload.data(), payload.size()));
  auto digest = hasher.final<sizeof(header.digest)>();
  std::memcpy(header.digest, digest.data(), digest.size());
  return header;
}

/// Returns whether a file belongs to this user and no other user may write to
/// it.
static bool isPrivate(const struct stat &info) {
  return info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Reads `bytes` bytes. Returns false if the file is too short or cannot be
/// read.
static bool readAll(int file, void *to, size_t bytes) {
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

static bool writeAll(int file, const void *from, size_t bytes) {
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

Result<std::unique_ptr<KernelCache>> KernelCache::open(const std::string &path,
                                                       uint64_t mostBytes) {
  using llvm::sys::fs::perms;
  if (std::error_code error = llvm::sys::fs::create_directories(
          path, /*IgnoreExisting=*/true, perms::owner_all))
    return failedPrecondition(
        strCat("cannot create '", path, "': ", error.message()));
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
  return std::unique_ptr<KernelCache>(
      new KernelCache(folder.release(), mostBytes));
}

KernelCache::~KernelCache() { ::close(folder); }

std::optional<std::vector<char>> KernelCache::find(const KernelKey &key) {
  Descriptor file(::openat(folder, entryPath(key).c_str(),
                           O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  EntryHeader header;
  if (!file.isOpen() || ::fstat(file.get(), &info) != 0 ||
      !S_ISREG(info.st_mode) || !isPrivate(info) ||
      !readAll(file.get(), &header, sizeof(header)))
    return std::nullopt;
  if (static_cast<uint64_t>(info.st_size) < sizeof(header) ||
      header.bytes != static_cast<uint64_t>(info.st_size) - sizeof(header))
    return std::nullopt;
  std::vector<char> payload(header.bytes);
  if (!readAll(file.get(), payload.data(), payload.size()))
    return std::nullopt;
  EntryHeader expected = headerOf(key, payload);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0)
    return std::nullopt;
  // Sets the time of the last use, by which `trim` selects entries.
  (void)::futimens(file.get(), nullptr);
  return payload;
}

Status KernelCache::write(const KernelKey &key, std::span<const char> payload) {
  auto failed = [](const char *what) {
    return failedPrecondition(
        strCat("cannot ", what, ": ", std::strerror(errno)));
  };
  std::string shard = shardName(key[0]);
  if (::mkdirat(folder, shard.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return failed("create a folder");
  Descriptor inside(::openat(folder, shard.c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!inside.isOpen() || ::fstat(inside.get(), &info) != 0)
    return failed("open a folder");
  if (!isPrivate(info))
    return failedPrecondition(
        strCat("expected that only this user may write to folder ", shard));
  std::string temporary = uniqueName(kTemporary);
  EntryHeader header = headerOf(key, payload);
  {
    Descriptor file(
        ::openat(inside.get(), temporary.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 S_IRUSR | S_IWUSR));
    if (!file.isOpen())
      return failed("create an entry");
    if (!writeAll(file.get(), &header, sizeof(header)) ||
        !writeAll(file.get(), payload.data(), payload.size())) {
      Status status = failed("write an entry");
      ::unlinkat(inside.get(), temporary.c_str(), 0);
      return status;
    }
  }
  if (::renameat(inside.get(), temporary.c_str(), inside.get(),
                 entryName(key).c_str()) == 0)
    return okStatus();
  Status status = failed("name an entry");
  ::unlinkat(inside.get(), temporary.c_str(), 0);
  return status;
}

void KernelCache::store(const KernelKey &key, std::span<const char> payload) {
  Status status = write(key, payload);
  std::lock_guard<std::mutex> lock(mutex);
  if (status.isOk())
    written.insert(key[0]);
  else if (firstError.empty())
    firstError = std::string(status.message());
}

std::string KernelCache::storeError() const {
  std::lock_guard<std::mutex> lock(mutex);
  return firstError;
}

/// Lists the entries of a shard, and removes temporary files of killed
/// processes.
static std::vector<StoredFile> listShard(DIR *shard) {
  std::vector<StoredFile> files;
  int folder = ::dirfd(shard);
  time_t now = ::time(nullptr);
  while (const dirent *entry = ::readdir(shard)) {
    struct stat info;
    if (::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    bool isTemporary =
        std::strncmp(entry->d_name, kTemporary, std::strlen(kTemporary)) == 0;
    if (!isTemporary)
      files.push_back(
          {entry->d_name, static_cast<uint64_t>(info.st_size), info.st_mtim});
    else if (info.st_mtime + kAbandoned < now)
      ::unlinkat(folder, entry->d_name, 0);
  }
  return files;
}

static void trimShard(int folder, uint8_t shard, uint64_t mostBytes) {
  int descriptor = ::openat(folder, shardName(shard).c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *listed = descriptor >= 0 ? ::fdopendir(descriptor) : nullptr;
  if (!listed) {
    if (descriptor >= 0)
      ::close(descriptor);
    return;
  }
  std::vector<StoredFile> files = listShard(listed);
  std::sort(files.begin(), files.end(),
            [](const StoredFile &a, const StoredFile &b) {
              return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) >
                     std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
            });
  uint64_t kept = 0;
  for (const StoredFile &file : files) {
    kept += file.bytes;
    if (kept > mostBytes)
      ::unlinkat(descriptor, file.name.c_str(), 0);
  }
  ::closedir(listed);
}

void KernelCache::trim() {
  std::set<uint8_t> shards;
  {
    std::lock_guard<std::mutex> lock(mutex);
    shards.swap(written);
  }
  for (uint8_t shard : shards)
    trimShard(folder, shard, mostBytes / kShards);
}

std::string compiler::defaultKernelCacheFolder() {
  auto absolute = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value && value[0] == '/' ? value : "";
  };
  if (std::string cache = absolute("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/mtpc/kernels";
  if (std::string home = absolute("HOME"); !home.empty())
    return home + "/.cache/mtpc/kernels";
  return "";
}
