// Plans for NVIDIA GPUs: for the simulator, for a chip, and beside the CPU's.

// RUN: mtpc %s --target=cuda --chip=sim -o %t.bin
// RUN: mtp-dump %t.bin | FileCheck %s --check-prefixes=CHECK,SIM
// RUN: mtpc %s --target=cpu,cuda -o %t.both.bin
// RUN: mtp-dump %t.both.bin | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: not mtpc %s --target=cuda --chip=rtx -o %t.no.bin 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not mtpc %s --target=cuda --chip=sm_1 -o %t.no.bin 2>&1 | FileCheck %s --check-prefix=OLD

// BOTH: target x86_64
// SIM: target gpu-sim, cpu sim
// BOTH: target nvptx, cpu sm_90
// CHECK: memory arena {{[0-9]+}}, states 0, scratch 0
// SIM-NEXT: image 0: gpu_sim in segment 0
// BOTH-NEXT: image 0: {{cubin in segment [0-9]+, ptx in segment [0-9]+|ptx in segment [0-9]+}}
// The kernels around rounds have an image of their own.
// SIM-NEXT: image 1: gpu_sim in segment 1
// BOTH-NEXT: image 1: {{cubin in segment [0-9]+, ptx in segment [0-9]+|ptx in segment [0-9]+}}
// CHECK-NEXT: kernel add_0 (add) compiled: 3 buffers, 1 params, contract, 128 threads, 0 bytes shared

// CHIP: expected a chip like sm_90, or sim, for --chip, got 'rtx'
// OLD: expected a chip like sm_90, or sim, for --chip, got 'sm_1'
func.func @add(%a: tensor<4x64xf32>, %b: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = mtp.add %a, %b : tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
