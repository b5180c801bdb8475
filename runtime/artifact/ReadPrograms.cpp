//===- ReadPrograms.cpp - Programs of either form -------------------------===//
//
// Makes the one form of both. What is checked here is what reading relies on:
// alignment, indices of kernels and places, and counts that bound the work. All
// else is checked in the form that comes out.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

using namespace mtp;

/// Where the CPU's schedule changes within a program, at most.

static Count countOf(const schema::Count &count) {
  return {count.base(), count.step()};
}

static Count fixed(uint64_t value) { return {int64_t(value), 0}; }

static Status checkKernel(const Plan &plan, uint32_t kernel) {
  if (kernel < vectorSize(plan.kernels))
    return okStatus();
  return dataLoss(strCat("kernel ", kernel, " is past the ",
                         vectorSize(plan.kernels), " kernels"));
}

/// Counts come before the elements: they bound the work.
static Status checkCounts(const schema::Kernel &kernel, uint32_t bindings,
                          uint32_t params) {
  if (bindings == kernel.buffers() && params == kernel.params())
    return okStatus();
  return dataLoss(strCat("expected ", kernel.buffers(), " bindings and ",
                         kernel.params(), " params for ",
                         kernel.symbol()->string_view(), ", got ", bindings,
                         " and ", params));
}

namespace {
/// Bytes of vectors that may still be read, at first as many as all tables
/// have. A vector that many tables name is read once for each: without a limit
/// a small file could ask for any amount of memory.
class Budget {
public:
  explicit Budget(uint64_t bytes) : left(bytes) {}
  Status take(uint64_t bytes) {
    if (bytes > left)
      return dataLoss("the tables name the same vectors again and again");
    left -= bytes;
    return okStatus();
  }

private:
  uint64_t left;
};
} // namespace

/// What a command takes at least in the tables.
static uint64_t commandBytes(const schema::Kernel &kernel, uint64_t binding,
                             uint64_t param) {
  return 4 + kernel.buffers() * binding + kernel.params() * param;
}

static Status checkRank(uint32_t rank) {
  if (rank <= kMaxRank)
    return okStatus();
  return dataLoss(
      strCat("expected at most ", kMaxRank, " dimensions, got ", rank));
}

//===----------------------------------------------------------------------===//
// Files before 1.3
//===----------------------------------------------------------------------===//

/// Whether a number of 64 bits is one of 63, as counts are.
static Status checkNumber(const char *what, uint64_t value) {
  if (value <= uint64_t(INT64_MAX))
    return okStatus();
  return dataLoss(strCat(what, ": expected less than 2^63, got ", value));
}

static Result<Place> lowerBinding(const schema::Binding &binding) {
  MTP_RETURN_IF_ERROR(checkNumber("offset", binding.offset()));
  MTP_RETURN_IF_ERROR(checkNumber("bytes", binding.bytes()));
  return Place{binding.space(), binding.index(), fixed(binding.offset()),
               fixed(binding.bytes())};
}

static Status lowerCommand(const Plan &plan, const schema::Command &command,
                           Budget &budget, Program &program) {
  MTP_RETURN_IF_ERROR(checkKernel(plan, command.kernel()));
  const schema::Kernel &kernel = *plan.kernels->Get(command.kernel());
  MTP_RETURN_IF_ERROR(checkCounts(kernel, vectorSize(command.bindings()),
                                  vectorSize(command.params())));
  if (!isAligned(command.bindings()) || !isAligned(command.params()))
    return dataLoss("bindings and params are not aligned to 8 bytes");
  MTP_RETURN_IF_ERROR(budget.take(
      commandBytes(kernel, sizeof(schema::Binding), sizeof(int64_t))));
  Command lowered{command.kernel(), uint32_t(program.places.size()),
                  uint32_t(program.params.size()), command.tasks()};
  for (uint32_t i = 0; i < kernel.buffers(); ++i) {
    Result<Place> place = lowerBinding(*command.bindings()->Get(i));
    if (!place)
      return withPath(place.status(), strCat("bindings[", i, "]"));
    program.places.push_back(*place);
  }
  for (uint32_t i = 0; i < kernel.params(); ++i)
    program.params.push_back({command.params()->Get(i), 0});
  MTP_RETURN_IF_ERROR(checkNumber("tasks", command.tasks()));
  program.commands.push_back(lowered);
  auto solo = uint8_t(schema::CpuStep::Solo);
  auto joined = uint8_t(schema::CpuStep::Joined);
  program.schedules[0].steps.push_back((command.solo() ? solo : 0) |
                                       (command.joined() ? joined : 0));
  return okStatus();
}

static Status lowerPorts(const Tables<schema::Port> *ports, const char *what,
                         std::vector<Port> &lowered) {
  for (uint32_t i = 0; i < vectorSize(ports); ++i) {
    const schema::Port &port = *ports->Get(i);
    std::string where = strCat(what, "[", i, "]");
    Status status = checkRank(vectorSize(port.shape()));
    if (status.isOk())
      status = tensorBytes(port.dtype(), port.shape()).status();
    Result<Place> place = lowerBinding(*port.binding());
    if (status.isOk())
      status = place.status();
    if (!status.isOk())
      return withPath(status, where);
    Port &result = lowered.emplace_back();
    result.name = port.name()->string_view();
    result.place = *place;
    result.dtype = port.dtype();
    for (uint32_t d = 0; d < vectorSize(port.shape()); ++d)
      result.shape.push_back(fixed(port.shape()->Get(d)));
  }
  return okStatus();
}

