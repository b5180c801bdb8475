//===- MTPOps.h - Operations of the mtp dialect ---------------*- C++ -*-===//

#ifndef DIALECTS_MTP_IR_MTPOPS_H
#define DIALECTS_MTP_IR_MTPOPS_H

#include "dialects/MTP/IR/MTPAttrs.h"
#include "dialects/MTP/IR/MTPDialect.h"
#include "dialects/MTP/IR/MTPTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::mtp {

/// The pages behind all caches.
struct CacheResource : SideEffects::Resource::Base<CacheResource> {
  StringRef getName() final { return "mtp.cache"; }
};

/// The per-slot state that outlives a round.
struct SlotResource : SideEffects::Resource::Base<SlotResource> {
  StringRef getName() final { return "mtp.slots"; }
};

/// Checks the tensors of an operation and of its regions' arguments: element
/// counts fit 2^46 (shapes_c1), no extent is zero (shapes_c2).
LogicalResult verifyBoundedShapes(Operation *op);

/// Every operation of the dialect has it; see `verifyBoundedShapes`.
template <typename ConcreteType>
class BoundedShapes : public OpTrait::TraitBase<ConcreteType, BoundedShapes> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    return verifyBoundedShapes(op);
  }
};

} // namespace mlir::mtp

#define GET_OP_CLASSES
#include "dialects/MTP/IR/MTPOps.h.inc"

namespace mlir::mtp {

/// The columns of a row; -1 if they are dynamic.
inline int64_t widthOf(Value value) {
  int64_t width = cast<RankedTensorType>(value.getType()).getShape().back();
  return ShapedType::isDynamic(width) ? -1 : width;
}

/// The key that `key` means under the weight prefix `prefix`. A key that starts
/// with a slash is absolute and stays so.
std::string resolveWeightKey(StringRef prefix, StringRef key);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_MTPOPS_H
