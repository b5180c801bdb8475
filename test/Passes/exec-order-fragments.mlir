// RUN: mtp-opt %s --exec-order-fragments | FileCheck %s

// CHECK-DAG: exec.weight @q #exec.panels<32, fragments = true> k 64 n 40
// CHECK-DAG: exec.weight @up #exec.gated_panels<32, fragments = true> k 64 n 128
// CHECK-DAG: exec.weight @heads #exec.panels<32, fragments = true> k 32 n 40 stack 2
// CHECK-DAG: exec.weight @int8 #exec.panels<32, fragments = true> k 64
// CHECK-DAG: exec.weight @int4 #exec.gated_panels<32, fragments = true> k 160
// Not changed: other elements, inputs that are no blocks, panels of other
// widths.
// CHECK-DAG: exec.weight @f32 #exec.panels<32> k 64
// CHECK-DAG: exec.weight @int96 #exec.panels<32> k 192
// CHECK-DAG: exec.weight @int40 #exec.panels<32> k 40
// CHECK-DAG: exec.weight @ragged #exec.panels<32> k 40
// CHECK-DAG: exec.weight @narrow #exec.panels<16> k 64
// And weights for rows that do not begin at multiples of 16 bytes.
// CHECK-DAG: exec.weight @odd #exec.panels<32> k 32
// CHECK-DAG: exec.weight @odd_heads #exec.panels<32> k 32

exec.weight @q #exec.panels<32> k 64 n 40 stack 1 [#exec.source<key = "q">] : <bf16>
exec.weight @up #exec.gated_panels<32> k 64 n 128 stack 1 [#exec.source<key = "gate">, #exec.source<key = "up">] : <bf16>
exec.weight @heads #exec.panels<32> k 32 n 40 stack 2 [#exec.source<key = "h.{}">] : <bf16>
exec.weight @f32 #exec.panels<32> k 64 n 64 stack 1 [#exec.source<key = "f">] : <f32>
exec.weight @int8 #exec.panels<32> k 64 n 64 stack 1 [#exec.source<key = "i">] : <int8, group = 64>
exec.weight @int4 #exec.gated_panels<32> k 160 n 64 stack 1 [#exec.source<key = "g">, #exec.source<key = "u">] : <int4, group = 128>
exec.weight @int96 #exec.panels<32> k 192 n 64 stack 1 [#exec.source<key = "i">] : <int8, group = 96>
exec.weight @int40 #exec.panels<32> k 40 n 64 stack 1 [#exec.source<key = "i">] : <int8, group = 32>
exec.weight @ragged #exec.panels<32> k 40 n 64 stack 1 [#exec.source<key = "r">] : <bf16>
exec.weight @odd #exec.panels<32> k 32 n 40 stack 1 [#exec.source<key = "o">] : <bf16>
exec.weight @odd_heads #exec.panels<32> k 32 n 40 stack 2 [#exec.source<key = "o.{}">] : <bf16>
exec.weight @narrow #exec.panels<16> k 64 n 64 stack 1 [#exec.source<key = "n">] : <bf16>

// CHECK-LABEL: exec.program @step
exec.program @step function {
  %x = exec.input "x" : tensor<4x64xf32>
  // CHECK: exec.ref @q : memref<2x2x32x32xbf16>
  // CHECK: exec.ref @up : memref<4x2x32x32xbf16>
  // CHECK: exec.ref @heads : memref<4x1x32x32xbf16>
  // CHECK: exec.ref @f32 : memref<2x64x32xf32>
  // CHECK: exec.ref @int8 : memref<2x17x32x4xi8>
  // CHECK: exec.ref @int4 : memref<2x22x32x4xi8>
  %q = exec.ref @q : memref<2x32x32x2xbf16>
  %u = exec.ref @up : memref<4x32x32x2xbf16>
  %h = exec.ref @heads : memref<4x16x32x2xbf16>
  %f = exec.ref @f32 : memref<2x64x32xf32>
  %i = exec.ref @int8 : memref<2x2176xi8>
  %i4 = exec.ref @int4 : memref<2x2816xi8>
  %i96 = exec.ref @int96 : memref<2x6400xi8>
  %i40 = exec.ref @int40 : memref<2x1536xi8>
  %r = exec.ref @ragged : memref<2x20x32x2xbf16>
  %n = exec.ref @narrow : memref<4x32x16x2xbf16>
  // CHECK: exec.linear {{.*}} : (tensor<4x64xf32>, memref<2x2x32x32xbf16>) -> tensor<4x40xf32>
  %y = exec.linear %x, %q as <bf16>
    : (tensor<4x64xf32>, memref<2x32x32x2xbf16>) -> tensor<4x40xf32>
  %odd = exec.ref @odd : memref<2x16x32x2xbf16>
  %oh = exec.ref @odd_heads : memref<4x16x32x2xbf16>
  %columns = exec.columns %x[2 to 34] : tensor<4x64xf32>
  %o = exec.linear %columns, %odd as <bf16>
    : (tensor<4x32xf32>, memref<2x16x32x2xbf16>) -> tensor<4x40xf32>
  %w = exec.input "w" : tensor<4x68xf32>
  %p = exec.head_linear %w, %oh heads 2 cols 2 to 34 as <bf16>
    : (tensor<4x68xf32>, memref<4x16x32x2xbf16>) -> tensor<4x80xf32>
  %z = exec.head_linear %x, %h heads 2 cols 0 to 32 as <bf16>
    : (tensor<4x64xf32>, memref<4x16x32x2xbf16>) -> tensor<4x80xf32>
  // A head with a fused pick.
  // CHECK: exec.linear_argmax {{.*}}memref<2x2x32x32xbf16>
  %best:2 = exec.linear_argmax %x, %q n 40 as <bf16>
    : (tensor<4x64xf32>, memref<2x32x32x2xbf16>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
}
