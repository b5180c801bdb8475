//===- ExecOps.td - All ops of the exec dialect ------------*- tablegen -*-===//

#ifndef EXEC_OPS
#define EXEC_OPS

include "dialects/Exec/IR/ExecResourceOps.td"
include "dialects/Exec/IR/ExecAttentionOps.td"
include "dialects/Exec/IR/ExecCacheOps.td"
include "dialects/Exec/IR/ExecExpertOps.td"
include "dialects/Exec/IR/ExecProductOps.td"
include "dialects/Exec/IR/ExecProgramOps.td"
include "dialects/Exec/IR/ExecControlOps.td"
include "dialects/Exec/IR/ExecRowOps.td"
include "dialects/Exec/IR/ExecSampleOps.td"
include "dialects/Exec/IR/ExecStateOps.td"

#endif // EXEC_OPS
