//===- ControlBody.h - Writes bodies as functions on buffers ----*- C++ -*-===//
//
// `mtp-outline-control` turns each body into a function on buffers in arith,
// math, scf and memref. The function touches no memory outside the buffers and
// terminates, whatever they hold.
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
  /// The states that it only reads, and the states that it writes.
  SmallVector<exec::StateOp> read, updated;
};

/// The buffers in which a body's kernel finds an operand.
struct ControlInput {
  /// The buffer with its rows, counted from the first buffer after the slots.
  size_t operand = 0;
  /// For packed rows, the buffer with the places of the slot's rows; -1 for a
  /// padding row.
  std::optional<size_t> places;

  bool operator==(const ControlInput &) const = default;
};

/// The operands of a body in the order of its buffers.
struct ControlInputs {
  /// Operands of the call: `whole` has rows per slot, `packed` the packed rows
  /// of all slots.
  SmallVector<Value> whole, packed;
  /// The types that the body sees; packed operands appear unpacked.
  SmallVector<Type> types;
  SmallVector<ControlInput> byArgument;
};

/// Adds the dialects that `writeControlFunction` uses.
void insertControlBodyDialects(DialectRegistry &registry);

/// Writes the body of `op` as a function at the builder's insertion point. Its
/// arguments are the task's number, the slots, the inputs, the states that are
/// read, the states that are updated, and the results. `slots` is the number of
/// slots. Tensors inside the body remain tensors.
func::FuncOp writeControlFunction(OpBuilder &builder, PerSlotOp op,
                                  const ControlInputs &inputs,
                                  const ControlStates &states, int64_t slots);

/// Gives every operation of the function a defined result: nonzero divisors,
/// shifts and conversions in range, loops that end, indices within their
/// tensors and buffers. Operands that are in range anyway stay unchanged.
void defineControlResults(func::FuncOp function);

/// Replaces tensors by small buffers at the function's entry. Reports ops
/// without a lowering, and buffers of more than `kControlBytes` in total.
LogicalResult bufferizeControl(func::FuncOp function);

/// The limit for all small buffers of a body, in bytes. The buffers lie on a
/// worker's stack.
inline constexpr int64_t kControlBytes = 16384;

} // namespace mlir::mtp

#endif // MTP_PASSES_CONTROL_CONTROLBODY_H
