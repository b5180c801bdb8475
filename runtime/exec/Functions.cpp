//===- Functions.cpp - Exported functions ---------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/Distributions.h"
#include "runtime/exec/SessionImpl.h"
#include "runtime/exec/program/Ports.h"
#include "runtime/schema/InputNames.h"

#include <algorithm>
#include <numeric>

using namespace mtp;

static Status checkInputs(const std::vector<PortType> &ports,
                          std::span<const Tensor> inputs) {
  if (inputs.size() != ports.size())
    return invalidArgument(
        strCat("expected ", ports.size(), " inputs, got ", inputs.size()));
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string which = strCat("input ", i);
    MTP_RETURN_IF_ERROR(
        checkInput(ports[i], which, inputs[i].type, inputs[i].bytes.size()));
    if (!holdsDistributions(ports[i].name))
      continue;
    if (Status status = checkDistributions(inputs[i]); !status.isOk())
      return status.withContext(strCat(which, " (", ports[i].name, ")"));
  }
  return okStatus();
}

static bool usesKv(const Program &program) {
  return std::any_of(
      program.places.begin(), program.places.end(),
      [](const Place &place) { return place.space == schema::Space::Kv; });
}

/// Checks that a function that uses caches can take the pool's pages from page
/// 1 on, enough for all slots at full context. None of these pages may be
/// missing, hold a sequence's entries, or be kept for reuse.
Status Session::Impl::checkPages() const {
  if (!parts)
    return failedPrecondition("its caches need an artifact with an envelope");
  const KvCacheManager &kv = parts->memory->pages();
  uint64_t needed = uint64_t(inner.envelope->maxBatch) * kv.tableWidth();
  if (kv.usablePages() < needed)
    return failedPrecondition(strCat("expected a session of at least ",
                                     needed + 1, " KV pages, got ",
                                     options.kvPages));
  if (kv.freePages() != kv.usablePages())
    return failedPrecondition(
        strCat("expected a session whose KV pages are free, got ",
               kv.heldPages(), " held and ", kv.cachedPages(), " cached"));
  return okStatus();
}

/// Gives slot s of the function's page table the s-th share of the pages from
/// page 1 on, if the function reads the table from the state.
Status Session::Impl::writePageTable(const Program &program) {
  std::optional<uint32_t> state = inner.artifact().findState("page_table");
  auto isTable = [&](const Place &place) {
    return place.space == schema::Space::State && place.index == state;
  };
  if (!usesKv(program) || std::ranges::none_of(program.places, isTable))
    return okStatus();
  std::vector<int32_t> pages(inner.artifact().states[*state].bytes /
                             sizeof(int32_t));
  std::iota(pages.begin(), pages.end(), 1);
  return executable->write(
      {schema::Space::State, *state, 0, pages.size() * sizeof(int32_t)},
      pages.data(), pages.size() * sizeof(int32_t));
}

/// Fails if a function with recurrent layers would write their states, in the
/// slots that it is given, while a sequence has a slot.
Status Session::Impl::checkSlots(const Program &program) const {
  auto isCarried = [&](const Place &place) {
    return place.space == schema::Space::State &&
           inner.artifact().states[place.index].rule.rebuild ==
               schema::Rebuild::Run;
  };
  if (!parts || parts->table.admitted().empty() ||
      std::ranges::none_of(program.places, isCarried))
    return okStatus();
  return failedPrecondition(
      strCat("expected a session in which no sequence has a slot, as the "
             "function writes what recurrent layers carry, got ",
             parts->table.admitted().size()));
}

/// Returns the bytes of a program's outputs. Results may overlap in the arena,
/// so the size of the arena does not limit their sum. The caller owns them
/// afterwards, and they are not reserved.
static uint64_t outputBytes(const Program &program) {
  uint64_t bytes = 0;
  for (const Port &port : program.outputs)
    bytes = addBytes(bytes, port.place.at(0).bytes);
  return bytes;
}

Status Session::Impl::checkFunction(const Program &program,
                                    std::span<const Tensor> inputs) const {
  MTP_RETURN_IF_ERROR(checkInputs(portTypes(program.inputs), inputs));
  if (usesKv(program))
    MTP_RETURN_IF_ERROR(checkPages());
  return checkSlots(program);
}

Result<std::vector<Tensor>>
Session::Impl::runFunction(std::string_view name,
                           std::span<const Tensor> inputs) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(uint32_t index, inner.programs.function(name));
  const Program &program = inner.programs.program(index);
  if (Status status = checkFunction(program, inputs); !status.isOk())
    return status.withContext(strCat("@", name));
  uint64_t bytes = outputBytes(program);
  auto reserve = [&] {
    return hostMemory().reserve(bytes, "the results", memory);
  };
  auto reserved = parts ? parts->memory->withRoom(bytes, reserve) : reserve();
  if (!reserved)
    return reserved.status().withContext(strCat("@", name));
  if (parts)
    MTP_RETURN_IF_ERROR(parts->land());
  MTP_RETURN_IF_ERROR(writePageTable(program));
  for (size_t i = 0; i < inputs.size(); ++i)
    MTP_RETURN_IF_ERROR(executable->write(program.inputs[i].place.at(0),
                                          inputs[i].bytes.data(),
                                          inputs[i].bytes.size()));
  MTP_RETURN_IF_ERROR(executable->run(index, /*n=*/0));
  std::vector<Tensor> outputs;
  for (PortType &port : portTypes(program.outputs)) {
    Binding source = program.outputs[outputs.size()].place.at(0);
    Tensor tensor{std::move(port.type), std::vector<uint8_t>(source.bytes)};
    MTP_RETURN_IF_ERROR(
        executable->read(source, tensor.bytes.data(), source.bytes));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}
