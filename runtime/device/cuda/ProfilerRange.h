//===- ProfilerRange.h - Ranges on a profiler's timeline --------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_PROFILERRANGE_H
#define MTP_RUNTIME_DEVICE_CUDA_PROFILERRANGE_H

#include "runtime/core/StrCat.h"

namespace mtp {

/// A range of the calling thread on the timeline of a profiler (NVTX, domain
/// "mtp"), from construction to destruction. Does nothing, and builds no name,
/// if no profiler is attached or the runtime was built without NVTX's headers.
class ProfilerRange {
public:
  /// `name` consists of strings and numbers.
  template <typename... Parts>
  explicit ProfilerRange(const Parts &...name) {
    if (isWatched())
      begin(strCat(name...));
  }
  ProfilerRange(const ProfilerRange &) = delete;
  ProfilerRange &operator=(const ProfilerRange &) = delete;
  ~ProfilerRange() {
    if (isOpen)
      end();
  }

private:
  static bool isWatched();
  void begin(const std::string &name);
  void end();

  bool isOpen = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_PROFILERRANGE_H
