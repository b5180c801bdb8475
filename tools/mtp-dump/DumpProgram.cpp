//===- DumpProgram.cpp - One program, command by command ------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/BlobFormat.h"
#include "tools/mtp-dump/Dump.h"

using namespace mtp;

const char *mtp::kindName(schema::ProgramKind kind) {
  switch (kind) {
  case schema::ProgramKind::Decode:
    return "decode";
  case schema::ProgramKind::Prefill:
    return "prefill";
  case schema::ProgramKind::Function:
    return "function";
  }
  return "unknown";
}

std::string mtp::formatName(schema::BlobFormat format) {
  const QuantizedBlob *known = findQuantizedBlob(format);
  if (!known)
    return "elements";
  return strCat(WeightFormat{known->elements}.name(),
                known->isTable ? "_rows" : "");
}

const char *mtp::imageFormatName(schema::ImageFormat format) {
  switch (format) {
  case schema::ImageFormat::ElfShared:
    return "elf_shared";
  case schema::ImageFormat::Cubin:
    return "cubin";
  case schema::ImageFormat::Ptx:
    return "ptx";
  case schema::ImageFormat::Hosted:
    return "hosted";
  }
  return "unknown";
}

const char *mtp::rebuildName(schema::Rebuild rebuild) {
  switch (rebuild) {
  case schema::Rebuild::Rows:
    return "rows";
  case schema::Rebuild::Tokens:
    return "tokens";
  case schema::Rebuild::Never:
    return "never";
  case schema::Rebuild::Save:
    return "save";
  case schema::Rebuild::Run:
    return "run";
  }
  return "unknown";
}

const char *mtp::rowsName(schema::PortRows rows) {
  return rows == schema::PortRows::Slots ? "slots" : "tokens";
}

std::string mtp::versionText(uint32_t version) {
  return strCat(version >> 16, ".", version & 0xffff);
}

std::string mtp::countText(const Count &count) {
  if (count.isFixed())
    return strCat(count.base);
  std::string step = count.step == 1 ? "n" : strCat(count.step, "n");
  return count.base ? strCat(count.base, " + ", step) : step;
}

std::string mtp::typeText(const Port &port) {
  std::string text;
  for (const Count &dim : port.shape)
    text += countText(dim) + "x";
  return text + dtypeName(port.dtype);
}

/// Formats a range: "3", or "3 to 5".
static std::string rangeText(const Program &program) {
  uint32_t last = program.end - 1;
  return last == program.begin ? strCat(last)
                               : strCat(program.begin, " to ", last);
}

std::string mtp::shapeText(const Program &program) {
  std::string onRequest =
      program.onRequest ? strCat(", on request from [", program.onRequest, "]")
                        : "";
  switch (program.kind) {
  case schema::ProgramKind::Decode:
    return strCat(
        "batch ", rangeText(program), ", k ", program.k,
        program.positions ? strCat(", below position ", program.positions) : "",
        program.cut ? strCat(", may stop before [", program.cut, "]") : "",
        onRequest,
        program.prompts ? strCat(", beside ", program.prompts, " rows of ",
                                 program.sequences > 1
                                     ? strCat(program.sequences, " prompts")
                                     : "a prompt")
                        : "");
  case schema::ProgramKind::Prefill:
    return strCat("rows ", rangeText(program), ", sequences ",
                  program.sequences, program.drafts ? ", drafts" : "",
                  program.catchUp ? strCat(", catches up over ",
                                           program.catchUp, " positions")
                                  : "",
                  onRequest);
  case schema::ProgramKind::Function:
    break;
  }
  return "";
}

