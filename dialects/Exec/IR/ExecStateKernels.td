//===- ExecStateKernels.td - Kinds of slots' rows ----------*- tablegen -*-===//

#ifndef EXEC_STATE_KERNELS
#define EXEC_STATE_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

// Params are the slots, and as many rows for each; of write_state_at the rows
// of the operand, of concat_rows those of the second operand.

class Exec_SlotRows<string name, string kind, int params>
    : Exec_Kernel<name, kind, params, "Slots", (ins
        Exec_Size:$width, Exec_Size:$rows, Exec_RowLimit:$slots)>;

def Exec_ReadStateKernel : Exec_SlotRows<"ReadState", "read_state", 2> {
  let summary = "the first rows of slots of a state";
  let description = "Buffers: slots, state, y.";
}

def Exec_WriteStateKernel : Exec_SlotRows<"WriteState", "write_state", 2> {
  let summary = "rows to the first ones of slots of a state";
  let description = "Buffers: x, slots, state.";
}

def Exec_WriteStateAtKernel
    : Exec_SlotRows<"WriteStateAt", "write_state_at", 3> {
  let summary = "rows that an index names to slots of a state";
  let description = "Buffers: x, index, slots, state.";
}

def Exec_ConcatRowsKernel
    : Exec_Kernel<"ConcatRows", "concat_rows", 3, "Slots",
                  (ins Exec_Size:$width)> {
  let summary = "of each slot its rows of one operand and then of another";
  let description = "Buffers: heads, tails, y.";
}

#endif // EXEC_STATE_KERNELS
