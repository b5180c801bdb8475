// RUN: mtp-opt %s --split-input-file --mtp-inline-layers --verify-diagnostics | FileCheck %s

// Recurrent ops get the memory of the innermost application that names one,
// besides its cache, unless they name one themselves.
// CHECK-LABEL: func.func @layers
// CHECK: mtp.causal_conv %{{.*}} in @memory[1] :
// CHECK: mtp.delta_rule %{{.*}} in @other[0] scale
// CHECK: mtp.causal_conv %{{.*}} in @memory[0] :
// CHECK: mtp.delta_rule %{{.*}} in @other[0] scale
// CHECK: mtp.attention %{{.*}} cache @kv[1]
// CHECK-NOT: mtp.apply
mtp.recurrence @memory layers 2 heads 1 keys 2 values 4 key_heads 1 window 4
mtp.recurrence @other layers 1 heads 1 keys 8 values 8 key_heads 1 window 4
mtp.cache @kv layers 2 entry 16 : f32

func.func private @recurrent(%x: tensor<3x8xf32>, %rows: !mtp.rows) -> tensor<3x8xf32> {
  %w = mtp.weight "conv" : tensor<8x4xf32>
  %c = mtp.causal_conv %x, %w, %rows : tensor<3x8xf32>, tensor<8x4xf32>
  %g = mtp.slice %c cols 0 to 1 : tensor<3x8xf32> -> tensor<3x1xf32>
  %y = mtp.delta_rule %c, %c, %c decay %g beta %g, %rows in @other[0] scale 1.0 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x1xf32>
  return %y : tensor<3x8xf32>
}
func.func private @both(%x: tensor<3x8xf32>, %rows: !mtp.rows) -> tensor<3x8xf32> {
  // No memory here: the caller's is used.
  %y = mtp.apply @recurrent(%x, %rows) weights "r." : (tensor<3x8xf32>, !mtp.rows) -> tensor<3x8xf32>
  %z = mtp.attention %y, %y, %y, %rows heads 1 kv_heads 1 scale 1.0 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32> -> tensor<3x8xf32>
  return %z : tensor<3x8xf32>
}
func.func @layers(%x: tensor<3x8xf32>, %n: tensor<3xi32>) -> tensor<3x8xf32> {
  %rows = mtp.make_rows %n, %n : tensor<3xi32>
  %a = mtp.apply @recurrent(%x, %rows) memory @memory[1] : (tensor<3x8xf32>, !mtp.rows) -> tensor<3x8xf32>
  %b = mtp.apply @both(%a, %rows) cache @kv[1] memory @memory[0] : (tensor<3x8xf32>, !mtp.rows) -> tensor<3x8xf32>
  return %b : tensor<3x8xf32>
}

// -----

func.func @lacking(%x: tensor<3x8xf32>, %n: tensor<3xi32>) -> tensor<3x8xf32> {
  %rows = mtp.make_rows %n, %n : tensor<3xi32>
  %w = mtp.weight "conv" : tensor<8x4xf32>
  // expected-error @+1 {{'mtp.causal_conv' op expected a memory, got none from the mtp.apply ops around it}}
  %c = mtp.causal_conv %x, %w, %rows : tensor<3x8xf32>, tensor<8x4xf32>
  return %c : tensor<3x8xf32>
}

// -----

// The memory of an application is checked against its callee.
// expected-note @+1 {{the recurrence is declared here}}
mtp.recurrence @memory layers 1 heads 1 keys 4 values 4 key_heads 1 window 4
func.func private @conv(%x: tensor<3x8xf32>, %rows: !mtp.rows) -> tensor<3x8xf32> {
  %w = mtp.weight "conv" : tensor<8x4xf32>
  // expected-error @+1 {{'mtp.causal_conv' op expected 12 columns and a window of 4 for @memory, got 8 and 4}}
  %c = mtp.causal_conv %x, %w, %rows : tensor<3x8xf32>, tensor<8x4xf32>
  return %c : tensor<3x8xf32>
}
func.func @narrow(%x: tensor<3x8xf32>, %n: tensor<3xi32>) -> tensor<3x8xf32> {
  %rows = mtp.make_rows %n, %n : tensor<3xi32>
  %y = mtp.apply @conv(%x, %rows) memory @memory[0] : (tensor<3x8xf32>, !mtp.rows) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
