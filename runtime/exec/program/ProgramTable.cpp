//===- ProgramTable.cpp - Find programs, states and ports -----------------===//

#include "runtime/exec/program/ProgramTable.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/PromptLayout.h"
#include "runtime/schema/Tunables.h"

#include <algorithm>

using namespace mtp;

ProgramTable::ProgramTable(const Plan &plan) : plan(plan) {
  for (uint32_t i = 0; i < plan.programs.size(); ++i) {
    const Program &program = plan.programs[i];
    switch (program.kind) {
    case schema::ProgramKind::Decode:
      if (program.prompts) {
        // The faster programs for some positions are not looked for.
        if (!program.positions)
          mixes[program.sequences][program.k][program.begin] = i;
        break;
      }
      decodes[program.k][program.positions ? program.positions : kAnyPositions]
             [program.begin] = i;
      break;
    case schema::ProgramKind::Prefill:
      if (program.catchUp) {
        catchUps[program.begin] = i;
        mostCatchUpRows = std::max(mostCatchUpRows, program.end - 1);
        mostCatchUpSequences = program.sequences;
        reach = program.catchUp;
        break;
      }
      if (program.callsLibrary) {
        (program.drafts ? draftingLibrary : plainLibrary) = i;
        rowsOfLibrary = program.begin;
        break;
      }
      (program.drafts ? drafting : plain)[program.sequences][program.begin] = i;
      break;
    case schema::ProgramKind::Function:
      functions[program.name] = i;
      break;
    }
  }
  for (const auto &[k, programs] : decodes) {
    uint32_t program = decode(/*batch=*/1, k);
    windows.resize(k + 1, 0);
    if (program != kNone)
      windows[k] = plan.programs[program].windowRows();
  }
}

/// Returns the program of a range that has n, or kNone.
uint32_t ProgramTable::find(const Ranges &ranges, uint32_t n) const {
  auto next = ranges.upper_bound(n);
  if (next == ranges.begin())
    return kNone;
  uint32_t program = std::prev(next)->second;
  return plan.programs[program].covers(n) ? program : kNone;
}

uint32_t ProgramTable::decode(uint32_t batch, uint32_t k,
                              uint64_t positions) const {
  const std::map<uint64_t, Ranges> &programs = decodes.at(k);
  for (auto next = programs.lower_bound(positions); next != programs.end();
       ++next)
    if (uint32_t program = find(next->second, batch); program != kNone)
      return program;
  return kNone;
}

std::optional<uint32_t> ProgramTable::mixed(uint32_t batch, uint32_t k,
                                            uint32_t prompts) const {
  auto programs = mixes.find(prompts);
  if (programs == mixes.end())
    return std::nullopt;
  auto ranges = programs->second.find(k);
  uint32_t program =
      ranges == programs->second.end() ? kNone : find(ranges->second, batch);
  return program == kNone ? std::nullopt : std::optional(program);
}

uint32_t ProgramTable::mixedPrompts(uint32_t batch, uint32_t k,
                                    uint32_t prompts) const {
  for (auto next = mixes.lower_bound(prompts); next != mixes.end(); ++next)
    if (mixed(batch, k, next->first))
      return next->first;
  return 0;
}

uint32_t ProgramTable::mostMixed() const {
  return mixes.empty() ? 0 : mixes.rbegin()->first;
}

uint32_t ProgramTable::prefill(uint32_t rows, bool drafts,
                               uint32_t sequences) const {
  const auto &programs = drafts && hasDraftingPrefill() ? drafting : plain;
  return find(programs.at(sequences), rows);
}

uint32_t ProgramTable::libraryPrefill(bool drafts) const {
  return drafts && hasDraftingPrefill() ? draftingLibrary : plainLibrary;
}

bool ProgramTable::hasChunk(uint32_t rows, uint32_t sequences) const {
  auto ranges = plain.find(sequences);
  return ranges != plain.end() && find(ranges->second, rows) != kNone;
}

uint32_t ProgramTable::sequencesOf(uint32_t rows, uint32_t sequences) const {
  for (auto next = plain.lower_bound(sequences); next != plain.end(); ++next)
    if (hasChunk(rows, next->first))
      return next->first;
  return 0;
}

std::vector<std::pair<uint32_t, uint32_t>> ProgramTable::chunks() const {
  std::vector<std::pair<uint32_t, uint32_t>> sizes;
  for (auto [begin, program] : plain.at(1)) {
    if (sizes.empty() || sizes.back().second + 1 < begin)
      sizes.push_back({begin, begin});
    sizes.back().second = plan.programs[program].end - 1;
  }
  return sizes;
}

uint32_t ProgramTable::nextChunk(uint64_t rest, uint32_t largest) const {
  // A program for this number of rows has no padding row.
  uint32_t rows = uint32_t(std::min<uint64_t>(rest, largest));
  if (hasChunk(rows))
    return rows;
  uint32_t whole = 0, covering = 0;
  for (auto [begin, program] : plain.at(1)) {
    if (begin > largest)
      break;
    uint32_t most = std::min(plan.programs[program].end - 1, largest);
    if (most <= rest)
      whole = most;
    else if (!covering)
      covering = begin;
  }
  if (!whole || (covering && covering - rest <= tunable::kPaddingRows.value))
    return covering;
  return whole;
}

Binding ProgramTable::logits(uint32_t program, uint32_t n) const {
  // The verifier has made sure that it is there.
  return plan.programs[program].output("logits")->place.at(n);
}

Binding ProgramTable::promptLogits(uint32_t program, uint32_t n) const {
  std::string name = strCat(kPromptOutputs, "logits");
  return plan.programs[program].output(name)->place.at(n);
}

/// Returns where an output is; of no bytes if there is none.
static Binding placeOf(const Program &program, std::string_view output,
                       uint32_t n) {
  const Port *port = program.output(output);
  return port ? port->place.at(n) : Binding();
}

Binding ProgramTable::path(uint32_t program, uint32_t n) const {
  return placeOf(plan.programs[program], "path", n);
}

Binding ProgramTable::places(uint32_t program, uint32_t n) const {
  return placeOf(plan.programs[program], "places", n);
}

bool ProgramTable::canStop() const {
  return std::ranges::any_of(
      plan.programs, [](const Program &program) { return program.cut != 0; });
}

Binding ProgramTable::drafts(uint32_t program, uint32_t n) const {
  return placeOf(plan.programs[program], "drafts", n);
}

Binding ProgramTable::parents(uint32_t program, uint32_t n) const {
  return placeOf(plan.programs[program], "parents", n);
}

Result<uint32_t> ProgramTable::function(std::string_view name) const {
  auto found = functions.find(name);
  if (found != functions.end())
    return found->second;
  return notFound(strCat("the artifact exports no function '", name, "'"));
}
