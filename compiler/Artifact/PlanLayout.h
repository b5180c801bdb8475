//===- PlanLayout.h - What a plan holds and how it is counted ---*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_PLANLAYOUT_H
#define MTP_COMPILER_ARTIFACT_PLANLAYOUT_H

#include "compiler/Weights/WeightRecipe.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/mtp_artifact_generated.h"

namespace mtp::compiler {

/// A packed weight or a constant.
struct BlobLayout {
  std::string name;
  /// The exec.weight, exec.constant or exec.rope_table that declares it.
  mlir::Operation *op;
  schema::DType dtype;
  std::vector<uint64_t> shape;
  uint64_t size = 0;
  schema::BlobFormat format = schema::BlobFormat::Elements;
  /// Of a quantised weight: inputs that share a scale, inputs of a matrix.
  int64_t group = 0;
  int64_t inputs = 0;
  /// Where it lies, once the whole file is laid out: its segment, by number,
  /// and the bytes before it there.
  uint32_t segment = 0;
  uint64_t offset = 0;
};

/// The blobs of a plan, and the indices by which commands name them. Follows
/// from the module alone, so that a plan can be reported without weights.
struct PlanLayout {
  std::vector<BlobLayout> weights;
  std::vector<WeightRecipe> recipes; // one per weight
  std::vector<BlobLayout> constants;
  /// Of a segment of nothing else.
  uint64_t weightBytes = 0;
  uint64_t constantBytes = 0;

  /// Index of every resource symbol in its table.
  llvm::StringMap<uint32_t> weightIndex, constantIndex, stateIndex, cacheIndex,
      kernelIndex;

  /// Reads the layout off a module that went through the exec phase.
  static mlir::FailureOr<PlanLayout> get(mlir::ModuleOp module);
};

/// Where a blob begins that follows `end` bytes of a segment.
uint64_t blobOffset(uint64_t end);

/// The schema's name of an element type.
schema::DType dtypeOf(mlir::Type type);

/// How much of the arena a planned program uses, at every n.
mlir::exec::Count arenaBytes(mlir::exec::ProgramOp program);

/// The recipe that an exec.weight states.
mlir::FailureOr<WeightRecipe> recipeOf(mlir::exec::WeightOp weight);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_PLANLAYOUT_H
