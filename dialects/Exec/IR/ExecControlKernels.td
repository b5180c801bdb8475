//===- ExecControlKernels.td - Kernels with a body ---------*- tablegen -*-===//

#ifndef EXEC_CONTROL_KERNELS
#define EXEC_CONTROL_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_ControlKernel : Exec_Kernel<"Control", "control", 1, "Rows", (ins
    Exec_Number<0>:$reads, Exec_Number<0>:$updates, Exec_Number<0>:$outputs)> {
  let summary = "what `exec.kernel` carries as its body";
  let description = [{
    It counts the buffers; their types are those of the body's arguments. A
    slot is a task.
  }];
}

#endif // EXEC_CONTROL_KERNELS
