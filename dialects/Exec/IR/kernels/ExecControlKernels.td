//===- ExecControlKernels.td - Kernels with a body ---------*- tablegen -*-===//

#ifndef EXEC_CONTROL_KERNELS
#define EXEC_CONTROL_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_ControlKernel : Exec_Kernel<"Control", "control", 1, "Rows", (ins
    Exec_Number<0>:$reads, Exec_Number<0>:$updates, Exec_Number<0>:$outputs)> {
  let summary = "a kernel with the body of its `exec.kernel`";
  let description = [{
    The parameters count the buffers; the types of the buffers are the types of
    the body's arguments. A task is a slot.
  }];
}

#endif // EXEC_CONTROL_KERNELS
