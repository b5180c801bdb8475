//===- MemoryAccount.h - Memory that this process reserves ------*- C++ -*-===//
//
// A size that fits into an empty machine may not fit together with the memory
// that this process has already taken. Memory that was allocated but not yet
// touched still looks free to the system. Large memory is therefore reserved in
// an account for as long as it is held, touched or not. The sum is compared
// with all the memory of the machine.
//
// The account counts the process's own memory: arena, states, scratch and KV
// pages of sessions, kept logits, and copied files. Mapped files do not count:
// processes share their pages, and the system drops them when memory is short.
// Memory of other processes is ignored.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_MEMORYACCOUNT_H
#define MTP_RUNTIME_CORE_MEMORYACCOUNT_H

#include "runtime/core/MemoryLimit.h"
#include "runtime/core/Result.h"

#include <mutex>
#include <optional>
#include <string_view>

namespace mtp {

class MemoryAccount;

/// Reserved bytes of an account. The destructor returns them. The account
/// outlives it.
class MemoryReservation {
public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation &&other) noexcept {
    *this = std::move(other);
  }
  MemoryReservation &operator=(MemoryReservation &&other) noexcept;
  ~MemoryReservation();

  uint64_t bytes() const { return held; }
  /// Returns all but `bytes` to the account; does nothing if it has no more.
  void shrinkTo(uint64_t bytes);

private:
  friend class MemoryAccount;
  MemoryReservation(MemoryAccount *account, uint64_t bytes)
      : account(account), held(bytes) {}

  MemoryAccount *account = nullptr;
  uint64_t held = 0;
};

/// Reservations in one memory: the host's, or a GPU's. Any thread may use it.
class MemoryAccount {
public:
  /// Reserves the bytes. Fails with ResourceExhausted if fewer bytes of the
  /// limit are unreserved: "`what` need 10 bytes, more than the 3 bytes left of
  /// the 5 bytes of physical memory, of which this process has reserved 2".
  Result<MemoryReservation> reserve(uint64_t bytes, std::string_view what,
                                    const MemoryLimit &limit);

  /// Returns the number of reserved bytes.
  uint64_t reserved() const;

  /// Returns the number of bytes of the limit that are not reserved.
  uint64_t left(const MemoryLimit &limit) const;

private:
  friend class MemoryReservation;
  void giveBack(uint64_t bytes);

  mutable std::mutex mutex;
  uint64_t sum = 0;
};

/// Returns the process's account of the host's memory. It is never destroyed.
MemoryAccount &hostMemory();

/// Returns memoryLimit(), or the limit that a test has set.
MemoryLimit hostMemoryLimit();

/// Sets the limit for later reservations; nothing: the machine's limit.
void setHostMemoryLimitForTests(std::optional<MemoryLimit> limit);

} // namespace mtp

#endif // MTP_RUNTIME_CORE_MEMORYACCOUNT_H
