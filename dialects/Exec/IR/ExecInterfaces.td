//===- ExecInterfaces.td - What passes ask of kernel calls -----*- tablegen -*-===//

#ifndef EXEC_INTERFACES
#define EXEC_INTERFACES

include "mlir/IR/OpBase.td"

def Exec_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call of a kernel in value form. A kernel sees the buffers of its operands
    and then those of the op's results. Passes order, place and divide calls by
    what is said here; which family a call belongs to is its class.

    Kind and configuration are what code generation, contracts and the artifact
    know a kernel by.
  }];
  let methods = [
    InterfaceMethod<"The kernel's kind in the catalogue.",
      "::llvm::StringRef", "getKernelKind">,
    InterfaceMethod<"What is fixed when the kernel is compiled.",
      "::mlir::DictionaryAttr", "getKernelConfig">,
    InterfaceMethod<"64-bit scalars, the number of rows or slots first.",
      "::llvm::SmallVector<int64_t>", "getKernelParams">,
    InterfaceMethod<[{
      The buffers that are no results, in binding order: a view's is that of what
      it is a view of.
    }], "::llvm::SmallVector<::mlir::exec::KernelOperand>",
      "getKernelOperands">,
    InterfaceMethod<"Whether the kernel updates an operand in place.",
      "bool", "updatesOperand", (ins "size_t":$index), "", [{
        return ::mlir::exec::updatesBuffer($_op.getKernelKind(), index);
      }]>,
    InterfaceMethod<[{
      Whether a task of a call that goes row by row reads more of an operand than
      the task's own row: a table, a norm's weight.
    }], "bool", "readsAnyRow", (ins "size_t":$index), "", [{
        return ::mlir::exec::readsAnyRow($_op.getKernelKind(), index);
      }]>,
    InterfaceMethod<[{
      Whether there is a task per row that touches nothing of the other rows of
      any activation.
    }], "bool", "isRowLocal", (ins), "", [{
        return ::mlir::exec::isRowLocal($_op.getKernelKind());
      }]>,
    InterfaceMethod<"Whether there is a task per row or per slot.",
      "bool", "dividesByRow", (ins), "", [{
        return ::mlir::exec::dividesByRow($_op.getKernelKind());
      }]>,
    InterfaceMethod<"Pieces of work that threads may share.",
      "int64_t", "getTasks", (ins), "", [{
        return ::mlir::exec::kernelTasks($_op.getKernelKind(),
                                         $_op.getKernelConfig(),
                                         $_op.getKernelParams());
      }]>,
    InterfaceMethod<[{
      Whether what task r updates in place is what task r of `other` does, and
      nothing else, if both update the same buffer.
    }], "bool", "updatesSameRowsAs",
      (ins "::mlir::exec::KernelOpInterface":$other), "", [{ return false; }]>,
    InterfaceMethod<"Whether one thread does all tasks.", "bool", "getSolo">,
    InterfaceMethod<"", "void", "setSolo", (ins "bool":$solo)>,
    InterfaceMethod<"Whether no barrier stands before the call.",
      "bool", "getJoined">,
    InterfaceMethod<"", "void", "setJoined", (ins "bool":$joined)>,
  ];
}

#endif // EXEC_INTERFACES
