// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s

// Gates of recurrent layers.
// CHECK-LABEL: func.func @gates
func.func @gates(%x: tensor<?x256xf32>, %g: tensor<?x8xf32>, %w: tensor<8xbf16>) -> (tensor<?x256xf32>, tensor<?x8xf32>) {
  // CHECK: mtp.sigmoid %{{.*}} : tensor<?x256xf32>
  %s = mtp.sigmoid %x : tensor<?x256xf32>
  // CHECK: mtp.sigmoid_gate %{{.*}} by %{{.*}} : tensor<?x256xf32>, tensor<?x8xf32>
  %h = mtp.sigmoid_gate %s by %g : tensor<?x256xf32>, tensor<?x8xf32>
  // CHECK: mtp.sigmoid_gate %{{.*}} by %{{.*}} : tensor<?x256xf32>, tensor<?x256xf32>
  %c = mtp.sigmoid_gate %h by %x : tensor<?x256xf32>, tensor<?x256xf32>
  // CHECK: mtp.l2_norm %{{.*}} eps 9.9999999999999995E-7 : tensor<?x256xf32>
  %n = mtp.l2_norm %c eps 1.0e-6 : tensor<?x256xf32>
  // CHECK: mtp.l2_norm %{{.*}} groups 4 eps 9.9999999999999995E-7 : tensor<?x256xf32>
  %m = mtp.l2_norm %n groups 4 eps 1.0e-6 : tensor<?x256xf32>
  // CHECK: mtp.decay %{{.*}} rate %{{.*}} bias %{{.*}} : tensor<?x8xf32>, tensor<8xbf16>, tensor<8xbf16>
  %d = mtp.decay %g rate %w bias %w : tensor<?x8xf32>, tensor<8xbf16>, tensor<8xbf16>
  // CHECK: mtp.decay %{{.*}} rate %{{.*}} bias %{{.*}} linear : tensor<?x8xf32>
  %e = mtp.decay %g rate %w bias %w linear : tensor<?x8xf32>, tensor<8xbf16>, tensor<8xbf16>
  return %m, %d : tensor<?x256xf32>, tensor<?x8xf32>
}
