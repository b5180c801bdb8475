//===- ExecControlOps.td - Calls of kernels with a body ----*- tablegen -*-===//

#ifndef EXEC_CONTROL_OPS
#define EXEC_CONTROL_OPS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_ControlOp : Exec_Op<"control", [
    HasParent<"::mlir::exec::ProgramOp">, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<Exec_KernelOpInterface,
        ["getKernelParams", "updatesOperand", "readsAnyRow", "followsRowsOf",
         "isRowLocal",
         "dividesByRow", "updatesSameRowsAs"]>]> {
  let summary = "Call a kernel that carries its body, one task per slot";
  let description = [{
    The value form of a dispatch of a control kernel. Task i has row i of
    `slots`, `inputs` and results. Of each state it has the part of its slot; it
    only reads shared states. `packed` operands have a fixed number of rows per
    task, and a task may read any of them: the row numbers come from other
    operands. Operands are tensors, or buffers with a row for each slot.

    Example:
    ```mlir
    %t, %p = exec.control @control_0 for 2 of %slots(%drafts) reads(%length)
        updates(%window)
        : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>, memref<4x5xi32>)
          -> (tensor<2x4xi32>, tensor<2x4xi32>)
    ```
    - (C1) the kernel exists and has a body.
    - (C2) the call is for at least one slot; slots, inputs and results have a
      row for each slot, and buffers and packed operands have at least one for
      each slot.
    - (C3) operands and results have the number and types of the body's
      arguments.
    - (C4) operands that tasks read at other tasks' rows (`exec.clamp_task`)
      are packed.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Exec_CountAttr:$count,
      AnyTypeOf<[TensorOf<[I32]>, MemRefOf<[I32]>]>:$slots,
      Variadic<AnyTypeOf<[TensorOf<[I32, I64, F32]>,
                          MemRefOf<[I32, I64, F32]>]>>:$inputs,
      Variadic<TensorOf<[I32, I64, F32]>>:$packed,
      Arg<Variadic<MemRefOf<[I32, I64, F32]>>, "states that are read",
          [MemRead]>:$reads,
      Arg<Variadic<MemRefOf<[I32, I64, F32]>>, "states that are updated",
          [MemRead, MemWrite]>:$updates);
  let results = (outs Variadic<TensorOf<[I32, I64, F32]>>:$results);
  let assemblyFormat = [{
    $kernel `for` custom<Count>($count) `of` $slots (`(` $inputs^ `)`)?
    (`packed` `(` $packed^ `)`)? (`reads` `(` $reads^ `)`)?
    (`updates` `(` $updates^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::exec::Count getSlotCount() { return getCountAttr().getCount(); }
    /// Returns whether this operand is packed.
    bool isPacked(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_ClampTaskOp : Exec_Op<"clamp_task", [Pure]> {
  let summary = "Clamp a number to the tasks of the call";
  let description = [{
    In the body of a kernel: returns `index`, clamped to the range of tasks of
    the call. A body can therefore read rows of other tasks by any number.

    Example:
    ```mlir
    %own = exec.clamp_task %group : index
    ```
    - (C1) the op does not stand in a program.
  }];
  let arguments = (ins Index:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$index attr-dict `:` type($index)";
  let hasVerifier = 1;
}

#endif // EXEC_CONTROL_OPS
