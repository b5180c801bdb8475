// Two rows, for which the kernel is asked to add a million.
module {
mtp.weights files []
func.func @unused(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %y = mtp.add %x, %x : tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
exec.kernel @add_rows #exec.add<width = 8>
exec.program @rows function {
  %x = exec.alloc input "x" : memref<2x8xf32>
  %y = exec.alloc : memref<2x8xf32>
  exec.dispatch @add_rows(%x, %x, %y) params [1000000] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  exec.output "y" %y : memref<2x8xf32>
}
}
