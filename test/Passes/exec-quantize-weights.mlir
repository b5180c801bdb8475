// RUN: mtp-opt %s '--exec-quantize-weights=format=int4 group=32 head-format=int8 head-group=128 keep=layer.1.*,?o' | FileCheck %s
// RUN: mtp-opt %s '--exec-quantize-weights=format=int8' | FileCheck %s --check-prefix=ALL
// RUN: mtp-opt %s '--exec-quantize-weights=head-format=int8' | FileCheck %s --check-prefix=HEAD
// RUN: mtp-opt %s '--exec-quantize-weights=format=int8 head-format=none' | FileCheck %s --check-prefix=BODY
// RUN: mtp-opt %s '--exec-quantize-weights=embedding-format=int4 embedding-group=32 keep=layer.1.e*' | FileCheck %s --check-prefix=EMBED
// RUN: mtp-opt %s '--exec-quantize-weights=format=int4 embedding-format=int8' | FileCheck %s --check-prefix=BOTH

// RUN: mtp-opt %s '--exec-quantize-weights=format=int8 tie' | FileCheck %s --check-prefix=TIE --implicit-check-not="exec.weight @table"

// An embedding of the head's tensor reads the head's panels.
// TIE: exec.embed %{{.*}} in %{{.*}} rows 96 as <int8, group = 64> :

// Panels of one group of 32 inputs and one of 8: 128 bytes of scales each.
// CHECK-DAG: exec.weight @q #exec.panels<32> k 40 n 64 stack 1 {{.*}} : <int4, group = 32>
// CHECK-DAG: exec.weight @up #exec.gated_panels<32> k 40 n 128 stack 1 {{.*}} : <int4, group = 32>
// CHECK-DAG: exec.weight @"e.{}.g" #exec.gated_panels<32> k 40 n 64 stack 8 {{.*}} : <int4, group = 32>
// CHECK-DAG: exec.weight @"e.{}.d" #exec.panels<32> k 32 n 40 stack 8 {{.*}} : <int4, group = 32>
// CHECK-DAG: exec.weight @head #exec.panels<32> k 40 n 96 stack 1 {{.*}} : <int8, group = 128>
// Kept weights: by pattern, a fused one by any of its tensors; by kind.
// CHECK-DAG: exec.weight @kept #exec.panels<32> {{.*}} : <bf16>{{$}}
// CHECK-DAG: exec.weight @fused #exec.panels<32> {{.*}} : <bf16>{{$}}
// CHECK-DAG: exec.weight @router #exec.panels<32> {{.*}} : <bf16>{{$}}
// CHECK-DAG: exec.weight @heads #exec.panels<32> {{.*}} : <bf16>{{$}}
// CHECK-DAG: exec.weight @norm #exec.raw {{.*}} : <f32>{{$}}
// CHECK-DAG: exec.weight @table #exec.raw {{.*}} : <bf16>{{$}}

// ALL-DAG: exec.weight @q {{.*}} : <int8, group = 64>
// ALL-DAG: exec.weight @kept {{.*}} : <int8, group = 64>
// ALL-DAG: exec.weight @head #exec.panels<32> {{.*}} : <int8, group = 64>
// ALL-DAG: exec.weight @router #exec.panels<32> {{.*}} : <bf16>{{$}}
// HEAD-DAG: exec.weight @q {{.*}} : <bf16>{{$}}
// HEAD-DAG: exec.weight @head #exec.panels<32> {{.*}} : <int8, group = 64>
// BODY-DAG: exec.weight @q {{.*}} : <int8, group = 64>
// BODY-DAG: exec.weight @head #exec.panels<32> {{.*}} : <bf16>{{$}}

// An embedding changes only for its own format, and the head of the same tensor
// is independent of it. A row has a group of 32 inputs and one of 8, with a
// scale each.
// ALL-DAG: exec.weight @table #exec.raw {{.*}} : <bf16>{{$}}
// HEAD-DAG: exec.weight @table #exec.raw {{.*}} : <bf16>{{$}}
// EMBED-DAG: exec.weight @table #exec.raw k 40 n 96 stack 1 {{.*}} : <int4, group = 32>
// EMBED-DAG: exec.weight @drafter #exec.raw {{.*}} : <bf16>{{$}}
// EMBED-DAG: exec.weight @norm #exec.raw {{.*}} : <f32>{{$}}
// EMBED-DAG: exec.weight @head #exec.panels<32> {{.*}} : <bf16>{{$}}
// EMBED-DAG: exec.weight @q {{.*}} : <bf16>{{$}}
// BOTH-DAG: exec.weight @table #exec.raw {{.*}} : <int8, group = 64>
// BOTH-DAG: exec.weight @drafter #exec.raw {{.*}} : <int8, group = 64>
// BOTH-DAG: exec.weight @norm #exec.raw {{.*}} : <f32>{{$}}
// BOTH-DAG: exec.weight @shared #exec.raw {{.*}} : <f32>{{$}}
// BOTH-DAG: exec.weight @head #exec.panels<32> {{.*}} : <int4, group = 64>
// BOTH-DAG: exec.weight @q {{.*}} : <int4, group = 64>