/// A program of one batch or chunk becomes one of a range of one.
static Status lowerShape(const schema::Program &program, Program &lowered) {
  uint32_t n = 0;
  switch (program.kind()) {
  case schema::ProgramKind::Decode:
    n = program.batch();
    lowered.k = program.k();
    break;
  case schema::ProgramKind::Prefill:
    n = program.chunk();
    lowered.sequences = 1;
    lowered.drafts = program.modules() > 0;
    break;
  case schema::ProgramKind::Function:
    break;
  }
  if (n >= UINT32_MAX)
    return dataLoss(
        strCat("expected a batch or chunk below 2^32 - 1, got ", n));
  lowered.begin = n;
  lowered.end = n + 1;
  return okStatus();
}

static Status lowerProgram(const Plan &plan, const schema::Program &program,
                           Budget &budget, Program &lowered) {
  if (program.kind() > schema::ProgramKind::MAX)
    return dataLoss(strCat("unknown kind ", unsigned(program.kind())));
  lowered.name = program.name()->string_view();
  lowered.kind = program.kind();
  MTP_RETURN_IF_ERROR(lowerShape(program, lowered));
  MTP_RETURN_IF_ERROR(checkNumber("arena_bytes", program.arena_bytes()));
  lowered.arenaBytes = fixed(program.arena_bytes());
  lowered.schedules.push_back({lowered.begin, {}});
  for (uint32_t i = 0; i < vectorSize(program.commands()); ++i)
    if (Status status =
            lowerCommand(plan, *program.commands()->Get(i), budget, lowered);
        !status.isOk())
      return withPath(status, strCat("commands[", i, "]"));
  MTP_RETURN_IF_ERROR(lowerPorts(program.inputs(), "inputs", lowered.inputs));
  return lowerPorts(program.outputs(), "outputs", lowered.outputs);
}

//===----------------------------------------------------------------------===//
// Files since 1.3
//===----------------------------------------------------------------------===//

namespace {
/// Reads the programs of one plan.
class PlanReader {
public:
  PlanReader(const Plan &plan, uint64_t tableBytes)
      : plan(plan), budget(tableBytes) {}
  Status read(const schema::PlanProgram &program, Program &result);

private:
  Status readCommand(const schema::PlanProgram &program, uint32_t index,
                     Program &result);
  Status readSchedules(const schema::PlanProgram &program, Program &result);
  Status readPorts(const Tables<schema::PlanPort> *ports, const char *what,
                   std::vector<Port> &result);

  const Plan &plan;
  Budget budget;
};
} // namespace

static Place placeOf(const schema::Place &place) {
  return {place.space(), place.index(), countOf(place.offset()),
          countOf(place.bytes())};
}

Status PlanReader::readCommand(const schema::PlanProgram &program,
                               uint32_t index, Program &result) {
  if (program.commands_type()->Get(index) != schema::Action::Dispatch)
    return dataLoss(strCat("unknown action ",
                           unsigned(program.commands_type()->Get(index))));
  const auto &dispatch = *program.commands()->GetAs<schema::Dispatch>(index);
  MTP_RETURN_IF_ERROR(checkKernel(plan, dispatch.kernel()));
  const schema::Kernel &kernel = *plan.kernels->Get(dispatch.kernel());
  MTP_RETURN_IF_ERROR(checkCounts(kernel, vectorSize(dispatch.bindings()),
                                  vectorSize(dispatch.params())));
  if (!isAligned(dispatch.params()))
    return dataLoss("params are not aligned to 8 bytes");
  if (kernel.image() >= 0 && !kernel.contract())
    return dataLoss(strCat("expected a contract of ",
                           kernel.symbol()->string_view(),
                           ", which says its tasks"));
  MTP_RETURN_IF_ERROR(budget.take(
      commandBytes(kernel, sizeof(uint32_t), sizeof(schema::Count))));
  result.commands.push_back({dispatch.kernel(), uint32_t(result.places.size()),
                             uint32_t(result.params.size()), std::nullopt});
  result.callsLibrary |= kernel.gemm() != nullptr;
  for (uint32_t i = 0; i < kernel.buffers(); ++i) {
    uint32_t place = dispatch.bindings()->Get(i);
    if (place >= vectorSize(program.places()))
      return dataLoss(strCat("bindings[", i, "]: place ", place,
                             " is past the ", vectorSize(program.places())));
    result.places.push_back(placeOf(*program.places()->Get(place)));
  }
  for (uint32_t i = 0; i < kernel.params(); ++i)
    result.params.push_back(countOf(*dispatch.params()->Get(i)));
  return okStatus();
}

