//===- VerifyPrograms.cpp - Checks of commands, places and ports ----------===//
//
// A program stands for a range of n. Counts and offsets grow linearly with n,
// so checks of the smallest and the largest n cover all values between.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/MemoryLimit.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/InputNames.h"
#include "runtime/schema/Limits.h"

using namespace mtp;

/// Limit on the counts in a file, so that sums of two counts do not overflow.
static constexpr int64_t kMostCount = INT64_MAX / 4;

bool mtp::isWithin(const Count &count, uint64_t first, uint64_t last,
                   int64_t least, int64_t most) {
  if (count.isFixed())
    return count.base >= least && count.base <= most;
  for (uint64_t n : {first, last}) {
    int64_t value;
    if (__builtin_mul_overflow(count.step, int64_t(n), &value) ||
        __builtin_add_overflow(count.base, value, &value) || value < least ||
        value > most)
      return false;
  }
  return true;
}

namespace {
/// The memory that the places of one program may point into.
struct Memory {
  const Artifact &artifact;
  const Plan &plan;
  const Program &program;

  uint64_t first() const { return program.begin; }
  uint64_t last() const { return program.end - 1; }
  bool isWithin(const Count &count, int64_t least,
                int64_t most = kMostCount) const {
    return mtp::isWithin(count, first(), last(), least, most);
  }
};
} // namespace

/// Checks a place against "the <what>'s <size> bytes", at the smallest and the
/// largest n.
static Status verifyRange(const Memory &memory, const Place &place,
                          const char *what, Count size) {
  for (uint64_t n = memory.first();; n = memory.last()) {
    uint64_t offset = uint64_t(place.offset.at(n));
    uint64_t bytes = uint64_t(place.bytes.at(n));
    if (!inRange(offset, bytes, uint64_t(size.at(n))))
      return dataLoss(strCat("offset ", offset, " + ", bytes,
                             " bytes is past the ", what, "'s ", size.at(n)));
    if (n == memory.last())
      return okStatus();
  }
}

static Status verifyIndex(const Place &place, const char *what,
                          uint64_t count) {
  if (place.index < count)
    return okStatus();
  return dataLoss(strCat(what, " ", place.index, " is past the ", count));
}

static Status verifyKv(const Memory &memory, const Place &place) {
  MTP_RETURN_IF_ERROR(
      verifyIndex(place, "cache", vectorSize(memory.artifact.caches)));
  uint32_t layers = memory.artifact.caches->Get(place.index)->layers();
  if (!place.offset.isFixed() || !place.bytes.isFixed())
    return dataLoss("expected a layer for all n");
  if (uint64_t(place.offset.base) >= layers)
    return dataLoss(
        strCat("layer ", place.offset.base, " is past the cache's ", layers));
  if (place.bytes.base != 0)
    return dataLoss(
        strCat("expected 0 bytes for a whole layer, got ", place.bytes.base));
  return okStatus();
}

/// Checks for counts that are not valid offsets or sizes at some n, and for
/// starts inside an element.
static Status verifyCounts(const Memory &memory, const Place &place) {
  if (!memory.isWithin(place.offset, 0))
    return dataLoss(strCat("offset ", place.offset.base, " + n * ",
                           place.offset.step, " is no offset"));
  if (!memory.isWithin(place.bytes, 0))
    return dataLoss(strCat("bytes ", place.bytes.base, " + n * ",
                           place.bytes.step, " is no size"));
  if (place.space == schema::Space::Kv)
    return okStatus();
  bool grows = memory.first() != memory.last();
  if (uint64_t start = uint64_t(place.offset.at(memory.first())); start % 4)
    return dataLoss(strCat("offset ", start, " is no multiple of 4"));
  if (grows && place.offset.step % 4)
    return dataLoss(
        strCat("offset grows by ", place.offset.step, ", no multiple of 4"));
  return okStatus();
}

static Status verifyPlace(const Memory &memory, const Place &place) {
  MTP_RETURN_IF_ERROR(verifyCounts(memory, place));
  const Plan &plan = memory.plan;
  auto fixed = [](uint64_t size) { return Count{int64_t(size), 0}; };
  switch (place.space) {
  case schema::Space::Arena:
    if (place.index != 0)
      return dataLoss(
          strCat("expected index 0 in the arena, got ", place.index));
    return verifyRange(memory, place, "arena", memory.program.arenaBytes);
  case schema::Space::State: {
    const std::vector<State> &states = memory.artifact.states;
    MTP_RETURN_IF_ERROR(verifyIndex(place, "state", states.size()));
    return verifyRange(memory, place, "state",
                       fixed(states[place.index].bytes));
  }
  case schema::Space::Weight:
    MTP_RETURN_IF_ERROR(verifyIndex(place, "weight", vectorSize(plan.weights)));
    return verifyRange(memory, place, "weight",
                       fixed(plan.weights->Get(place.index)->size()));
  case schema::Space::Kv:
    return verifyKv(memory, place);
  case schema::Space::Constant:
    MTP_RETURN_IF_ERROR(
        verifyIndex(place, "constant", vectorSize(plan.constants)));
    return verifyRange(memory, place, "constant",
                       fixed(plan.constants->Get(place.index)->size()));
  }
  return dataLoss(strCat("unknown space ", unsigned(place.space)));
}

