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
include "dialects/Exec/IR/ExecRecurrenceOps.td"
include "dialects/Exec/IR/ExecRowOps.td"
include "dialects/Exec/IR/ExecSampleOps.td"
include "dialects/Exec/IR/ExecStateOps.td"
include "dialects/Exec/IR/ExecVocabularyOps.td"

include "dialects/Exec/IR/ExecAttentionKernels.td"
include "dialects/Exec/IR/ExecCacheKernels.td"
include "dialects/Exec/IR/ExecControlKernels.td"
include "dialects/Exec/IR/ExecExpertKernels.td"
include "dialects/Exec/IR/ExecProductKernels.td"
include "dialects/Exec/IR/ExecRecurrenceKernels.td"
include "dialects/Exec/IR/ExecRowKernels.td"
include "dialects/Exec/IR/ExecSampleKernels.td"
include "dialects/Exec/IR/ExecStateKernels.td"
include "dialects/Exec/IR/ExecVocabularyKernels.td"

#endif // EXEC_OPS
