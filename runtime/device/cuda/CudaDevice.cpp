//===- CudaDevice.cpp - An NVIDIA GPU as a device -------------------------===//

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/Rounds.h"
#include "runtime/device/cuda/Inbox.h"
#include "runtime/device/cuda/LoadedPlan.h"
#include "runtime/device/cuda/PlanGemms.h"
#include "runtime/device/cuda/ProfilerRange.h"
#include "runtime/device/cuda/RoundLoop.h"
#include "runtime/schema/KvPage.h"

#include <cstring>

using namespace mtp;

namespace {

/// See Device.h. Host and device take turns: run() waits for its graph, and
/// while rounds follow each other the host only reads what they leave. Writes
/// go with the next launch; copies go through the same stream, so that they are
/// in order with it.
class CudaExecutable final : public Executable {
public:
  CudaExecutable(std::shared_ptr<CudaContext> context,
                 std::shared_ptr<const ArtifactFile> source, uint32_t index,
                 uint64_t kvPages, std::vector<uint32_t> watchedStates)
      : context(std::move(context)), file(std::move(source)),
        artifact(file->artifact()), planIndex(index),
        plan(artifact.plans[index]), kvPages(kvPages),
        watched(std::move(watchedStates)) {}
  ~CudaExecutable() override;

  Status load();
  Status run(uint32_t program, uint32_t n) override;
  Status startRounds(uint32_t program, uint32_t n) override;
  Result<Progress> awaitRounds(uint32_t seen) override;
  void stopRounds() override { loop.stop(); }
  Result<std::string> useLibrary() override;
  Status runTimed(uint32_t program, uint32_t n, CommandTimes &times) override;
  Status write(const schema::Binding &binding, const void *source,
               uint64_t bytes) override;
  Status read(const schema::Binding &binding, void *target,
              uint64_t bytes) override;
  Status writePage(uint32_t cache, uint32_t layer, uint32_t page,
                   const void *source) override;
  uint64_t memoryBytes() const override;
  uint64_t hostBytes() const override;

private:
  Status checkSizes(bool withWeights) const;
  Status loadPlan();
  Status allocate();
  Result<CudaMemory> makeZeroed(uint64_t bytes, uint64_t residue,
                                const char *what);
  Status checkRuns(const Program &program, uint32_t n) const;
  LaunchList resolve(const Program &program, uint32_t n) const;
  KernelLaunch resolve(const Program &program, const Command &command,
                       uint32_t n) const;
  Result<const CudaGraph *> graphOf(uint32_t program, uint32_t n, bool repeats);
  Status launchGraph(uint32_t program, uint32_t n, bool repeats);
  Status deliver();
  Status checkIdle() const {
    return loop.isRunning() ? failedPrecondition("rounds are under way")
                            : okStatus();
  }
  bool isWatched(const schema::Binding &binding) const {
    return binding.space() == schema::Space::State &&
           pinned[binding.index()].data();
  }
  Status launchAll(LaunchList &launches);
  Status makeEvents(size_t count);
  CUdeviceptr address(const schema::Binding &binding) const;
  uint64_t pageBytes(uint32_t cache) const;
  uint64_t pageStride(uint32_t cache) const;
  Status upload(CUdeviceptr target, const void *source, uint64_t bytes);
  Status wait(std::string_view what) const;

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<const ArtifactFile> file;
  const Artifact &artifact;
  uint32_t planIndex;
  const Plan &plan;
  uint64_t kvPages;
  std::shared_ptr<LoadedPlan> loaded;
  CudaMemory arena;
  /// Indexed like the artifact's states: memory of the device, or of the host
  /// where a state is watched.
  std::vector<CudaMemory> states;
  std::vector<PinnedMemory> pinned;
  std::vector<uint32_t> watched;
  /// For each cache, its layers.
  std::vector<std::vector<CudaMemory>> caches;
  CUstream stream = nullptr;
  Inbox inbox;
  RoundLoop loop;
  /// Null until somebody uses the library.
  std::unique_ptr<PlanGemms> gemms;
  GraphCache graphs;
  /// Before and behind each command of a timed run.
  std::vector<CUevent> events;
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}

