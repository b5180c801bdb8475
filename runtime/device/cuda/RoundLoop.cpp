//===- RoundLoop.cpp - Rounds that follow each other ----------------------===//

#include "runtime/device/cuda/RoundLoop.h"
#include "runtime/schema/DeviceLoop.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace mtp;

/// A waiter looks again at once for so long, and then every so often: a round
/// takes hundreds of microseconds at least.
static constexpr auto kSpin = std::chrono::microseconds(50);
static constexpr auto kSleep = std::chrono::microseconds(20);

Result<RoundLoop> RoundLoop::create(std::shared_ptr<CudaContext> context,
                                    CUfunction kernel) {
  RoundLoop loop;
  loop.context = context;
  loop.kernel = kernel;
  MTP_ASSIGN_OR_RETURN(loop.control,
                       PinnedMemory::allocate(std::move(context),
                                              sizeof(LoopControl),
                                              "the control of rounds"));
  return loop;
}

KernelLaunch RoundLoop::nextRound(CUdeviceptr again, uint64_t slots) const {
  KernelLaunch launch;
  launch.function = kernel;
  launch.blocks = 1;
  launch.threads = kNextRoundThreads;
  launch.arguments = {again, control.address(), slots, /*handle=*/0};
  return launch;
}

static LoopControl &controlIn(const PinnedMemory &memory) {
  return *reinterpret_cast<LoopControl *>(memory.data());
}

uint32_t RoundLoop::rounds() const {
  return std::atomic_ref(controlIn(control).rounds)
      .load(std::memory_order_acquire);
}

void RoundLoop::start() {
  controlIn(control) = {};
  running = true;
  last = {};
}

void RoundLoop::stop() {
  std::atomic_ref(controlIn(control).stop).store(1, std::memory_order_release);
}

Result<Progress> RoundLoop::await(CUstream stream, uint32_t seen) {
  auto begin = std::chrono::steady_clock::now();
  while (running) {
    if (uint32_t now = rounds(); now > seen)
      return last = {now, false};
    CUresult result = context->driver().cuStreamQuery(stream);
    if (result == CUDA_SUCCESS) {
      running = false;
      last = {rounds(), true};
    } else if (result != CUDA_ERROR_NOT_READY) {
      running = false;
      last.isDone = true;
      return context->check(result, "a loop of rounds");
    } else if (std::chrono::steady_clock::now() - begin > kSpin) {
      std::this_thread::sleep_for(kSleep);
    }
  }
  return last;
}
