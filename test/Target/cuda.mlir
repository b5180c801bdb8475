// Plans for NVIDIA GPUs: for the simulator, for a chip, and beside the CPU's.

// RUN: mtpc_sim %s --target=gpu-sim -o %t.bin
// RUN: mtp-dump %t.bin | FileCheck %s --check-prefixes=CHECK,SIM
// RUN: mtpc %s --target=cpu,cuda -o %t.both.bin
// RUN: mtp-dump %t.both.bin | FileCheck %s --check-prefixes=CHECK,BOTH

// What kernels do no older chip can, and names that the backend does not know it takes for others.
// DEFINE: %{chip} = rtx
// DEFINE: %{check} = CHIP
// DEFINE: %{refused} = not mtpc %s --target=cuda --chip=%{chip} -o %t.no.bin 2>&1 | FileCheck %s --check-prefix=%{check} -DNAME=%{chip} --implicit-check-not=recognized
// RUN: %{refused}
// REDEFINE: %{chip} = sm_
// RUN: %{refused}
// REDEFINE: %{chip} = sm_91
// RUN: %{refused}
// REDEFINE: %{chip} = sm_90f
// RUN: %{refused}
// REDEFINE: %{chip} = sm_90A
// RUN: %{refused}
// REDEFINE: %{chip} = sm_090
// RUN: %{refused}
// REDEFINE: %{chip} = sm_1000
// RUN: %{refused}
// REDEFINE: %{chip} = sm_99999999999999999999
// RUN: %{refused}
// REDEFINE: %{check} = OLD
// REDEFINE: %{chip} = sm_1
// RUN: %{refused}
// REDEFINE: %{chip} = sm_9
// RUN: %{refused}
// REDEFINE: %{chip} = sm_80
// RUN: %{refused}
// REDEFINE: %{chip} = sm_86
// RUN: %{refused}
// REDEFINE: %{chip} = sm_89
// RUN: %{refused}
// RUN: mtpc %s --target=cuda --chip=sm_90a -o %t.90a.bin
// RUN: mtp-dump %t.90a.bin | FileCheck %s --check-prefix=EXACT

// BOTH: target x86_64
// SIM: target nvptx, cpu gpu-sim
// BOTH: target nvptx, cpu sm_90
// CHECK: memory arena {{[0-9]+}}, states 0, scratch 0
// SIM-NEXT: image 0: hosted in segment 0
// BOTH-NEXT: image 0: {{cubin in segment [0-9]+, ptx in segment [0-9]+|ptx in segment [0-9]+}}
// The kernels around rounds have an image of their own.
// SIM-NEXT: image 1: hosted in segment 1
// BOTH-NEXT: image 1: {{cubin in segment [0-9]+, ptx in segment [0-9]+|ptx in segment [0-9]+}}
// CHECK-NEXT: kernel add_{{[0-9a-f]+}} (add) compiled: 3 buffers, 1 params, contract, 128 threads, 0 bytes shared

// CHIP: mtpc: error: expected a chip among sm_{{.*}}sm_90{{.*}}sm_90a{{.*}} for --chip, got '[[NAME]]'
// OLD: mtpc: error: expected sm_90 or a later chip for --chip, since kernels wait for each other within a graph (griddepcontrol), got '[[NAME]]'
// EXACT: target nvptx, cpu sm_90a
func.func @add(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = mtp.add %a, %b : tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
