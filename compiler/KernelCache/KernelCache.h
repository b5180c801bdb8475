//===- KernelCache.h - Compiled kernels on disk -----------------*- C++ -*-===//
//
// A folder of compiled kernels that compilations share. The key of an entry is
// the digest of everything that decides the bytes of the entry (see
// compiler/Codegen/Units). The folder holds native code. A cache is therefore
// opened only if the user owns the folder and no other user may write to it.
//
// Every failure after opening is a miss. A full disk, a truncated entry or an
// entry of another version costs time and never changes an artifact.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_KERNELCACHE_KERNELCACHE_H
#define MTP_COMPILER_KERNELCACHE_KERNELCACHE_H

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

namespace mtp::compiler {

/// Digest of everything that decides the bytes of an entry.
using KernelKey = std::array<uint8_t, 32>;

/// Compiled kernels on disk. All functions may be called from any thread, and
/// any number of processes may share a folder.
class KernelCache {
public:
  /// Default limit on the bytes of all entries in a folder.
  static constexpr uint64_t kDefaultBytes = uint64_t(1) << 30;

  /// Opens the cache in `folder`, which is created if it is missing. Fails if
  /// the folder cannot be created or opened, belongs to another user, or is
  /// writable for others. `mostBytes` limits the size of the entries
  /// approximately.
  static Result<std::unique_ptr<KernelCache>>
  open(const std::string &folder, uint64_t mostBytes = kDefaultBytes);

  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  /// Returns the payload that was stored under `key`, or nothing.
  std::optional<std::vector<char>> find(const KernelKey &key);

  /// Stores `payload` under `key`. A failure is remembered in `storeError`.
  void store(const KernelKey &key, std::span<const char> payload);

  /// Removes the least recently used entries from the shards that this object
  /// stored to, until the cache is within its size. Also removes temporary
  /// files of killed processes.
  void trim();

  /// Message of the first store that failed, or an empty string.
  std::string storeError() const;

private:
  KernelCache(int folder, uint64_t mostBytes)
      : folder(folder), mostBytes(mostBytes) {}

  Status write(const KernelKey &key, std::span<const char> payload);

  /// Descriptor of the folder; paths of entries are relative to the folder.
  int folder;
  uint64_t mostBytes;
  mutable std::mutex mutex;
  /// Shards that `store` has written to since the last `trim`.
  std::set<uint8_t> written;
  std::string firstError;
};

/// Returns the folder of the cache if neither a flag nor MTPC_KERNEL_CACHE
/// names one: $XDG_CACHE_HOME/mtpc/kernels, or ~/.cache/mtpc/kernels. Empty if
/// neither XDG_CACHE_HOME nor HOME holds an absolute path.
std::string defaultKernelCacheFolder();

} // namespace mtp::compiler

#endif // MTP_COMPILER_KERNELCACHE_KERNELCACHE_H
