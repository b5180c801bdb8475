// RUN: mtp-opt %s --mtp-specialize-shapes --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: exec.program @double function {
// CHECK-NEXT: %[[X:.*]] = exec.input "x" : tensor<2x8xf32>
// CHECK-NEXT: %[[Y:.*]] = exec.input "arg1" : tensor<2x8xf32>
// CHECK-NEXT: %[[S:.*]] = mtp.add %[[X]], %[[Y]] : tensor<2x8xf32>
// CHECK-NEXT: exec.output "result0" %[[S]]
// CHECK-NEXT: exec.output "result1" %[[X]]
// CHECK-NOT: func.func
// CHECK-NOT: @helper
func.func @double(%x: tensor<2x8xf32> {mtp.name = "x"}, %y: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %s = mtp.add %x, %y : tensor<2x8xf32>
  return %s, %x : tensor<2x8xf32>, tensor<2x8xf32>
}
func.func private @helper(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}

// -----

// expected-error @+1 {{'func.func' op expected static tensors at the border of an exported function, got 'tensor<?x8xf32>'; make it private or give its shapes}}
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}

// -----

// expected-error @+1 {{'func.func' op expected static tensors at the border of an exported function, got '!mtp.rows'}}
func.func @rows(%rows: !mtp.rows) {
  return
}

// -----

// expected-error @+1 {{'func.func' op expected rows of f32 by the name "q.distributions", got 'tensor<2x8xbf16>'}}
func.func @distributions(%q: tensor<2x8xbf16> {mtp.name = "q.distributions"}) {
  return
}
