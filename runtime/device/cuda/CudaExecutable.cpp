//===- CudaExecutable.cpp - Load a plan to a GPU --------------------------===//

#include "runtime/device/cuda/CudaExecutable.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/KvPage.h"

using namespace mtp;

static uint64_t pageTokens(const Artifact &artifact) {
  return artifact.envelope ? artifact.envelope->page_tokens() : 1;
}

uint64_t CudaExecutable::pageBytes(uint32_t index) const {
  const schema::Cache *cache = artifact.caches->Get(index);
  return pageTokens(artifact) * cache->entry_width() *
         dtypeBytes(cache->dtype());
}

uint64_t CudaExecutable::pageStride(uint32_t index) const {
  const schema::Cache *cache = artifact.caches->Get(index);
  return mtp::pageStride(pageTokens(artifact), cache->entry_width(),
                         dtypeBytes(cache->dtype()));
}

/// Compares what will be allocated with what is free, and says all of it.
Status CudaExecutable::checkSizes(bool withWeights) const {
  MTP_ASSIGN_OR_RETURN(uint64_t unused, context->freeBytes());
  uint64_t weights = withWeights ? LoadedPlan::footprint(plan) : 0;
  uint64_t memory = 0, page = 0;
  for (size_t i = 0; i < artifact.states.size(); ++i)
    memory = addBytes(memory, CudaMemory::footprint(artifact.states[i].bytes,
                                                    plan.stateOffsets[i]));
  for (uint32_t i = 0; i < vectorSize(artifact.caches); ++i)
    page = addBytes(
        page, multiplyBytes(pageStride(i), artifact.caches->Get(i)->layers()));
  uint64_t fixed = addBytes(addBytes(weights, memory), plan.arenaBytes);
  uint64_t pages = multiplyBytes(page, kvPages);
  if (addBytes(fixed, pages) <= unused)
    return okStatus();
  std::string message = strCat(
      "expected ", addBytes(fixed, pages), " bytes of free memory on ",
      context->name(), ", got ", unused, ": ", weights,
      " for weights and constants, ", plan.arenaBytes, " for the arena, ",
      memory, " for states, ", pages, " for ", kvPages, " KV pages");
  if (fixed < unused && page != 0)
    message +=
        strCat("; lower kv_pages to ", (unused - fixed) / page, " or less");
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
      MTP_ASSIGN_OR_RETURN(
          CudaMemory layer,
          makeZeroed(pageStride(i) * kvPages, 0, "a layer of the KV cache"));
      MTP_RETURN_IF_ERROR(layer.forget());
      layers.push_back(std::move(layer));
    }
  }
  return okStatus();
}

/// Takes the weights and the code that another executable has loaded, or loads
/// them.
Status CudaExecutable::loadPlan() {
  for (uint32_t i = 0; i < vectorSize(plan.images); ++i)
    MTP_RETURN_IF_ERROR(
        chooseSegment(plan, *plan.images->Get(i), context->machine()).status());
  std::lock_guard<std::mutex> lock(context->shared().mutex);
  loaded = LoadedPlan::find(*context, *file, planIndex);
  MTP_RETURN_IF_ERROR(checkSizes(/*withWeights=*/!loaded));
  if (loaded)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(loaded, LoadedPlan::load(context, file, planIndex));
  return okStatus();
}

Status CudaExecutable::load() {
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(loadPlan());
  MTP_RETURN_IF_ERROR(allocate());
  const DriverApi &driver = context->driver();
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                   "cuStreamCreate"));
  MTP_ASSIGN_OR_RETURN(inbox, Inbox::create(context, loaded->deliver()));
  MTP_ASSIGN_OR_RETURN(loop, RoundLoop::create(context, loaded->nextRound()));
  // The stream does not wait for copies and fills outside of it.
  return context->check(driver.cuCtxSynchronize(),
                        "loading weights and clearing memory");
}

CudaExecutable::~CudaExecutable() {
  if (!context->enter().isOk())
    return;
  if (loop.isRunning()) {
    loop.stop();
    (void)loop.await(stream, UINT32_MAX);
  }
  for (CUevent event : events)
    context->driver().cuEventDestroy(event);
  if (stream)
    context->driver().cuStreamDestroy(stream);
}

CUdeviceptr CudaExecutable::address(const schema::Binding &binding) const {
  uint32_t index = binding.index();
  switch (binding.space()) {
  case schema::Space::Arena:
    return arena.address() + binding.offset();
  case schema::Space::State:
    return (pinned[index].data() ? pinned[index].address()
                                 : states[index].address()) +
           binding.offset();
  case schema::Space::Weight:
    return loaded->weight(index) + binding.offset();
  case schema::Space::Constant:
    return loaded->constant(index) + binding.offset();
  case schema::Space::Kv:
    return caches[index][binding.offset()].address();
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
  uint64_t sum = inbox.bytes() + loop.bytes();
  for (const PinnedMemory &state : pinned)
    sum += state.size();
  return sum;
}
