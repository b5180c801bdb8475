// A draft that was drawn from q, for two slots; the caller's p and q are checked.
module {
mtp.import "<rules.mlir>" [@rejection_drawn]
func.func @drawn(%d: tensor<2x1xi32>, %p: tensor<2x2x2xf32> {mtp.name = "p.distributions"}, %q: tensor<2x1x2xf32> {mtp.name = "q.distributions"}, %u: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %slots = arith.constant dense<0> : tensor<2xi32>
  %n, %t = mtp.apply @rejection_drawn(%slots, %d, %p, %q, %u, %v) : (tensor<2xi32>, tensor<2x1xi32>, tensor<2x2x2xf32>, tensor<2x1x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2xi32>, tensor<2xi32>)
  return %n, %t : tensor<2xi32>, tensor<2xi32>
}
}
