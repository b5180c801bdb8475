//===- VerifyContracts.cpp - Checks of commands and contracts -------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/HostStates.h"

#include <algorithm>
#include <optional>

using namespace mtp;

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

Status mtp::verifyContract(const Plan &plan, const schema::Kernel &kernel) {
  const schema::Contract *contract = kernel.contract();
  if (!contract)
    return dataLoss(strCat("expected a contract of ",
                           kernel.symbol()->string_view(),
                           ", which says its tasks"));
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
  if (contract->scratch() > plan.scratchBytes)
    return dataLoss(strCat("contract: needs ", contract->scratch(),
                           " bytes of a scratch of ", plan.scratchBytes));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Whether only the host writes the state.
static bool isHostState(std::string_view name) {
  return std::ranges::find(kHostWrittenStates, name) !=
         std::end(kHostWrittenStates);
}

Status mtp::verifyWritable(const Artifact &artifact, const Place &place) {
  switch (place.space) {
  case schema::Space::Arena:
  case schema::Space::Kv:
    return okStatus();
  case schema::Space::State: {
    std::string_view name = artifact.states[place.index].name;
    if (!isHostState(name) && !artifact.states[place.index].rule.input)
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

namespace {
/// The bytes of a buffer that a kernel touches, as a function of n. The factor
/// of n * n tells whether it grows linearly.
struct Touched {
  int64_t square = 0;
  /// At the smallest and at the largest n; negative sums count as 0.
  uint64_t first = 0;
  uint64_t last = 0;
};
} // namespace

/// Returns the value of a sum of terms at n, or nothing if it does not fit into
/// 64 bits.
static std::optional<int64_t> sumAt(const schema::BufferContract &buffer,
                                    std::span<const Count> params, uint64_t n) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < vectorSize(buffer.bytes()); ++i) {
    const schema::Term *term = buffer.bytes()->Get(i);
    int64_t product = term->factor();
    for (uint32_t param : {term->first(), term->second()})
      if (param != kNoParam &&
          __builtin_mul_overflow(product, params[param].at(n), &product))
        return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

uint64_t mtp::touchedBytes(const schema::BufferContract &buffer,
                           const CommandContext &context, uint64_t n) {
  std::optional<int64_t> sum = sumAt(buffer, context.params(), n);
  return sum ? uint64_t(std::max<int64_t>(*sum, 0)) : 0;
}

/// Returns the factor of n * n in the sum of terms.
static std::optional<int64_t> squareOf(const schema::BufferContract &buffer,
                                       std::span<const Count> params) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < vectorSize(buffer.bytes()); ++i) {
    const schema::Term *term = buffer.bytes()->Get(i);
    if (term->first() == kNoParam || term->second() == kNoParam)
      continue;
    int64_t product = term->factor();
    for (uint32_t param : {term->first(), term->second()})
      if (__builtin_mul_overflow(product, params[param].step, &product))
        return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

static std::optional<Touched> touchedBy(const schema::BufferContract &buffer,
                                        const CommandContext &context) {
  std::span<const Count> params = context.params();
  std::optional<int64_t> first = sumAt(buffer, params, context.first());
  std::optional<int64_t> last = first, square = 0;
  if (context.first() != context.last()) {
    last = sumAt(buffer, params, context.last());
    square = squareOf(buffer, params);
  }
  if (!first || !last || !square)
    return std::nullopt;
  return Touched{*square, uint64_t(std::max<int64_t>(*first, 0)),
                 uint64_t(std::max<int64_t>(*last, 0))};
}

/// Returns the start of a place at n, relative to its memory, which is aligned.
static uint64_t startOf(const CommandContext &context, const Place &place,
                        uint64_t n) {
  const Plan &plan = context.plan;
  uint64_t offset = uint64_t(place.offset.at(n));
  switch (place.space) {
  case schema::Space::State:
    return plan.stateOffsets[place.index] + offset;
  case schema::Space::Weight:
    return plan.weights->Get(place.index)->offset() + offset;
  case schema::Space::Constant:
    return plan.constants->Get(place.index)->offset() + offset;
  case schema::Space::Arena:
    return offset;
  case schema::Space::Kv:
    break;
  }
  return 0;
}

/// Checks that a cache layer has the form that the kernel expects.
static Status verifyEntries(const Artifact &artifact,
                            const schema::CacheContract &want,
                            const Place &place) {
  if (place.space != schema::Space::Kv)
    return dataLoss(
        strCat("expected a cache, got space ", unsigned(place.space)));
  const schema::Cache *cache = artifact.caches->Get(place.index);
  uint32_t page = artifact.envelope ? artifact.envelope->page_tokens() : 1;
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
  return dataLoss(strCat(
      "expected a cache with ",
      describe(want.page_tokens(), want.entry_width(), want.heads(),
               want.dtype()),
      ", got ", describe(page, cache->entry_width(), heads, cache->dtype())));
}

/// Checks that page numbers come from the host. In functions they may come from
/// a constant, whose values the loader checks.
static Status verifyPageTable(const CommandContext &context,
                              const Place &place) {
  const Artifact &artifact = context.artifact;
  if (place.space == schema::Space::State && place.offset == Count{} &&
      artifact.states[place.index].name == "page_table")
    return okStatus();
  if (place.space == schema::Space::Constant &&
      context.program.kind == schema::ProgramKind::Function &&
      artifact.envelope &&
      context.plan.constants->Get(place.index)->dtype() == schema::DType::I32)
    return okStatus();
  return dataLoss("expected page numbers: the state 'page_table', in functions "
                  "a constant of i32, too");
}

/// Checks at every n that a place has all bytes that the kernel touches. If the
/// touched bytes grow as n * n does, it is enough to check the smallest and the
/// largest n.
static Status verifyTouched(const schema::BufferContract &buffer,
                            const CommandContext &context, const Place &place) {
  std::optional<Touched> touched = touchedBy(buffer, context);
  if (!touched)
    return dataLoss("the bytes that the kernel may touch do not fit 64 bits");
  if (touched->square < 0 && context.first() != context.last())
    return dataLoss("the bytes that the kernel may touch grow slower than n: "
                    "expected a program of one n");
  for (auto [bytes, n] : {std::pair(touched->first, context.first()),
                          {touched->last, context.last()}})
    if (uint64_t has = uint64_t(place.bytes.at(n)); bytes > has)
      return dataLoss(
          strCat("the kernel may touch ", bytes, " bytes, got ", has));
  return okStatus();
}

static Status verifyAlignment(uint32_t alignment, const CommandContext &context,
                              const Place &place) {
  if (alignment <= 1)
    return okStatus();
  if (uint64_t start = startOf(context, place, context.first());
      start % alignment)
    return dataLoss(strCat("expected a start at a multiple of ", alignment,
                           ", got ", start));
  if (context.first() != context.last() && place.offset.step % alignment)
    return dataLoss(strCat("expected a start that grows by multiples of ",
                           alignment, ", got ", place.offset.step));
  return okStatus();
}

static Status verifyBuffer(const schema::BufferContract &buffer,
                           const CommandContext &context, const Place &place) {
  if (buffer.written())
    MTP_RETURN_IF_ERROR(verifyWritable(context.artifact, place));
  if (buffer.cache())
    return verifyEntries(context.artifact, *buffer.cache(), place);
  if (place.space == schema::Space::Kv)
    return dataLoss("the kernel takes no cache here");
  if (buffer.page_table())
    MTP_RETURN_IF_ERROR(verifyPageTable(context, place));
  MTP_RETURN_IF_ERROR(verifyTouched(buffer, context, place));
  return verifyAlignment(buffer.alignment(), context, place);
}

/// Checks the number of tasks. Rows are a count, so the smallest and the
/// largest n bound all.
static Status verifyTasks(const schema::Contract &contract,
                          const CommandContext &context) {
  for (uint64_t n : {context.first(), context.last()}) {
    uint64_t groups = 1, tasks = 0;
    if (uint64_t size = contract.rows_per_group()) {
      uint64_t rows = uint64_t(std::max<int64_t>(context.params()[0].at(n), 0));
      groups = rows / size + (rows % size != 0);
    }
    bool fits = !__builtin_mul_overflow(groups, contract.tasks(), &tasks) &&
                tasks <= uint64_t(INT64_MAX);
    if (!fits)
      return dataLoss(strCat("tasks: ", groups, " x ", contract.tasks(),
                             " for these params do not fit 64 bits"));
  }
  return okStatus();
}

static Status verifyParams(const schema::Contract &contract,
                           const CommandContext &context) {
  std::span<const Count> params = context.params();
  for (uint32_t i = 0; i < params.size(); ++i) {
    const schema::ParamContract *range = contract.params()->Get(i);
    if (isWithin(params[i], context.first(), context.last(), range->least(),
                 range->most()))
      continue;
    std::string got =
        params[i].isFixed()
            ? strCat(params[i].base)
            : strCat(params[i].base, " + n * ", params[i].step, " for n of ",
                     context.first(), " to ", context.last());
    return dataLoss(strCat(
        "params[", i, "]: ", context.kernel().symbol()->string_view(),
        " takes ", range->least(), " to ", range->most(), ", got ", got));
  }
  return okStatus();
}

Status mtp::verifyAgainstContract(const CommandContext &context) {
  const schema::Contract *contract = context.kernel().contract();
  MTP_RETURN_IF_ERROR(verifyParams(*contract, context));
  MTP_RETURN_IF_ERROR(verifyTasks(*contract, context));
  std::span<const Place> places = context.places();
  for (uint32_t i = 0; i < places.size(); ++i)
    if (Status status =
            verifyBuffer(*contract->buffers()->Get(i), context, places[i]);
        !status.isOk())
      return withPath(status, strCat("bindings[", i, "]"));
  return okStatus();
}

void mtp::forPageTables(const Plan &plan,
                        const std::function<void(uint32_t)> &found) {
  for (const Program &program : plan.programs) {
    // In other programs page numbers are the host's.
    if (program.kind != schema::ProgramKind::Function)
      continue;
    for (const Command &command : program.commands) {
      const schema::Kernel &kernel = plan.kernelOf(command);
      if (!kernel.contract())
        continue;
      std::span<const Place> places = program.placesOf(command, kernel);
      for (uint32_t i = 0; i < places.size(); ++i)
        if (kernel.contract()->buffers()->Get(i)->page_table() &&
            places[i].space == schema::Space::Constant)
          found(places[i].index);
    }
  }
}