std::string mtp::placeText(const Artifact &artifact, const Plan &plan,
                           const Place &place) {
  std::string range =
      strCat("[", countText(place.offset), ", +", countText(place.bytes), "]");
  switch (place.space) {
  case schema::Space::Arena:
    return "arena" + range;
  case schema::Space::State:
    return strCat("state '", artifact.states[place.index].name, "'", range);
  case schema::Space::Weight:
    return strCat("weight '",
                  plan.weights->Get(place.index)->name()->string_view(), "'",
                  range);
  case schema::Space::Constant:
    return strCat("constant '",
                  plan.constants->Get(place.index)->name()->string_view(), "'",
                  range);
  case schema::Space::Kv:
    return strCat("kv '",
                  artifact.caches->Get(place.index)->name()->string_view(),
                  "' layer ", place.offset.base);
  }
  return "unknown";
}

/// Describes how the CPU runs command `index`, at each n from which that
/// changes: " solo", " joined", " solo from 4". Empty if it is never solo or
/// joined.
static std::string stepsText(const Program &program, size_t index) {
  std::string text;
  uint8_t before = 0;
  for (const CpuSchedule &schedule : program.schedules) {
    uint8_t step = schedule.steps[index];
    if (step == before)
      continue;
    text += schedule.isSolo(index) ? " solo" : "";
    text += schedule.isJoined(index) ? " joined" : "";
    text += step ? "" : " alone no more";
    if (schedule.begin != program.begin)
      text += strCat(" from ", schedule.begin);
    before = step;
  }
  return text;
}

std::string mtp::tasksText(const Plan &plan, const Program &program,
                           const Command &command) {
  auto tasksAt = [&](uint32_t n) {
    std::vector<int64_t> params;
    for (const Count &param : program.paramsOf(command, plan.kernelOf(command)))
      params.push_back(param.at(n));
    return plan.tasksOf(command, params.data());
  };
  int64_t first = tasksAt(program.begin), last = tasksAt(program.end - 1);
  return first == last ? strCat(first) : strCat(first, " to ", last);
}

static std::string commandText(const Artifact &artifact, const Plan &plan,
                               const Program &program, size_t index) {
  const Command &command = program.commands[index];
  const schema::Kernel &kernel = plan.kernelOf(command);
  std::string text(kernel.symbol()->string_view());
  if (kernel.kind())
    text += strCat(" (", kernel.kind()->string_view(), ")");
  text += strCat("  tasks ", tasksText(plan, program, command),
                 stepsText(program, index), "  params [");
  std::string separator;
  for (const Count &param : program.paramsOf(command, kernel)) {
    text += separator + countText(param);
    separator = ", ";
  }
  text += "]";
  if (const Place *live = program.activeRowsOf(command))
    text += "  live " + placeText(artifact, plan, *live);
  text += "\n     ";
  for (const Place &place : program.placesOf(command, kernel))
    text += " " + placeText(artifact, plan, place);
  return text + "\n";
}

static std::string portsText(const Artifact &artifact, const Plan &plan,
                             const char *what, const std::vector<Port> &ports) {
  std::string text;
  for (const Port &port : ports)
    text += strCat(what, " ", port.name, ": ", typeText(port),
                   port.of == schema::PortRows::None
                       ? ""
                       : strCat(" for ", rowsName(port.of)),
                   " in ", placeText(artifact, plan, port.place), "\n");
  return text;
}

static std::string programText(const Artifact &artifact, const Plan &plan,
                               const Program &program) {
  std::string shape = shapeText(program);
  std::string text =
      strCat("program ", program.name, " (", kindName(program.kind),
             "): ", shape, shape.empty() ? "" : ", ", "arena ",
             countText(program.arenaBytes), " bytes\n");
  text += portsText(artifact, plan, "input", program.inputs);
  for (size_t c = 0; c < program.commands.size(); ++c)
    text += strCat(c, "  ", commandText(artifact, plan, program, c));
  return text + portsText(artifact, plan, "output", program.outputs);
}

Result<std::string> mtp::dumpProgram(const ArtifactFile &file,
                                     std::string_view name) {
  for (const Plan &plan : file.artifact().plans)
    for (const Program &program : plan.programs)
      if (program.name == name)
        return programText(file.artifact(), plan, program);
  return notFound(
      strCat("--program: the artifact has no program '", name, "'"));
}
