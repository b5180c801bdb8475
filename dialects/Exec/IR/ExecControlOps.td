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
  let summary = "Call a kernel that carries its body, a task for each slot";
  let description = [{
    The value form of a dispatch of a control kernel. Task i has row i of
    `slots`, `inputs` and results; of the states that it reads and updates it
    has what belongs to its slot, and what is shared it only reads. What is
    `packed` has as many rows for each task, of which it reads any: those that
    others of its operands name. Operands are tensors, or buffers that hold a
    row for each slot.

    Example:
    ```mlir
    %t, %p = exec.control @control_0 for 2 of %slots(%drafts) reads(%length)
        updates(%window)
        : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>, memref<4x5xi32>)
          -> (tensor<2x4xi32>, tensor<2x4xi32>)
    ```
    - (C1) the kernel exists and has a body.
    - (C2) the call is for at least one slot; slots and inputs have a row for
      each of them, buffers and what is packed perhaps more, and results have as
      many.
    - (C3) operands and results have the types that the body takes, and are as
      many.
    - (C4) what tasks read of others (`exec.nearest_task`) is packed.
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
    /// Whether this operand is one of those that are packed.
    bool isPacked(size_t index);
  }];
  let hasVerifier = 1;
}

def Exec_NearestTaskOp : Exec_Op<"nearest_task", [Pure]> {
  let summary = "The nearest number of a task";
  let description = [{
    In the body of a kernel: `index`, or the first or the last of the tasks of
    its call where there is no such one. So a body reads rows of other tasks,
    whatever number leads to them.

    Example:
    ```mlir
    %own = exec.nearest_task %group : index
    ```
    - (C1) no program holds it.
  }];
  let arguments = (ins Index:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$index attr-dict `:` type($index)";
  let hasVerifier = 1;
}

#endif // EXEC_CONTROL_OPS
