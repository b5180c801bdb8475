//===- MTPDialect.td - Dialect definition ------------------*- tablegen -*-===//

#ifndef MTP_DIALECT_TD
#define MTP_DIALECT_TD

include "mlir/IR/OpBase.td"

def MTP_Dialect : Dialect {
  let name = "mtp";
  let cppNamespace = "::mlir::mtp";
  let summary = "A language model, its drafter and its round of speculation";
  let description = [{
    The dialect says what a speculative program means, on tensors with value
    semantics: the target model, the drafter, the verification window, the
    accept rule and the cache commit. Five families of operations: *model*,
    *draft*, *verify*, *cache* and *control*. Functions are `func.func`; the
    program is one `mtp.round`.

    Activations are `tensor<MxWxf32>` with one token per row. `M` is dynamic
    until the `shape` phase and static after it. What the rows are (slot,
    position, live or dead) travels beside them as one `!mtp.rows` value.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Adds the attributes; they live in a file of their own.
    void registerAttributes();
  }];
  let hasOperationAttrVerify = 1;
  // Canonicalisation makes tensor.cast and tensor.empty.
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // MTP_DIALECT_TD
