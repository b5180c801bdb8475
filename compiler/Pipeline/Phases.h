//===- Phases.h - The phases of a compilation -------------------*- C++ -*-===//
//
// A compilation is a fixed sequence of phases; `mtpc --compile-to=PHASE` stops
// after one and `--dump-phases-to=DIR` writes the module after each.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_PIPELINE_PHASES_H
#define MTP_COMPILER_PIPELINE_PHASES_H

#include "compiler/Target/Target.h"
#include "mlir/Pass/PassManager.h"
#include <optional>
#include <string>
#include <vector>

namespace mtp::compiler {

enum class Phase {
  /// Parse and verify, wiring of drafter and target included.
  Input,
  /// One flat body per region; norms, projections and MLA in the forms that
  /// kernels have.
  Fuse,
  /// One program for all batches of a k, one for all chunks.
  Shape,
  /// Cache writes are explicit.
  Cache,
  /// Kernels, buffers and addresses.
  Exec,
  /// Kernels as native code. The module no longer changes.
  Codegen,
  /// The file.
  Artifact,
};

struct PhaseInfo {
  Phase phase;
  llvm::StringLiteral name;
  llvm::StringLiteral description;
};

/// All phases in order.
llvm::ArrayRef<PhaseInfo> allPhases();

/// The phase called `name`.
std::optional<Phase> findPhase(llvm::StringRef name);

/// How the artifact stores weights, as exec-quantize-weights takes it; by
/// default as the module has them.
struct WeightFormats {
  std::string format = "none";
  int64_t group = 0;
  /// Empty: the head is like the rest.
  std::string headFormat;
  int64_t headGroup = 0;
  /// Does not follow the rest.
  std::string embeddingFormat = "none";
  int64_t embeddingGroup = 0;
  std::vector<std::string> keep;

  bool changeWeights() const {
    return format != "none" || !headFormat.empty() || embeddingFormat != "none";
  }
};

/// What the user chose for the lowering to exec.
struct LoweringOptions {
  WeightFormats formats;
  /// The tokens that may be drafted, ascending; empty for all.
  std::vector<int32_t> draftTokens;
  /// Ids of the vocabulary that are never picked, since the tokenizer has no
  /// token for them.
  std::vector<int32_t> idsWithoutToken;
};

/// Adds the passes of one of the phases up to Cache, which are the same for all
/// targets; others have none.
void populatePhase(mlir::OpPassManager &manager, Phase phase);

/// Adds the passes of the phase Exec for one target.
void populateExecPhase(mlir::OpPassManager &manager, const Target &target,
                       const LoweringOptions &options = {});

} // namespace mtp::compiler

#endif // MTP_COMPILER_PIPELINE_PHASES_H
