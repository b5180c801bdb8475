// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s

// Layers with a recurrent state.
// CHECK: mtp.recurrence @memory layers 3 heads 4 keys 16 values 8 key_heads 2 window 4
mtp.recurrence @memory layers 3 heads 4 keys 16 values 8 key_heads 2 window 4
// CHECK: mtp.recurrence @channels layers 1 heads 4 keys 16 values 8 key_heads 2 window 4 decays_per_key
mtp.recurrence @channels layers 1 heads 4 keys 16 values 8 key_heads 2 window 4 decays_per_key
mtp.cache @kv layers 1 entry 32 : f32

// CHECK-LABEL: func.func private @layer
func.func private @layer(%x: tensor<?x96xf32>, %w: tensor<96x4xbf16>, %g: tensor<?x4xf32>, %rows: !mtp.rows) -> tensor<?x32xf32> {
  // CHECK: mtp.causal_conv %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x96xf32>, tensor<96x4xbf16>
  %c = mtp.causal_conv %x, %w, %rows : tensor<?x96xf32>, tensor<96x4xbf16>
  %q = mtp.slice %c cols 0 to 32 : tensor<?x96xf32> -> tensor<?x32xf32>
  %k = mtp.slice %c cols 32 to 64 : tensor<?x96xf32> -> tensor<?x32xf32>
  %v = mtp.slice %c cols 64 to 96 : tensor<?x96xf32> -> tensor<?x32xf32>
  // CHECK: mtp.delta_rule %{{.*}}, %{{.*}}, %{{.*}} decay %{{.*}} beta %{{.*}}, %{{.*}} scale 2.500000e-01 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x4xf32>
  %y = mtp.delta_rule %q, %k, %v decay %g beta %g, %rows scale 0.25 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x4xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @named
func.func @named(%x: tensor<?x96xf32>, %w: tensor<96x4xf32>, %g: tensor<?x4xf32>, %q: tensor<?x32xf32>, %n: tensor<?xi32>, %rows: !mtp.rows) {
  // CHECK: mtp.run_rows %{{.*}} pending %{{.*}} keeps %{{.*}} : tensor<?xi32>
  %runs = mtp.run_rows %rows pending %n keeps %n : tensor<?xi32>
  // CHECK: mtp.causal_conv %{{.*}}, %{{.*}}, %{{.*}} in @memory[2] :
  %c = mtp.causal_conv %x, %w, %runs in @memory[2] : tensor<?x96xf32>, tensor<96x4xf32>
  // CHECK: mtp.delta_rule {{.*}} in @memory[0] scale
  %y = mtp.delta_rule %q, %q, %q decay %g beta %g, %runs in @memory[0] scale 1.0 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x4xf32>
  return
}

// CHECK-LABEL: func.func @channels_of
func.func @channels_of(%q: tensor<?x32xf32>, %g: tensor<?x64xf32>, %b: tensor<?x4xf32>, %rows: !mtp.rows) {
  // CHECK: mtp.delta_rule {{.*}} in @channels[0] scale 1.000000e+00 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>
  %y = mtp.delta_rule %q, %q, %q decay %g beta %b, %rows in @channels[0] scale 1.0 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>
  return
}

// CHECK-LABEL: func.func @apply
func.func @apply(%x: tensor<?x96xf32>, %w: tensor<96x4xbf16>, %g: tensor<?x4xf32>, %rows: !mtp.rows) {
  // CHECK: mtp.apply @layer({{.*}}) weights "l." memory @memory[1] :
  %y = mtp.apply @layer(%x, %w, %g, %rows) weights "l." memory @memory[1] : (tensor<?x96xf32>, tensor<96x4xbf16>, tensor<?x4xf32>, !mtp.rows) -> tensor<?x32xf32>
  // CHECK: mtp.apply @layer({{.*}}) cache @kv[0] memory @memory[2] :
  %z = mtp.apply @layer(%x, %w, %g, %rows) cache @kv[0] memory @memory[2] : (tensor<?x96xf32>, tensor<96x4xbf16>, tensor<?x4xf32>, !mtp.rows) -> tensor<?x32xf32>
  return
}
