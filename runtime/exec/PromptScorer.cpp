//===- PromptScorer.cpp - Log-probabilities of prompts --------------------===//

#include "runtime/exec/PromptScorer.h"

#include <algorithm>

using namespace mtp;

PromptScorer::PromptScorer(SessionParts &parts)
    : parts(parts),
      scoring(findPromptScoring(parts.inner.artifact(), parts.inner.plan())) {}

bool PromptScorer::isPending(const Sequence &sequence) {
  return sequence.request.logprobs.prompt && sequence.kept.runsAll;
}

Status PromptScorer::run(uint64_t rows) {
  // A pass changes no phase.
  for (SequenceId id : parts.table.prefilling()) {
    Sequence &sequence = parts.table.at(id);
    while (isPending(sequence)) {
      MTP_RETURN_IF_ERROR(runPass(sequence));
      if (rows <= scoring->rows)
        return okStatus();
      rows -= scoring->rows;
    }
  }
  return okStatus();
}

/// Scores the next rows of a prompt. The row of the last prompt token gives the
/// first output token, which is not the prompt's.
Status PromptScorer::runPass(Sequence &sequence) {
  Residency &residency = *sequence.residency;
  uint64_t rest = sequence.request.prompt.size() - 1 - residency.scored;
  uint32_t count = uint32_t(std::min<uint64_t>(rest, scoring->rows));
  if (count > 0) {
    MTP_RETURN_IF_ERROR(
        parts.host.syncPageTable(residency, parts.memory->pages()));
    MTP_RETURN_IF_ERROR(writeRows(sequence, count));
    MTP_RETURN_IF_ERROR(parts.executable.run(scoring->program, /*n=*/0));
    for (uint32_t row = 0; row < count; ++row)
      MTP_RETURN_IF_ERROR(addRow(sequence, row));
  }
  if (count < rest)
    return okStatus();
  sequence.kept.runsAll = false;
  parts.results.finishPrompt(sequence);
  return okStatus();
}

Status PromptScorer::writeRows(const Sequence &sequence, uint32_t count) {
  const Residency &residency = *sequence.residency;
  uint64_t first = residency.scored;
  std::vector<int32_t> tokens(scoring->rows), positions(scoring->rows, -1);
  std::vector<int32_t> slots(scoring->rows, int32_t(residency.slot));
  for (uint32_t row = 0; row < count; ++row) {
    tokens[row] = sequence.request.prompt[first + row];
    positions[row] = int32_t(first + row);
  }
  const Program &program = parts.programs().program(scoring->program);
  size_t input = 0;
  for (const std::vector<int32_t> *values : {&tokens, &slots, &positions}) {
    Binding place = program.inputs[input++].place.at(0);
    MTP_RETURN_IF_ERROR(
        parts.executable.write(place, values->data(), place.bytes));
  }
  return okStatus();
}

/// Scores the token after a row of the last pass.
Status PromptScorer::addRow(Sequence &sequence, uint32_t row) {
  const Program &program = parts.programs().program(scoring->program);
  Binding logits = program.outputs.front().place.at(0);
  uint64_t bytes = logits.bytes / scoring->rows;
  MTP_RETURN_IF_ERROR(
      parts.results.addPromptRow(sequence, sequence.residency->scored,
                                 rowsOf(logits, row * bytes, bytes)));
  ++sequence.residency->scored;
  return okStatus();
}