exec.weight @q #exec.panels<32> k 40 n 64 stack 1 [#exec.source<key = "/layer.0.q">] : <bf16>
exec.weight @up #exec.gated_panels<32> k 40 n 128 stack 1 [#exec.source<key = "layer.0.gate">, #exec.source<key = "layer.0.up">] : <bf16>
exec.weight @kept #exec.panels<32> k 40 n 64 stack 1 [#exec.source<key = "/layer.1.q">] : <bf16>
exec.weight @fused #exec.panels<32> k 40 n 64 stack 1 [#exec.source<key = "q">, #exec.source<key = "kv">, #exec.source<key = "fo">] : <bf16>
exec.weight @router #exec.panels<32> k 40 n 8 stack 1 [#exec.source<key = "gate">] : <bf16>
exec.weight @heads #exec.panels<32> k 40 n 32 stack 2 [#exec.source<key = "kv_b", row_end = 32, row_stride = 64>] : <bf16>
exec.weight @"e.{}.g" #exec.gated_panels<32> k 40 n 64 stack 8 [#exec.source<key = "e.{}.g">, #exec.source<key = "e.{}.u">] : <bf16>
exec.weight @"e.{}.d" #exec.panels<32> k 32 n 40 stack 8 [#exec.source<key = "e.{}.d">] : <bf16>
exec.weight @norm #exec.raw k 40 n 1 stack 1 [#exec.source<key = "norm">] : <f32>
exec.weight @table #exec.raw k 40 n 96 stack 1 [#exec.source<key = "head">] : <bf16>
exec.weight @drafter #exec.raw k 40 n 96 stack 1 [#exec.source<key = "layer.1.embed">] : <bf16>
exec.weight @shared #exec.raw k 40 n 1 stack 1 [#exec.source<key = "shared">] : <f32>
exec.weight @head #exec.panels<32> k 40 n 96 stack 1 [#exec.source<key = "head">] : <bf16>

