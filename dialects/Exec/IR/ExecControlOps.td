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
    has what belongs to its slot, and what is shared it only reads. Operands are
    tensors, or buffers that hold a row for each slot.

    Example:
    ```mlir
    %t, %p = exec.control @control_0 for 2 of %slots(%drafts) reads(%length)
        updates(%window)
        : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>, memref<4x5xi32>)
          -> (tensor<2x4xi32>, tensor<2x4xi32>)
    ```
    - (C1) the kernel exists and has a body.
    - (C2) the call is for at least one slot; slots and inputs have a row for
      each of them, buffers perhaps more, and results have as many.
    - (C3) operands and results have the types that the body takes, and are as
      many.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Exec_CountAttr:$count,
      AnyTypeOf<[TensorOf<[I32]>, MemRefOf<[I32]>]>:$slots,
      Variadic<AnyTypeOf<[TensorOf<[I32, I64, F32]>,
                          MemRefOf<[I32, I64, F32]>]>>:$inputs,
      Arg<Variadic<MemRefOf<[I32, I64, F32]>>, "states that are read",
          [MemRead]>:$reads,
      Arg<Variadic<MemRefOf<[I32, I64, F32]>>, "states that are updated",
          [MemRead, MemWrite]>:$updates);
  let results = (outs Variadic<TensorOf<[I32, I64, F32]>>:$results);
  let assemblyFormat = [{
    $kernel `for` custom<Count>($count) `of` $slots (`(` $inputs^ `)`)?
    (`reads` `(` $reads^ `)`)? (`updates` `(` $updates^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::exec::Count getSlotCount() { return getCountAttr().getCount(); }
  }];
  let hasVerifier = 1;
}

#endif // EXEC_CONTROL_OPS
