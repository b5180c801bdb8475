//===- ExecOps.td - All ops of the exec dialect ----------------*- tablegen -*-===//

#ifndef EXEC_OPS
#define EXEC_OPS

include "dialects/Exec/IR/ExecResourceOps.td"
include "dialects/Exec/IR/ExecProgramOps.td"

#endif // EXEC_OPS
