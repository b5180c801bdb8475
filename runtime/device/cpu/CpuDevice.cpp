//===- CpuDevice.cpp - The host as a device -------------------------------===//

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/MemoryAccount.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/Rounds.h"
#include "runtime/device/cpu/Builtins.h"
#include "runtime/device/cpu/CommandList.h"

#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

using namespace mtp;

namespace {

/// See Device.h. The addresses of a program's commands are resolved when it
/// first runs for an n; the verifier has proved that they are in range.
class CpuExecutable final : public Executable {
public:
  CpuExecutable(std::shared_ptr<const ArtifactFile> source, uint32_t index,
                std::shared_ptr<WorkerPool> pool, uint64_t kvPages)
      : file(std::move(source)), artifact(file->artifact()),
        plan(artifact.plans[index]), pool(std::move(pool)), kvPages(kvPages) {}

  Status load();
  void populate();
  Status run(uint32_t program, uint32_t n) override;
  Status runPart(uint32_t program, uint32_t n, Part part) override;
  void applyRules(bool applies) override { appliesRules = applies; }
  Status startRounds(uint32_t program, uint32_t n) override;
  Result<Progress> awaitRounds(uint32_t seen) override;
  void stopRounds() override { progress.isDone = true; }
  Status runTimed(uint32_t program, uint32_t n, CommandTimes &times) override;
  Status write(const Binding &binding, const void *source,
               uint64_t bytes) override;
  Status read(const Binding &binding, void *target, uint64_t bytes) override;
  Status writePage(uint32_t cache, uint32_t layer, uint32_t page,
                   const void *source) override;
  Status readPage(uint32_t cache, uint32_t layer, uint32_t page,
                  uint32_t entries, void *target) override;
  uint64_t memoryBytes() const override;
  uint64_t hostBytes() const override { return memoryBytes(); }

private:
  uint64_t cacheBytesOfPage() const;
  Status reserve();
  Status allocate();
  Status loadKernels();
  Result<const CommandList *> listOf(uint32_t program, uint32_t n,
                                     std::optional<Part> part = std::nullopt);
  CommandList resolve(const Program &program, uint32_t n,
                      CommandRange range) const;
  ResolvedCommand resolve(const Program &program, const Command &command,
                          uint32_t n, CommandList &list) const;
  uint8_t *address(const Binding &binding) const;
  uint8_t *pageAddress(uint32_t cache, uint32_t layer, uint32_t page) const;

  std::shared_ptr<const ArtifactFile> file;
  const Artifact &artifact;
  const Plan &plan;
  std::shared_ptr<WorkerPool> pool;
  uint64_t kvPages;
  /// Reservation of the memory below.
  MemoryReservation reservation;
  HostMemory arena, states, scratch;
  uint64_t scratchStride = 0;
  std::vector<HostMemory> caches;
  std::vector<std::unique_ptr<KernelImage>> images;
  /// Indexed like the plan's kernels.
  std::vector<KernelFunction> kernels;
  /// The lists that have run, by program and n: for whole programs, and for
  /// parts, first without the commands for rules, then with them.
  std::array<std::unordered_map<uint64_t, CommandList>, 8> lists;
  bool appliesRules = false;
  /// The launch of several rounds: the round's commands, its `again`, and its
  /// progress. The caller of awaitRounds() runs the rounds.
  const CommandList *round = nullptr;
  Binding again;
  Progress progress{0, true};
};

class CpuDevice final : public Device {
public:
  CpuDevice(std::shared_ptr<WorkerPool> pool, bool populates)
      : pool(std::move(pool)), populates(populates) {}

  Result<std::unique_ptr<Executable>>
  load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
       uint64_t kvPages, std::vector<uint32_t> watchedStates) override;
  uint32_t preferredRounds() const override { return 1; }
  std::string name() const override { return std::string(hostArch()); }
  Result<double> copyRate(uint64_t) override {
    return unimplemented("a CPU has no copies within its memory to time");
  }

private:
  std::shared_ptr<WorkerPool> pool;
  bool populates;
};

} // namespace

