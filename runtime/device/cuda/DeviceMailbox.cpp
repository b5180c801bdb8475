//===- DeviceMailbox.cpp - Host writes between launches -------------------===//

#include "runtime/device/cuda/DeviceMailbox.h"
#include "runtime/schema/DeviceLoop.h"

#include <cstring>

using namespace mtp;

/// Number of records and bytes of a mailbox. A round of 1,024 slots has three
/// records for each slot. Larger writes are rare and copied separately.
static constexpr uint64_t kMostRecords = 4096;
static constexpr uint64_t kWordsBegin =
    kMailboxRecords + kMostRecords * sizeof(MailboxRecord);
static constexpr uint64_t kMailboxBytes = kWordsBegin + (1 << 20);

Result<DeviceMailbox>
DeviceMailbox::create(std::shared_ptr<CudaContext> context, CUfunction kernel) {
  DeviceMailbox mailbox;
  mailbox.kernel = kernel;
  MTP_ASSIGN_OR_RETURN(
      mailbox.memory,
      PinnedMemory::allocate(std::move(context), kMailboxBytes, "the mailbox"));
  mailbox.clear();
  return mailbox;
}

static MailboxRecord *recordOf(const PinnedMemory &memory, uint32_t number) {
  return reinterpret_cast<MailboxRecord *>(memory.data() + kMailboxRecords) +
         number;
}

bool DeviceMailbox::overlaps(CUdeviceptr target, uint64_t bytes) const {
  auto next = records.lower_bound(target);
  if (next != records.end() && next->first < target + bytes)
    return true;
  if (next == records.begin())
    return false;
  auto [before, number] = *std::prev(next);
  return before + uint64_t(recordOf(memory, number)->words) * 4 > target;
}

/// Limit on the bytes of a write in a mailbox. A larger write would leave no
/// room for others, and is copied separately.
static constexpr uint64_t kLargestWrite = 64 << 10;

bool DeviceMailbox::fits(CUdeviceptr target, uint64_t bytes) {
  return bytes % 4 == 0 && target % 4 == 0 && bytes <= kLargestWrite;
}

bool DeviceMailbox::add(CUdeviceptr target, const void *source,
                        uint64_t bytes) {
  if (!fits(target, bytes))
    return false;
  auto same = records.find(target);
  if (same != records.end()) {
    MailboxRecord *record = recordOf(memory, same->second);
    if (uint64_t(record->words) * 4 != bytes)
      return false;
    std::memcpy(memory.data() + record->offset, source, bytes);
    return true;
  }
  if (records.size() == kMostRecords || bytes > kMailboxBytes - end ||
      overlaps(target, bytes))
    return false;
  uint32_t number = uint32_t(records.size());
  *recordOf(memory, number) = {target, uint32_t(end), uint32_t(bytes / 4)};
  std::memcpy(memory.data() + end, source, bytes);
  end += bytes;
  records[target] = number;
  uint32_t count = number + 1;
  std::memcpy(memory.data(), &count, sizeof(count));
  return true;
}

void DeviceMailbox::clear() {
  records.clear();
  end = kWordsBegin;
  std::memset(memory.data(), 0, sizeof(uint32_t));
}

KernelLaunch DeviceMailbox::launch() const {
  KernelLaunch launch;
  launch.function = kernel;
  launch.blocks = kDeliverBlocks;
  launch.threads = kDeliverThreads;
  launch.arguments = {memory.address()};
  return launch;
}
