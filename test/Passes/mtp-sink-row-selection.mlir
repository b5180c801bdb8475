// RUN: mtp-opt %s --mtp-sink-row-selection | FileCheck %s

// The selection moves above the head and the norm, and stops at values with
// other readers.
// CHECK-LABEL: exec.program @head
// CHECK: %[[X:.*]] = exec.input "x" : tensor<8x16xf32>
// CHECK: %[[I:.*]] = exec.input "i" : tensor<1xi32>
// CHECK: %[[H:.*]] = mtp.add %[[X]], %[[X]] : tensor<8x16xf32>
// CHECK: %[[ONE:.*]] = mtp.gather_rows %[[H]], %[[I]] : tensor<8x16xf32>, tensor<1xi32> -> tensor<1x16xf32>
// CHECK: %[[N:.*]] = mtp.rms_norm %[[ONE]], %{{.*}} : tensor<1x16xf32>, tensor<16xf32>
// CHECK: %[[L:.*]] = mtp.linear %[[N]], %{{.*}} : tensor<1x16xf32>, tensor<32x16xf32> -> tensor<1x32xf32>
// CHECK: %[[U:.*]] = mtp.silu %[[L]] : tensor<1x32xf32>
// CHECK: %[[P:.*]] = mtp.log_softmax %[[U]] : tensor<1x32xf32>
// CHECK: exec.output "logits" %[[P]]
// CHECK: exec.output "hidden" %[[H]]
exec.program @head function {
  %x = exec.input "x" : tensor<8x16xf32>
  %i = exec.input "i" : tensor<1xi32>
  %h = mtp.add %x, %x : tensor<8x16xf32>
  %g = mtp.weight "norm" : tensor<16xf32>
  %n = mtp.rms_norm %h, %g eps 1.0e-6 : tensor<8x16xf32>, tensor<16xf32>
  %w = mtp.weight "head" : tensor<32x16xf32>
  %l = mtp.linear %n, %w : tensor<8x16xf32>, tensor<32x16xf32> -> tensor<8x32xf32>
  %u = mtp.silu %l : tensor<8x32xf32>
  %p = mtp.log_softmax %u : tensor<8x32xf32>
  %y = mtp.gather_rows %p, %i : tensor<8x32xf32>, tensor<1xi32> -> tensor<1x32xf32>
  exec.output "logits" %y : tensor<1x32xf32>
  exec.output "hidden" %h : tensor<8x16xf32>
}

// An op with two activations takes two selections.
// CHECK-LABEL: exec.program @residual
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[R:.*]] = exec.input "r"
// CHECK: %[[I:.*]] = exec.input "i"
// CHECK-DAG: %[[XI:.*]] = mtp.gather_rows %[[X]], %[[I]] : tensor<8x16xf32>
// CHECK-DAG: %[[RI:.*]] = mtp.gather_rows %[[R]], %[[I]] : tensor<8x32xf32>
// CHECK: mtp.fused_linear %[[XI]] weights(%{{.*}}) residual %[[RI]]
// CHECK-NOT: gather_rows
exec.program @residual function {
  %x = exec.input "x" : tensor<8x16xf32>
  %r = exec.input "r" : tensor<8x32xf32>
  %i = exec.input "i" : tensor<1xi32>
  %w = mtp.weight "w" : tensor<32x16xf32>
  %l = mtp.fused_linear %x weights(%w) residual %r
       : (tensor<8x16xf32>, tensor<32x16xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = mtp.gather_rows %l, %i : tensor<8x32xf32>, tensor<1xi32> -> tensor<1x32xf32>
  exec.output "y" %y : tensor<1x32xf32>
}

// Rows of an attention see other rows, an embedding's are tokens: both stay.
// CHECK-LABEL: exec.program @stays
// CHECK: %[[E:.*]] = mtp.embed
// CHECK: mtp.gather_rows %[[E]]
exec.program @stays function {
  %t = exec.input "t" : tensor<8xi32>
  %i = exec.input "i" : tensor<1xi32>
  %w = mtp.weight "e" : tensor<32x16xf32>
  %e = mtp.embed %t, %w : tensor<8xi32>, tensor<32x16xf32> -> tensor<8x16xf32>
  %y = mtp.gather_rows %e, %i : tensor<8x16xf32>, tensor<1xi32> -> tensor<1x16xf32>
  exec.output "y" %y : tensor<1x16xf32>
}
