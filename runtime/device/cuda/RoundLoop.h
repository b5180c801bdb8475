//===- RoundLoop.h - Rounds that follow each other --------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_ROUNDLOOP_H
#define MTP_RUNTIME_DEVICE_CUDA_ROUNDLOOP_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/LaunchList.h"

#include <chrono>

namespace mtp {

/// The host's side of a loop on the device: how far it has come, and whether it
/// shall end.
class RoundLoop {
public:
  /// A loop of which no round ends for `patience` is taken for one that never
  /// ends.
  static Result<RoundLoop> create(std::shared_ptr<CudaContext> context,
                                  CUfunction kernel,
                                  std::chrono::nanoseconds patience);

  /// The kernel behind a round whose slots say what is at `again`.
  KernelLaunch nextRound(CUdeviceptr again, uint64_t slots) const;

  /// Before a launch, and behind one that has succeeded.
  void prepare();
  void start() {
    running = true;
    last = {};
  }
  /// No other round follows the one that runs.
  void stop();
  bool isRunning() const { return running; }
  /// Waits for more than `seen` rounds, or for all that the stream has to do.
  /// Internal, and the device lost, where that fails or does not end.
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