/// Returns the bytes of one page in all layers of all caches.
uint64_t CpuExecutable::cacheBytesOfPage() const {
  uint64_t page = 0;
  for (uint32_t i = 0; i < vectorSize(artifact.caches); ++i)
    page = addBytes(page, multiplyBytes(artifact.pageStride(i),
                                        artifact.caches->Get(i)->layers()));
  return page;
}

/// Reserves the memory that allocate() will request. Otherwise a pool of
/// terabytes would be granted, and the process killed later.
Status CpuExecutable::reserve() {
  MemoryLimit limit = hostMemoryLimit();
  uint64_t fixed = addBytes(plan.arenaBytes, plan.stateBytes);
  fixed = addBytes(fixed, multiplyBytes(scratchStride, pool->size()));
  uint64_t page = cacheBytesOfPage(), pages = multiplyBytes(page, kvPages);
  std::string what =
      strCat("arena, states and scratch of ", pool->size(), " threads");
  if (pages > 0)
    what = strCat(kvPages, " KV pages and ", fixed, " bytes of ", what);
  Result<MemoryReservation> reserved =
      hostMemory().reserve(addBytes(fixed, pages), what, limit);
  if (reserved) {
    reservation = std::move(*reserved);
    return okStatus();
  }
  // A session has at least two pages.
  uint64_t left = hostMemory().left(limit);
  uint64_t fit = fixed < left && page ? (left - fixed) / page : 0;
  return fit < 2 ? reserved.status()
                 : resourceExhausted(strCat(reserved.status().message(),
                                            "; lower kv_pages to ", fit,
                                            " or less"));
}

Status CpuExecutable::allocate() {
  scratchStride =
      alignTo(std::max(plan.scratchBytes, builtinScratchBytes(artifact)),
              kBufferAlignment);
  MTP_RETURN_IF_ERROR(reserve());
  MTP_ASSIGN_OR_RETURN(arena,
                       HostMemory::allocate(plan.arenaBytes, "the arena"));
  MTP_ASSIGN_OR_RETURN(states,
                       HostMemory::allocate(plan.stateBytes, "the states"));
  MTP_ASSIGN_OR_RETURN(scratch,
                       HostMemory::allocate(scratchStride * pool->size(),
                                            "the workers' scratch"));
  for (uint32_t i = 0; i < vectorSize(artifact.caches); ++i) {
    uint64_t bytes =
        artifact.pageStride(i) * artifact.caches->Get(i)->layers() * kvPages;
    MTP_ASSIGN_OR_RETURN(HostMemory cache,
                         HostMemory::allocate(bytes, "the KV cache"));
    caches.push_back(std::move(cache));
  }
  return okStatus();
}

Status CpuExecutable::loadKernels() {
  for (uint32_t i = 0; i < vectorSize(plan.images); ++i) {
    uint32_t segment = plan.images->Get(i)->segment();
    MTP_ASSIGN_OR_RETURN(std::unique_ptr<KernelImage> image,
                         KernelImage::load(file->segment(segment)));
    images.push_back(std::move(image));
  }
  for (uint32_t i = 0; i < vectorSize(plan.kernels); ++i) {
    const schema::Kernel *kernel = plan.kernels->Get(i);
    MTP_ASSIGN_OR_RETURN(
        KernelFunction code,
        kernel->image() < 0
            ? findBuiltinCode(kernel->symbol()->string_view())
            : images[uint32_t(kernel->image())]->find(kernel->symbol()->str()));
    kernels.push_back(code);
  }
  return okStatus();
}

Status CpuExecutable::load() {
  MTP_RETURN_IF_ERROR(checkTarget(*plan.target));
  MTP_RETURN_IF_ERROR(allocate());
  return loadKernels();
}

/// Touches all memory now. Otherwise passes would pay for first touches, and in
/// some passes every layer would begin a new page of the system.
void CpuExecutable::populate() {
  if (memoryBytes() > availableMemory() / 2)
    return;
  for (HostMemory *memory : {&arena, &states, &scratch})
    memory->populate();
  for (HostMemory &cache : caches)
    cache.populate();
}

//===----------------------------------------------------------------------===//
// Command lists
//===----------------------------------------------------------------------===//

