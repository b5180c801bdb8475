//===- RoundLoop.cpp - Rounds in a loop on the device ---------------------===//

#include "runtime/device/cuda/RoundLoop.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/DeviceLoop.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace mtp;

/// Time for which a waiter polls without a pause, and the pause after that. A
/// round takes hundreds of microseconds or more.
static constexpr auto kSpin = std::chrono::microseconds(50);
static constexpr auto kSleep = std::chrono::microseconds(20);
/// Maximum time between two polls that counts as waiting. A longer gap is a
/// slow driver call, or a process that a debugger has stopped.
static constexpr std::chrono::nanoseconds kLongestLook =
    std::chrono::milliseconds(10);

Result<RoundLoop> RoundLoop::create(std::shared_ptr<CudaContext> context,
                                    CUfunction kernel,
                                    std::chrono::nanoseconds patience) {
  RoundLoop loop;
  loop.patience = patience;
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

void RoundLoop::prepare() { controlIn(control) = {}; }

void RoundLoop::stop() {
  std::atomic_ref(controlIn(control).stop).store(1, std::memory_order_release);
}

namespace {
/// Measures the time since the last round ended.
class Waiting {
public:
  void look(uint32_t rounds) {
    auto now = std::chrono::steady_clock::now();
    if (rounds != last)
      time = {};
    else
      time += std::min<std::chrono::nanoseconds>(now - before, kLongestLook);
    last = rounds;
    before = now;
  }
  std::chrono::nanoseconds duration() const { return time; }

private:
  std::chrono::steady_clock::time_point before =
      std::chrono::steady_clock::now();
  std::chrono::nanoseconds time{0};
  uint32_t last = 0;
};
} // namespace

Result<Progress> RoundLoop::await(CUstream stream, uint32_t seen) {
  auto begin = std::chrono::steady_clock::now();
  Waiting waiting;
  while (running) {
    uint32_t now = rounds();
    if (now > seen)
      return last = {now, false};
    waiting.look(now);
    CUresult result = context->driver().cuStreamQuery(stream);
    if (result == CUDA_SUCCESS) {
      running = false;
      last = {rounds(), true};
    } else if (result != CUDA_ERROR_NOT_READY) {
      running = false;
      last.isDone = true;
      return context->check(result, "a loop of rounds");
    } else if (waiting.duration() > patience) {
      running = false;
      last.isDone = true;
      return context->giveUp(
          stream, strCat("a loop of rounds has not ended one in ",
                         patience / std::chrono::milliseconds(1), " ms"));
    } else if (std::chrono::steady_clock::now() - begin > kSpin) {
      std::this_thread::sleep_for(kSleep);
    }
  }
  return last;
}
