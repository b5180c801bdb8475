//===- PrefixTransfer.h - Between pages and saved prefixes ------*- C++ -*-===//
//
// Copies pages and states out of the memory of a session, and back. The caller
// holds the session's lock, and nothing runs on the device.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SAVED_PREFIXTRANSFER_H
#define MTP_RUNTIME_EXEC_SAVED_PREFIXTRANSFER_H

#include "runtime/exec/memory/SequenceMemory.h"
#include "runtime/saved/PrefixImage.h"

namespace mtp {

class PrefixTransfer {
public:
  /// `key` names the artifact and the plan; its sizes are set here. All must
  /// outlive the object.
  PrefixTransfer(const Artifact &artifact, Executable &executable,
                 SequenceMemory &memory, saved::PrefixKey key);

  /// Returns the key of prefixes of this session.
  const saved::PrefixKey &key() const { return own; }

  /// Copies the pages that the prefix index has of `tokens`, and the copies of
  /// states that are attached to these pages. `reserved` receives the memory.
  /// NotFound if a sequence could begin with none of these tokens.
  Result<saved::PrefixImage> save(std::span<const int32_t> tokens,
                                  const std::string &salt,
                                  const MemoryLimit &limit,
                                  MemoryReservation &reserved);

  /// Puts the pages and states of an image into the prefix index. Returns the
  /// number of tokens with which a sequence can then begin.
  Result<uint64_t> restore(const saved::PrefixImage &image,
                           const std::string &salt, const MemoryLimit &limit);

  /// Gives up the cached pages of `tokens`. Returns the number of their tokens.
  uint64_t forget(std::span<const int32_t> tokens, const std::string &salt);

private:
  Status checkKey(const saved::PrefixKey &key) const;
  Status checkSharing() const;
  Status readPages(std::span<const KvCacheManager::Match> chain,
                   saved::PrefixImage &image);
  /// Returns the copies of states that are attached to the pages of a chain.
  std::vector<const Snapshots::Copy *>
  copiesOf(std::span<const KvCacheManager::Match> chain,
           std::span<const int32_t> tokens, const KeptState &kept) const;
  uint64_t usable(std::span<const KvCacheManager::Match> chain,
                  std::span<const Snapshots::Copy *const> copies) const;
  Status writePages(const saved::PrefixImage &image, uint64_t from);
  void restoreCopies(const saved::PrefixImage &image, const KeptState &kept,
                     const MemoryLimit &limit);
  /// The slot of the page bookkeeping that no sequence has.
  uint32_t slot() const { return memory.rules().session.maxSlots; }

  const Artifact &artifact;
  Executable &executable;
  SequenceMemory &memory;
  saved::PrefixKey own;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SAVED_PREFIXTRANSFER_H
