//===- HandMadePlan.h - Programs that nothing runs --------------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_HANDMADEPLAN_H
#define MTP_TEST_RUNTIME_SUPPORT_HANDMADEPLAN_H

#include "runtime/artifact/Artifact.h"

namespace mtp::test {

/// The shapes of a plan's programs.
struct PlanShapes {
  uint32_t slots = 4, maxK = 2;
  /// Rows of a chunk, from 1 on.
  uint32_t chunk = 64;
  /// The numbers of sequences that a chunk may be of.
  std::vector<uint32_t> sequences = {1, 2, 4};
  /// The numbers of prompts that a round may have rows of, `promptRows` in all.
  std::vector<uint32_t> beside = {};
  uint32_t promptRows = 32;
};

/// Returns a plan for planners: its programs have shapes and nothing else.
inline Plan handMadePlan(const PlanShapes &shapes = {}) {
  Plan plan;
  auto add = [&](schema::ProgramKind kind, uint32_t most) -> Program & {
    Program &program = plan.programs.emplace_back();
    program.kind = kind;
    program.begin = 1;
    program.end = most + 1;
    return program;
  };
  for (uint32_t k = 0; k <= shapes.maxK; ++k) {
    add(schema::ProgramKind::Decode, shapes.slots).k = k;
    for (uint32_t prompts : shapes.beside) {
      Program &mixed = add(schema::ProgramKind::Decode, shapes.slots);
      mixed.k = k;
      mixed.sequences = prompts;
      mixed.prompts = shapes.promptRows;
    }
  }
  for (uint32_t sequences : shapes.sequences)
    add(schema::ProgramKind::Prefill, shapes.chunk).sequences = sequences;
  return plan;
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_HANDMADEPLAN_H
