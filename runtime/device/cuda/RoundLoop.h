//===- RoundLoop.h - Rounds in a loop on the device -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_ROUNDLOOP_H
#define MTP_RUNTIME_DEVICE_CUDA_ROUNDLOOP_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/LaunchList.h"

#include <chrono>

namespace mtp {

/// Host side of a loop on the device: reads its progress and stops it.
class RoundLoop {
public:
  /// If no round ends within `patience`, the loop counts as endless.
  static Result<RoundLoop> create(std::shared_ptr<CudaContext> context,
                                  CUfunction kernel,
                                  std::chrono::nanoseconds patience);

  /// Returns the launch that ends a round. `again` has a word for each slot
  /// that asks for another round.
  KernelLaunch nextRound(CUdeviceptr again, uint64_t slots) const;

  /// Prepares the control words before a launch. start() follows a successful
  /// launch.
  void prepare();
  void start() {
    running = true;
    last = {};
  }
  /// Ends the loop after the current round.
  void stop();
  bool isRunning() const { return running; }
  /// Waits until more than `seen` rounds have ended, or until the stream is
  /// done. If that fails or takes too long, returns Internal and marks the
  /// device as lost.
  Result<Progress> await(CUstream stream, uint32_t seen);

  uint64_t bytes() const { return control.size(); }

private:
  uint32_t rounds() const;

  std::shared_ptr<CudaContext> context;
  CUfunction kernel = nullptr;
  PinnedMemory control;
  std::chrono::nanoseconds patience{0};
  bool running = false;
  Progress last{0, true};
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_ROUNDLOOP_H
