//===- MTPOps.h - Operations of the mtp dialect ---------------*- C++ -*-===//

#ifndef DIALECTS_MTP_IR_MTPOPS_H
#define DIALECTS_MTP_IR_MTPOPS_H

#include "dialects/MTP/IR/MTPAttrs.h"
#include "dialects/MTP/IR/MTPDialect.h"
#include "dialects/MTP/IR/MTPInterfaces.h"
#include "dialects/MTP/IR/MTPTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mtp {

/// The pages behind all caches.
struct CacheResource : SideEffects::Resource::Base<CacheResource> {
  StringRef getName() final { return "mtp.cache"; }
};

/// The state that outlives a round.
struct SlotResource : SideEffects::Resource::Base<SlotResource> {
  StringRef getName() final { return "mtp.slots"; }
};

/// What recurrent layers carry from row to row.
struct RecurrenceResource : SideEffects::Resource::Base<RecurrenceResource> {
  StringRef getName() final { return "mtp.recurrence"; }
};

/// What the host reads of a program when it has run.
struct HostResource : SideEffects::Resource::Base<HostResource> {
  StringRef getName() final { return "mtp.host"; }
};

/// Checks the tensors of an operation and of its regions' arguments: element
/// counts fit 2^46 (shapes_c1), no extent is zero (shapes_c2) but where an
/// mtp.per_slot may have one: what a round has per draft is empty at k = 0.
LogicalResult verifyBoundedShapes(Operation *op);

/// Every operation of the dialect has it; see `verifyBoundedShapes`.
template <typename ConcreteType>
class BoundedShapes : public OpTrait::TraitBase<ConcreteType, BoundedShapes> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    return verifyBoundedShapes(op);
  }
};

/// The operation may stand in the body of an mtp.per_slot; see `isControlOp`.
template <typename ConcreteType>
class InControlBody : public OpTrait::TraitBase<ConcreteType, InControlBody> {};

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

/// Whether `op` may stand in the body of an mtp.per_slot: what ends, compiles
/// on every target and touches nothing but values and the slot's state.
bool isControlOp(Operation *op);

/// Registers the upstream dialects that bodies are written in, on tensors and,
/// in exec, on buffers.
void registerControlDialects(DialectRegistry &registry);

/// The states that operations read and write, in the order of their first use.
struct StateUses {
  llvm::SetVector<StringAttr> read;
  llvm::SetVector<StringAttr> written;
};

/// The states that `op` and what stands in it name in their memory effects.
StateUses collectStateUses(Operation *op);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_MTPOPS_H
