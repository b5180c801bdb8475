//===- Calls.cpp - Functions that images call -----------------------------===//

#include "Calls.h"

#include "Access.h"
#include "Block.h"
#include "Launch.h"
#include <cstring>

using namespace mtp::gpusim;

static void *sharedBase() { return running->shared; }

namespace {
struct Entry {
  const char *name;
  void *function;
};
} // namespace

static const Entry entries[] = {
    {kSharedBase, reinterpret_cast<void *>(sharedBase)},
    {kAccess, reinterpret_cast<void *>(checkAccess)},
#define MTP_ENTRY(name) {#name, reinterpret_cast<void *>(calls::name)},
    MTP_SIM_CALLS(MTP_ENTRY)
#undef MTP_ENTRY
};

void *mtp::gpusim::findCall(const char *name) {
  for (const Entry &entry : entries)
    if (!std::strcmp(entry.name, name))
      return entry.function;
  return nullptr;
}

static void give(void *result, uint32_t value) {
  std::memcpy(result, &value, sizeof value);
}

static Dim3 thread() { return running->threadIndex(running->self()); }

#define MTP_SREG(name, value)                                                  \
  void calls::name(void *result, const void *) { give(result, value); }
MTP_SREG(read_ptx_sreg_tid_x, thread().x)
MTP_SREG(read_ptx_sreg_tid_y, thread().y)
MTP_SREG(read_ptx_sreg_tid_z, thread().z)
MTP_SREG(read_ptx_sreg_ntid_x, running->launch.block.x)
MTP_SREG(read_ptx_sreg_ntid_y, running->launch.block.y)
MTP_SREG(read_ptx_sreg_ntid_z, running->launch.block.z)
MTP_SREG(read_ptx_sreg_ctaid_x, running->index.x)
MTP_SREG(read_ptx_sreg_ctaid_y, running->index.y)
MTP_SREG(read_ptx_sreg_ctaid_z, running->index.z)
MTP_SREG(read_ptx_sreg_nctaid_x, running->launch.grid.x)
MTP_SREG(read_ptx_sreg_nctaid_y, running->launch.grid.y)
MTP_SREG(read_ptx_sreg_nctaid_z, running->launch.grid.z)
MTP_SREG(read_ptx_sreg_laneid, running->self().id % 32u)
MTP_SREG(read_ptx_sreg_warpsize, 32)
#undef MTP_SREG

// Threads of the simulator see each other's stores at once and in order, so a
// fence does nothing. A fence alone orders no two threads, and the race check
// does not treat it as a barrier.
void calls::membar_cta(void *, const void *) {}
void calls::membar_gl(void *, const void *) {}
void calls::membar_sys(void *, const void *) {}
