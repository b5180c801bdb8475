// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

mtp.vocabulary @few dense<[1, 3, 5, 9]> : tensor<4xi32>

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<?x16xf32>, %t: tensor<?xi32>, %u: tensor<?xf32>, %s: tensor<?xi32>, %f: tensor<?x4xf32>) {
  // CHECK: mtp.log_sum_exp %{{.*}} : tensor<?x16xf32> -> tensor<?x1xf32>
  %0 = mtp.log_sum_exp %x : tensor<?x16xf32> -> tensor<?x1xf32>
  // CHECK: mtp.entropy %{{.*}} : tensor<?x16xf32> -> tensor<?x1xf32>
  %1 = mtp.entropy %x : tensor<?x16xf32> -> tensor<?x1xf32>
  // CHECK: mtp.gather %{{.*}}[%{{.*}}] : tensor<?x16xf32>, tensor<?xi32> -> tensor<?x1xf32>
  %2 = mtp.gather %x[%t] : tensor<?x16xf32>, tensor<?xi32> -> tensor<?x1xf32>
  // CHECK: %[[B:.*]], %{{.*}} = mtp.top_k %{{.*}} k 3 : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  %b, %l = mtp.top_k %x k 3 : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  // CHECK: mtp.top_k %{{.*}} k 2 tokens @few : tensor<?x4xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %c, %m = mtp.top_k %f k 2 tokens @few : tensor<?x4xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: mtp.gather %{{.*}}[%[[B]]] : tensor<?x16xf32>, tensor<?x3xi32> -> tensor<?x3xf32>
  %3 = mtp.gather %x[%b] : tensor<?x16xf32>, tensor<?x3xi32> -> tensor<?x3xf32>
  // CHECK: %[[P:.*]] = mtp.probabilities %{{.*}} of %{{.*}} : tensor<?x16xf32>, tensor<?xi32>
  %p = mtp.probabilities %x of %s : tensor<?x16xf32>, tensor<?xi32>
  // CHECK: mtp.sample_residual %[[P]] by %{{.*}} : (tensor<?x16xf32>, tensor<?xf32>) -> tensor<?xi32>
  %4 = mtp.sample_residual %p by %u : (tensor<?x16xf32>, tensor<?xf32>) -> tensor<?xi32>
  // CHECK: mtp.sample_residual %[[P]] less %{{.*}} by %{{.*}} : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xf32>) -> tensor<?xi32>
  %5 = mtp.sample_residual %p less %x by %u : (tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xf32>) -> tensor<?xi32>
  return
}

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<?x3x16xf32>, %q: tensor<?x2x16xf32>, %t: tensor<?x3xi32>, %u: tensor<?xf32>, %s: tensor<?xi32>) {
  // CHECK: mtp.log_sum_exp %{{.*}} : tensor<?x3x16xf32> -> tensor<?x3xf32>
  %0 = mtp.log_sum_exp %x : tensor<?x3x16xf32> -> tensor<?x3xf32>
  // CHECK: mtp.gather %{{.*}}[%{{.*}}] : tensor<?x3x16xf32>, tensor<?x3xi32> -> tensor<?x3xf32>
  %1 = mtp.gather %x[%t] : tensor<?x3x16xf32>, tensor<?x3xi32> -> tensor<?x3xf32>
  // CHECK: mtp.top_k %{{.*}} k 2 : tensor<?x3x16xf32> -> tensor<?x3x2xi32>, tensor<?x3x2xf32>
  %b, %l = mtp.top_k %x k 2 : tensor<?x3x16xf32> -> tensor<?x3x2xi32>, tensor<?x3x2xf32>
  // CHECK: %[[P:.*]] = mtp.probabilities %{{.*}} of %{{.*}} : tensor<?x3x16xf32>, tensor<?xi32>
  %p = mtp.probabilities %x of %s : tensor<?x3x16xf32>, tensor<?xi32>
  // CHECK: mtp.sample_residual %[[P]] less %{{.*}} at %{{.*}} by %{{.*}} : (tensor<?x3x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  %2 = mtp.sample_residual %p less %q at %s by %u : (tensor<?x3x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  %rows = mtp.reshape %p : tensor<?x3x16xf32> -> tensor<?x16xf32>
  // CHECK: mtp.sample_residual %{{.*}}[%{{.*}}] less %{{.*}} at %{{.*}} by %{{.*}} : (tensor<?x16xf32>, tensor<?x3xi32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  %3 = mtp.sample_residual %rows[%t] less %q at %s by %u : (tensor<?x16xf32>, tensor<?x3xi32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  // CHECK: mtp.gather %{{.*}}[%{{.*}}] at %{{.*}} : tensor<?x16xf32>, tensor<?x3xi32>, tensor<?xi32> -> tensor<?x3xf32>
  %own = mtp.gather %rows[%t] at %s : tensor<?x16xf32>, tensor<?x3xi32>, tensor<?xi32> -> tensor<?x3xf32>
  // CHECK: mtp.reshape %{{.*}} : tensor<?x3xf32> -> tensor<?x1xf32>
  %column = mtp.reshape %0 : tensor<?x3xf32> -> tensor<?x1xf32>
  // CHECK: mtp.reshape %{{.*}} : tensor<?x3x2xi32> -> tensor<?x2xi32>
  %columns = mtp.reshape %b : tensor<?x3x2xi32> -> tensor<?x2xi32>
  return
}

