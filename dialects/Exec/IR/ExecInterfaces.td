//===- ExecInterfaces.td - Interfaces of kernel calls ------*- tablegen -*-===//

#ifndef EXEC_INTERFACES
#define EXEC_INTERFACES

include "mlir/IR/OpBase.td"

def Exec_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call of a kernel in value form. A kernel takes the buffers of the op's
    operands, followed by the buffers of its results. Passes use this interface
    to order, place and divide calls. The class of a call identifies its family.

    Returns the kernel for code generation, contracts and the artifact.
  }];
  let methods = [
    InterfaceMethod<"Returns the kernel's compile-time parameters.",
      "::mlir::exec::KernelAttrInterface", "makeKernel">,
    InterfaceMethod<[{
      Returns the 64-bit scalars, the number of rows or slots first: by default
      the number of rows of the first result.
    }], "::llvm::SmallVector<::mlir::exec::Count>", "getKernelParams", (ins),
    "", [{
        return {::mlir::exec::rowsOf($_op->getResult(0))};
      }]>,
    InterfaceMethod<[{
      Returns the buffers that are not results, in binding order. The buffer of
      a view is the buffer that it views.
    }], "::llvm::SmallVector<::mlir::exec::KernelOperand>",
      "getKernelOperands", (ins), "", [{
        return ::mlir::exec::resolveOperands($_op->getOperands());
      }]>,
    InterfaceMethod<"Returns whether the kernel updates an operand in place.",
      "bool", "updatesOperand", (ins "size_t":$index), "", [{
        return ::mlir::exec::updatesBuffer($_op.makeKernel(), index);
      }]>,
    InterfaceMethod<[{
      Returns whether a task of a row-by-row call reads more of an operand than
      its own row: a table, a norm's weight.
    }], "bool", "readsAnyRow", (ins "size_t":$index), "", [{
        return false;
      }]>,
    InterfaceMethod<[{
      Returns whether there is one task per row that accesses no other rows of
      any activation.
    }], "bool", "isRowLocal", (ins), "", [{
        return ::mlir::exec::isRowLocal($_op.makeKernel());
      }]>,
    InterfaceMethod<[{
      Returns whether the call's result for a row depends on that row of an
      operand, so that the call may skip trailing rows that the operand does not
      have.
    }], "bool", "followsRowsOf", (ins "size_t":$index), "", [{
        return ::mlir::exec::hasCallsRows($_op, index);
      }]>,
    InterfaceMethod<"Returns whether there is one task per row or per slot.",
      "bool", "dividesByRow", (ins), "", [{
        return ::mlir::exec::dividesByRow($_op.makeKernel());
      }]>,
    InterfaceMethod<"Returns the number of tasks that threads may share, at n.",
      "int64_t", "getTasks", (ins "int64_t":$n), "", [{
        return ::mlir::exec::kernelTasks(
            $_op.makeKernel(),
            ::mlir::exec::evaluate($_op.getKernelParams(), n));
      }]>,
    InterfaceMethod<[{
      Returns whether task r updates exactly what task r of `other` updates, if
      both calls update the same buffer.
    }], "bool", "updatesSameRowsAs",
      (ins "::mlir::exec::KernelOpInterface":$other), "", [{ return false; }]>,
  ];
}

def Exec_PackedWeightOpInterface : OpInterface<"PackedWeightOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call whose kernel streams a packed weight, or looks up its rows, and
    supports integers: it has the `format` of the weight.
  }];
  let methods = [
    InterfaceMethod<"The weight.", "::mlir::Value", "getPackedWeight">,
    InterfaceMethod<"Returns the format of the weight's elements.",
      "::mlir::exec::FormatAttr", "getFormat", (ins), "", [{
        return $_op.getFormat();
      }]>,
    InterfaceMethod<"Sets the format of the weight's elements.",
      "void", "setFormatAttr", (ins "::mlir::exec::FormatAttr":$format), "",
      [{ $_op.setFormatAttr(format); }]>,
  ];
}

def Exec_EntryWriterOpInterface : OpInterface<"EntryWriterOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call that writes rows to entries of a cache's layer. Slots, positions, the
    page table and the division of a page's entries locate the entries.
  }];
  let methods = [
    InterfaceMethod<"", "::mlir::Value", "getSlots">,
    InterfaceMethod<"", "::mlir::Value", "getPositions">,
    InterfaceMethod<"", "::mlir::Value", "getPageTable">,
    InterfaceMethod<"The layer.", "::mlir::Value", "getPages">,
    InterfaceMethod<"Returns the number of heads that divide a page's entries.",
      "uint64_t", "getCacheHeads">,
  ];
}

def Exec_WeightLayoutAttrInterface
    : AttrInterface<"WeightLayoutAttrInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    The byte layout of the matrices in a packed weight. A target chooses the
    layouts that its kernels stream. Weights that two targets want in one layout
    are stored once.
  }];
  let methods = [
    InterfaceMethod<"Returns the type of the packed buffer, with padding.",
      "::mlir::MemRefType", "getPackedType",
      (ins "const ::mlir::exec::PackedMatrices &":$matrices)>,
  ];
}

def Exec_KernelAttrInterface : AttrInterface<"KernelAttrInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A kernel: its kind and its compile-time parameters. Two dispatches with
    equal kernels share one.
  }];
  let methods = [
    InterfaceMethod<"The name of the kind.", "::llvm::StringRef", "getKind">,
    InterfaceMethod<"Returns the number of 64-bit scalars of a dispatch.",
      "int64_t", "getParamCount">,
    InterfaceMethod<"Returns how work divides into tasks.",
      "::mlir::exec::Division", "getDivision">,
    InterfaceMethod<[{
      Lists the buffers in binding order: inputs, including those updated in
      place, followed by the results. A builtin of the runtime gives only their
      number, because the runtime knows its contract.
    }], "void", "describe", (ins "::mlir::exec::ContractWriter &":$writer)>,
    InterfaceMethod<"Returns the tasks of Division::Other.",
      "::mlir::exec::TaskShape", "getTasks", (ins), "", [{
        return {1, 1};
      }]>,
    InterfaceMethod<"Reports a number below its minimum.",
      "::llvm::LogicalResult", "verifySizes",
      (ins "::mlir::exec::KernelErrorFn":$emitError)>,
    InterfaceMethod<"Reports parameters that do not go together.",
      "::llvm::LogicalResult", "verifyRules",
      (ins "::mlir::exec::KernelErrorFn":$emitError), "", [{
        return ::mlir::success();
      }]>,
    InterfaceMethod<"Returns whether it is a function of the runtime.",
      "bool", "isBuiltin", (ins), "", [{ return false; }]>,
  ];
}

#endif // EXEC_INTERFACES
