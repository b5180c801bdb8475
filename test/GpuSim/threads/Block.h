//===- Block.h - A block of simulated threads -------------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_THREADS_BLOCK_H
#define MTP_TEST_GPUSIM_THREADS_BLOCK_H

#include "CpAsync.h"
#include "test/GpuSim/machine/ByteBits.h"
#include "test/GpuSim/machine/Fiber.h"
#include "test/GpuSim/machine/Races.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mtp::gpusim {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

class Launch;

enum class State { Ready, AtBarrier, InWarp, AtGridWait, Done };

struct Thread {
  void *stackPointer = nullptr;
  char *stackTop = nullptr;
  uint16_t id = 0;
  State state = State::Ready;
  /// The call that the thread waits in, and its operands: see Collectives.
  const char *where = "";
  uint32_t mask = 0;
  int32_t barrier = 0;
  const void *arguments = nullptr;
  void *result = nullptr;
  /// True if the thread has executed griddepcontrol.wait.
  bool waitedForGrid = false;
  /// Number of batches of loads so far. Each may wait for the one before.
  uint64_t loadBatches = 0;
  CopyGroups copies;
};

/// Lanes of a warp that wait for each other in one collective.
struct Meeting {
  const char *name;
  uint32_t mask, arrived;
};

/// Masks of a warp's lanes by state. A lane in none of them runs or is ready to
/// run. A collective checks the masks instead of 32 threads.
struct Warp {
  uint32_t present = 0, ended = 0, atBarrier = 0, meeting = 0;
  uint32_t epoch = 1;
  std::vector<Meeting> meetings;
};

/// Threads of a block, as fibers of one thread of the host. A thread runs until
/// it must wait. Then another thread of its warp runs, because its stack is in
/// the cache. If there is none, the seed picks a warp.
class Block {
public:
  Block(Launch &launch, Dim3 index, uint32_t linear);
  ~Block();

  /// Runs until no thread can go on. Returns false if a thread faulted; fault()
  /// has the message.
  bool run();
  bool done() const { return live == 0; }
  /// Lets threads go on that wait for earlier grids.
  void releaseGridWait();
  /// Explains why threads that have neither ended nor wait for a grid cannot go
  /// on.
  std::string explainStuck() const;
  bool isStuck() const;
  const std::string &fault() const { return faultText; }

  // Functions that a running thread calls.
  Thread &self() { return *current; }
  Thread *lane(unsigned warp, unsigned lane);
  /// Suspends the thread. Returns when it is ready again.
  void suspend();
  void makeReady(Thread &thread);
  Warp &warp(unsigned index) { return warps[index]; }
  void barrier(int32_t id);
  [[noreturn]] void faultHere(const std::string &text);
  std::string name(const Thread &thread) const;
  /// Returns the mark of an access of the running thread.
  Mark who(bool isShared, bool isAtomic) const {
    return {isShared ? stamp : launchStamp, linear,      epoch,
            warps[current->id / 32].epoch,  current->id, isAtomic};
  }
  unsigned threadCount() const { return threads.size(); }
  Dim3 threadIndex(const Thread &thread) const;

  Launch &launch;
  const Dim3 index;
  const uint32_t linear;
  std::vector<char> sharedStorage;
  char *shared;
  size_t sharedBytes;
  ByteBits sharedWritten;

private:
  static void threadMain();
  Thread *nextReady(unsigned warp);
  void finishThread();

  std::vector<Thread> threads;
  /// Mask of the ready lanes of each warp.
  std::vector<uint32_t> ready;
  std::vector<Warp> warps;
  uint32_t epoch = 1;
  /// Numbers of the block and of the launch, for marks.
  const uint32_t stamp, launchStamp;
  Thread *current = nullptr;
  unsigned live, arrived = 0;
  void *mainStack = nullptr;
  std::string faultText;
};

/// Block whose thread runs now; null outside of kernels.
extern Block *running;

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_THREADS_BLOCK_H