/// Checks that the number of tasks is at most the number of bytes in a
/// command's buffers. A task with work has a byte that no other task reads or
/// writes. A larger number is a mistake, and a kernel would use it as an index.
static Status verifyTaskCount(const CommandContext &context) {
  for (uint64_t n : {context.first(), context.last()}) {
    std::vector<int64_t> params;
    for (Count param : context.params())
      params.push_back(param.at(n));
    uint64_t bytes = 1;
    for (const Place &place : context.places())
      bytes = addBytes(bytes, uint64_t(place.bytes.at(n)));
    int64_t tasks = context.plan.tasksOf(context.command, params.data());
    if (tasks >= 0 && uint64_t(tasks) <= bytes)
      continue;
    return dataLoss(strCat("tasks: expected no more than the ", bytes,
                           " bytes of the command's buffers, got ", tasks));
  }
  return okStatus();
}

/// Checks that a command can run with fewer rows: it may touch no more bytes,
/// and takes any number of rows.
static Status verifyFewerRows(const schema::Kernel &kernel) {
  if (kernel.gemm())
    return dataLoss("a product of a library computes all rows");
  if (kernel.params() == 0 || kernel.params() > kMostActiveParams)
    return dataLoss(strCat("expected 1 to ", kMostActiveParams, " params, got ",
                           kernel.params()));
  const schema::Contract *contract = kernel.contract();
  if (!contract)
    return okStatus(); // a builtin
  if (contract->params()->Get(0)->least() > 1)
    return dataLoss("expected a kernel that takes one row");
  for (uint32_t i = 0; i < kernel.buffers(); ++i) {
    const schema::BufferContract &buffer = *contract->buffers()->Get(i);
    for (uint32_t t = 0; t < vectorSize(buffer.bytes()); ++t) {
      const schema::Term &term = *buffer.bytes()->Get(t);
      if (term.factor() < 0 && (term.first() == 0 || term.second() == 0))
        return dataLoss(strCat("the kernel may touch more of buffer ", i,
                               " where it has fewer rows"));
    }
  }
  return okStatus();
}

/// Checks the place of the number of active rows, if a command has one.
static Status verifyActive(const Memory &memory,
                           const CommandContext &context) {
  const Place *place = memory.program.activeRowsOf(context.command);
  if (!place)
    return okStatus();
  if (place->space != schema::Space::Arena &&
      place->space != schema::Space::State)
    return dataLoss(strCat("expected a place in the arena or a state, got "
                           "space ",
                           unsigned(place->space)));
  MTP_RETURN_IF_ERROR(verifyPlace(memory, *place));
  for (uint64_t n : {memory.first(), memory.last()})
    if (place->bytes.at(n) < int64_t(sizeof(int32_t)))
      return dataLoss(strCat("expected at least ", sizeof(int32_t),
                             " bytes, got ", place->bytes.at(n)));
  const schema::CudaLaunch *launch = context.kernel().launch();
  if (launch && !launch->takes_live())
    return dataLoss("expected a kernel that takes how many rows live "
                    "(launch.takes_live), got one that computes all");
  return verifyFewerRows(context.kernel());
}

/// Checks that the params of a builtin fit 64 bits at each n. The contracts of
/// other kernels have ranges for them.
static Status verifyBuiltinParams(const Memory &memory,
                                  const CommandContext &context) {
  std::span<const Count> params = context.params();
  for (size_t i = 0; i < params.size(); ++i)
    if (!memory.isWithin(params[i], INT64_MIN, INT64_MAX))
      return dataLoss(strCat("params[", i, "]: ", params[i].base, " + n * ",
                             params[i].step, " does not fit 64 bits"));
  return okStatus();
}

