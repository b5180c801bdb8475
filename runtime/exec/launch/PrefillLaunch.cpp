//===- PrefillLaunch.cpp - A pass over prompts on the device --------------===//

#include "runtime/exec/launch/PrefillLaunch.h"

#include <array>
#include <utility>

using namespace mtp;

Status PrefillLaunch::fill(std::vector<PromptPart> &parts, uint32_t sequences,
                           uint32_t freeSlot) {
  if (parts.size() == sequences)
    return okStatus();
  static constexpr std::array<int32_t, 1> kOneToken = {};
  parts.resize(sequences, {freeSlot, 0, 0, 0, kOneToken});
  return host.setPageTable(freeSlot, pages.table(freeSlot));
}

Result<std::vector<SlotResults>> PrefillLaunch::run(PrefillWork work) {
  size_t prompts = work.parts.size();
  uint32_t count = work.sequences, chunk = work.chunk;
  MTP_RETURN_IF_ERROR(fill(work.parts, count, work.freeSlot));
  uint32_t program = work.byLibrary ? programs.libraryPrefill(drafts)
                                    : programs.prefill(chunk, drafts, count);
  MTP_RETURN_IF_ERROR(host.setPrefill(work.parts));
  executable.applyRules(work.hasRules);
  MTP_RETURN_IF_ERROR(executable.run(program, chunk));
  MTP_RETURN_IF_ERROR(
      runOnRequest(executable, programs, program, chunk, work.isAsked));
  Binding logits = programs.logits(program, chunk);
  uint64_t rowBytes = logits.bytes / count;
  std::vector<SlotResults> results;
  for (uint32_t s = 0; s < prompts; ++s)
    results.push_back({rowsOf(logits, s * rowBytes, rowBytes),
                       program,
                       chunk,
                       s,
                       count,
                       false,
                       {},
                       {}});
  return results;
}
