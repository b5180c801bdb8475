//===- ExecEnums.td - Enumerations -------------------------*- tablegen -*-===//

#ifndef EXEC_ENUMS
#define EXEC_ENUMS

include "dialects/Exec/IR/ExecDialect.td"
include "mlir/IR/EnumAttr.td"

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
