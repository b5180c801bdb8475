//===- ControlBody.h - From a body on tensors to one on buffers -*- C++ -*-===//
//
// What `mtp-outline-control` does with one body: it becomes a function on
// buffers in arith, math, scf and memref that touches nothing outside of them
// and ends, whatever they hold.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_CONTROL_CONTROLBODY_H
#define MTP_PASSES_CONTROL_CONTROLBODY_H

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mtp {

/// The states of a body in the order of its buffers.
struct ControlStates {
  /// Those that it only reads, and those that it writes.
  SmallVector<exec::StateOp> read, updated;
};

/// How a body's kernel has an operand of the body.
struct ControlInput {
  /// The buffer with its rows, among those behind the slots.
  size_t operand = 0;
  /// Where the rows are packed: the buffer that says which of them are the
  /// slot's, -1 of one that is dead.
  std::optional<size_t> places;

  bool operator==(const ControlInput &) const = default;
};

/// The operands of a body in the order of its buffers.
struct ControlInputs {
  /// Operands of the call: with rows of the slot, and packed ones of all slots.
  SmallVector<Value> whole, packed;
  /// What the body sees of both; of packed ones as if they were not.
  SmallVector<Type> types;
  SmallVector<ControlInput> byArgument;
};

/// Adds the dialects that `writeControlFunction` makes use of.
void insertControlBodyDialects(DialectRegistry &registry);

/// Writes the body of `op` as a function at the builder's insertion point. It
/// takes the task's number, the slots, the inputs, the states that are read,
/// those that are updated, and the results; `slots` is how many slots there
/// are. The tensors of the body are still tensors.
func::FuncOp writeControlFunction(OpBuilder &builder, PerSlotOp op,
                                  const ControlInputs &inputs,
                                  const ControlStates &states, int64_t slots);

/// Gives every operation of the function a defined result: divisors that are
/// not 0, shifts and conversions in range, loops that end, indices within their
/// tensors and buffers. What is in range anyway stays as it is.
void defineControlResults(func::FuncOp function);

/// Replaces tensors by small buffers at the function's entry. Reports what has
/// no lowering, and more than `kControlBytes` of buffers.
LogicalResult bufferizeControl(func::FuncOp function);

/// What all small buffers of a body may take: they lie on a worker's stack.
inline constexpr int64_t kControlBytes = 16384;

} // namespace mlir::mtp

#endif // MTP_PASSES_CONTROL_CONTROLBODY_H
