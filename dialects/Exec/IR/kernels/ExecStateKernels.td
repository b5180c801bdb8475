//===- ExecStateKernels.td - Kinds of slots' rows ----------*- tablegen -*-===//

#ifndef EXEC_STATE_KERNELS
#define EXEC_STATE_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

// Params are the number of slots and the rows of each slot; for write_state_at
// also the rows of the operand, for concat_rows the rows of the second operand.

class Exec_SlotRows<string name, string kind, int params>
    : Exec_Kernel<name, kind, params, "Slots", (ins
        Exec_Size:$width, Exec_Size:$rows, Exec_RowLimit:$slots)>;

def Exec_ReadStateKernel : Exec_SlotRows<"ReadState", "read_state", 2> {
  let summary = "the first state rows of slots";
  let description = "Buffers: slots, state, y.";
}

def Exec_WriteStateKernel : Exec_SlotRows<"WriteState", "write_state", 2> {
  let summary = "rows written to the first state rows of slots";
  let description = "Buffers: x, slots, state.";
}

def Exec_WriteStateAtKernel
    : Exec_SlotRows<"WriteStateAt", "write_state_at", 3> {
  let summary = "indexed rows written to a state of slots";
  let description = "Buffers: x, index, slots, state.";
}

def Exec_ConcatRowsKernel
    : Exec_Kernel<"ConcatRows", "concat_rows", 3, "Slots",
                  (ins Exec_Size:$width)> {
  let summary = "rows of two operands, joined slot by slot";
  let description = "Buffers: heads, tails, y.";
}

#endif // EXEC_STATE_KERNELS
