// RUN: mtp-opt %s --exec-form-stages --verify-diagnostics

exec.kernel @add #exec.add<width = 8>
exec.program @mixed function {
  %t = exec.input "t" : tensor<2x8xf32>
  %x = exec.alloc : memref<2x8xf32>
  %y = exec.add %t, %t : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected no dispatch beside calls in value form}}
  exec.dispatch @add(%x, %x, %x) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
}