// CHECK-LABEL: exec.program @body
exec.program @body function {
  %x = exec.input "x" : tensor<4x40xf32>
  %p = exec.input "p" : tensor<4xi32>
  %n = exec.ref @norm : memref<1x40xf32>
  // CHECK: %[[Q:.*]] = exec.ref @q : memref<2x896xi8>
  %q = exec.ref @q : memref<2x20x32x2xbf16>
  // Other attributes of a call stay.
  // CHECK: exec.linear %{{.*}}, %[[Q]] as <int4, group = 32> norm %{{.*}} eps 9.99999997E-7 :
  %a = exec.linear %x, %q as <bf16> norm %n eps 1.0e-6
    : (tensor<4x40xf32>, memref<1x40xf32>, memref<2x20x32x2xbf16>) -> tensor<4x64xf32>
  // CHECK: exec.ref @up : memref<4x896xi8>
  %u = exec.ref @up : memref<4x20x32x2xbf16>
  // CHECK: exec.linear {{.*}} as <int4, group = 32> activation swiglu :
  %b = exec.linear %x, %u as <bf16> activation swiglu
    : (tensor<4x40xf32>, memref<4x20x32x2xbf16>) -> tensor<4x64xf32>
  // CHECK: exec.ref @kept : memref<2x20x32x2xbf16>
  %k = exec.ref @kept : memref<2x20x32x2xbf16>
  // CHECK: exec.linear {{.*}} as <bf16> :
  %c = exec.linear %x, %k as <bf16>
    : (tensor<4x40xf32>, memref<2x20x32x2xbf16>) -> tensor<4x64xf32>
  %f = exec.ref @fused : memref<2x20x32x2xbf16>
  %d = exec.linear %x, %f as <bf16>
    : (tensor<4x40xf32>, memref<2x20x32x2xbf16>) -> tensor<4x64xf32>
  %h = exec.ref @heads : memref<2x20x32x2xbf16>
  %two = exec.input "two" : tensor<4x80xf32>
  %y = exec.head_linear %two, %h heads 2 cols 0 to 40 as <bf16>
    : (tensor<4x80xf32>, memref<2x20x32x2xbf16>) -> tensor<4x64xf32>
  %r = exec.ref @router : memref<1x20x32x2xbf16>
  // CHECK: exec.linear {{.*}} as <bf16> role router : {{.*}} -> tensor<4x8xf32>
  // A router is marked by its role, whatever ops come before the route.
  %l = exec.linear %x, %r as <bf16> role router
    : (tensor<4x40xf32>, memref<1x20x32x2xbf16>) -> tensor<4x8xf32>
  %l2 = exec.add %l, %l : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %i, %w = exec.moe_route %l2 softmax
    : (tensor<4x8xf32>) -> (tensor<4x2xi32>, tensor<4x2xf32>)
  %s, %t = exec.moe_plan %i at %p
    : (tensor<4xi32>, tensor<4x2xi32>) -> (tensor<9xi32>, tensor<8xi32>)
  // CHECK: exec.ref @"e.{}.g" : memref<16x896xi8>
  %eg = exec.ref @"e.{}.g" : memref<16x20x32x2xbf16>
  // CHECK: exec.moe_gate_up {{.*}} as <int4, group = 32> rows
  %ea = exec.moe_gate_up %x, %eg as <bf16> rows (%s, %t)
    : (tensor<4x40xf32>, memref<16x20x32x2xbf16>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x32xf32>
  // CHECK: exec.ref @"e.{}.d" : memref<16x640xi8>
  %ed = exec.ref @"e.{}.d" : memref<16x16x32x2xbf16>
  // CHECK: exec.moe_down {{.*}} as <int4, group = 32> rows
  %eo = exec.moe_down %ea, %ed as <bf16> rows (%s, %t) top_k 2
    : (tensor<8x32xf32>, memref<16x16x32x2xbf16>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x40xf32>
}

// A head is marked by its role, whatever ops change its logits before the pick,
// and has one format in all programs.
// CHECK-LABEL: exec.program @picks
exec.program @picks function {
  %x = exec.input "x" : tensor<4x40xf32>
  %i = exec.input "i" : tensor<1xi32>
  // CHECK: exec.ref @head : memref<3x1408xi8>
  %h = exec.ref @head : memref<3x20x32x2xbf16>
  // CHECK: exec.linear {{.*}} as <int8, group = 128> role head :
  %l = exec.linear %x, %h as <bf16> role head
    : (tensor<4x40xf32>, memref<3x20x32x2xbf16>) -> tensor<4x96xf32>
  %sum = exec.add %l, %l : (tensor<4x96xf32>, tensor<4x96xf32>) -> tensor<4x96xf32>
  %t = exec.gather_rows %sum, %i : (tensor<4x96xf32>, tensor<1xi32>) -> tensor<1x96xf32>
  %a = exec.argmax %t : (tensor<1x96xf32>) -> tensor<1xi32>
}

// CHECK-LABEL: exec.program @unread
exec.program @unread function {
  %x = exec.input "x" : tensor<1x40xf32>
  // CHECK: exec.ref @head : memref<3x1408xi8>
  %h = exec.ref @head : memref<3x20x32x2xbf16>
  // CHECK: exec.linear {{.*}} as <int8, group = 128> :
  %l = exec.linear %x, %h as <bf16>
    : (tensor<1x40xf32>, memref<3x20x32x2xbf16>) -> tensor<1x96xf32>
}

// A table has one format in all programs. A table with other readers stays.
// EMBED-LABEL: exec.program @lookup
exec.program @lookup function {
  %i = exec.input "i" : tensor<4xi32>
  // EMBED: %[[T:.*]] = exec.ref @table : memref<96x28xi8>
  %t = exec.ref @table : memref<96x40xbf16>
  // EMBED: exec.embed %{{.*}} in %[[T]] as <int4, group = 32> :
  %x = exec.embed %i in %t as <bf16>
    : (memref<96x40xbf16>, tensor<4xi32>) -> tensor<4x40xf32>
  // EMBED: exec.ref @drafter : memref<96x40xbf16>
  %d = exec.ref @drafter : memref<96x40xbf16>
  // EMBED: exec.embed {{.*}} as <bf16> :
  %y = exec.embed %i in %d as <bf16>
    : (memref<96x40xbf16>, tensor<4xi32>) -> tensor<4x40xf32>
  %s = exec.ref @shared : memref<1x40xf32>
  %z = exec.embed %i in %s as <f32> : (memref<1x40xf32>, tensor<4xi32>) -> tensor<4x40xf32>
  %n = exec.rms_norm %z by %s eps 1.0e-6
    : (tensor<4x40xf32>, memref<1x40xf32>) -> tensor<4x40xf32>
}

// EMBED-LABEL: exec.program @again
exec.program @again function {
  %i = exec.input "i" : tensor<1xi32>
  // EMBED: exec.ref @table : memref<96x28xi8>
  %t = exec.ref @table : memref<96x40xbf16>
  // EMBED: exec.embed {{.*}} as <int4, group = 32> :
  %x = exec.embed %i in %t as <bf16>
    : (memref<96x40xbf16>, tensor<1xi32>) -> tensor<1x40xf32>
}
