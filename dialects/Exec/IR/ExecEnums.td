//===- ExecEnums.td - Enumerations -------------------------*- tablegen -*-===//

#ifndef EXEC_ENUMS
#define EXEC_ENUMS

include "dialects/Exec/IR/ExecDialect.td"
include "mlir/IR/EnumAttr.td"

/// The elements of runtime/schema/WeightFormat.h, with the same numbers.
def Exec_WeightElements : I32Enum<"WeightElements", "elements of a weight", [
  I32EnumCase<"F32", 0, "f32">,
  I32EnumCase<"BF16", 1, "bf16">,
  I32EnumCase<"Int8", 2, "int8">,
  I32EnumCase<"Int4", 3, "int4">,
  I32EnumCase<"Int5", 4, "int5">,
  I32EnumCase<"Int6", 5, "int6">,
  I32EnumCase<"E2M1", 6, "e2m1">,
  I32EnumCase<"NL4", 7, "nl4">
]> {
  let cppNamespace = "::mlir::exec";
}

/// The scales of runtime/schema/QuantizedPanel.h, with the same numbers.
def Exec_WeightScales : I32Enum<"WeightScales", "scales of a weight", [
  I32EnumCase<"F32", 0, "f32">,
  I32EnumCase<"F16", 1, "f16">,
  I32EnumCase<"F16x6", 2, "f16x6">,
  I32EnumCase<"F16x8", 3, "f16x8">,
  I32EnumCase<"E8M0", 4, "e8m0">,
  I32EnumCase<"E4M3", 5, "e4m3">
]> {
  let cppNamespace = "::mlir::exec";
}

def Exec_ProgramKind : I32Enum<"ProgramKind", "the kind of a program", [
  I32EnumCase<"Decode", 0, "decode">,     // a round of n slots
  I32EnumCase<"Prefill", 1, "prefill">,   // a chunk of n rows of prompts
  I32EnumCase<"Function", 2, "function">  // on given tensors
]> {
  let cppNamespace = "::mlir::exec";
}
/// Prints as the keyword, with a space before it.
def Exec_ProgramKindAttr
    : EnumAttr<Exec_Dialect, Exec_ProgramKind, "program_kind">;

#endif // EXEC_ENUMS
