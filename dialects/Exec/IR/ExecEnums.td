//===- ExecEnums.td - Enumerations -------------------------*- tablegen -*-===//

#ifndef EXEC_ENUMS
#define EXEC_ENUMS

include "dialects/Exec/IR/ExecDialect.td"
include "mlir/IR/EnumAttr.td"

/// The elements of runtime/schema/WeightFormat.h, by the same numbers.
def Exec_WeightElements : I32Enum<"WeightElements", "elements of a weight", [
  I32EnumCase<"F32", 0, "f32">,
  I32EnumCase<"BF16", 1, "bf16">,
  I32EnumCase<"Int8", 2, "int8">,
  I32EnumCase<"Int4", 3, "int4">
]> {
  let cppNamespace = "::mlir::exec";
}

#endif // EXEC_ENUMS
