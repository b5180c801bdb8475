//===- Access.cpp - Check before each access of a kernel ------------------===//

#include "Access.h"

#include "Launch.h"
#include "test/GpuSim/machine/Simulator.h"
#include "test/GpuSim/target/SimAbi.h"
#include <cstdio>
#include <string>

using namespace mtp::gpusim;

enum Space : uint32_t { kGeneric = 0, kGlobal = 1, kShared = 3, kConstant = 4 };

namespace {
struct Access {
  uintptr_t address;
  uint64_t bytes;
  uint32_t flags;

  bool writes() const { return flags & kWrite; }
  bool reads() const { return flags & kRead; }
  std::string text() const {
    const char *verb = writes() && reads() ? "atomic access"
                       : writes()          ? "store"
                                           : "load";
    return std::string(verb) + " of " + std::to_string(bytes) + " bytes";
  }
};
} // namespace

static bool isInShared(uintptr_t address) {
  auto base = reinterpret_cast<uintptr_t>(running->shared);
  return address >= base && address < base + running->sharedBytes;
}

static bool isOnStack(uintptr_t address) {
  auto top = reinterpret_cast<uintptr_t>(running->self().stackTop);
  return address < top && address >= top - Stacks::kBytes;
}

/// Faults with the message about a race. `base` is the first byte of the memory
/// that the message names. This and other messages are functions of their own,
/// so that a check without a fault needs few registers.
[[noreturn, gnu::noinline]] static void faultAtRace(const Access &access,
                                                    bool shared, uintptr_t base,
                                                    const Race &race) {
  std::string by = "several blocks";
  if (race.mark.block() != kManyBlocks) {
    by = "block " + std::to_string(race.mark.block());
    if (race.mark.block() == running->linear)
      by = race.mark.thread() == kManyOfBlock ? "several threads of the block"
           : race.mark.thread() & kManyOfWarp
               ? "several lanes of warp " +
                     std::to_string(race.mark.thread() & 0x7fff)
               : "thread " + std::to_string(race.mark.thread());
  }
  running->faultHere("race: " + access.text() + " at byte " +
                     std::to_string(race.address - base) + " of " +
                     (shared ? "shared memory" : "an allocation") + ", " +
                     race.earlier + " by " + by + " with nothing between");
}

static void checkRace(Simulator &device, const Access &access, bool shared,
                      uintptr_t base) {
  const Race *race =
      device.races.access(access.address, access.bytes, access.flags,
                          running->who(shared, access.flags & kAtomic));
  if (race) [[unlikely]]
    faultAtRace(access, shared, base, *race);
}

[[noreturn, gnu::noinline]] static void faultOutOfShared(const Access &access,
                                                         uintptr_t offset) {
  running->faultHere("out of bounds: " + access.text() + " at byte " +
                     std::to_string(intptr_t(offset)) +
                     " of shared memory of " +
                     std::to_string(running->sharedBytes) + " bytes");
}

/// Faults with the message about an unwritten byte. `where` names the memory,
/// and `byte` is its first byte that nothing wrote.
[[noreturn, gnu::noinline]] static void
faultAtUnwritten(const Access &access, size_t offset, const std::string &where,
                 size_t byte) {
  running->faultHere("uninitialised: " + access.text() + " at byte " +
                     std::to_string(offset) + " of " + where +
                     "; nothing wrote byte " + std::to_string(byte));
}

static void checkShared(const Access &access) {
  auto base = reinterpret_cast<uintptr_t>(running->shared);
  uintptr_t offset = access.address - base;
  if (access.address < base || offset > running->sharedBytes ||
      access.bytes > running->sharedBytes - offset)
    faultOutOfShared(access, offset);
  if (access.reads()) {
    size_t byte = running->sharedWritten.firstClear(offset, access.bytes);
    if (byte != ByteBits::npos)
      faultAtUnwritten(access, offset, "shared memory", byte);
  }
  checkRace(simulator(), access, /*shared=*/true, base);
  if (access.writes())
    running->sharedWritten.set(offset, access.bytes);
}

[[noreturn, gnu::noinline]] static void faultBeforeWait(const Access &access) {
  running->faultHere(access.text() +
                     " ahead of griddepcontrol.wait: what ran before may still "
                     "read or write there");
}

/// Records the bytes that the node touches, and checks that nothing is stored
/// before the wait.
static void noteTouched(const Access &access, const Allocation &allocation) {
  Launch &launch = running->launch;
  bool early = launch.isProgrammatic() && !running->self().waitedForGrid;
  if (early && access.writes())
    faultBeforeWait(access);
  Touched *touched = launch.touched();
  if (!touched)
    return;
  size_t offset = access.address - allocation.base;
  if (access.reads())
    (early ? touched->early : touched->reads)
        .add(allocation, offset, access.bytes);
  if (access.writes())
    touched->writes.add(allocation, offset, access.bytes);
}

[[noreturn, gnu::noinline]] static void faultOutOfGlobal(const Access &access) {
  running->faultHere("out of bounds: " + access.text() + " at " +
                     simulator().memory.describe(access.address));
}

static void checkGlobal(const Access &access) {
  Simulator &device = simulator();
  Allocation *allocation = device.memory.find(access.address, access.bytes);
  if (!allocation)
    faultOutOfGlobal(access);
  size_t offset = access.address - allocation->base;
  allocation->enter(device.graphRun);
  if (access.writes() && allocation->kind == MemoryKind::Constant)
    running->faultHere(access.text() + " to constant memory");
  if (access.reads() && allocation->kind == MemoryKind::Device) {
    size_t byte = allocation->written.firstClear(offset, access.bytes);
    if (byte != ByteBits::npos)
      faultAtUnwritten(access, offset,
                       "an allocation of " + std::to_string(allocation->bytes),
                       byte);
  }
  checkRace(device, access, /*shared=*/false, allocation->base);
  noteTouched(access, *allocation);
  if (access.writes())
    allocation->noteWrite(offset, access.bytes, device.graphRun);
}

[[noreturn, gnu::noinline]] static void faultMisaligned(const Access &access,
                                                        uint32_t align) {
  running->faultHere("misaligned: " + access.text() +
                     " at an address that is no multiple of " +
                     std::to_string(align));
}

void mtp::gpusim::checkAccess(const void *pointer, uint64_t bytes,
                              uint32_t flags, uint32_t align) {
  Access access{reinterpret_cast<uintptr_t>(pointer), bytes, flags & 0xff};
  uint32_t space = flags >> kSpaceShift;
  if (!bytes)
    return;
  if (access.address & (align - 1))
    faultMisaligned(access, align);
  if (space == kGeneric && isOnStack(access.address))
    return;
  if (flags & kWaits)
    ++running->self().loadBatches;
  if (space == kShared || (space == kGeneric && isInShared(access.address)))
    checkShared(access);
  else if (space == kGeneric || space == kGlobal || space == kConstant)
    checkGlobal(access);
  else
    running->faultHere("expected generic, global, shared or constant memory, "
                       "got address space " +
                       std::to_string(space));
}
