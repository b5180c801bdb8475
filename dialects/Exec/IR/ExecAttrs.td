//===- ExecAttrs.td - Attributes -------------------------------*- tablegen -*-===//

#ifndef EXEC_ATTRS
#define EXEC_ATTRS

include "dialects/Exec/IR/ExecDialect.td"
include "dialects/MTP/IR/MTPEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Exec_RotationAttr : AttrDef<Exec_Dialect, "Rotation"> {
  let mnemonic = "rotation";
  let summary = "which columns of a head are turned, and in which pairs";
  let description = [{
    Columns `offset` to `offset + dim` of every head; the angles are a table's.

    ```mlir
    #exec.rotation<dim = 8>
    #exec.rotation<dim = 8, offset = 16, layout = interleaved>
    ```

    Constraints:
    - (C1) dim is even and at least 2; offset is not negative.
  }];
  let parameters = (ins
    "int64_t":$dim,
    DefaultValuedParameter<"int64_t", "0">:$offset,
    DefaultValuedParameter<
        "::mlir::mtp::RopeLayout", "::mlir::mtp::RopeLayout::Half",
        "pairs">:$layout
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // EXEC_ATTRS
