//===- MTPOps.h - Operations of the mtp dialect ---------------*- C++ -*-===//

#ifndef MTP_DIALECTS_MTP_IR_MTPOPS_H
#define MTP_DIALECTS_MTP_IR_MTPOPS_H

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

/// The pages of all caches.
struct CacheResource : SideEffects::Resource::Base<CacheResource> {
  StringRef getName() final { return "mtp.cache"; }
};

/// State that outlives a round.
struct SlotResource : SideEffects::Resource::Base<SlotResource> {
  StringRef getName() final { return "mtp.slots"; }
};

/// State that recurrent layers carry from row to row.
struct RecurrenceResource : SideEffects::Resource::Base<RecurrenceResource> {
  StringRef getName() final { return "mtp.recurrence"; }
};

/// Outputs that the host reads after a program has run.
struct HostResource : SideEffects::Resource::Base<HostResource> {
  StringRef getName() final { return "mtp.host"; }
};

/// Checks the tensors of an operation and of its regions' arguments. Element
/// counts are at most 2^46 (shapes_c1). No extent is zero (shapes_c2), except
/// in and around mtp.per_slot: values per draft are empty at k = 0.
LogicalResult verifyBoundedShapes(Operation *op);

/// The shape checks of every operation of the dialect; see
/// `verifyBoundedShapes`.
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

/// Returns the columns of a row; -1 if they are dynamic.
inline int64_t widthOf(Value value) {
  int64_t width = cast<RankedTensorType>(value.getType()).getShape().back();
  return ShapedType::isDynamic(width) ? -1 : width;
}

/// Returns the full key of `key` under the weight prefix `prefix`. A key that
/// starts with a slash is absolute and stays unchanged.
std::string resolveWeightKey(StringRef prefix, StringRef key);

/// Returns whether `op` may stand in the body of an mtp.per_slot: it ends,
/// compiles for every target, and accesses only values and the slot's state.
bool isControlOp(Operation *op);

/// Registers the upstream dialects of bodies, on tensors and, in exec, on
/// buffers.
void registerControlDialects(DialectRegistry &registry);

/// States that operations read and write, in the order of their first use.
struct StateUses {
  llvm::SetVector<StringAttr> read;
  llvm::SetVector<StringAttr> written;
};

/// Returns the states in the memory effects of `op` and its nested ops.
StateUses collectStateUses(Operation *op);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_MTPOPS_H
