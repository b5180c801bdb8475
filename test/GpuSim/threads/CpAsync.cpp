//===- CpAsync.cpp - Copies in flight to shared memory --------------------===//

#include "CpAsync.h"

#include "Access.h"
#include "Block.h"
#include "Calls.h"
#include "test/GpuSim/target/SimAbi.h"
#include <cstring>

using namespace mtp::gpusim;

static constexpr uint32_t kGlobalRead = kRead | 1 << kSpaceShift;
static constexpr uint32_t kSharedWrite = kWrite | 3 << kSpaceShift;

namespace {
struct CopyArguments {
  char *to;
  const char *from;
  /// Bytes of the source, for calls with `_s`. The rest of the target becomes
  /// zero.
  uint32_t sourceBytes;
};
} // namespace

/// Begins a copy. The source is checked now, and again when the copy is made. A
/// write between the two is a race, which the second check finds.
static void begin(uint32_t bytes, const void *arguments, bool hasSize) {
  CopyArguments own{};
  std::memcpy(&own, arguments, hasSize ? 20 : 16);
  uint32_t source = hasSize ? own.sourceBytes : bytes;
  if (source > bytes)
    running->faultHere("cp.async: expected at most " + std::to_string(bytes) +
                       " bytes of source, got " + std::to_string(source));
  checkAccess(own.from, source, kGlobalRead, source == bytes ? bytes : 1);
  if (reinterpret_cast<uintptr_t>(own.to) % bytes)
    running->faultHere("misaligned: cp.async to shared memory at an address "
                       "that is no multiple of " +
                       std::to_string(bytes));
  running->self().copies.open.push_back({own.to, own.from, bytes, source});
}

static void make(const PendingCopy &copy) {
  checkAccess(copy.from, copy.sourceBytes, kGlobalRead, 1);
  checkAccess(copy.to, copy.bytes, kSharedWrite, 1);
  std::memcpy(copy.to, copy.from, copy.sourceBytes);
  std::memset(copy.to + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
}

/// Makes the copies of all groups except the last `left`.
static void waitFor(size_t left) {
  auto &groups = running->self().copies.committed;
  if (groups.size() <= left)
    return;
  auto end = groups.end() - ptrdiff_t(left);
  for (auto group = groups.begin(); group != end; ++group)
    for (const PendingCopy &copy : *group)
      make(copy);
  groups.erase(groups.begin(), end);
}

#define MTP_COPY(kind, bytes)                                                  \
  void calls::cp_async_##kind##_shared_global_##bytes(void *,                  \
                                                      const void *arguments) { \
    begin(bytes, arguments, false);                                            \
  }                                                                            \
  void calls::cp_async_##kind##_shared_global_##bytes##_s(                     \
      void *, const void *arguments) {                                         \
    begin(bytes, arguments, true);                                             \
  }
MTP_COPY(ca, 4)
MTP_COPY(ca, 8)
MTP_COPY(ca, 16)
MTP_COPY(cg, 16)
#undef MTP_COPY

void calls::cp_async_commit_group(void *, const void *) {
  CopyGroups &copies = running->self().copies;
  copies.committed.push_back(std::move(copies.open));
  copies.open.clear();
}

void calls::cp_async_wait_group(void *, const void *arguments) {
  uint32_t left;
  std::memcpy(&left, arguments, sizeof left);
  waitFor(left);
}

void calls::cp_async_wait_all(void *, const void *) {
  waitFor(0);
  CopyGroups &copies = running->self().copies;
  for (const PendingCopy &copy : copies.open)
    make(copy);
  copies.open.clear();
}
