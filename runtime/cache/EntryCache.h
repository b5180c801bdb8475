//===- EntryCache.h - Small entries on disk ---------------------*- C++ -*-===//
//
// A folder of entries that processes share, for example compiled kernels. The
// key of an entry is a digest of everything that decides the bytes of the
// entry; its caller computes it.
//
// Every failure after opening is a miss. A full disk, a truncated entry or an
// entry of another version costs time and never changes a payload.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CACHE_ENTRYCACHE_H
#define MTP_RUNTIME_CACHE_ENTRYCACHE_H

#include "runtime/cache/Descriptor.h"
#include "runtime/core/Result.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace mtp::cache {

/// Digest of everything that decides the bytes of an entry.
using EntryKey = std::array<uint8_t, 32>;

/// Entries on disk. All functions may be called from any thread, and any number
/// of processes may share a folder.
class EntryCache {
public:
  /// Default limit on the bytes of all entries in a folder.
  static constexpr uint64_t kDefaultBytes = uint64_t(1) << 30;

  /// Opens the cache in `folder`, which is created if it is missing. Fails if
  /// the folder cannot be created or opened, belongs to another user, or is
  /// writable for others. `mostBytes` limits the size of the entries
  /// approximately.
  static Result<std::unique_ptr<EntryCache>>
  open(const std::string &folder, uint64_t mostBytes = kDefaultBytes);

  /// Returns the payload that was stored under `key`, or nothing.
  std::optional<std::vector<char>> find(const EntryKey &key);

  /// Stores `payload` under `key`. A failure is remembered in `storeError`.
  void store(const EntryKey &key, std::span<const char> payload);

  /// Removes the least recently used entries from the shards that this object
  /// stored to, until the cache is within its size. Also removes temporary
  /// files of killed processes.
  void trim();

  /// Message of the first store that failed, or an empty string.
  std::string storeError() const;

  /// Number, bytes and times of all entries.
  struct Contents {
    uint64_t entries = 0;
    uint64_t bytes = 0;
    /// Seconds since 1970 of the least and the most recent use.
    time_t oldest = 0, newest = 0;
  };
  Contents contents() const;

  /// Removes all entries.
  void clear();

private:
  EntryCache(Descriptor folder, uint64_t mostBytes)
      : folder(std::move(folder)), mostBytes(mostBytes) {}

  Status write(const EntryKey &key, std::span<const char> payload);

  /// Paths of entries are relative to the folder.
  Descriptor folder;
  uint64_t mostBytes;
  mutable std::mutex mutex;
  /// Shards that `store` has written to since the last `trim`.
  std::set<uint8_t> written;
  std::string firstError;
};

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_ENTRYCACHE_H