/// Returns how the tasks of a command follow from its rows. A builtin has an
/// equal number of tasks for each row.
static TasksOfRows shapeOf(const Plan &plan, const Command &command,
                           const int64_t *params) {
  const schema::Contract *contract = plan.kernelOf(command).contract();
  if (!contract)
    return {1, plan.tasksOf(command, params) / params[0]};
  return {int64_t(contract->rows_per_group()), int64_t(contract->tasks()),
          int64_t(contract->most_tasks())};
}

/// Appends the command's addresses and params. The list has room for all of
/// them, so that no element moves.
ResolvedCommand CpuExecutable::resolve(const Program &program,
                                       const Command &command, uint32_t n,
                                       CommandList &list) const {
  const schema::Kernel &kernel = plan.kernelOf(command);
  ResolvedCommand resolved = {};
  resolved.kernel = kernels[command.kernel];
  resolved.firstBuffer = uint32_t(list.buffers.size());
  resolved.params = list.params.data() + list.params.size();
  for (const Place &place : program.placesOf(command, kernel))
    list.buffers.push_back(address(place.at(n)));
  for (Count param : program.paramsOf(command, kernel))
    list.params.push_back(param.at(n));
  // Builtins get the number of slots after their own params.
  if (kernel.image() < 0)
    list.params.push_back(artifact.envelope->max_batch());
  resolved.tasks = plan.tasksOf(command, resolved.params);
  if (const Place *live = program.activeRowsOf(command)) {
    resolved.live = reinterpret_cast<const int32_t *>(address(live->at(n)));
    resolved.shape = shapeOf(plan, command, resolved.params);
    resolved.shape.params =
        uint32_t(list.params.data() + list.params.size() - resolved.params);
  }
  return resolved;
}

CommandList CpuExecutable::resolve(const Program &program, uint32_t n,
                                   CommandRange range) const {
  CommandList list;
  size_t count = range.end - range.begin;
  list.commands.reserve(count);
  list.buffers.reserve(program.places.size());
  list.params.reserve(program.params.size() + count);
  const CpuSchedule *schedule = program.scheduleFor(n);
  bool needsBarrier = false;
  for (size_t i = range.begin; i < range.end; ++i) {
    needsBarrier |= !schedule || !schedule->isJoined(i);
    if (!appliesRules && plan.kernelOf(program.commands[i]).for_rules())
      continue;
    ResolvedCommand command = resolve(program, program.commands[i], n, list);
    command.solo = schedule && schedule->isSolo(i);
    // A barrier before a command that is left out stays.
    if (!list.commands.empty())
      list.commands.back().barrierAfter = needsBarrier;
    needsBarrier = false;
    list.commands.push_back(command);
  }
  list.divide(pool->size());
  return list;
}

Result<const CommandList *> CpuExecutable::listOf(uint32_t program, uint32_t n,
                                                  std::optional<Part> part) {
  auto &known = lists[(part ? 1 + size_t(*part) : 0) + (appliesRules ? 4 : 0)];
  uint64_t key = uint64_t(program) << 32 | n;
  auto found = known.find(key);
  if (found != known.end())
    return &found->second;
  const Program &of = plan.programs[program];
  if (!of.covers(n))
    return invalidArgument(strCat("expected ", of.begin, " to ", of.end - 1,
                                  " slots or rows for program ", of.name,
                                  ", got ", n));
  MTP_ASSIGN_OR_RETURN(CommandRange range, rangeOf(of, part));
  return &known.emplace(key, resolve(of, n, range)).first->second;
}

uint8_t *CpuExecutable::address(const Binding &binding) const {
  // Kernels take one pointer type; buffers in the file are never written.
  auto blob = [&](const schema::Blob *entry) {
    return const_cast<uint8_t *>(file->blob(*entry).data()) + binding.offset;
  };
  switch (binding.space) {
  case schema::Space::Arena:
    return arena.data() + binding.offset;
  case schema::Space::State:
    return states.data() + plan.stateOffsets[binding.index] + binding.offset;
  case schema::Space::Weight:
    return blob(plan.weights->Get(binding.index));
  case schema::Space::Constant:
    return blob(plan.constants->Get(binding.index));
  case schema::Space::Kv:
    return caches[binding.index].data() +
           binding.offset * kvPages * artifact.pageStride(binding.index);
  }
  return nullptr;
}

