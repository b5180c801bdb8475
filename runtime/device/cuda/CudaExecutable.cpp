//===- CudaExecutable.cpp - Loads a plan to a GPU -------------------------===//

#include "runtime/device/cuda/CudaExecutable.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

/// Memory that the driver needs in addition: kept graphs (100 MB at most),
/// code, the library's handle, spilled registers, and the unused rest of shared
/// pages.
static constexpr uint64_t kReserveBytes = 256 << 20;

/// Returns the device memory of the caches: an allocation for each layer.
uint64_t CudaExecutable::footprintOfPages(uint64_t pages) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < vectorSize(artifact.caches); ++i) {
    uint64_t layer =
        CudaMemory::footprint(multiplyBytes(artifact.pageStride(i), pages), 0);
    sum =
        addBytes(sum, multiplyBytes(layer, artifact.caches->Get(i)->layers()));
  }
  return sum;
}

/// Returns the largest number of pages, up to kvPages, that fit into `bytes`.
uint64_t CudaExecutable::mostPages(uint64_t bytes) const {
  uint64_t least = 0, most = kvPages;
  while (least < most) {
    uint64_t middle = least + (most - least + 1) / 2;
    if (footprintOfPages(middle) <= bytes)
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

/// Compares the memory that the plan needs with the free memory, and reports
/// all parts if it does not fit. The lock of the shared objects must be held
/// until everything is allocated.
Status CudaExecutable::reserve(bool withWeights) {
  MTP_ASSIGN_OR_RETURN(uint64_t unused, context->freeBytes());
  uint64_t weights = withWeights ? LoadedPlan::footprint(plan) : 0;
  uint64_t arena = CudaMemory::footprint(plan.arenaBytes, 0), memory = 0;
  for (size_t i = 0; i < artifact.states.size(); ++i)
    memory = addBytes(memory, CudaMemory::footprint(artifact.states[i].bytes,
                                                    plan.stateOffsets[i]));
  uint64_t fixed =
      addBytes(addBytes(weights, memory), addBytes(arena, kReserveBytes));
  uint64_t pages = footprintOfPages(kvPages);
  MemoryAccount &account = context->shared().memory;
  if (addBytes(fixed, pages) <= unused) {
    uint64_t own = addBytes(addBytes(memory, arena), pages);
    MTP_ASSIGN_OR_RETURN(reservation, account.reserve(own, "a session", {}));
    return okStatus();
  }
  std::string message =
      strCat("expected ", addBytes(fixed, pages), " bytes of free memory on ",
             context->name(), ", got ", unused, ": ", weights,
             " for weights and constants, ", arena, " for the arena, ", memory,
             " for states, ", pages, " for ", kvPages, " KV pages, ",
             kReserveBytes, " for graphs, code and the driver");
  if (uint64_t others = account.reserved())
    message += strCat("; this process holds ", others, " there already");
  if (!artifact.envelope)
    return resourceExhausted(std::move(message));
  // One of the pages is a dummy.
  uint64_t most = fixed < unused ? mostPages(unused - fixed) : 0;
  message += most > 1
                 ? strCat("; lower kv_pages to ", most, " or less")
                 : std::string("; import the model for less (mtp-import "
                               "--max-batch, --max-context, --prefill-chunk) "
                               "or quantize its weights (mtpc --quantize)");
  return resourceExhausted(std::move(message));
}

Result<CudaMemory> CudaExecutable::makeZeroed(uint64_t bytes, uint64_t residue,
                                              const char *what) {
  MTP_ASSIGN_OR_RETURN(CudaMemory memory,
                       CudaMemory::allocate(context, bytes, residue, what));
  MTP_RETURN_IF_ERROR(memory.zero());
  return memory;
}

Status CudaExecutable::allocate() {
  MTP_ASSIGN_OR_RETURN(
      arena, CudaMemory::allocate(context, plan.arenaBytes, 0, "the arena"));
  MTP_RETURN_IF_ERROR(arena.setScratch());
  states.resize(artifact.states.size());
  pinned.resize(artifact.states.size());
  for (uint32_t index : watched) {
    MTP_ASSIGN_OR_RETURN(pinned[index],
                         PinnedMemory::allocate(
                             context, artifact.states[index].bytes, "a state"));
  }
  for (size_t i = 0; i < artifact.states.size(); ++i)
    if (!pinned[i].data()) {
      MTP_ASSIGN_OR_RETURN(states[i],
                           makeZeroed(artifact.states[i].bytes,
                                      plan.stateOffsets[i], "a state"));
    }
  for (uint32_t i = 0; i < vectorSize(artifact.caches); ++i) {
    std::vector<CudaMemory> &layers = caches.emplace_back();
    for (uint32_t l = 0; l < artifact.caches->Get(i)->layers(); ++l) {
      MTP_ASSIGN_OR_RETURN(CudaMemory layer,
                           makeZeroed(artifact.pageStride(i) * kvPages, 0,
                                      "a layer of the KV cache"));
      MTP_RETURN_IF_ERROR(layer.forget());
      layers.push_back(std::move(layer));
    }
  }
  return okStatus();
}

/// Takes the weights and the code that another executable has loaded, or loads
/// them, and allocates the rest. Holds the lock, so that no other executable of
/// the process allocates the memory that this one has found free.
Status CudaExecutable::loadPlan() {
  for (uint32_t i = 0; i < vectorSize(plan.images); ++i)
    MTP_RETURN_IF_ERROR(
        chooseSegment(plan, *plan.images->Get(i), context->machine()).status());
  std::lock_guard<std::mutex> lock(context->shared().mutex);
  loaded = LoadedPlan::find(*context, *file, planIndex);
  MTP_RETURN_IF_ERROR(reserve(/*withWeights=*/!loaded));
  if (loaded)
    return allocate();
  MTP_ASSIGN_OR_RETURN(loaded, LoadedPlan::load(context, file, planIndex));
  return allocate();
}

Status CudaExecutable::load() {
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(loadPlan());
  const DriverApi &driver = context->driver();
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                   "cuStreamCreate"));
  MTP_ASSIGN_OR_RETURN(mailbox,
                       DeviceMailbox::create(context, loaded->deliver()));
  MTP_ASSIGN_OR_RETURN(
      loop, RoundLoop::create(context, loaded->nextRound(), patience()));
  MTP_ASSIGN_OR_RETURN(
      hostReservation,
      hostMemory().reserve(hostBytes(), "buffers that the GPU reads and writes",
                           hostMemoryLimit()));
  // The stream does not wait for copies and fills outside of it.
  return context->check(driver.cuCtxSynchronize(),
                        "loading weights and clearing memory");
}

