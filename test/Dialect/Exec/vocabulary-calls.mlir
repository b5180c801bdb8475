// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: exec.program @p
exec.program @p function {
  %x = exec.input "x" : tensor<6x64xf32>
  %q = exec.input "q" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<2xi32>
  %c = exec.input "c" : tensor<6x2xi32>
  %u = exec.input "u" : tensor<2xf32>
  %w = exec.input "w" : tensor<2x8xi32>
  // CHECK: exec.log_sum_exp %{{.*}} : (tensor<6x64xf32>) -> tensor<6x1xf32>
  %0 = exec.log_sum_exp %x : (tensor<6x64xf32>) -> tensor<6x1xf32>
  // CHECK: exec.entropy %{{.*}} : (tensor<6x64xf32>) -> tensor<6x1xf32>
  %1 = exec.entropy %x : (tensor<6x64xf32>) -> tensor<6x1xf32>
  // CHECK: exec.gather_columns %{{.*}}, %{{.*}} : (tensor<6x64xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  %2 = exec.gather_columns %x, %c : (tensor<6x64xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  // CHECK: exec.top_k %{{.*}} : (tensor<6x64xf32>) -> (tensor<6x8xi32>, tensor<6x8xf32>)
  %3, %4 = exec.top_k %x : (tensor<6x64xf32>) -> (tensor<6x8xi32>, tensor<6x8xf32>)
  // CHECK: %[[P:.*]] = exec.probabilities %{{.*}} of %{{.*}} by %{{.*}} : (tensor<6x64xf32>, tensor<2xi32>, tensor<2x8xi32>) -> tensor<6x64xf32>
  %p = exec.probabilities %x of %s by %w : (tensor<6x64xf32>, tensor<2xi32>, tensor<2x8xi32>) -> tensor<6x64xf32>
  // CHECK: exec.sample_residual %[[P]] less %{{.*}} at %{{.*}} by %{{.*}} : (tensor<6x64xf32>, tensor<4x64xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  %5 = exec.sample_residual %p less %q at %s by %u : (tensor<6x64xf32>, tensor<4x64xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  %places = exec.input "places" : tensor<4xi32>
  %of = exec.input "of" : tensor<4x2xi32>
  // CHECK: exec.gather_columns %{{.*}}[%{{.*}}], %{{.*}} : (tensor<6x64xf32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  %7 = exec.gather_columns %x[%places], %of : (tensor<6x64xf32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  // CHECK: exec.sample_residual %[[P]][%{{.*}}] less %{{.*}} at %{{.*}} by %{{.*}} : (tensor<6x64xf32>, tensor<4xi32>, tensor<4x64xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  %6 = exec.sample_residual %p[%places] less %q at %s by %u : (tensor<6x64xf32>, tensor<4xi32>, tensor<4x64xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
}

// CHECK-LABEL: exec.program @keys
exec.program @keys function {
  %x = exec.input "x" : tensor<6x64xf32>
  %p = exec.input "p" : tensor<6x64xf32>
  %s = exec.input "s" : tensor<6xi32>
  %t = exec.input "t" : tensor<64x1xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // CHECK: exec.log_softmax %{{.*}} : (tensor<6x64xf32>) -> tensor<6x64xf32>
  %0 = exec.log_softmax %x : (tensor<6x64xf32>) -> tensor<6x64xf32>
  // CHECK: %[[K:.*]], %[[S:.*]] = exec.sample_keys %{{.*}} of %{{.*}} slots %{{.*}} positions %{{.*}} by %{{.*}} : (tensor<6x64xf32>, tensor<6x64xf32>, tensor<6xi32>, tensor<6xi32>, tensor<2x8xi32>) -> (tensor<6x64xf32>, tensor<6x1xf32>)
  %k, %sums = exec.sample_keys %x of %p slots %s positions %s by %w : (tensor<6x64xf32>, tensor<6x64xf32>, tensor<6xi32>, tensor<6xi32>, tensor<2x8xi32>) -> (tensor<6x64xf32>, tensor<6x1xf32>)
  // CHECK: exec.top_k %[[K]] less %[[S]] : (tensor<6x64xf32>, tensor<6x1xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>)
  %1, %2 = exec.top_k %k less %sums : (tensor<6x64xf32>, tensor<6x1xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>)
  // CHECK: exec.sample_keys %{{.*}} of %{{.*}} tokens %{{.*}} slots %{{.*}} positions %{{.*}} numbers %{{.*}} by %{{.*}} :
  %3, %4 = exec.sample_keys %x of %p tokens %t slots %s positions %s numbers %s by %w : (tensor<6x64xf32>, tensor<6x64xf32>, tensor<64x1xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<2x8xi32>) -> (tensor<6x64xf32>, tensor<6x1xf32>)
}

exec.state @allowed : memref<4x3x2xi32>
exec.state @allowed_all : memref<4x2xi32>

// CHECK-LABEL: exec.program @masks
exec.program @masks function {
  %x = exec.input "x" : tensor<6x64xf32>
  %s = exec.input "s" : tensor<6xi32>
  %a = exec.ref @allowed : memref<4x3x2xi32>
  %b = exec.ref @allowed_all : memref<4x2xi32>
  // CHECK: exec.mask_columns %{{.*}} by %{{.*}} of %{{.*}} at %{{.*}} : (tensor<6x64xf32>, tensor<6xi32>, tensor<6xi32>, memref<4x3x2xi32>) -> tensor<6x64xf32>
  %0 = exec.mask_columns %x by %a of %s at %s : (tensor<6x64xf32>, tensor<6xi32>, tensor<6xi32>, memref<4x3x2xi32>) -> tensor<6x64xf32>
  // CHECK: exec.mask_columns %{{.*}} by %{{.*}} of %{{.*}} : (tensor<6x64xf32>, tensor<6xi32>, memref<4x2xi32>) -> tensor<6x64xf32>
  %1 = exec.mask_columns %x by %b of %s : (tensor<6x64xf32>, tensor<6xi32>, memref<4x2xi32>) -> tensor<6x64xf32>
}