static Status verifyCommand(const Memory &memory, const Command &command) {
  CommandContext context{memory.artifact, memory.plan, memory.program, command};
  if (Status status = verifyActive(memory, context); !status.isOk())
    return withPath(status, "live");
  std::span<const Place> places = context.places();
  for (size_t i = 0; i < places.size(); ++i)
    if (Status status = verifyPlace(memory, places[i]); !status.isOk())
      return withPath(status, strCat("bindings[", i, "]"));
  if (context.kernel().image() >= 0 || context.kernel().gemm()) {
    MTP_RETURN_IF_ERROR(verifyAgainstContract(context));
    MTP_RETURN_IF_ERROR(context.kernel().gemm() ? verifyGemmCall(context)
                                                : verifyBlocks(context));
    return verifyTaskCount(context);
  }
  MTP_RETURN_IF_ERROR(verifyBuiltinParams(memory, context));
  // A builtin's result is its last buffer.
  if (Status status = verifyWritable(memory.artifact, places.back());
      !status.isOk())
    return withPath(status, strCat("bindings[", places.size() - 1, "]"));
  return checkBuiltin(context);
}

static Status verifyPort(const Memory &memory, const Port &port, bool input) {
  schema::Space space = port.place.space;
  if (input ? space != schema::Space::Arena : space == schema::Space::Kv)
    return dataLoss(strCat("space ", unsigned(space), " cannot hold ",
                           input ? "an input" : "an output"));
  MTP_RETURN_IF_ERROR(verifyPlace(memory, port.place));
  uint32_t growing = 0;
  for (Count dim : port.shape) {
    growing += !dim.isFixed();
    if (!memory.isWithin(dim, 0))
      return dataLoss("expected dimensions of at least 0");
  }
  if (growing > 1)
    return dataLoss(strCat("expected one dimension at most that grows with n, "
                           "got ",
                           growing));
  // Both sides grow linearly: two n that agree are enough.
  for (uint64_t n : {memory.first(), memory.last()}) {
    std::vector<uint64_t> shape = port.shapeAt(n);
    MTP_ASSIGN_OR_RETURN(uint64_t bytes, tensorBytes(port.dtype, shape));
    if (bytes != uint64_t(port.place.bytes.at(n)))
      return dataLoss(strCat("expected ", bytes, " bytes for ",
                             tensorTypeName(port.dtype, shape), ", got ",
                             port.place.bytes.at(n)));
  }
  return okStatus();
}

/// Checks a function's input whose name says that it holds distributions.
static Status verifyName(const Program &program, const Port &port) {
  if (program.kind != schema::ProgramKind::Function ||
      !holdsDistributions(port.name) ||
      (port.dtype == schema::DType::F32 && !port.shape.empty()))
    return okStatus();
  return dataLoss(strCat("expected rows of f32 by the name \"", port.name,
                         "\", got ",
                         tensorTypeName(port.dtype, port.shapeAt(1))));
}

static Status verifyPorts(const Memory &memory, const std::vector<Port> &ports,
                          bool input) {
  for (size_t i = 0; i < ports.size(); ++i) {
    Status status = verifyPort(memory, ports[i], input);
    if (status.isOk() && input)
      status = verifyName(memory.program, ports[i]);
    if (!status.isOk())
      return withPath(status, strCat(input ? "inputs[" : "outputs[", i, "]"));
  }
  return okStatus();
}

static Status verifyProgram(const Memory &memory) {
  const Program &program = memory.program;
  if (program.kind == schema::ProgramKind::Function &&
      (program.begin != 0 || program.end != 1))
    return dataLoss(strCat("expected 0 to 1 for a function, got ",
                           program.begin, " to ", program.end));
  if (memory.plan.isGpu() && !program.schedules.empty())
    return dataLoss("cpu: expected no schedule in a plan for a GPU");
  if (!memory.isWithin(program.arenaBytes, 0))
    return dataLoss("arena_bytes: expected at least 0");
  for (uint64_t n : {memory.first(), memory.last()})
    if (uint64_t bytes = uint64_t(program.arenaBytes.at(n));
        bytes > memory.plan.arenaBytes)
      return dataLoss(strCat("needs ", bytes, " bytes of an arena of ",
                             memory.plan.arenaBytes));
  for (size_t i = 0; i < program.commands.size(); ++i)
    if (Status status = verifyCommand(memory, program.commands[i]);
        !status.isOk())
      return withPath(status, strCat("commands[", i, "]"));
  MTP_RETURN_IF_ERROR(verifyPorts(memory, program.inputs, true));
  return verifyPorts(memory, program.outputs, false);
}

Status mtp::verifyPrograms(const Artifact &artifact, const Plan &plan) {
  for (size_t i = 0; i < plan.programs.size(); ++i)
    if (Status status = verifyProgram({artifact, plan, plan.programs[i]});
        !status.isOk())
      return withPath(status, strCat("programs[", i, "]"));
  return okStatus();
}
