// RUN: mtp-opt %s --exec-bufferize --split-input-file --verify-diagnostics | FileCheck %s

// Equal kinds and configurations share a kernel across programs; another width
// is another kernel, and another stride: that of what a view is of, at whose first
// column the kernel begins. A builtin keeps its name.
// CHECK-DAG: exec.kernel @add_0 "add" {a_stride = 8 : i64, b_stride = 16 : i64, width = 8 : i64, y_stride = 8 : i64}
// CHECK-DAG: exec.kernel @add_1 "add" {a_stride = 8 : i64, b_stride = 8 : i64, width = 8 : i64, y_stride = 8 : i64}
// CHECK-DAG: exec.kernel @add_2 "add" {{{.*}}width = 16 : i64{{.*}}}
// CHECK-DAG: exec.kernel @mtp.sample "mtp.sample" {}
// CHECK-NOT: exec.kernel

// CHECK-LABEL: exec.program @first
// CHECK-NEXT: %[[X:.*]] = exec.alloc input "x" : memref<4x8xf32>
// CHECK-NEXT: %[[W:.*]] = exec.alloc input "w" : memref<4x16xf32>
// CHECK-NEXT: %[[Y:.*]] = exec.alloc : memref<4x8xf32>
// CHECK-NEXT: exec.dispatch @add_0(%[[X]], %[[W]], %[[Y]]) params [4] offsets [0, 8, 0] tasks 4 outputs 1
// CHECK-NEXT: %[[Z:.*]] = exec.alloc : memref<4x8xf32>
// CHECK-NEXT: exec.dispatch @add_1(%[[X]], %[[Y]], %[[Z]]) params [4] {{.*}} outputs 1 solo joined :
// CHECK-NEXT: exec.output "z" %[[Z]] : memref<4x8xf32>
exec.program @first "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<4x16xf32>
  %columns = exec.columns %w[8 to 16] : tensor<4x16xf32>
  %y = exec.add %x, %columns : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = exec.add %x, %y solo joined : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "z" %z : tensor<4x8xf32>
}

exec.state @sampling : memref<4x8xi32>
// CHECK-LABEL: exec.program @second
// CHECK: exec.dispatch @add_1(
// CHECK: exec.dispatch @add_2(
// CHECK: %[[S:.*]] = exec.ref @sampling
// CHECK: exec.dispatch @mtp.sample(%{{.*}}, %{{.*}}, %{{.*}}, %[[S]], %{{.*}}) params [1, 16, 1] {{.*}} tasks 1 outputs 1
exec.program @second "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<1x8xf32>
  %w = exec.input "w" : tensor<1x16xf32>
  %i = exec.input "i" : tensor<1xi32>
  %y = exec.add %x, %x : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %z = exec.add %w, %w : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %s = exec.ref @sampling : memref<4x8xi32>
  %t = exec.sample %z slots %i positions %i by %s
    : (tensor<1x16xf32>, tensor<1xi32>, tensor<1xi32>, memref<4x8xi32>) -> tensor<1xi32>
}

// -----

// Work divides by output panels, not by rows; heads are tiled by four.
// CHECK-LABEL: exec.program @tasks
// CHECK: exec.dispatch @linear_0{{.*}} tasks 3 outputs 1
exec.program @tasks "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<65x8xf32>
  %y = exec.linear %x, %w as f32 : (tensor<4x8xf32>, tensor<65x8xf32>) -> tensor<4x65xf32>
}

// -----

exec.program @p "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  // expected-error @+1 {{'mtp.add' op expected only exec ops in a program, is mtp-convert-to-exec missing before this pass?}}
  %y = mtp.add %x, %x : tensor<4x8xf32>
}
