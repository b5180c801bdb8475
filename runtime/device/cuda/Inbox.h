//===- Inbox.h - What the host writes between launches ----------*- C++ -*-===//
//
// A launch takes all of it along: its first kernel reads pinned memory and puts
// every record in its place (runtime/schema/DeviceLoop.h). So small writes cost
// neither a call of the driver nor a copy of their own.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_INBOX_H
#define MTP_RUNTIME_DEVICE_CUDA_INBOX_H

#include "runtime/device/cuda/LaunchList.h"

#include <map>

namespace mtp {

/// Not for use while a launch is under way, but for launch().
class Inbox {
public:
  static Result<Inbox> create(std::shared_ptr<CudaContext> context,
                              CUfunction kernel);

  /// Takes a write along. False where it overlaps another one or there is no
  /// more room, and the inbox must be delivered first; and where fits() is
  /// false: it is a copy of its own then.
  bool add(CUdeviceptr target, const void *source, uint64_t bytes);
  /// Whether an empty one would take it: a number of words, and not too many.
  static bool fits(CUdeviceptr target, uint64_t bytes);
  /// Whether it covers words that are taken along.
  bool overlaps(CUdeviceptr target, uint64_t bytes) const;

  bool isEmpty() const { return records.empty(); }
  /// After a launch that took it along.
  void clear();
  /// The kernel that puts everything in its place.
  KernelLaunch launch() const;

  uint64_t bytes() const { return memory.size(); }

private:
  PinnedMemory memory;
  CUfunction kernel = nullptr;
  /// By their targets, their numbers.
  std::map<CUdeviceptr, uint32_t> records;
  /// Where words may be put.
  uint64_t end = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_INBOX_H
