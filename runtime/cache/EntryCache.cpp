//===- EntryCache.cpp - Small entries on disk -----------------------------===//
//
// An entry is FOLDER/XX/NAME. XX is the first two hexadecimal digits of the
// key, its shard; NAME is the other digits. The file begins with an
// EntryHeader. An entry is written to a temporary file and renamed, so that
// other processes see a whole entry or none.
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/EntryCache.h"

#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/Digest.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

using namespace mtp;
using namespace mtp::cache;

namespace {

constexpr char kMagic[8] = {'M', 'T', 'P', 'K', 'E', 'R', 'N', '2'};
constexpr unsigned kShards = 256;

/// First bytes of an entry. The digest covers the key and the payload.
struct EntryHeader {
  char magic[8];
  uint64_t bytes;
  Digest digest;
};

} // namespace

static std::string shardName(uint8_t shard) { return toHex(&shard, 1); }

static std::string entryName(const EntryKey &key) {
  return toHex(key.data() + 1, key.size() - 1);
}

static EntryHeader headerOf(const EntryKey &key,
                            std::span<const char> payload) {
  EntryHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.bytes = payload.size();
  Hasher hasher;
  hasher.update(key.data(), key.size());
  hasher.update(payload.data(), payload.size());
  header.digest = hasher.digest();
  return header;
}

/// Opens a shard's folder; closed if there is none.
static Descriptor openShard(int folder, uint8_t shard) {
  return Descriptor(::openat(folder, shardName(shard).c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<std::unique_ptr<EntryCache>> EntryCache::open(const std::string &path,
                                                     uint64_t mostBytes) {
  MTP_ASSIGN_OR_RETURN(Descriptor folder, openPrivateFolder(path));
  return std::unique_ptr<EntryCache>(
      new EntryCache(std::move(folder), mostBytes));
}

std::optional<std::vector<char>> EntryCache::find(const EntryKey &key) {
  struct stat info;
  EntryHeader header;
  Descriptor file = openPrivateFile(
      folder.get(), shardName(key[0]) + "/" + entryName(key), info);
  if (!file.isOpen() || !readAll(file.get(), &header, sizeof(header)))
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

Status EntryCache::write(const EntryKey &key, std::span<const char> payload) {
  auto failed = [](const char *what) {
    return failedPrecondition(
        strCat("cannot ", what, ": ", std::strerror(errno)));
  };
  std::string shard = shardName(key[0]);
  if (::mkdirat(folder.get(), shard.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return failed("create a folder");
  Descriptor inside = openShard(folder.get(), key[0]);
  struct stat info;
  if (!inside.isOpen() || ::fstat(inside.get(), &info) != 0)
    return failed("open a folder");
  if (!isPrivate(info))
    return failedPrecondition(
        strCat("expected that only this user may write to folder ", shard));
  EntryHeader header = headerOf(key, payload);
  return writeWhole(inside.get(), entryName(key),
                    {std::string_view(reinterpret_cast<const char *>(&header),
                                      sizeof(header)),
                     std::string_view(payload.data(), payload.size())});
}

void EntryCache::store(const EntryKey &key, std::span<const char> payload) {
  Status status = write(key, payload);
  std::lock_guard<std::mutex> lock(mutex);
  if (status.isOk())
    written.insert(key[0]);
  else if (firstError.empty())
    firstError = std::string(status.message());
}

std::string EntryCache::storeError() const {
  std::lock_guard<std::mutex> lock(mutex);
  return firstError;
}

static void trimShard(int folder, uint8_t shard, uint64_t mostBytes) {
  Descriptor inside = openShard(folder, shard);
  if (inside.isOpen())
    removeBeyond(listFiles(inside.get()), mostBytes,
                 [&](const StoredFile &file) {
                   ::unlinkat(inside.get(), file.name.c_str(), 0);
                 });
}

void EntryCache::trim() {
  std::set<uint8_t> shards;
  {
    std::lock_guard<std::mutex> lock(mutex);
    shards.swap(written);
  }
  for (uint8_t shard : shards)
    trimShard(folder.get(), shard, mostBytes / kShards);
}

EntryCache::Contents EntryCache::contents() const {
  Contents contents;
  for (unsigned shard = 0; shard < kShards; ++shard) {
    Descriptor inside = openShard(folder.get(), uint8_t(shard));
    if (!inside.isOpen())
      continue;
    for (const StoredFile &file : listFiles(inside.get())) {
      time_t used = file.used.tv_sec;
      contents.oldest =
          contents.entries ? std::min(contents.oldest, used) : used;
      contents.newest = std::max(contents.newest, used);
      contents.bytes += file.bytes;
      ++contents.entries;
    }
  }
  return contents;
}

void EntryCache::clear() {
  for (unsigned shard = 0; shard < kShards; ++shard)
    trimShard(folder.get(), uint8_t(shard), 0);
}
