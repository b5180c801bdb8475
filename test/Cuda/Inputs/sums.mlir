// (a + b) + a, in two kernels.
func.func @sums(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = mtp.add %a, %b : tensor<2x8xf32>
  %1 = mtp.add %0, %a : tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
