//===- ExecOps.td - All ops of the exec dialect ------------*- tablegen -*-===//

#ifndef EXEC_OPS
#define EXEC_OPS

include "dialects/Exec/IR/ops/ExecResourceOps.td"
include "dialects/Exec/IR/ops/ExecAttentionOps.td"
include "dialects/Exec/IR/ops/ExecCacheOps.td"
include "dialects/Exec/IR/ops/ExecExpertOps.td"
include "dialects/Exec/IR/ops/ExecProductOps.td"
include "dialects/Exec/IR/ops/ExecProgramOps.td"
include "dialects/Exec/IR/ops/ExecControlOps.td"
include "dialects/Exec/IR/ops/ExecRecurrenceOps.td"
include "dialects/Exec/IR/ops/ExecRowOps.td"
include "dialects/Exec/IR/ops/ExecSampleOps.td"
include "dialects/Exec/IR/ops/ExecStateOps.td"
include "dialects/Exec/IR/ops/ExecVocabularyOps.td"

include "dialects/Exec/IR/kernels/ExecAttentionKernels.td"
include "dialects/Exec/IR/kernels/ExecCacheKernels.td"
include "dialects/Exec/IR/kernels/ExecControlKernels.td"
include "dialects/Exec/IR/kernels/ExecExpertKernels.td"
include "dialects/Exec/IR/kernels/ExecProductKernels.td"
include "dialects/Exec/IR/kernels/ExecRecurrenceKernels.td"
include "dialects/Exec/IR/kernels/ExecRowKernels.td"
include "dialects/Exec/IR/kernels/ExecSampleKernels.td"
include "dialects/Exec/IR/kernels/ExecStateKernels.td"
include "dialects/Exec/IR/kernels/ExecVocabularyKernels.td"

#endif // EXEC_OPS