/// Returns the time after which a loop counts as endless. A round reads all
/// memory about once. An H100 needs a third of a nanosecond per thousand bytes
/// for that. One nanosecond per byte is far longer, and a minute is enough for
/// small models under a sanitizer.
std::chrono::nanoseconds CudaExecutable::patience() const {
  uint64_t bytes = addBytes(LoadedPlan::footprint(plan), memoryBytes());
  return std::chrono::minutes(1) +
         std::chrono::nanoseconds(std::min(bytes, uint64_t(1) << 50));
}

CudaExecutable::~CudaExecutable() {
  if (!context->enter().isOk())
    return;
  if (loop.isRunning()) {
    loop.stop();
    (void)loop.await(stream, UINT32_MAX);
    if (!context->enter().isOk())
      return;
  }
  for (CUevent event : events)
    context->driver().cuEventDestroy(event);
  if (stream)
    context->driver().cuStreamDestroy(stream);
}

CUdeviceptr CudaExecutable::address(const Binding &binding) const {
  uint32_t index = binding.index;
  switch (binding.space) {
  case schema::Space::Arena:
    return arena.address() + binding.offset;
  case schema::Space::State:
    return (pinned[index].data() ? pinned[index].address()
                                 : states[index].address()) +
           binding.offset;
  case schema::Space::Weight:
    return loaded->weight(index) + binding.offset;
  case schema::Space::Constant:
    return loaded->constant(index) + binding.offset;
  case schema::Space::Kv:
    return caches[index][binding.offset].address();
  }
  return 0;
}

uint64_t CudaExecutable::memoryBytes() const {
  uint64_t sum = arena.size();
  for (const CudaMemory &state : states)
    sum += state.size();
  for (const std::vector<CudaMemory> &layers : caches)
    for (const CudaMemory &layer : layers)
      sum += layer.size();
  return sum;
}

uint64_t CudaExecutable::hostBytes() const {
  uint64_t sum = mailbox.bytes() + loop.bytes() + copies.bytes();
  for (const PinnedMemory &state : pinned)
    sum += state.size();
  return sum;
}
