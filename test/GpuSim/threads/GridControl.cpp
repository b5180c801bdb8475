//===- GridControl.cpp - Calls of a kernel to its graph -------------------===//

#include "Access.h"
#include "Block.h"
#include "Calls.h"
#include "Launch.h"
#include "test/GpuSim/machine/Conditions.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cstring>

using namespace mtp::gpusim;

void calls::griddepcontrol_wait(void *, const void *) {
  Thread &me = running->self();
  if (running->launch.mustWait()) {
    me.state = State::AtGridWait;
    me.where = "griddepcontrol.wait";
    running->suspend();
  }
  me.waitedForGrid = true;
}

// Does nothing. The instruction tells how early a successor may begin, and the
// simulator begins it as early as the edge allows. A kernel that is correct
// here is correct whenever it begins.
void calls::griddepcontrol_launch_dependents(void *, const void *) {}

// Reads nothing, but a prefetch outside of all allocations is an error.
void calls::prefetch_global_L2(void *, const void *arguments) {
  uintptr_t address;
  std::memcpy(&address, arguments, sizeof address);
  if (!simulator().memory.find(address, 1))
    running->faultHere("out of bounds: prefetch at " +
                       simulator().memory.describe(address));
}

void calls::cudaGraphSetConditional(void *, const void *arguments) {
  struct {
    uint64_t handle;
    uint32_t value;
  } own;
  std::memcpy(&own, arguments, 12);
  if (!setCondition(own.handle, own.value))
    running->faultHere("cudaGraphSetConditional: expected a handle of the "
                       "graph that runs, got " +
                       std::to_string(own.handle));
}
