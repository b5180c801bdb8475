//===- Block.h - A block of simulated threads -------------------*- C++ -*-===//

#ifndef TEST_GPUSIM_BLOCK_H
#define TEST_GPUSIM_BLOCK_H

#include "ByteBits.h"
#include "CpAsync.h"
#include "Fiber.h"
#include "Races.h"
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
  /// What the thread waits in, and what it brought: see Collectives.
  const char *where = "";
  uint32_t mask = 0;
  int32_t barrier = 0;
  const void *arguments = nullptr;
  void *result = nullptr;
  /// Whether it executed griddepcontrol.wait.
  bool waitedForGrid = false;
  /// Batches of loads so far, each of which may wait for the one before.
  uint64_t loadBatches = 0;
  CopyGroups copies;
};

/// Lanes of a warp that wait for each other in one collective.
struct Meeting {
  const char *name;
  uint32_t mask, arrived;
};

/// Masks of a warp's lanes by what they do; a lane in none of them runs or is
/// about to. A collective looks at these instead of at 32 threads.
struct Warp {
  uint32_t present = 0, ended = 0, atBarrier = 0, meeting = 0;
  uint32_t epoch = 1;
  std::vector<Meeting> meetings;
};

/// The threads of a block as fibers of one thread of the host. The one that
/// runs goes on until it must wait; then another of its warp is taken while
/// there is one, since their stacks are in the cache, else one of a warp that
/// the seed picks.
class Block {
public:
  Block(Launch &launch, Dim3 index, uint32_t linear);
  ~Block();

  /// Runs until no thread can go on. False where a thread faulted; the text
  /// is in fault().
  bool run();
  bool done() const { return live == 0; }
  /// Lets threads go on that wait for the grids before.
  void releaseGridWait();
  /// Why threads that neither ended nor wait for a grid cannot go on.
  std::string explainStuck() const;
  bool isStuck() const;
  const std::string &fault() const { return faultText; }

  // For what a thread calls while it runs.
  Thread &self() { return threads[current]; }
  Thread *lane(unsigned warp, unsigned lane);
  /// Gives the processor away; comes back when the thread is ready again.
  void suspend();
  void makeReady(Thread &thread);
  Warp &warp(unsigned index) { return warps[index]; }
  void barrier(int32_t id);
  [[noreturn]] void faultHere(const std::string &text);
  std::string name(const Thread &thread) const;
  Who who(bool shared);
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
  /// A mask of lanes for each warp.
  std::vector<uint32_t> ready;
  std::vector<Warp> warps;
  uint32_t epoch = 1, stamp;
  unsigned live, arrived = 0, current = 0;
  void *mainStack = nullptr;
  std::string faultText;
};

/// The block whose thread runs now; null outside of kernels.
extern Block *running;

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_BLOCK_H
