//===- ExecInterfaces.td - What passes ask of kernel calls -*- tablegen -*-===//

#ifndef EXEC_INTERFACES
#define EXEC_INTERFACES

include "mlir/IR/OpBase.td"

def Exec_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call of a kernel in value form. A kernel sees the buffers of its operands
    and then those of the op's results. Passes order, place and divide calls by
    what is said here; which family a call belongs to is its class.

    Its kernel is what code generation, contracts and the artifact know.
  }];
  let methods = [
    InterfaceMethod<"What is fixed when the kernel is compiled.",
      "::mlir::exec::KernelAttrInterface", "makeKernel">,
    InterfaceMethod<[{
      64-bit scalars, the number of rows or slots first: that of the first
      result where a call does not say another.
    }], "::llvm::SmallVector<::mlir::exec::Count>", "getKernelParams", (ins),
    "", [{
        return {::mlir::exec::rowsOf($_op->getResult(0))};
      }]>,
    InterfaceMethod<[{
      The buffers that are no results, in binding order: a view's is that of
      what it is a view of.
    }], "::llvm::SmallVector<::mlir::exec::KernelOperand>",
      "getKernelOperands", (ins), "", [{
        return ::mlir::exec::resolveOperands($_op->getOperands());
      }]>,
    InterfaceMethod<"Whether the kernel updates an operand in place.",
      "bool", "updatesOperand", (ins "size_t":$index), "", [{
        return ::mlir::exec::updatesBuffer($_op.makeKernel(), index);
      }]>,
    InterfaceMethod<[{
      Whether a task of a call that goes row by row reads more of an operand
      than the task's own row: a table, a norm's weight.
    }], "bool", "readsAnyRow", (ins "size_t":$index), "", [{
        return false;
      }]>,
    InterfaceMethod<[{
      Whether there is a task per row that touches nothing of the other rows of
      any activation.
    }], "bool", "isRowLocal", (ins), "", [{
        return ::mlir::exec::isRowLocal($_op.makeKernel());
      }]>,
    InterfaceMethod<[{
      Whether what the call gives for a row is made of that row of an operand,
      so that it may leave out the last rows where that one has none.
    }], "bool", "followsRowsOf", (ins "size_t":$index), "", [{
        return ::mlir::exec::hasCallsRows($_op, index);
      }]>,
    InterfaceMethod<"Whether there is a task per row or per slot.",
      "bool", "dividesByRow", (ins), "", [{
        return ::mlir::exec::dividesByRow($_op.makeKernel());
      }]>,
    InterfaceMethod<"Pieces of work that threads may share, at n.",
      "int64_t", "getTasks", (ins "int64_t":$n), "", [{
        return ::mlir::exec::kernelTasks(
            $_op.makeKernel(),
            ::mlir::exec::evaluate($_op.getKernelParams(), n));
      }]>,
    InterfaceMethod<[{
      Whether what task r updates in place is what task r of `other` does, and
      nothing else, if both update the same buffer.
    }], "bool", "updatesSameRowsAs",
      (ins "::mlir::exec::KernelOpInterface":$other), "", [{ return false; }]>,
  ];
}

def Exec_PackedWeightOpInterface : OpInterface<"PackedWeightOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call whose kernel streams a packed weight, or looks rows of it up, and
    knows integers: it has the weight's `format`.
  }];
  let methods = [
    InterfaceMethod<"The weight.", "::mlir::Value", "getPackedWeight">,
    InterfaceMethod<"What the weight's elements are.",
      "::mlir::exec::FormatAttr", "getFormat", (ins), "", [{
        return $_op.getFormat();
      }]>,
    InterfaceMethod<"Takes the weight for one of that format.",
      "void", "setFormatAttr", (ins "::mlir::exec::FormatAttr":$format), "",
      [{ $_op.setFormatAttr(format); }]>,
  ];
}

def Exec_EntryWriterOpInterface : OpInterface<"EntryWriterOpInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A call that writes rows to the entries of a cache's layer. Slots, positions,
    the page table and how a page's entries are divided say which they are.
  }];
  let methods = [
    InterfaceMethod<"", "::mlir::Value", "getSlots">,
    InterfaceMethod<"", "::mlir::Value", "getPositions">,
    InterfaceMethod<"", "::mlir::Value", "getPageTable">,
    InterfaceMethod<"The layer.", "::mlir::Value", "getPages">,
    InterfaceMethod<"Heads among which a page's entries are divided.",
      "uint64_t", "getCacheHeads">,
  ];
}

def Exec_WeightLayoutAttrInterface
    : AttrInterface<"WeightLayoutAttrInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    How the bytes of a packed weight hold its matrices. A target says which
    layouts its kernels stream; weights that two targets want in one layout are
    stored once.
  }];
  let methods = [
    InterfaceMethod<"The buffer that holds these matrices, all of its bytes.",
      "::mlir::MemRefType", "getPackedType",
      (ins "const ::mlir::exec::PackedMatrices &":$matrices)>,
  ];
}

def Exec_KernelAttrInterface : AttrInterface<"KernelAttrInterface"> {
  let cppNamespace = "::mlir::exec";
  let description = [{
    A kernel: what its kind is, and what it is specialised on. Two dispatches
    whose kernels are equal share one.
  }];
  let methods = [
    InterfaceMethod<"The name of the kind.", "::llvm::StringRef", "getKind">,
    InterfaceMethod<"64-bit scalars of a dispatch, rows or slots first.",
      "int64_t", "getParamCount">,
    InterfaceMethod<"How work divides into tasks.",
      "::mlir::exec::Division", "getDivision">,
    InterfaceMethod<[{
      Lists the buffers in binding order: inputs, among them those updated in
      place, and then the results. A builtin of the runtime, which knows its
      contract, says how many there are and no more.
    }], "void", "describe", (ins "::mlir::exec::ContractWriter &":$writer)>,
    InterfaceMethod<"The tasks of Division::Other.",
      "::mlir::exec::TaskShape", "getTasks", (ins), "", [{
        return {1, 1};
      }]>,
    InterfaceMethod<"Reports a number that is smaller than it may be.",
      "::llvm::LogicalResult", "verifySizes",
      (ins "::mlir::exec::KernelErrorFn":$emitError)>,
    InterfaceMethod<"Reports parameters that do not go together.",
      "::llvm::LogicalResult", "verifyRules",
      (ins "::mlir::exec::KernelErrorFn":$emitError), "", [{
        return ::mlir::success();
      }]>,
    InterfaceMethod<"Whether it is a function of the runtime: no code here.",
      "bool", "isBuiltin", (ins), "", [{ return false; }]>,
  ];
}

#endif // EXEC_INTERFACES