Status CpuExecutable::run(uint32_t program, uint32_t n) {
  MTP_ASSIGN_OR_RETURN(const CommandList *list, listOf(program, n));
  runCommands(*list, *pool, scratch.data(), scratchStride);
  return okStatus();
}

Status CpuExecutable::runPart(uint32_t program, uint32_t n, Part part) {
  MTP_ASSIGN_OR_RETURN(const CommandList *list, listOf(program, n, part));
  runCommands(*list, *pool, scratch.data(), scratchStride);
  return okStatus();
}

Status CpuExecutable::startRounds(uint32_t program, uint32_t n) {
  MTP_ASSIGN_OR_RETURN(again, againOf(plan.programs[program], n));
  MTP_ASSIGN_OR_RETURN(round, listOf(program, n));
  progress = {};
  return okStatus();
}

Result<Progress> CpuExecutable::awaitRounds(uint32_t seen) {
  while (!progress.isDone && progress.rounds <= seen) {
    runCommands(*round, *pool, scratch.data(), scratchStride);
    ++progress.rounds;
    progress.isDone =
        !isAgain(reinterpret_cast<const int32_t *>(address(again)),
                 again.bytes / sizeof(int32_t));
  }
  return progress;
}

Status CpuExecutable::runTimed(uint32_t program, uint32_t n,
                               CommandTimes &times) {
  bool applied = std::exchange(appliesRules, true);
  Result<const CommandList *> list = listOf(program, n);
  appliesRules = applied;
  if (!list)
    return list.status();
  runCommands(**list, *pool, scratch.data(), scratchStride, &times);
  return okStatus();
}

Status CpuExecutable::write(const Binding &binding, const void *source,
                            uint64_t bytes) {
  if (bytes)
    std::memcpy(address(binding), source, bytes);
  return okStatus();
}

Status CpuExecutable::read(const Binding &binding, void *target,
                           uint64_t bytes) {
  if (bytes)
    std::memcpy(target, address(binding), bytes);
  return okStatus();
}

uint8_t *CpuExecutable::pageAddress(uint32_t cache, uint32_t layer,
                                    uint32_t page) const {
  return caches[cache].data() +
         (layer * kvPages + page) * artifact.pageStride(cache);
}

Status CpuExecutable::writePage(uint32_t cache, uint32_t layer, uint32_t page,
                                const void *source) {
  std::memcpy(pageAddress(cache, layer, page), source,
              artifact.pageBytes(cache));
  return okStatus();
}

Status CpuExecutable::readPage(uint32_t cache, uint32_t layer, uint32_t page,
                               uint32_t /*entries*/, void *target) {
  std::memcpy(target, pageAddress(cache, layer, page),
              artifact.pageBytes(cache));
  return okStatus();
}

uint64_t CpuExecutable::memoryBytes() const {
  uint64_t sum = arena.size() + states.size() + scratch.size();
  for (const HostMemory &cache : caches)
    sum += cache.size();
  return sum;
}

Result<std::unique_ptr<Executable>>
CpuDevice::load(std::shared_ptr<const ArtifactFile> artifact, uint32_t plan,
                uint64_t kvPages, std::vector<uint32_t> /*watchedStates*/) {
  auto executable =
      std::make_unique<CpuExecutable>(std::move(artifact), plan, pool, kvPages);
  MTP_RETURN_IF_ERROR(executable->load());
  if (populates)
    executable->populate();
  return std::unique_ptr<Executable>(std::move(executable));
}

Result<std::unique_ptr<Device>>
mtp::createCpuDevice(const CpuOptions &options) {
  uint32_t threads = options.threads ? options.threads : usableProcessors();
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<WorkerPool> pool,
                       WorkerPool::create(threads, options.pin));
  return std::unique_ptr<Device>(new CpuDevice(
      std::shared_ptr<WorkerPool>(std::move(pool)), options.populate));
}
