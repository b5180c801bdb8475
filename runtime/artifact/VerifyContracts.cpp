//===- VerifyContracts.cpp - What commands ask of their kernels -----------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <optional>

using namespace mtp;

/// The index that names no param.
static constexpr uint32_t kNoParam = 255;

//===----------------------------------------------------------------------===//
// Contracts by themselves
//===----------------------------------------------------------------------===//

static Status verifyBuffer(const schema::Kernel &kernel,
                           const schema::BufferContract &buffer) {
  if (!isAligned(buffer.bytes()))
    return dataLoss("its terms are not aligned to 8 bytes");
  for (uint32_t i = 0; i < vectorSize(buffer.bytes()); ++i) {
    const schema::Term *term = buffer.bytes()->Get(i);
    for (uint32_t param : {term->first(), term->second()})
      if (param != kNoParam && param >= kernel.params())
        return dataLoss(strCat("bytes[", i, "]: param ", param, " is past the ",
                               kernel.params()));
  }
  if (buffer.alignment() & (buffer.alignment() - 1))
    return dataLoss(strCat("expected an alignment of a power of two, got ",
                           unsigned(buffer.alignment())));
  const schema::CacheContract *cache = buffer.cache();
  if (cache && cache->dtype() > schema::DType::MAX)
    return dataLoss("cache: unknown element type");
  return okStatus();
}

Status mtp::verifyContract(const schema::Artifact &artifact,
                           const schema::Kernel &kernel) {
  const schema::Contract *contract = kernel.contract();
  if (!contract)
    return okStatus();
  if (vectorSize(contract->buffers()) != kernel.buffers() ||
      vectorSize(contract->params()) != kernel.params())
    return dataLoss(strCat("contract: expected ", kernel.buffers(),
                           " buffers and ", kernel.params(), " params, got ",
                           vectorSize(contract->buffers()), " and ",
                           vectorSize(contract->params())));
  if (!isAligned(contract->params()))
    return dataLoss("contract: its params are not aligned to 8 bytes");
  for (uint32_t i = 0; i < kernel.buffers(); ++i)
    if (Status status = verifyBuffer(kernel, *contract->buffers()->Get(i));
        !status.isOk())
      return status.withContext(strCat("contract.buffers[", i, "]"));
  if (contract->rows_per_group() && kernel.params() == 0)
    return dataLoss("contract: expected a param that is a number of rows");
  if (contract->scratch() > artifact.scratch_bytes())
    return dataLoss(strCat("contract: needs ", contract->scratch(),
                           " bytes of a scratch of ",
                           artifact.scratch_bytes()));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// The states that the host writes, and nobody else.
static bool isHostState(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "active",         "page_table",    "sampling",         "prefill_info",
      "prefill_tokens", "prompt_tokens", "prompt_positions", "prompt_slots",
      "prompt_sequences"};
  return std::find(std::begin(kNames), std::end(kNames), name) !=
         std::end(kNames);
}

Status mtp::verifyWritable(const schema::Artifact &artifact,
                           const schema::Binding &binding) {
  switch (binding.space()) {
  case schema::Space::Arena:
  case schema::Space::Kv:
    return okStatus();
  case schema::Space::State: {
    std::string_view name =
        artifact.states()->Get(binding.index())->name()->string_view();
    if (!isHostState(name))
      return okStatus();
    return dataLoss(strCat("a kernel may not write to state '", name,
                           "', which is the host's"));
  }
  case schema::Space::Weight:
  case schema::Space::Constant:
    break;
  }
  return dataLoss("a kernel may not write to weights and constants");
}

/// The bytes that a buffer must have, or nothing where they fit no 64 bits.
static std::optional<uint64_t> bytesOf(const schema::BufferContract &buffer,
                                       const schema::Command &command) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < vectorSize(buffer.bytes()); ++i) {
    const schema::Term *term = buffer.bytes()->Get(i);
    int64_t product = term->factor();
    for (uint32_t param : {term->first(), term->second()})
      if (param != kNoParam &&
          __builtin_mul_overflow(product, command.params()->Get(param),
                                 &product))
        return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return uint64_t(std::max<int64_t>(sum, 0));
}

/// Where a binding starts in its memory, which is aligned itself.
static uint64_t startOf(const schema::Artifact &artifact,
                        const schema::Binding &binding) {
  switch (binding.space()) {
  case schema::Space::State:
    return artifact.states()->Get(binding.index())->offset() + binding.offset();
  case schema::Space::Weight:
    return artifact.weights()->Get(binding.index())->offset() +
           binding.offset();
  case schema::Space::Constant:
    return artifact.constants()->Get(binding.index())->offset() +
           binding.offset();
  case schema::Space::Arena:
    return binding.offset();
  case schema::Space::Kv:
    break;
  }
  return 0;
}

