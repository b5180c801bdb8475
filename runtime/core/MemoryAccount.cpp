//===- MemoryAccount.cpp - Memory that this process reserves --------------===//

#include "runtime/core/MemoryAccount.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <utility>

using namespace mtp;

MemoryReservation &
MemoryReservation::operator=(MemoryReservation &&other) noexcept {
  std::swap(account, other.account);
  std::swap(held, other.held);
  return *this;
}

MemoryReservation::~MemoryReservation() { shrinkTo(0); }

void MemoryReservation::shrinkTo(uint64_t bytes) {
  if (held <= bytes)
    return;
  account->giveBack(held - bytes);
  held = bytes;
}

Result<MemoryReservation> MemoryAccount::reserve(uint64_t bytes,
                                                 std::string_view what,
                                                 const MemoryLimit &limit) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t rest = limit.bytes - std::min(sum, limit.bytes);
  if (bytes <= rest) {
    sum += bytes;
    return MemoryReservation(this, bytes);
  }
  if (sum == 0)
    return checkMemory(bytes, what, limit);
  return resourceExhausted(
      strCat(what, " need ", bytes, " bytes, more than the ", rest,
             " bytes left of the ", limit.bytes, " bytes of ", limit.source,
             ", of which this process has reserved ", sum));
}

uint64_t MemoryAccount::reserved() const {
  std::lock_guard<std::mutex> lock(mutex);
  return sum;
}

uint64_t MemoryAccount::left(const MemoryLimit &limit) const {
  return limit.bytes - std::min(reserved(), limit.bytes);
}

void MemoryAccount::giveBack(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  sum -= bytes;
}

MemoryAccount &mtp::hostMemory() {
  // Never destroyed: sessions may live until after all destructors have run.
  static MemoryAccount *account = new MemoryAccount;
  return *account;
}

namespace {
struct TestLimit {
  std::mutex mutex;
  std::optional<MemoryLimit> limit;
};
} // namespace

static TestLimit &testLimit() {
  static TestLimit *limit = new TestLimit;
  return *limit;
}

MemoryLimit mtp::hostMemoryLimit() {
  TestLimit &test = testLimit();
  std::lock_guard<std::mutex> lock(test.mutex);
  return test.limit ? *test.limit : memoryLimit();
}

void mtp::setHostMemoryLimitForTests(std::optional<MemoryLimit> limit) {
  TestLimit &test = testLimit();
  std::lock_guard<std::mutex> lock(test.mutex);
  test.limit = limit;
}
