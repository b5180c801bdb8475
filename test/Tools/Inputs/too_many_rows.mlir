// Two rows, of which the kernel is asked to add a million.
module {
mtp.weights files []
func.func @unused(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %y = mtp.add %x, %x : tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
exec.program @rows "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<2x8xf32>
  %y = exec.invoke "add"(%x, %x) params [1000000] offsets [0, 0] config {width = 8 : i64}
    : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  exec.output "y" %y : tensor<2x8xf32>
}
}