/// Checks that a layer of a cache is what the kernel takes it for.
static Status verifyEntries(const schema::Artifact &artifact,
                            const schema::CacheContract &want,
                            const schema::Binding &binding) {
  if (binding.space() != schema::Space::Kv)
    return dataLoss(strCat("expected a cache, got space ",
                           unsigned(binding.space())));
  const schema::Cache *cache = artifact.caches()->Get(binding.index());
  uint32_t page = artifact.envelope() ? artifact.envelope()->page_tokens() : 1;
  uint32_t heads = cache->heads() ? cache->heads() : want.heads();
  if (want.page_tokens() == page && want.heads() == heads &&
      want.entry_width() == cache->entry_width() &&
      want.dtype() == cache->dtype())
    return okStatus();
  auto describe = [](uint32_t page, uint32_t width, uint32_t heads,
                     schema::DType dtype) {
    return strCat("pages of ", page, " entries of ", width, "x",
                  dtypeName(dtype), ", heads ", heads);
  };
  return dataLoss(strCat("expected a cache with ",
                         describe(want.page_tokens(), want.entry_width(),
                                  want.heads(), want.dtype()),
                         ", got ",
                         describe(page, cache->entry_width(), heads,
                                  cache->dtype())));
}

/// Checks that page numbers come from the host, or, in functions, from a
/// constant, whose values the loader looks at.
static Status verifyPageTable(const schema::Artifact &artifact,
                              const schema::Binding &binding,
                              schema::ProgramKind kind) {
  if (binding.space() == schema::Space::State && binding.offset() == 0 &&
      artifact.states()->Get(binding.index())->name()->string_view() ==
          "page_table")
    return okStatus();
  if (binding.space() == schema::Space::Constant &&
      kind == schema::ProgramKind::Function && artifact.envelope() &&
      artifact.constants()->Get(binding.index())->dtype() ==
          schema::DType::I32)
    return okStatus();
  return dataLoss("expected page numbers: the state 'page_table', in functions "
                  "a constant of i32, too");
}

static Status verifyBinding(const schema::Artifact &artifact,
                            const schema::BufferContract &buffer,
                            const schema::Command &command,
                            const schema::Binding &binding,
                            schema::ProgramKind kind) {
  if (buffer.written())
    MTP_RETURN_IF_ERROR(verifyWritable(artifact, binding));
  if (buffer.cache())
    return verifyEntries(artifact, *buffer.cache(), binding);
  if (binding.space() == schema::Space::Kv)
    return dataLoss("the kernel takes no cache here");
  if (buffer.page_table())
    MTP_RETURN_IF_ERROR(verifyPageTable(artifact, binding, kind));
  std::optional<uint64_t> bytes = bytesOf(buffer, command);
  if (!bytes)
    return dataLoss("the bytes that the kernel may touch do not fit 64 bits");
  if (*bytes > binding.bytes())
    return dataLoss(strCat("the kernel may touch ", *bytes, " bytes, got ",
                           binding.bytes()));
  uint64_t start = startOf(artifact, binding);
  if (buffer.alignment() > 1 && start % buffer.alignment())
    return dataLoss(strCat("expected a start at a multiple of ",
                           unsigned(buffer.alignment()), ", got ", start));
  return okStatus();
}

static Status verifyTasks(const schema::Contract &contract,
                          const schema::Command &command) {
  uint64_t groups = 1, tasks;
  if (uint64_t size = contract.rows_per_group()) {
    uint64_t rows = uint64_t(std::max<int64_t>(command.params()->Get(0), 0));
    groups = rows / size + (rows % size != 0);
  }
  if (__builtin_mul_overflow(groups, contract.tasks(), &tasks) ||
      command.tasks() != tasks)
    return dataLoss(strCat("tasks: the kernel divides into ", groups, " x ",
                           contract.tasks(), " for these params, got ",
                           command.tasks()));
  return okStatus();
}

Status mtp::verifyAgainstContract(const schema::Artifact &artifact,
                                  const schema::Command &command,
                                  schema::ProgramKind kind) {
  const schema::Kernel *kernel = artifact.kernels()->Get(command.kernel());
  const schema::Contract *contract = kernel->contract();
  if (!contract)
    return okStatus();
  for (uint32_t i = 0; i < kernel->params(); ++i) {
    const schema::ParamContract *range = contract->params()->Get(i);
    int64_t param = command.params()->Get(i);
    if (param < range->least() || param > range->most())
      return dataLoss(strCat("params[", i, "]: ",
                             kernel->symbol()->string_view(), " takes ",
                             range->least(), " to ", range->most(), ", got ",
                             param));
  }
  MTP_RETURN_IF_ERROR(verifyTasks(*contract, command));
  for (uint32_t i = 0; i < kernel->buffers(); ++i)
    if (Status status = verifyBinding(
            artifact, *contract->buffers()->Get(i), command,
            *command.bindings()->Get(i), kind);
        !status.isOk())
      return withPath(status, strCat("bindings[", i, "]"));
  return okStatus();
}

void mtp::forPageTables(const schema::Artifact &artifact,
                        const std::function<void(uint32_t)> &found) {
  for (uint32_t p = 0; p < vectorSize(artifact.programs()); ++p) {
    const auto *commands = artifact.programs()->Get(p)->commands();
    for (uint32_t c = 0; c < vectorSize(commands); ++c) {
      const schema::Command *command = commands->Get(c);
      const schema::Kernel *kernel =
          artifact.kernels()->Get(command->kernel());
      if (!kernel->contract())
        continue;
      for (uint32_t i = 0; i < kernel->buffers(); ++i) {
        const schema::Binding *binding = command->bindings()->Get(i);
        if (kernel->contract()->buffers()->Get(i)->page_table() &&
            binding->space() == schema::Space::Constant)
          found(binding->index());
      }
    }
  }
}
