//===- CpuDevice.cpp - The host as a device -------------------------------===//

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/artifact/CpuFeatures.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/MemoryLimit.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cpu/Builtins.h"
#include "runtime/device/cpu/CommandList.h"
#include "runtime/schema/KvPage.h"

#include <cstring>
#include <deque>

using namespace mtp;

namespace {

/// See Device.h. Addresses are resolved once, in load(); the verifier has
/// proved them in range.
class CpuExecutable final : public Executable {
public:
  CpuExecutable(std::shared_ptr<const ArtifactFile> file,
                std::shared_ptr<WorkerPool> pool, uint64_t kvPages)
      : file(std::move(file)), pool(std::move(pool)), kvPages(kvPages) {}

  Status load();
  Status run(uint32_t program) override;
  Status runTimed(uint32_t program, CommandTimes &times) override;
  void write(const schema::Binding &binding, const void *source,
             uint64_t bytes) override;
  void read(const schema::Binding &binding, void *target,
            uint64_t bytes) const override;
  void writePage(uint32_t cache, uint32_t layer, uint32_t page,
                 const void *source) override;
  uint64_t memoryBytes() const override;

private:
  Status checkSizes() const;
  Status allocate();
  Status loadKernels();
  void resolve(const schema::Program &program, CommandList &list);
  const int64_t *paramsOf(const schema::Command &command);
  uint8_t *address(const schema::Binding &binding) const;
  /// Bytes of a page's entries, and from one page to the next.
  uint64_t pageBytes(uint32_t cache) const;
  uint64_t pageStride(uint32_t cache) const;
  uint8_t *pageAddress(uint32_t cache, uint32_t layer, uint32_t page) const;

  std::shared_ptr<const ArtifactFile> file;
  std::shared_ptr<WorkerPool> pool;
  uint64_t kvPages;
  HostMemory arena, states, scratch;
  uint64_t scratchStride = 0;
  std::vector<HostMemory> caches;
  std::vector<std::unique_ptr<KernelImage>> images;
  /// Indexed like the artifact's kernels and programs.
  std::vector<KernelFunction> kernels;
  std::vector<CommandList> lists;
  /// The params of calls of builtins, which get the number of slots behind the
  /// command's own. The addresses of elements stay.
  std::deque<std::vector<int64_t>> builtinParams;
};

class CpuDevice final : public Device {
public:
  explicit CpuDevice(std::shared_ptr<WorkerPool> pool)
      : pool(std::move(pool)) {}

  Result<std::unique_ptr<Executable>>
  load(std::shared_ptr<const ArtifactFile> artifact, uint64_t kvPages) override;

private:
  std::shared_ptr<WorkerPool> pool;
};

} // namespace

static uint64_t pageTokens(const schema::Artifact &program) {
  return program.envelope() ? program.envelope()->page_tokens() : 1;
}

uint64_t CpuExecutable::pageBytes(uint32_t index) const {
  const schema::Cache *cache = file->program().caches()->Get(index);
  return pageTokens(file->program()) * cache->entry_width() *
         dtypeBytes(cache->dtype());
}

uint64_t CpuExecutable::pageStride(uint32_t index) const {
  const schema::Cache *cache = file->program().caches()->Get(index);
  return mtp::pageStride(pageTokens(file->program()), cache->entry_width(),
                         dtypeBytes(cache->dtype()));
}

/// Compares what allocate() will ask for with the memory there is. Without this
/// a pool of terabytes would be granted, and the process killed later.
Status CpuExecutable::checkSizes() const {
  const schema::Artifact &program = file->program();
  MemoryLimit limit = memoryLimit();
  uint64_t fixed = addBytes(program.arena_bytes(), program.state_bytes());
  fixed = addBytes(fixed, multiplyBytes(scratchStride, pool->size()));
  MTP_RETURN_IF_ERROR(checkMemory(
      fixed, strCat("arena, states and scratch of ", pool->size(), " threads"),
      limit));
  uint64_t page = 0;
  for (uint32_t i = 0; i < vectorSize(program.caches()); ++i)
    page = addBytes(page, pageStride(i) * program.caches()->Get(i)->layers());
  uint64_t pages = multiplyBytes(page, kvPages), rest = limit.bytes - fixed;
  if (pages <= rest)
    return okStatus();
  std::string what = fixed ? strCat(kvPages, " KV pages, beside ", fixed,
                                    " bytes of arena, states and scratch,")
                           : strCat(kvPages, " KV pages");
  return resourceExhausted(
      strCat(checkMemory(pages, what, {rest, limit.source}).message(),
             "; lower kv_pages to ", rest / page, " or less"));
}

Status CpuExecutable::allocate() {
  const schema::Artifact &program = file->program();
  scratchStride =
      alignTo(std::max(program.scratch_bytes(), builtinScratchBytes(program)),
              kBufferAlignment);
  MTP_RETURN_IF_ERROR(checkSizes());
  MTP_ASSIGN_OR_RETURN(
      arena, HostMemory::allocate(program.arena_bytes(), "the arena"));
  MTP_ASSIGN_OR_RETURN(
      states, HostMemory::allocate(program.state_bytes(), "the states"));
  MTP_ASSIGN_OR_RETURN(scratch,
                       HostMemory::allocate(scratchStride * pool->size(),
                                            "the workers' scratch"));
  for (uint32_t i = 0; i < vectorSize(program.caches()); ++i) {
    uint64_t bytes =
        pageStride(i) * program.caches()->Get(i)->layers() * kvPages;
    MTP_ASSIGN_OR_RETURN(HostMemory cache,
                         HostMemory::allocate(bytes, "the KV cache"));
    caches.push_back(std::move(cache));
  }
  return okStatus();
}

