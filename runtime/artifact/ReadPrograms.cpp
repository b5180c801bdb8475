//===- ReadPrograms.cpp - Reads programs from tables ----------------------===//
//
// Checks here are those that reading relies on: alignment, indices of kernels
// and places, and counts that bound the work. Everything else is checked later
// on the programs that were read.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

using namespace mtp;

static Count countOf(const schema::Count &count) {
  return {count.base(), count.step()};
}

static Status checkKernel(const Plan &plan, uint32_t kernel) {
  if (kernel < vectorSize(plan.kernels))
    return okStatus();
  return dataLoss(strCat("kernel ", kernel, " is past the ",
                         vectorSize(plan.kernels), " kernels"));
}

/// Checks a command's counts. Counts come before the elements: they bound the
/// work.
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
/// Limit on the bytes of vectors that may still be read, at first the bytes of
/// all tables. A vector that many tables name is read once for each of them.
/// Without a limit a small file could ask for any amount of memory.
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

/// Returns the minimum size of a command in the tables.
static uint64_t commandBytes(const schema::Kernel &kernel) {
  return 4 + kernel.buffers() * sizeof(uint32_t) +
         kernel.params() * sizeof(schema::Count);
}

static Status checkRank(uint32_t rank) {
  if (rank <= kMaxRank)
    return okStatus();
  return dataLoss(
      strCat("expected at most ", kMaxRank, " dimensions, got ", rank));
}

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
  Status readCut(const schema::PlanProgram &program, Program &result);
  Status readOnRequest(const schema::PlanProgram &program, Program &result);
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

/// Reads the place of the last command's number of active rows.
static Status readActive(const schema::PlanProgram &program, int32_t live,
                         Program &result) {
  if (live == -1)
    return okStatus();
  if (live < 0 || uint32_t(live) >= vectorSize(program.places()))
    return dataLoss(strCat("live: place ", live, " is past the ",
                           vectorSize(program.places())));
  result.commands.back().live = int32_t(result.places.size());
  result.places.push_back(placeOf(*program.places()->Get(uint32_t(live))));
  return okStatus();
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
  MTP_RETURN_IF_ERROR(budget.take(commandBytes(kernel)));
  result.commands.push_back({dispatch.kernel(), uint32_t(result.places.size()),
                             uint32_t(result.params.size())});
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
  return readActive(program, dispatch.live(), result);
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
      return dataLoss(
          where +
          strCat("expected one that begins ",
                 i == 0 ? "with the program at " : "within the program, after ",
                 i == 0 ? program.begin() : result.schedules.back().begin,
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

/// Reads the first command of the second half. No thread may begin the second
/// half before all threads have ended the first.
Status PlanReader::readCut(const schema::PlanProgram &program,
                           Program &result) {
  result.cut = program.cut();
  if (result.cut == 0)
    return okStatus();
  if (result.kind != schema::ProgramKind::Decode ||
      result.cut >= result.commands.size())
    return dataLoss(strCat("expected a cut of a decode program alone, below "
                           "its ",
                           result.commands.size(), " commands, got ",
                           result.cut));
  for (const CpuSchedule &schedule : result.schedules)
    if (schedule.isJoined(result.cut))
      return dataLoss(strCat("expected a barrier at the cut, got command ",
                             result.cut, " joined for n from ", schedule.begin,
                             " on"));
  return okStatus();
}

/// Reads the first command that only requested outputs need, with the checks of
/// readCut.
Status PlanReader::readOnRequest(const schema::PlanProgram &program,
                                 Program &result) {
  result.onRequest = program.on_request();
  if (result.onRequest == 0)
    return okStatus();
  if (result.kind == schema::ProgramKind::Function ||
      result.onRequest <= result.cut ||
      result.onRequest >= result.commands.size())
    return dataLoss(strCat("expected on_request of a decode or prefill "
                           "program alone, above its cut ",
                           result.cut, " and below its ",
                           result.commands.size(), " commands, got ",
                           result.onRequest));
  for (const CpuSchedule &schedule : result.schedules)
    if (schedule.isJoined(result.onRequest))
      return dataLoss(strCat("expected a barrier at on_request, got command ",
                             result.onRequest, " joined for n from ",
                             schedule.begin, " on"));
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
    read.of = port.of();
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
  if (program.prompts() != 0 && program.kind() != schema::ProgramKind::Decode)
    return dataLoss(strCat("expected rows of prompts beside those of a decode "
                           "program alone, got ",
                           program.prompts()));
  if (program.catch_up() != 0 &&
      (program.kind() != schema::ProgramKind::Prefill || !program.drafts()))
    return dataLoss(strCat("expected catch_up of a prefill that drafts alone, "
                           "got ",
                           program.catch_up()));
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
  result.prompts = program.prompts();
  if (result.prompts && result.sequences == 0)
    result.sequences = 1;
  result.catchUp = program.catch_up();
  if (const schema::Count *bytes = program.arena_bytes())
    result.arenaBytes = countOf(*bytes);
  uint32_t count = vectorSize(program.commands());
  result.commands.reserve(count);
  // Average numbers of places and params of a kernel.
  result.places.reserve(6 * size_t(count));
  result.params.reserve(2 * size_t(count));
  for (uint32_t i = 0; i < count; ++i)
    if (Status status = readCommand(program, i, result); !status.isOk())
      return withPath(status, strCat("commands[", i, "]"));
  MTP_RETURN_IF_ERROR(readSchedules(program, result));
  MTP_RETURN_IF_ERROR(readCut(program, result));
  MTP_RETURN_IF_ERROR(readOnRequest(program, result));
  MTP_RETURN_IF_ERROR(readPorts(program.inputs(), "inputs", result.inputs));
  return readPorts(program.outputs(), "outputs", result.outputs);
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
