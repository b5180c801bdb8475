//===- MemoryAccount.h - What this process will use -------------*- C++ -*-===//
//
// A size that fits into a machine alone need not fit beside what this process
// has taken before: memory that nobody has touched yet is missing nowhere. So
// what is large is reserved in an account for as long as it is held, touched or
// not, and the sum is compared with all the memory there is.
//
// Counted are memories of the process's own: arena, states, scratch and KV
// pages of sessions, logits that they keep, copied files. Mapped files are not:
// their pages are everybody's, and the system drops them when memory is short.
// What other processes use is not looked at.
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

/// Bytes of an account, given back with the object. The account outlives it.
class MemoryReservation {
public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation &&other) noexcept {
    *this = std::move(other);
  }
  MemoryReservation &operator=(MemoryReservation &&other) noexcept;
  ~MemoryReservation();

  uint64_t bytes() const { return held; }
  /// Gives back all but `bytes`; nothing when it has no more than that.
  void shrinkTo(uint64_t bytes);

private:
  friend class MemoryAccount;
  MemoryReservation(MemoryAccount *account, uint64_t bytes)
      : account(account), held(bytes) {}

  MemoryAccount *account = nullptr;
  uint64_t held = 0;
};

/// What is reserved of one memory: the host's, or a GPU's. Any thread may use
/// it.
class MemoryAccount {
public:
  /// Takes the bytes, or ResourceExhausted when the limit has not so many that
  /// are not reserved: "`what` need 10 bytes, more than the 3 bytes left of the
  /// 5 bytes of physical memory, of which this process has reserved 2".
  Result<MemoryReservation> reserve(uint64_t bytes, std::string_view what,
                                    const MemoryLimit &limit);

  /// What is reserved now.
  uint64_t reserved() const;

  /// What of the limit is not reserved now.
  uint64_t left(const MemoryLimit &limit) const;

private:
  friend class MemoryReservation;
  void giveBack(uint64_t bytes);

  mutable std::mutex mutex;
  uint64_t sum = 0;
};

/// The process's account of the host's memory. It is never destroyed.
MemoryAccount &hostMemory();

/// memoryLimit(), unless a test has said otherwise.
MemoryLimit hostMemoryLimit();

/// Another limit for what begins from now on; nothing: the machine's.
void setHostMemoryLimitForTests(std::optional<MemoryLimit> limit);

} // namespace mtp

#endif // MTP_RUNTIME_CORE_MEMORYACCOUNT_H