  Result<std::unique_ptr<Executable>>
  load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
       uint64_t kvPages, std::vector<uint32_t> watchedStates) override;
  /// So many that a launch is a small part of them, and few enough that little
  /// is computed for sequences that have ended. Not measured on a GPU.
  uint32_t preferredRounds() const override { return 16; }
  std::string name() const override {
    const CudaMachine &machine = context->machine();
    return strCat(context->name(), ", sm_", machine.major, machine.minor);
  }
  uint64_t cacheBytes() const override { return context->cacheBytes(); }
  Result<double> copyRate(uint64_t bytes) override;

private:
  std::shared_ptr<CudaContext> context;
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Status CudaExecutable::wait(std::string_view what) const {
  return context->check(context->driver().cuStreamSynchronize(stream), what);
}

/// Memory that is not pinned is read before the call returns.
Status CudaExecutable::upload(CUdeviceptr target, const void *source,
                              uint64_t bytes) {
  MTP_RETURN_IF_ERROR(context->enter());
  if (bytes == 0)
    return okStatus();
  return context->check(
      context->driver().cuMemcpyHtoDAsync(target, source, bytes, stream),
      "a write to the GPU");
}

/// Puts what is in the inbox in its place before anything else happens.
Status CudaExecutable::deliver() {
  MTP_RETURN_IF_ERROR(checkIdle());
  if (inbox.isEmpty())
    return okStatus();
  KernelLaunch launch = inbox.launch();
  MTP_RETURN_IF_ERROR(context->check(
      context->driver().cuLaunchKernel(
          launch.function, launch.blocks, 1, 1, launch.threads, 1, 1,
          launch.sharedBytes, stream, launch.pointers().data(), nullptr),
      "cuLaunchKernel"));
  MTP_RETURN_IF_ERROR(wait("a write to the GPU"));
  inbox.clear();
  return okStatus();
}