Status PlanReader::readSchedules(const schema::PlanProgram &program,
                                 Program &result) {
  uint32_t count = vectorSize(program.cpu());
  if (count > kMostSchedules)
    return dataLoss(strCat("cpu: expected at most ", kMostSchedules,
                           " schedules, got ", count));
  for (uint32_t i = 0; i < count; ++i) {
    const schema::CpuSchedule &schedule = *program.cpu()->Get(i);
    std::string where = strCat("cpu[", i, "]: ");
    uint32_t begin = schedule.begin();
    if (i == 0
            ? begin != program.begin()
            : begin <= result.schedules.back().begin || begin >= program.end())
      return dataLoss(where + strCat("expected one that begins ",
                                     i == 0 ? "with the program at "
                                            : "within the program, behind ",
                                     i == 0 ? program.begin()
                                            : result.schedules.back().begin,
                                     ", got ", begin));
    if (vectorSize(schedule.steps()) != result.commands.size())
      return dataLoss(where + strCat("expected ", result.commands.size(),
                                     " steps, got ",
                                     vectorSize(schedule.steps())));
    MTP_RETURN_IF_ERROR(budget.take(result.commands.size()));
    CpuSchedule &read = result.schedules.emplace_back();
    read.begin = begin;
    for (uint32_t c = 0; c < result.commands.size(); ++c)
      read.steps.push_back(uint8_t(schedule.steps()->Get(c)));
    for (uint8_t step : read.steps)
      if (step > uint8_t(schema::CpuStep::ANY))
        return dataLoss(where + strCat("unknown step ", unsigned(step)));
  }
  return okStatus();
}

Status PlanReader::readPorts(const Tables<schema::PlanPort> *ports,
                             const char *what, std::vector<Port> &result) {
  for (uint32_t i = 0; i < vectorSize(ports); ++i) {
    const schema::PlanPort &port = *ports->Get(i);
    Status status = checkRank(vectorSize(port.shape()));
    if (status.isOk() && !isAligned(port.shape()))
      status = dataLoss("its shape is not aligned to 8 bytes");
    if (!status.isOk())
      return withPath(status, strCat(what, "[", i, "]"));
    Port &read = result.emplace_back();
    read.name = port.name()->string_view();
    read.place = placeOf(*port.place());
    read.dtype = port.dtype();
    for (uint32_t d = 0; d < vectorSize(port.shape()); ++d)
      read.shape.push_back(countOf(*port.shape()->Get(d)));
  }
  return okStatus();
}

Status PlanReader::read(const schema::PlanProgram &program, Program &result) {
  if (program.kind() > schema::ProgramKind::MAX)
    return dataLoss(strCat("unknown kind ", unsigned(program.kind())));
  if (program.begin() >= program.end())
    return dataLoss(strCat("expected a range, got ", program.begin(), " to ",
                           program.end()));
  if (program.positions() != 0 && program.kind() != schema::ProgramKind::Decode)
    return dataLoss(strCat("expected positions of a decode program alone, got ",
                           program.positions()));
  if (!isAligned(program.places()))
    return dataLoss("places are not aligned to 8 bytes");
  result.name = program.name()->string_view();
  result.kind = program.kind();
  result.begin = program.begin();
  result.end = program.end();
  result.k = program.k();
  result.sequences = program.sequences();
  result.drafts = program.drafts();
  result.positions = program.positions();
  if (const schema::Count *bytes = program.arena_bytes())
    result.arenaBytes = countOf(*bytes);
  uint32_t count = vectorSize(program.commands());
  result.commands.reserve(count);
  // As many as a kernel has, about.
  result.places.reserve(6 * size_t(count));
  result.params.reserve(2 * size_t(count));
  for (uint32_t i = 0; i < count; ++i)
    if (Status status = readCommand(program, i, result); !status.isOk())
      return withPath(status, strCat("commands[", i, "]"));
  MTP_RETURN_IF_ERROR(readSchedules(program, result));
  MTP_RETURN_IF_ERROR(readPorts(program.inputs(), "inputs", result.inputs));
  return readPorts(program.outputs(), "outputs", result.outputs);
}

//===----------------------------------------------------------------------===//
// All programs
//===----------------------------------------------------------------------===//

Status mtp::lowerPrograms(const schema::Artifact &root, uint64_t tableBytes,
                          Plan &plan) {
  Budget budget(tableBytes);
  plan.programs.resize(vectorSize(root.programs()));
  for (uint32_t i = 0; i < plan.programs.size(); ++i)
    if (Status status = lowerProgram(plan, *root.programs()->Get(i), budget,
                                     plan.programs[i]);
        !status.isOk())
      return withPath(status, strCat("programs[", i, "]"));
  return okStatus();
}

Status mtp::readPrograms(const schema::Plan &source, uint64_t tableBytes,
                         Plan &plan) {
  PlanReader reader(plan, tableBytes);
  plan.programs.resize(vectorSize(source.programs()));
  for (uint32_t i = 0; i < plan.programs.size(); ++i)
    if (Status status =
            reader.read(*source.programs()->Get(i), plan.programs[i]);
        !status.isOk())
      return withPath(status, strCat("programs[", i, "]"));
  return okStatus();
}