// CHECK-LABEL: func.func @noise
func.func @noise(%x: tensor<?x16xf32>, %f: tensor<?x4xf32>, %g: tensor<?x3x16xf32>, %n: tensor<?xi32>, %rows: !mtp.rows) {
  // CHECK: mtp.log_softmax %{{.*}} : tensor<?x16xf32>
  %0 = mtp.log_softmax %x : tensor<?x16xf32>
  // CHECK: mtp.log_softmax %{{.*}} : tensor<?x3x16xf32>
  %1 = mtp.log_softmax %g : tensor<?x3x16xf32>
  // CHECK: mtp.top_k %{{.*}} k 3 noise %[[R:.*]] : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  %b, %l = mtp.top_k %x k 3 noise %rows : tensor<?x16xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  // CHECK: mtp.top_k %{{.*}} k 2 noise %[[R]] number %[[N:.*]] tokens @few : tensor<?x4xf32>, tensor<?xi32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %c, %m = mtp.top_k %f k 2 noise %rows number %n tokens @few : tensor<?x4xf32>, tensor<?xi32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: mtp.sample %{{.*}}, %[[R]] anchored : tensor<?x16xf32> -> tensor<?xi32>
  %2 = mtp.sample %x, %rows anchored : tensor<?x16xf32> -> tensor<?xi32>
  // CHECK: mtp.sample %{{.*}}, %[[R]] number %[[N]] tokens @few : tensor<?x4xf32>, tensor<?xi32> -> tensor<?xi32>
  %3 = mtp.sample %f, %rows number %n tokens @few : tensor<?x4xf32>, tensor<?xi32> -> tensor<?xi32>
  return
}

mtp.state @allowed[2] : i32 init -1 input
mtp.state @allowed_rows[3, 1] : i32 init -1 input

// CHECK-LABEL: func.func @masks
func.func @masks(%x: tensor<?x64xf32>, %y: tensor<?x16xf32>, %s: tensor<?xi32>, %at: tensor<?xi32>) {
  // CHECK: mtp.mask_columns %{{.*}} by @allowed of %{{.*}} : tensor<?x64xf32>, tensor<?xi32>
  %0 = mtp.mask_columns %x by @allowed of %s : tensor<?x64xf32>, tensor<?xi32>
  // CHECK: mtp.mask_columns %{{.*}} by @allowed_rows of %{{.*}}[%{{.*}}] : tensor<?x16xf32>, tensor<?xi32>, tensor<?xi32>
  %1 = mtp.mask_columns %y by @allowed_rows of %s[%at] : tensor<?x16xf32>, tensor<?xi32>, tensor<?xi32>
  return
}
