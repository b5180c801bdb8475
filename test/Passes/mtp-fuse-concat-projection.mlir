// RUN: mtp-opt %s --mtp-fuse-concat-projection | FileCheck %s
// RUN: mtp-opt %s --mtp-fuse-concat-projection --mtp-fuse-norm-linear | FileCheck %s --check-prefix=NORMED

// The drafter's projection: each half is normalized first.
// CHECK-LABEL: func.func @drafter
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<?x8xf32>, %[[H:[a-z0-9]+]]: tensor<?x8xf32>
// NORMED-LABEL: func.func @drafter
// NORMED-SAME: %[[E:[a-z0-9]+]]: tensor<?x8xf32>, %[[H:[a-z0-9]+]]: tensor<?x8xf32>
func.func @drafter(%e: tensor<?x8xf32>, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[EN:.*]] = mtp.rms_norm %[[E]]
  // CHECK: %[[HN:.*]] = mtp.rms_norm %[[H]]
  // CHECK-NOT: mtp.concat
  // CHECK: %[[WE:.*]] = mtp.weight "eh_proj.weight" cols 0 to 8 of 16 : tensor<8x8xbf16>
  // CHECK: %[[FIRST:.*]] = mtp.fused_linear %[[EN]] weights(%[[WE]]) role head :
  // CHECK: %[[WH:.*]] = mtp.weight "eh_proj.weight" cols 8 to 16 of 16 : tensor<8x8xbf16>
  // CHECK: %[[SECOND:.*]] = mtp.fused_linear %[[HN]] weights(%[[WH]]) residual %[[FIRST]] role head :
  // CHECK: return %[[SECOND]]
  // NORMED-NOT: mtp.rms_norm
  // NORMED: %[[FIRST:.*]] = mtp.fused_linear %[[E]] norm %{{.*}} eps {{.*}} weights(%{{.*}}) role head :
  // NORMED: mtp.fused_linear %[[H]] norm %{{.*}} eps {{.*}} weights(%{{.*}}) residual %[[FIRST]] role head :
  %en = mtp.weight "enorm.weight" : tensor<8xf32>
  %hn = mtp.weight "hnorm.weight" : tensor<8xf32>
  %w = mtp.weight "eh_proj.weight" : tensor<8x16xbf16>
  %0 = mtp.rms_norm %e, %en eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %hn eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %2 = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %2, %w role head : tensor<?x16xf32>, tensor<8x16xbf16> -> tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// Columns of columns, a bias that counts once, and three parts, one of which
// keeps the concatenation alive.
// CHECK-LABEL: func.func @general
func.func @general(%a: tensor<?x4xf32>, %b: tensor<?x8xf32>, %bias: tensor<6xf32>) -> (tensor<?x6xf32>, tensor<?x16xf32>) {
  // CHECK: %[[C:.*]] = mtp.concat
  // CHECK: mtp.weight "w" cols 32 to 36 : tensor<6x4xf32>
  // CHECK: %[[X:.*]] = mtp.fused_linear %{{.*}} weights(%{{.*}}) biases(%{{.*}}) :
  // CHECK: mtp.weight "w" cols 36 to 44 : tensor<6x8xf32>
  // CHECK: %[[Y:.*]] = mtp.fused_linear %{{.*}} weights(%{{.*}}) residual %[[X]] :
  // CHECK: mtp.weight "w" cols 44 to 48 : tensor<6x4xf32>
  // CHECK: %[[Z:.*]] = mtp.fused_linear %{{.*}} weights(%{{.*}}) residual %[[Y]] :
  // CHECK: return %[[Z]], %[[C]]
  %w = mtp.weight "w" cols 32 to 48 : tensor<6x16xf32>
  %0 = mtp.concat %a, %b, %a : tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x4xf32> -> tensor<?x16xf32>
  %1 = mtp.linear %0, %w bias %bias : tensor<?x16xf32>, tensor<6x16xf32>, tensor<6xf32> -> tensor<?x6xf32>
  return %1, %0 : tensor<?x6xf32>, tensor<?x16xf32>
}

// A weight that is not read from a file cannot be split.
// CHECK-LABEL: func.func @argument
// CHECK: mtp.linear
func.func @argument(%a: tensor<?x4xf32>, %w: tensor<6x8xf32>) -> tensor<?x6xf32> {
  %0 = mtp.concat %a, %a : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  %1 = mtp.linear %0, %w : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}
