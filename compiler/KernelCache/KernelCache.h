//===- KernelCache.h - Compiled kernels on disk -----------------*- C++ -*-===//
//
// A folder of compiled kernels that compilations share. An entry is found by a
// key, the digest of everything that decides the bytes of the entry (see
// compiler/Codegen/Units). The folder holds native code. A cache is therefore
// only opened if the user owns the folder and no other user may write to it.
//
// Every failure after opening is a miss: a full disk, a truncated entry or an
// entry of another version costs time and never changes an artifact.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_KERNELCACHE_KERNELCACHE_H
#define MTP_COMPILER_KERNELCACHE_KERNELCACHE_H

#include "runtime/core/Result.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace mtp::compiler {

/// Digest of everything that decides the bytes of an entry.
using KernelKey = std::array<uint8_t, 32>;

/// Compiled kernels on disk. All functions may be called from any thread, and
/// any number of processes may share a folder.
class KernelCache {
public:
  /// Bytes that the entries of a folder take at most, unless a caller says
  /// another number.
  static constexpr uint64_t kDefaultBytes = uint64_t(1) << 30;

  /// Opens the cache in `folder`, which is made if it is missing. Fails if the
  /// folder cannot be made or opened, belongs to another user, or may be
  /// written by others. The entries take about `mostBytes` bytes at most.
  static Result<std::unique_ptr<KernelCache>>
  open(const std::string &folder, uint64_t mostBytes = kDefaultBytes);

  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// Returns the payload that was stored under `key`, or nothing.
  std::optional<std::vector<char>> find(const KernelKey &key);

  /// Stores `payload` under `key`. A failure is remembered in `storeError`.
  void store(const KernelKey &key, std::span<const char> payload);

  /// Removes the entries that were used least recently from the folders that
  /// this object stored to, until the cache is within its size. Also removes
  /// what killed processes left.
  void trim();

  /// Message of the first store that failed, or an empty string.
  std::string storeError() const;

private:
  KernelCache(int folder, uint64_t mostBytes)
      : folder(folder), mostBytes(mostBytes) {}

  Status write(const KernelKey &key, std::span<const char> payload);

  /// Descriptor of the folder; paths of entries are relative to it.
  int folder;
  uint64_t mostBytes;
  std::atomic<uint64_t> temporaries{0};
  mutable std::mutex mutex;
  /// Shards that `store` has written to since the last `trim`.
  std::set<uint8_t> written;
  std::string firstError;
};

/// Returns the folder of the cache if no flag and no variable names one:
/// $XDG_CACHE_HOME/mtpc/kernels, or ~/.cache/mtpc/kernels. Empty if neither
/// variable holds an absolute path.
std::string defaultKernelCacheFolder();

} // namespace mtp::compiler

#endif // MTP_COMPILER_KERNELCACHE_KERNELCACHE_H
