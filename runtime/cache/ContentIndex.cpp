//===- ContentIndex.cpp - Digests of files --------------------------------===//
//
// The index is a text, a line for each file, the least recently used first:
//   DEVICE INODE BYTES MODIFIED CHANGED DIGEST
// Processes that save it at a time lose each other's additions, which costs
// only time.
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/ContentIndex.h"

#include "runtime/cache/CacheFolder.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <vector>

using namespace mtp;
using namespace mtp::cache;

static constexpr const char *kName = "digests";
static constexpr size_t kMostFiles = 4096;
static constexpr uint64_t kMostBytes = 1 << 20;
static constexpr int64_t kSecond = 1000000000;
/// Age of a file's times from which on its digest is kept. File systems count
/// at least every two seconds.
static constexpr int64_t kSettled = 3 * kSecond;
static constexpr size_t kPart = 1 << 20;

static int64_t nanoseconds(const timespec &time) {
  return int64_t(time.tv_sec) * kSecond + time.tv_nsec;
}

FileStamp::FileStamp(const struct stat &info)
    : device(info.st_dev), inode(info.st_ino), bytes(uint64_t(info.st_size)),
      modified(nanoseconds(info.st_mtim)), changed(nanoseconds(info.st_ctim)) {}

/// Removes a number and the space after it from the front of `text`.
template <typename T>
static bool takeNumber(std::string_view &text, T &number) {
  auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr == text.data() + text.size() ||
      *end.ptr != ' ')
    return false;
  text.remove_prefix(size_t(end.ptr - text.data()) + 1);
  return true;
}

ContentIndex::ContentIndex(int folder) : folder(folder) { load(); }

void ContentIndex::load() {
  struct stat info;
  Descriptor file = openPrivateFile(folder, kName, info);
  if (!file.isOpen() || uint64_t(info.st_size) > kMostBytes)
    return;
  std::string text(size_t(info.st_size), '\0');
  if (!readAll(file.get(), text.data(), text.size()))
    return;
  std::string_view rest = text;
  for (size_t end; (end = rest.find('\n')) != rest.npos;) {
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    FileStamp stamp;
    if (!takeNumber(line, stamp.device) || !takeNumber(line, stamp.inode) ||
        !takeNumber(line, stamp.bytes) || !takeNumber(line, stamp.modified) ||
        !takeNumber(line, stamp.changed))
      continue;
    if (std::optional<Digest> digest = parseDigest(line))
      known[stamp] = {*digest, nextOrder++};
  }
}

static Status cannotRead(const std::string &path) {
  return notFound(strCat("cannot read '", path, "': ", std::strerror(errno)));
}

/// Reads a file to its end and returns its digest.
static Result<Digest> readDigest(int file, const std::string &path,
                                 const std::function<void(uint64_t)> &onRead) {
  Hasher hasher;
  std::vector<char> part(kPart);
  while (true) {
    ssize_t got = ::read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return cannotRead(path);
    if (got == 0)
      return hasher.digest();
    hasher.update(part.data(), size_t(got));
    if (onRead)
      onRead(uint64_t(got));
  }
}

Result<Digest>
ContentIndex::digest(const std::string &path,
                     const std::function<void(uint64_t)> &onRead) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!file.isOpen() || ::fstat(file.get(), &info) != 0)
    return cannotRead(path);
  if (!S_ISREG(info.st_mode))
    return failedPrecondition(strCat("expected a file at '", path, "'"));
  FileStamp stamp(info);
  auto found = known.find(stamp);
  if (found != known.end()) {
    found->second.order = nextOrder++;
    return found->second.digest;
  }
  timespec begin;
  ::clock_gettime(CLOCK_REALTIME, &begin);
  MTP_ASSIGN_OR_RETURN(Digest digest, readDigest(file.get(), path, onRead));
  if (::fstat(file.get(), &info) != 0 || FileStamp(info) != stamp)
    return failedPrecondition(
        strCat("'", path, "' was changed while it was read; start again"));
  if (std::max(stamp.modified, stamp.changed) + kSettled <=
      nanoseconds(begin)) {
    known[stamp] = {digest, nextOrder++};
    isChanged = true;
  }
  return digest;
}

bool ContentIndex::needsReading(const std::string &path) const {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !known.contains(FileStamp(info));
}

void ContentIndex::save() {
  if (!isChanged)
    return;
  std::vector<std::pair<uint64_t, std::string>> lines;
  for (const auto &[stamp, value] : known)
    lines.emplace_back(value.order,
                       strCat(stamp.device, " ", stamp.inode, " ", stamp.bytes,
                              " ", stamp.modified, " ", stamp.changed, " ",
                              toHex(value.digest), "\n"));
  std::ranges::sort(lines);
  size_t first = lines.size() > kMostFiles ? lines.size() - kMostFiles : 0;
  std::string text;
  for (size_t i = first; i < lines.size(); ++i)
    text += lines[i].second;
  isChanged = !writeWhole(folder, kName, {text}).isOk();
}
