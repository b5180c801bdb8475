// RUN: mtp-opt %s --mtp-fuse-norm-linear | FileCheck %s

// CHECK-LABEL: func.func @all_projections
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>
func.func @all_projections(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>, %r: tensor<?x8xf32>)
    -> (tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>) {
  // CHECK-NOT: mtp.rms_norm
  // CHECK: mtp.fused_linear %[[X]] norm %{{.*}} eps {{.*}} offset 1 weights(%{{.*}}) biases(%{{.*}}) role head :
  // CHECK: mtp.fused_linear %[[X]] norm %{{.*}} eps {{.*}} offset 1 weights(%{{.*}}, %{{.*}}) residual %{{.*}} role router :
  // CHECK: mtp.fused_linear %[[X]] norm %{{.*}} eps {{.*}} offset 1 weights(%{{.*}}, %{{.*}}) activation swiglu :
  %y = mtp.rms_norm %x, %n eps 1.0e-5 offset 1 : tensor<?x8xf32>, tensor<8xf32>
  %0 = mtp.linear %y, %w bias %b role head : tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32> -> tensor<?x4xf32>
  %1 = mtp.fused_linear %y weights(%w, %w) residual %r role router : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = mtp.fused_linear %y weights(%w, %w) activation swiglu : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return %0, %1, %2 : tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32>
}

// The normalized rows have other readers: the router and its experts.
// CHECK-LABEL: func.func @other_reader
// CHECK: mtp.rms_norm
// CHECK: mtp.linear
func.func @other_reader(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %w: tensor<4x8xf32>) -> (tensor<?x4xf32>, tensor<?x8xf32>) {
  %y = mtp.rms_norm %x, %n eps 1.0e-5 : tensor<?x8xf32>, tensor<8xf32>
  %0 = mtp.linear %y, %w : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  return %0, %y : tensor<?x4xf32>, tensor<?x8xf32>
}

// As a residual the normalized rows are needed too.
// CHECK-LABEL: func.func @residual
// CHECK: mtp.rms_norm
func.func @residual(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %y = mtp.rms_norm %x, %n eps 1.0e-5 : tensor<?x8xf32>, tensor<8xf32>
  %0 = mtp.fused_linear %y weights(%w) residual %y : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// A norm per head is not a norm of the row.
// CHECK-LABEL: func.func @groups
// CHECK: mtp.rms_norm
func.func @groups(%x: tensor<?x8xf32>, %n: tensor<4xf32>, %w: tensor<4x8xf32>) -> tensor<?x4xf32> {
  %y = mtp.rms_norm %x, %n groups 2 eps 1.0e-5 : tensor<?x8xf32>, tensor<4xf32>
  %0 = mtp.linear %y, %w : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