Status CpuExecutable::loadKernels() {
  const schema::Artifact &program = file->program();
  for (uint32_t i = 0; i < vectorSize(program.images()); ++i) {
    uint32_t segment = program.images()->Get(i)->segment();
    MTP_ASSIGN_OR_RETURN(std::unique_ptr<KernelImage> image,
                         KernelImage::load(file->segment(segment)));
    images.push_back(std::move(image));
  }
  for (uint32_t i = 0; i < vectorSize(program.kernels()); ++i) {
    const schema::Kernel *kernel = program.kernels()->Get(i);
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
  const schema::Artifact &program = file->program();
  MTP_RETURN_IF_ERROR(checkTarget(*program.target()));
  MTP_RETURN_IF_ERROR(allocate());
  MTP_RETURN_IF_ERROR(loadKernels());
  lists.resize(vectorSize(program.programs()));
  for (uint32_t i = 0; i < lists.size(); ++i)
    resolve(*program.programs()->Get(i), lists[i]);
  return okStatus();
}

/// Little-endian hosts read the numbers where they lie in the tables.
const int64_t *CpuExecutable::paramsOf(const schema::Command &command) {
  const int64_t *params = command.params() ? command.params()->data() : nullptr;
  const schema::Artifact &program = file->program();
  if (program.kernels()->Get(command.kernel())->image() >= 0)
    return params;
  builtinParams.emplace_back(params, params + vectorSize(command.params()));
  builtinParams.back().push_back(program.envelope()->max_batch());
  return builtinParams.back().data();
}

void CpuExecutable::resolve(const schema::Program &program, CommandList &list) {
  list.commands.reserve(vectorSize(program.commands()));
  for (uint32_t i = 0; i < vectorSize(program.commands()); ++i) {
    const schema::Command *command = program.commands()->Get(i);
    ResolvedCommand resolved = {};
    resolved.kernel = kernels[command->kernel()];
    resolved.firstBuffer = uint32_t(list.buffers.size());
    resolved.params = paramsOf(*command);
    resolved.tasks = int64_t(command->tasks());
    resolved.solo = command->solo();
    if (i > 0)
      list.commands.back().barrierAfter = !command->joined();
    for (uint32_t b = 0; b < vectorSize(command->bindings()); ++b)
      list.buffers.push_back(address(*command->bindings()->Get(b)));
    list.commands.push_back(resolved);
  }
  list.divide(pool->size());
}

uint8_t *CpuExecutable::address(const schema::Binding &binding) const {
  const schema::Artifact &program = file->program();
  // Kernels take one pointer type; those to the file are never written.
  auto blob = [&](const schema::Blob *entry) {
    return const_cast<uint8_t *>(file->blob(*entry).data()) + binding.offset();
  };
  switch (binding.space()) {
  case schema::Space::Arena:
    return arena.data() + binding.offset();
  case schema::Space::State:
    return states.data() + program.states()->Get(binding.index())->offset() +
           binding.offset();
  case schema::Space::Weight:
    return blob(program.weights()->Get(binding.index()));
  case schema::Space::Constant:
    return blob(program.constants()->Get(binding.index()));
  case schema::Space::Kv:
    return caches[binding.index()].data() +
           binding.offset() * kvPages * pageStride(binding.index());
  }
  return nullptr;
}

Status CpuExecutable::run(uint32_t program) {
  runCommands(lists[program], *pool, scratch.data(), scratchStride);
  return okStatus();
}

Status CpuExecutable::runTimed(uint32_t program, CommandTimes &times) {
  runCommands(lists[program], *pool, scratch.data(), scratchStride, &times);
  return okStatus();
}

void CpuExecutable::write(const schema::Binding &binding, const void *source,
                          uint64_t bytes) {
  if (bytes)
    std::memcpy(address(binding), source, bytes);
}

void CpuExecutable::read(const schema::Binding &binding, void *target,
                         uint64_t bytes) const {
  if (bytes)
    std::memcpy(target, address(binding), bytes);
}

uint8_t *CpuExecutable::pageAddress(uint32_t cache, uint32_t layer,
                                    uint32_t page) const {
  return caches[cache].data() + (layer * kvPages + page) * pageStride(cache);
}

void CpuExecutable::writePage(uint32_t cache, uint32_t layer, uint32_t page,
                              const void *source) {
  std::memcpy(pageAddress(cache, layer, page), source, pageBytes(cache));
}

uint64_t CpuExecutable::memoryBytes() const {
  uint64_t sum = arena.size() + states.size() + scratch.size();
  for (const HostMemory &cache : caches)
    sum += cache.size();
  return sum;
}

Result<std::unique_ptr<Executable>>
CpuDevice::load(std::shared_ptr<const ArtifactFile> artifact,
                uint64_t kvPages) {
  auto executable =
      std::make_unique<CpuExecutable>(std::move(artifact), pool, kvPages);
  MTP_RETURN_IF_ERROR(executable->load());
  return std::unique_ptr<Executable>(std::move(executable));
}

Result<std::unique_ptr<Device>>
mtp::createCpuDevice(const CpuOptions &options) {
  uint32_t threads = options.threads ? options.threads : usableProcessors();
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<WorkerPool> pool,
                       WorkerPool::create(threads, options.pin));
  return std::unique_ptr<Device>(
      new CpuDevice(std::shared_ptr<WorkerPool>(std::move(pool))));
}
