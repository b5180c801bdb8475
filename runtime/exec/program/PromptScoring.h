//===- PromptScoring.h - The function that scores prompts -------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_PROMPTSCORING_H
#define MTP_RUNTIME_EXEC_PROGRAM_PROMPTSCORING_H

#include "runtime/artifact/Artifact.h"

#include <optional>

namespace mtp {

/// The exported function `prompt_logits`, from tokens, slots and positions of
/// rows to the logits of all rows.
struct PromptScoring {
  /// Index of the program.
  uint32_t program = 0;
  uint32_t rows = 0;
};

/// Returns the function if it has its documented form and works in the pages of
/// slots, so that it may run while sequences have slots. In artifacts of
/// earlier compilers its pages are fixed.
std::optional<PromptScoring> findPromptScoring(const Artifact &artifact,
                                               const Plan &plan);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_PROMPTSCORING_H
