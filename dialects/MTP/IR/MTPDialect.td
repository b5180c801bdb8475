//===- MTPDialect.td - Dialect definition ------------------*- tablegen -*-===//

#ifndef MTP_DIALECT_TD
#define MTP_DIALECT_TD

include "mlir/IR/OpBase.td"

def MTP_Dialect : Dialect {
  let name = "mtp";
  let cppNamespace = "::mlir::mtp";
  let summary = "A language model, its drafter and its round of speculation";
  let description = [{
    The dialect describes a speculative program on tensors with value semantics:
    the target model, the drafter, the verification window, the accept rule and
    the cache commit. Operations belong to the families *model*, *draft*,
    *verify*, *cache*, *control* and *core*. Functions are `func.func`; the
    program is one `mtp.round`.

    Activations are `tensor<MxWxf32>` with one token per row. `M` is dynamic
    until the `shape` phase and static after it. One `!mtp.rows` value describes
    the rows: slot, position, active or padding.

    Constraints of all operations, and of attributes on operations of other
    dialects:
    - (shapes_c1) every operation: a tensor has at most 2^46 elements.
    - (shapes_c2) every operation except `mtp.per_slot` and its yield: no extent
      is zero.
    - (module_c1) `mtp.envelope`, `mtp.generation`, `mtp.tokenizer` and
      `mtp.method` stand on a module and have their kind.
    - (module_c2) `mtp.generation`: bos and eos are token ids, not negative.
    - (module_c3) `mtp.wiring` is `#mtp.wiring` and stands on a function.
    - (module_c4) `mtp.generation`: temperature in [0, 100], top_p in (0, 1],
      min_p in [0, 1], top_k in [0, 2^31).
    - (module_c5) `mtp.tokenizer` is a relative path, not empty, that does not
      climb with "..".
    - (module_c6) `mtp.method` has 1 to 256 printable characters.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Adds the attributes, which are defined in MTPAttrs.cpp.
    void registerAttributes();
    /// Returns a parser that fails with the new name of an op that has one.
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef name) const override;
  }];
  let hasOperationAttrVerify = 1;
  // Canonicalisation makes tensor.cast and tensor.empty.
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // MTP_DIALECT_TD
