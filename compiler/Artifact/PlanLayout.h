//===- PlanLayout.h - Blobs of a plan and their sizes -----------*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_PLANLAYOUT_H
#define MTP_COMPILER_ARTIFACT_PLANLAYOUT_H

#include "compiler/Weights/pack/WeightRecipe.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/mtp_artifact_generated.h"

namespace mtp::compiler {

/// A packed weight or a constant.
struct BlobLayout {
  std::string name;
  /// The exec.weight, exec.constant or exec.rope_table that declares the blob.
  mlir::Operation *op;
  schema::DType dtype;
  std::vector<uint64_t> shape;
  uint64_t size = 0;
  schema::BlobFormat format = schema::BlobFormat::Elements;
  /// For a quantised weight: inputs that share a scale, inputs of a matrix, and
  /// the form of scales and offsets.
  int64_t group = 0;
  int64_t inputs = 0;
  WeightScales scales = WeightScales::F32;
  bool hasOffset = false;
  /// Place of the blob after the layout of the whole file: the number of its
  /// segment and its offset there.
  uint32_t segment = 0;
  uint64_t offset = 0;
};

/// The blobs of a plan, and the indices by which commands refer to them. The
/// layout depends on the module alone, so that a plan can be reported without
/// weights.
struct PlanLayout {
  std::vector<BlobLayout> weights;
  std::vector<WeightRecipe> recipes; // one per weight
  std::vector<BlobLayout> constants;
  /// Size of a segment with only the plan's weights, or only its constants.
  uint64_t weightBytes = 0;
  uint64_t constantBytes = 0;

  /// Index of every resource symbol in its table.
  llvm::StringMap<uint32_t> weightIndex, constantIndex, stateIndex, cacheIndex,
      kernelIndex;

  /// Returns the layout of a module after the exec phase.
  static mlir::FailureOr<PlanLayout> get(mlir::ModuleOp module);
};

/// Returns the offset of a blob that follows `end` bytes of a segment.
uint64_t blobOffset(uint64_t end);

/// Returns the schema's name of an element type.
schema::DType dtypeOf(mlir::Type type);

/// Returns the bytes of the arena that a planned program uses, for every n.
mlir::exec::Count arenaBytes(mlir::exec::ProgramOp program);

/// Returns the recipe that an exec.weight states.
mlir::FailureOr<WeightRecipe> recipeOf(mlir::exec::WeightOp weight);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_PLANLAYOUT_H
