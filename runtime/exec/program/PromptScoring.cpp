//===- PromptScoring.cpp - The function that scores prompts ---------------===//

#include "runtime/exec/program/PromptScoring.h"

#include <algorithm>

using namespace mtp;

static bool isPort(const Port &port, schema::DType dtype,
                   const std::vector<uint64_t> &shape) {
  return port.dtype == dtype && port.shapeAt(0) == shape;
}

/// Whether the program has caches in pages that no slot owns.
static bool hasFixedPages(const Artifact &artifact, const Program &program) {
  auto isKv = [](const Place &place) {
    return place.space == schema::Space::Kv;
  };
  std::optional<uint32_t> table = artifact.findState("page_table");
  auto isTable = [&](const Place &place) {
    return place.space == schema::Space::State && place.index == table;
  };
  return std::ranges::any_of(program.places, isKv) &&
         std::ranges::none_of(program.places, isTable);
}

std::optional<PromptScoring> mtp::findPromptScoring(const Artifact &artifact,
                                                    const Plan &plan) {
  auto isNamed = [](const Program &program) {
    return program.kind == schema::ProgramKind::Function &&
           program.name == "prompt_logits";
  };
  auto found = std::ranges::find_if(plan.programs, isNamed);
  if (found == plan.programs.end() || !artifact.envelope ||
      found->inputs.size() != 3 || found->outputs.size() != 1)
    return std::nullopt;
  std::vector<uint64_t> shape = found->inputs.front().shapeAt(0);
  if (shape.size() != 1 || shape[0] == 0 || hasFixedPages(artifact, *found))
    return std::nullopt;
  for (const Port &input : found->inputs)
    if (!isPort(input, schema::DType::I32, shape))
      return std::nullopt;
  uint64_t rows = shape[0], vocab = artifact.envelope->vocab();
  if (!isPort(found->outputs.front(), schema::DType::F32, {rows, vocab}))
    return std::nullopt;
  return PromptScoring{uint32_t(found - plan.programs.begin()), uint32_t(rows)};
}