Status CudaExecutable::write(const schema::Binding &binding, const void *source,
                             uint64_t bytes) {
  if (isWatched(binding)) {
    std::memcpy(pinned[binding.index()].data() + binding.offset(), source,
                bytes);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(checkIdle());
  CUdeviceptr target = address(binding);
  if (inbox.add(target, source, bytes))
    return okStatus();
  MTP_RETURN_IF_ERROR(deliver());
  return inbox.add(target, source, bytes) ? okStatus()
                                          : upload(target, source, bytes);
}

Status CudaExecutable::read(const schema::Binding &binding, void *target,
                            uint64_t bytes) {
  MTP_RETURN_IF_ERROR(context->enter());
  if (isWatched(binding)) {
    std::memcpy(target, pinned[binding.index()].data() + binding.offset(),
                bytes);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(deliver());
  if (bytes == 0)
    return okStatus();
  MTP_RETURN_IF_ERROR(
      context->check(context->driver().cuMemcpyDtoHAsync(
                         target, address(binding), bytes, stream),
                     "a read from the GPU"));
  return wait("a read from the GPU");
}

Status CudaExecutable::writePage(uint32_t cache, uint32_t layer, uint32_t page,
                                 const void *source) {
  return upload(caches[cache][layer].address() + page * pageStride(cache),
                source, pageBytes(cache));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Status CudaExecutable::checkRuns(const Program &program, uint32_t n) const {
  if (program.callsLibrary && !gemms)
    return failedPrecondition(strCat("program ", program.name,
                                     " has products of a library that nobody "
                                     "has asked for"));
  if (program.covers(n))
    return okStatus();
  return invalidArgument(strCat("expected ", program.begin, " to ",
                                program.end - 1, " slots or rows for program ",
                                program.name, ", got ", n));
}

KernelLaunch CudaExecutable::resolve(const Program &program,
                                     const Command &command, uint32_t n) const {
  const schema::Kernel &kernel = plan.kernelOf(command);
  std::vector<int64_t> params;
  for (Count param : program.paramsOf(command, kernel))
    params.push_back(param.at(n));
  KernelLaunch launch;
  launch.function = loaded->kernel(command.kernel);
  if (kernel.gemm()) {
    launch.gemm = gemms->find(*kernel.gemm(), params.front());
  } else {
    launch.threads = kernel.launch()->threads();
    launch.sharedBytes = kernel.launch()->shared_bytes();
  }
  for (const Place &place : program.placesOf(command, kernel))
    launch.arguments.push_back(address(place.at(n)));
  launch.arguments.insert(launch.arguments.end(), params.begin(), params.end());
  launch.blocks = uint32_t(plan.tasksOf(command, params.data()));
  return launch;
}

LaunchList CudaExecutable::resolve(const Program &program, uint32_t n) const {
  LaunchList launches;
  for (const Command &command : program.commands)
    launches.push_back(resolve(program, command, n));
  return launches;
}

Result<const CudaGraph *> CudaExecutable::graphOf(uint32_t index, uint32_t n,
                                                  bool repeats) {
  // Numbers of programs and slots have 31 bits at most.
  uint64_t key = uint64_t(repeats) << 63 | uint64_t(index) << 32 | n;
  if (const CudaGraph *found = graphs.find(key))
    return found;
  const Program &program = plan.programs[index];
  MTP_RETURN_IF_ERROR(checkRuns(program, n));
  ProfilerRange range("build the ", repeats ? "loop" : "graph", " of ",
                      program.name, " for ", n);
  GraphParts parts = {inbox.launch(), resolve(program, n), std::nullopt};
  if (repeats) {
    MTP_ASSIGN_OR_RETURN(schema::Binding again, againOf(program, n));
    parts.nextRound = loop.nextRound(address(again), n);
  }
  Result<std::unique_ptr<CudaGraph>> graph =
      CudaGraph::build(context, std::move(parts), stream);
  if (!graph)
    return graph.status().withContext(
        strCat("program ", program.name, " for ", n));
  return graphs.add(key, std::move(*graph));
}

Result<std::string> CudaExecutable::useLibrary() {
  MTP_RETURN_IF_ERROR(context->enter());
  if (gemms)
    return gemms->library().name();
  MTP_ASSIGN_OR_RETURN(gemms, PlanGemms::create(context, plan));
  return gemms->library().name();
}

Status CudaExecutable::launchGraph(uint32_t index, uint32_t n, bool repeats) {
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_RETURN_IF_ERROR(checkIdle());
  MTP_ASSIGN_OR_RETURN(const CudaGraph *graph, graphOf(index, n, repeats));
  if (repeats)
    loop.start();
  return context->check(
      context->driver().cuGraphLaunch(graph->exec(), stream),
      strCat("the launch of program ", plan.programs[index].name));
}

Status CudaExecutable::run(uint32_t index, uint32_t n) {
  ProfilerRange range(plan.programs[index].name, " for ", n);
  MTP_RETURN_IF_ERROR(launchGraph(index, n, /*repeats=*/false));
  MTP_RETURN_IF_ERROR(wait(strCat("program ", plan.programs[index].name)));
  inbox.clear();
  return okStatus();
}

Status CudaExecutable::startRounds(uint32_t index, uint32_t n) {
  ProfilerRange range("start rounds of ", plan.programs[index].name, " for ",
                      n);
  return launchGraph(index, n, /*repeats=*/true);
}

Result<Progress> CudaExecutable::awaitRounds(uint32_t seen) {
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_ASSIGN_OR_RETURN(Progress progress, loop.await(stream, seen));
  if (progress.isDone)
    inbox.clear();
  return progress;
}

Status CudaExecutable::makeEvents(size_t count) {
  const DriverApi &driver = context->driver();
  while (events.size() < count) {
    CUevent event = nullptr;
    MTP_RETURN_IF_ERROR(
        driver.check(driver.cuEventCreate(&event, 0), "cuEventCreate"));
    events.push_back(event);
  }
  return okStatus();
}

/// One kernel after the other, with an event before and behind each.
Status CudaExecutable::launchAll(LaunchList &launches) {
  const DriverApi &driver = context->driver();
  auto record = [&](size_t event) {
    return context->check(driver.cuEventRecord(events[event], stream),
                          "cuEventRecord");
  };
  MTP_RETURN_IF_ERROR(record(0));
  for (size_t i = 0; i < launches.size(); ++i) {
    KernelLaunch &launch = launches[i];
    if (launch.gemm)
      MTP_RETURN_IF_ERROR(launch.gemm->enqueue(launch.gemmBuffers(), stream));
    else if (launch.blocks != 0)
      MTP_RETURN_IF_ERROR(context->check(
          driver.cuLaunchKernel(launch.function, launch.blocks, 1, 1,
                                launch.threads, 1, 1, launch.sharedBytes,
                                stream, launch.pointers().data(), nullptr),
          "cuLaunchKernel"));
    MTP_RETURN_IF_ERROR(record(i + 1));
  }
  return okStatus();
}

Status CudaExecutable::runTimed(uint32_t index, uint32_t n,
                                CommandTimes &times) {
  MTP_RETURN_IF_ERROR(context->enter());
  const Program &program = plan.programs[index];
  ProfilerRange range(program.name, " for ", n, ", timed");
  MTP_RETURN_IF_ERROR(checkRuns(program, n));
  MTP_RETURN_IF_ERROR(deliver());
  LaunchList launches = resolve(program, n);
  MTP_RETURN_IF_ERROR(makeEvents(launches.size() + 1));
  MTP_RETURN_IF_ERROR(launchAll(launches));
  MTP_RETURN_IF_ERROR(wait(strCat("program ", program.name)));
  times.reset(1, launches.size());
  uint64_t begin = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    float milliseconds = 0;
    MTP_RETURN_IF_ERROR(
        context->check(context->driver().cuEventElapsedTime(
                           &milliseconds, events[0], events[i + 1]),
                       "cuEventElapsedTime"));
    uint64_t end = std::max(begin, uint64_t(double(milliseconds) * 1e6));
    times.store(0)[i] = {begin, end, end};
    begin = end;
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

Result<std::unique_ptr<Executable>>
CudaDevice::load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
                 uint64_t kvPages, std::vector<uint32_t> watchedStates) {
  auto executable = std::make_unique<CudaExecutable>(
      context, std::move(artifact), plan, kvPages, std::move(watchedStates));
  MTP_RETURN_IF_ERROR(executable->load());
  return std::unique_ptr<Executable>(std::move(executable));
}

/// What is copied where there is no time to measure.
static constexpr uint64_t kSimulatedCopy = 1 << 20;

Result<double> CudaDevice::copyRate(uint64_t bytes) {
  if (context->machine().kind == MachineKind::CudaSim)
    bytes = std::min(bytes, kSimulatedCopy);
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_ASSIGN_OR_RETURN(CudaMemory from,
                       CudaMemory::allocate(context, bytes, 0, "a copy"));
  MTP_ASSIGN_OR_RETURN(CudaMemory to,
                       CudaMemory::allocate(context, bytes, 0, "a copy"));
  MTP_RETURN_IF_ERROR(from.zero());
  const DriverApi &driver = context->driver();
  CUevent events[2] = {};
  Status status;
  auto note = [&](CUresult result) {
    if (status.isOk())
      status = context->check(result, "a copy within the GPU");
  };
  float milliseconds = 0;
  for (CUevent &event : events)
    note(driver.cuEventCreate(&event, 0));
  // The second copy counts: the first one maps its memory.
  for (int turn = 0; turn < 2; ++turn) {
    note(driver.cuEventRecord(events[0], nullptr));
    note(
        driver.cuMemcpyDtoDAsync(to.address(), from.address(), bytes, nullptr));
    note(driver.cuEventRecord(events[1], nullptr));
  }
  note(driver.cuCtxSynchronize());
  note(driver.cuEventElapsedTime(&milliseconds, events[0], events[1]));
  for (CUevent event : events)
    note(driver.cuEventDestroy(event));
  MTP_RETURN_IF_ERROR(status);
  return 2 * double(bytes) / (double(milliseconds) * 1e-3);
}

Result<std::unique_ptr<Device>>
mtp::createCudaDevice(const CudaOptions &options) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<CudaContext> context,
                       CudaContext::open(options.driver));
  return std::unique_ptr<Device>(new CudaDevice(std::move(context)));
}

Result<CudaMachine> mtp::findCudaMachine(const CudaOptions &options) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<CudaContext> context,
                       CudaContext::open(options.driver));
  return context->machine();
}
