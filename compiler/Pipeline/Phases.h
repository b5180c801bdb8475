//===- Phases.h - The phases of a compilation -------------------*- C++ -*-===//
//
// A compilation is a fixed sequence of phases. `mtpc --compile-to=PHASE` stops
// after one phase, and `--dump-phases-to=DIR` writes the module after each.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_PIPELINE_PHASES_H
#define MTP_COMPILER_PIPELINE_PHASES_H

#include "compiler/Target/Target.h"
#include "mlir/Pass/PassManager.h"
#include "passes/exec/QuantizeWeights.h"
#include "runtime/schema/WeightFormat.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mtp::compiler {

enum class Phase {
  /// Parses the model and verifies it, including the wiring of drafter and
  /// target.
  Input,
  /// Flattens each region to one body. Brings norms, projections and MLA into
  /// the forms that kernels have.
  Fuse,
  /// Makes one program for all batches of a k, and one for all chunks.
  Shape,
  /// Makes cache writes explicit.
  Cache,
  /// Chooses kernels, buffers and addresses.
  Exec,
  /// Compiles kernels to native code. The module no longer changes.
  Codegen,
  /// Writes the file.
  Artifact,
};

struct PhaseInfo {
  Phase phase;
  llvm::StringLiteral name;
  llvm::StringLiteral description;
};

/// Returns all phases in order.
llvm::ArrayRef<PhaseInfo> allPhases();

/// Returns the phase called `name`.
std::optional<Phase> findPhase(llvm::StringRef name);

/// Formats in which the artifact stores weights, as options of
/// exec-quantize-weights. By default weights keep the module's format.
struct WeightFormats {
  /// Mean bits of the projections in a mixture without `bits`.
  static constexpr double kProjectionBits = 5.0;

  std::string format = "none";
  /// Inputs that share an f32 scale. 0 for int8: the target's form, which is
  /// groups of 32 with f16 scales, or kDefaultQuantGroup for tensor cores.
  int64_t group = 0;
  /// Empty: the head has the format of the other weights.
  std::string headFormat;
  int64_t headGroup = 0;
  /// The embedding does not follow `format`.
  std::string embeddingFormat = "none";
  int64_t embeddingGroup = 0;
  std::vector<std::string> keep;
  /// Replaces `format` by formats of 4 to 6 bits that are chosen for each
  /// weight.
  bool isMixed = false;
  /// Mean bits of a mixture. Empty: kProjectionBits for projections, and 6 bits
  /// for the head.
  std::optional<double> bits;
  /// False if the user chose the embedding's format; it is then stored apart
  /// from the head.
  bool tie = true;

  bool changeWeights() const {
    return format != "none" || !headFormat.empty() || embeddingFormat != "none";
  }
};

/// The user's choices for the lowering to exec.
struct LoweringOptions {
  WeightFormats formats;
  /// Returns the target's format that keeps a weight as its tensors store it;
  /// null to keep none.
  std::function<std::optional<WeightFormat>(mlir::exec::WeightOp)> keptFormat;
  /// Chooses the formats of a mixture.
  mlir::mtp::ChooseFormatsFn chooseFormats;
  /// Returns the format that keeps a tensor as it is stored. If not null,
  /// projections of different formats stay apart.
  mlir::mtp::StoredFormatFn storedFormat;
  /// Tokens that may be drafted, ascending; empty for all tokens.
  std::vector<int32_t> draftTokens;
  /// Ids of the vocabulary that are never picked, because the tokenizer has no
  /// token for them.
  std::vector<int32_t> idsWithoutToken;
  /// Adds a function that returns the inputs of the target's projections.
  bool collectInputs = false;
};

/// Adds the passes of a phase up to Cache. All targets share these passes.
/// Later phases have none.
void populatePhase(mlir::OpPassManager &manager, Phase phase,
                   const LoweringOptions &options = {});

/// Adds the passes of the phase Exec for one target.
void populateExecPhase(mlir::OpPassManager &manager, const Target &target,
                       const LoweringOptions &options = {});

} // namespace mtp::compiler

#endif // MTP_COMPILER_PIPELINE_PHASES_H
