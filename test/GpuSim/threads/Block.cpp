//===- Block.cpp - A block of simulated threads ---------------------------===//

#include "Block.h"

#include "Launch.h"
#include "test/GpuSim/machine/Simulator.h"
#include <bit>
#include <cstdlib>
#include <cstring>

using namespace mtp::gpusim;

Block *mtp::gpusim::running = nullptr;

/// Alignment of dynamic shared memory on the device.
static constexpr size_t kSharedAlign = 1024;

Block::Block(Launch &launch, Dim3 index, uint32_t linear)
    : launch(launch), index(index), linear(linear),
      sharedBytes(launch.sharedBytes()), sharedWritten(sharedBytes),
      threads(launch.block.count()), ready((threads.size() + 31) / 32),
      warps(ready.size()), stamp(simulator().nextStamp()),
      launchStamp(launch.stamp()), live(threads.size()) {
  sharedStorage.resize(sharedBytes + kSharedAlign);
  auto base = reinterpret_cast<uintptr_t>(sharedStorage.data());
  shared = sharedStorage.data() + (kSharedAlign - base % kSharedAlign);
  // NaN in every float type.
  std::memset(shared, 0xff, sharedBytes);
  for (size_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    thread.id = i;
    warps[i / 32].present |= 1u << i % 32;
    thread.stackTop = simulator().stacks.take();
    thread.stackPointer = prepareStack(thread.stackTop, threadMain);
    makeReady(thread);
  }
}

Block::~Block() {
  for (Thread &thread : threads)
    simulator().stacks.giveBack(thread.stackTop);
}

Thread *Block::lane(unsigned warp, unsigned lane) {
  size_t id = warp * 32 + lane;
  return id < threads.size() ? &threads[id] : nullptr;
}

void Block::makeReady(Thread &thread) {
  thread.state = State::Ready;
  ready[thread.id / 32] |= 1u << thread.id % 32;
}

Thread *Block::nextReady(unsigned warp) {
  if (!ready[warp]) {
    unsigned count = ready.size(), first = simulator().random(count);
    for (unsigned i = 0; i < count; ++i)
      if (ready[(first + i) % count]) {
        warp = (first + i) % count;
        break;
      }
    if (!ready[warp])
      return nullptr;
  }
  // Takes lanes from a random one on: no order of lanes may matter.
  unsigned turn = simulator().random(32);
  unsigned lane = (std::countr_zero(std::rotr(ready[warp], turn)) + turn) % 32;
  ready[warp] &= ~(1u << lane);
  return &threads[warp * 32 + lane];
}

bool Block::run() {
  Block *outer = running;
  running = this;
  if (Thread *first = nextReady(simulator().random(ready.size()))) {
    current = first;
    mtp_sim_switch(&mainStack, first->stackPointer);
  }
  running = outer;
  return faultText.empty();
}

void Block::suspend() {
  Thread &me = self();
  Thread *next = nextReady(me.id / 32);
  if (next == &me)
    return;
  void *to = mainStack;
  if (next) {
    current = next;
    to = next->stackPointer;
  }
  mtp_sim_switch(&me.stackPointer, to);
}

void Block::threadMain() {
  running->launch.runThread();
  running->finishThread();
  // A thread that has ended is never resumed.
  std::abort();
}

void Block::finishThread() {
  Thread &me = self();
  if (!me.copies.empty())
    faultHere("expected cp.async.wait before the end, got copies in flight");
  if (launch.isProgrammatic() && !me.waitedForGrid)
    faultHere("expected griddepcontrol.wait in every thread of a kernel with "
              "a programmatic edge, got none");
  launch.noteLoadBatches(me.loadBatches);
  me.state = State::Done;
  warps[me.id / 32].ended |= 1u << me.id % 32;
  --live;
  suspend();
}

void Block::faultHere(const std::string &text) {
  faultText =
      "kernel '" + launch.kernelName() + "' " + name(self()) + ": " + text;
  mtp_sim_switch(&self().stackPointer, mainStack);
  // A block that faulted is never resumed.
  std::abort();
}

Dim3 Block::threadIndex(const Thread &thread) const {
  const Dim3 &size = launch.block;
  return {thread.id % size.x, thread.id / size.x % size.y,
          thread.id / size.x / size.y};
}

std::string Block::name(const Thread &thread) const {
  auto text = [](const Dim3 &at) {
    return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
           std::to_string(at.z) + ")";
  };
  return "block " + text(index) + " thread " + text(threadIndex(thread));
}

void Block::barrier(int32_t id) {
  Thread &me = self();
  me.state = State::AtBarrier;
  warps[me.id / 32].atBarrier |= 1u << me.id % 32;
  me.where = "barrier";
  me.barrier = id;
  if (++arrived < threads.size()) {
    suspend();
    return;
  }
  for (Thread &thread : threads)
    if (thread.barrier != id)
      faultHere("expected all threads at barrier " + std::to_string(id) +
                ", got " + name(thread) + " at barrier " +
                std::to_string(thread.barrier));
  arrived = 0;
  ++epoch;
  for (Warp &warp : warps)
    warp.atBarrier = 0;
  for (Thread &thread : threads)
    makeReady(thread);
  suspend();
}

void Block::releaseGridWait() {
  for (Thread &thread : threads)
    if (thread.state == State::AtGridWait)
      makeReady(thread);
}

bool Block::isStuck() const {
  for (const Thread &thread : threads)
    if (thread.state == State::AtGridWait)
      return false;
  return !done();
}

std::string Block::explainStuck() const {
  const Thread *waiting = nullptr, *ended = nullptr;
  unsigned atBarrier = 0;
  for (const Thread &thread : threads) {
    atBarrier += thread.state == State::AtBarrier;
    if (thread.state == State::Done)
      ended = ended ? ended : &thread;
    else if (!waiting)
      waiting = &thread;
  }
  std::string text =
      "kernel '" + launch.kernelName() + "' " + name(*waiting) + ": waits in " +
      waiting->where + " for ever; " + std::to_string(atBarrier) + " of " +
      std::to_string(threads.size()) + " threads are at a barrier";
  if (ended)
    text += ", and " + name(*ended) + " ended without it";
  return text;
}
