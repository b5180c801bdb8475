//===- DeviceMailbox.h - Host writes between launches -----------*- C++ -*-===//
//
// Host writes between launches. The first kernel of the next launch reads them
// from pinned memory and stores every record at its target
// (runtime/schema/DeviceLoop.h). So a small write needs neither a driver call
// nor a copy of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_DEVICEMAILBOX_H
#define MTP_RUNTIME_DEVICE_CUDA_DEVICEMAILBOX_H

#include "runtime/device/cuda/LaunchList.h"

#include <map>

namespace mtp {

/// Collects small writes to the device's memory, which one kernel delivers
/// together. Must not be used while a launch is running, except for launch().
class DeviceMailbox {
public:
  static Result<DeviceMailbox> create(std::shared_ptr<CudaContext> context,
                                      CUfunction kernel);

  /// Adds a write. Returns false if the write overlaps another one or finds no
  /// room: the mailbox must be delivered first. Also returns false if fits()
  /// does: the write must be copied instead.
  bool add(CUdeviceptr target, const void *source, uint64_t bytes);
  /// Returns true if the write fits an empty mailbox: its size is a whole
  /// number of words, and not too large.
  static bool fits(CUdeviceptr target, uint64_t bytes);
  /// Returns true if the write covers words of writes in the mailbox.
  bool overlaps(CUdeviceptr target, uint64_t bytes) const;

  bool isEmpty() const { return records.empty(); }
  /// Clears the mailbox, after a launch that delivered it.
  void clear();
  /// Returns the launch of the kernel that delivers all writes.
  KernelLaunch launch() const;

  uint64_t bytes() const { return memory.size(); }

private:
  PinnedMemory memory;
  CUfunction kernel = nullptr;
  /// Record numbers, by target.
  std::map<CUdeviceptr, uint32_t> records;
  /// Offset at which the next words are stored.
  uint64_t end = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_DEVICEMAILBOX_H
