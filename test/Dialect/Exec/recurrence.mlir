// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --exec-bufferize | FileCheck %s --check-prefix=KERNEL

// KERNEL-DAG: #exec.sigmoid<width = 8{{.*}}>
// KERNEL-DAG: #exec.sigmoid_gate<width = 8, gates = 2{{.*}}>
// KERNEL-DAG: #exec.l2_norm<width = 4, groups = 2, eps = 9.99999997E-7 : f32{{.*}}>
// KERNEL-DAG: #exec.decay<width = 2{{.*}}>
// KERNEL-DAG: #exec.causal_conv<width = 8, window = 4, kept = 5, slots = 4{{.*}}>
// KERNEL-DAG: #exec.delta_rule<heads = 2, key_heads = 1, dk = 4, dv = 8, kept = 5, slots = 4, scale = 5.000000e-01 : f32, q_stride = 8{{.*}}>
// KERNEL-DAG: #exec.delta_rule<heads = 2, key_heads = 1, dk = 4, dv = 8, kept = 5, slots = 4, scale = 5.000000e-01 : f32, decays = 4{{.*}}>
exec.state @conv : memref<4x8x8xf32>
exec.state @memory : memref<4x8x8xf32>
exec.state @kept : memref<4x5x26xf32>
// CHECK-LABEL: exec.program @recurrence
exec.program @recurrence function {
  %x = exec.input "x" : tensor<6x8xf32>
  %wide = exec.input "wide" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<6x2xf32>
  %w = exec.input "w" : tensor<32xf32>
  %r = exec.input "r" : tensor<2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %conv = exec.ref @conv : memref<4x8x8xf32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %kept = exec.ref @kept : memref<4x5x26xf32>
  // CHECK: exec.sigmoid %{{.*}} :
  %a = exec.sigmoid %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: exec.sigmoid_gate %{{.*}} by %{{.*}} :
  %b = exec.sigmoid_gate %a by %g : (tensor<6x8xf32>, tensor<6x2xf32>) -> tensor<6x8xf32>
  // CHECK: exec.l2_norm %{{.*}} groups 2 eps 9.99999997E-7 :
  %c = exec.l2_norm %b groups 2 eps 1.0e-6 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: exec.decay %{{.*}} rate %{{.*}} bias %{{.*}} :
  %d = exec.decay %g rate %r bias %r : (tensor<6x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6x2xf32>
  // CHECK: exec.causal_conv %{{.*}} by %{{.*}} window 4 in %{{.*}} slots %{{.*}} at %{{.*}} pending %{{.*}} keeps %{{.*}} :
  %e = exec.causal_conv %c by %w window 4 in %conv slots %n at %n pending %n keeps %n
       : (tensor<6x8xf32>, tensor<32xf32>, memref<4x8x8xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x8xf32>
  %q = exec.columns %e[0 to 4] : tensor<6x8xf32>
  %k = exec.columns %e[4 to 8] : tensor<6x8xf32>
  // CHECK: exec.delta_rule %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} beta %{{.*}} scale 5.000000e-01 key_heads 1 in %{{.*}} keeping %{{.*}} slots %{{.*}} at %{{.*}} pending %{{.*}} keeps %{{.*}} :
  %y = exec.delta_rule %q, %k, %wide decay %d beta %g scale 0.5 key_heads 1 in %memory keeping %kept slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<6x2xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x26xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
  exec.output "y" %y : tensor<6x16xf32>
}

// One decay for each of a head's keys.
exec.state @more : memref<4x5x32xf32>
// CHECK-LABEL: exec.program @channels
exec.program @channels function {
  %q = exec.input "q" : tensor<6x4xf32>
  %v = exec.input "v" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<6x8xf32>
  %b = exec.input "b" : tensor<6x2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %more = exec.ref @more : memref<4x5x32xf32>
  // CHECK: exec.delta_rule {{.*}}tensor<6x8xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x32xf32>
  %y = exec.delta_rule %q, %q, %v decay %g beta %b scale 0.5 key_heads 1 in %memory keeping %more slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x32xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
  exec.output "y" %y : tensor<6x16xf32>
}
