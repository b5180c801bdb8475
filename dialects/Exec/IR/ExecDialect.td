//===- ExecDialect.td - The exec dialect -------------------*- tablegen -*-===//

#ifndef EXEC_DIALECT
#define EXEC_DIALECT

include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::mlir::exec";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Returns a parser that fails with the new name of an op that has one.
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef name) const override;
  }];
  // The attribute of exec.rope_table.
  let dependentDialects = ["::mlir::mtp::MTPDialect"];
  let summary = "The plan: static buffers, kernel dispatches, programs";
  let description = [{
    `exec` is the plan of a compiled model: its kernels, its buffers and their
    addresses, and for every point of the envelope the list of dispatches of its
    program. It maps one to one onto the artifact. An `exec.dispatch` is a
    command, and an `exec.alloc` is a range of the arena. An `exec.state`, an
    `exec.weight` and an `exec.cache` are table entries of the same name.

    A program starts as tensors (`exec.linear`, ..., after
    `mtp-convert-to-exec`), becomes buffers (`exec.dispatch`, after
    `exec-bufferize`) and then addresses (`exec-plan-memory`).
  }];
}

/// Operands of kernels: the element types of the artifact. Bytes (i8) hold
/// quantised weights.
def Exec_Buffer : MemRefOf<[F32, BF16, I8, I32, I64]>;

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

#endif // EXEC_DIALECT
