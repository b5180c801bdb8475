// RUN: mtp-opt %s --mtp-fuse-projections | FileCheck %s

mtp.cache @target layers 1 entry 8 : bf16

// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>
func.func @attention(%x: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  // CHECK-DAG: %[[WQ:.*]] = mtp.weight "q"
  // CHECK-DAG: %[[WK:.*]] = mtp.weight "k"
  // CHECK-DAG: %[[WV:.*]] = mtp.weight "v"
  // CHECK: %[[QKV:.*]] = mtp.fused_linear %[[X]] weights(%[[WQ]], %[[WK]], %[[WV]]) biases(%{{.*}}, %{{.*}}, %{{.*}}) : {{.*}} -> tensor<?x16xf32>
  // CHECK: %[[Q:.*]] = mtp.slice %[[QKV]] cols 0 to 8
  // CHECK: %[[K:.*]] = mtp.slice %[[QKV]] cols 8 to 12
  // CHECK: %[[V:.*]] = mtp.slice %[[QKV]] cols 12 to 16
  // CHECK: %[[A:.*]] = mtp.attention %[[Q]], %[[K]], %[[V]]
  // CHECK: %[[Y:.*]] = mtp.fused_linear %[[A]] weights(%{{.*}}) residual %[[X]] :
  // CHECK: return %[[Y]]
  %wq = mtp.weight "q" : tensor<8x8xbf16>
  %bq = mtp.weight "qb" : tensor<8xbf16>
  %q = mtp.linear %x, %wq bias %bq : tensor<?x8xf32>, tensor<8x8xbf16>, tensor<8xbf16> -> tensor<?x8xf32>
  %wk = mtp.weight "k" : tensor<4x8xbf16>
  %bk = mtp.weight "kb" : tensor<4xbf16>
  %k = mtp.linear %x, %wk bias %bk : tensor<?x8xf32>, tensor<4x8xbf16>, tensor<4xbf16> -> tensor<?x4xf32>
  %wv = mtp.weight "v" : tensor<4x8xbf16>
  %v = mtp.linear %x, %wv bias %bk : tensor<?x8xf32>, tensor<4x8xbf16>, tensor<4xbf16> -> tensor<?x4xf32>
  %a = mtp.attention %q, %k, %v, %rows heads 2 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  %wo = mtp.weight "o" : tensor<8x8xbf16>
  %o = mtp.linear %a, %wo : tensor<?x8xf32>, tensor<8x8xbf16> -> tensor<?x8xf32>
  %y = mtp.add %x, %o : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @mlp
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>
func.func @mlp(%x: tensor<?x8xf32>, %wg: tensor<16x8xf32>, %wu: tensor<16x8xf32>, %wd: tensor<8x16xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[A:.*]] = mtp.fused_linear %[[X]] weights(%{{.*}}, %{{.*}}) activation swiglu : {{.*}} -> tensor<?x16xf32>
  // CHECK: %[[Y:.*]] = mtp.fused_linear %[[A]] weights(%{{.*}}) residual %[[X]] :
  // CHECK: return %[[Y]]
  %g = mtp.linear %x, %wg : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %u = mtp.linear %x, %wu : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %a = mtp.swiglu %g, %u : tensor<?x16xf32>
  %d = mtp.linear %a, %wd : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %y = mtp.add %d, %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @geglu
func.func @geglu(%x: tensor<?x8xf32>, %wg: tensor<16x8xf32>, %wu: tensor<16x8xf32>) -> tensor<?x16xf32> {
  // CHECK: mtp.fused_linear %{{.*}} weights(%{{.*}}, %{{.*}}) activation geglu_tanh : {{.*}} -> tensor<?x16xf32>
  %g = mtp.linear %x, %wg : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %u = mtp.linear %x, %wu : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %a = mtp.geglu_tanh %g, %u : tensor<?x16xf32>
  return %a : tensor<?x16xf32>
}

// DeepSeek's experts: routed plus shared, then the residual. The router's
// weight has another type and is not merged.
// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<?x8xf32>, %r: tensor<?x8xf32>, %wr: tensor<4x8xf32>, %ws: tensor<8x8xbf16>,
    %g: tensor<4x6x8xbf16>, %d: tensor<4x8x6xbf16>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  // CHECK: %[[L:.*]] = mtp.fused_linear {{.*}} -> tensor<?x4xf32>
  // CHECK: mtp.moe_route %[[L]]
  // CHECK: %[[S:.*]] = mtp.fused_linear {{.*}} -> tensor<?x8xf32>
  // CHECK: %[[Y:.*]] = mtp.moe_experts {{.*}} shared %[[S]] residual %{{.*}} :
  // CHECK-NOT: mtp.add
  // CHECK: return %[[Y]]
  %l = mtp.linear %x, %wr : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
  %i, %p = mtp.moe_route %l softmax top_k 2 : tensor<?x4xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %e = mtp.moe_experts %x, %i, %p, %rows experts(%g, %g, %d)
       : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<4x6x8xbf16>, tensor<4x6x8xbf16>, tensor<4x8x6xbf16>) -> tensor<?x8xf32>
  %s = mtp.linear %x, %ws : tensor<?x8xf32>, tensor<8x8xbf16> -> tensor<?x8xf32>
  %0 = mtp.add %e, %s : tensor<?x8xf32>
  %y = mtp.add %r, %0 : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// MLA's two down projections; one has no sum, the other's result is read twice.
// CHECK-LABEL: func.func @latents
func.func @latents(%x: tensor<?x8xf32>, %wa: tensor<8x8xbf16>, %wb: tensor<4x8xbf16>, %wc: tensor<8x4xbf16>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[AB:.*]] = mtp.fused_linear %{{.*}} weights(%{{.*}}, %{{.*}}) : {{.*}} -> tensor<?x12xf32>
  // CHECK: %[[A:.*]] = mtp.slice %[[AB]] cols 0 to 8
  // CHECK: %[[B:.*]] = mtp.slice %[[AB]] cols 8 to 12
  // CHECK: %[[C:.*]] = mtp.fused_linear %[[B]] weights(%{{.*}}) : {{.*}} -> tensor<?x8xf32>
  // CHECK: mtp.add %[[A]], %[[C]]
  // CHECK: return %{{.*}}, %[[C]]
  %a = mtp.linear %x, %wa : tensor<?x8xf32>, tensor<8x8xbf16> -> tensor<?x8xf32>
  %b = mtp.linear %x, %wb : tensor<?x8xf32>, tensor<4x8xbf16> -> tensor<?x4xf32>
  %c = mtp.linear %b, %wc : tensor<?x4xf32>, tensor<8x4xbf16> -> tensor<?x8xf32>
  %y = mtp.add %a, %c : tensor<?x8xf32>
  return %y, %c : tensor<?x8xf32>, tensor<?x8xf32>
}

// Two sums in a row: the second joins the same projection only if its residual
// is free, so it stays.
// CHECK-LABEL: func.func @two_sums
func.func @two_sums(%x: tensor<?x8xf32>, %r: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[A:.*]] = mtp.fused_linear %{{.*}} weights(%{{.*}}) residual %{{.*}} :
  // CHECK: mtp.add %[[A]], %{{.*}}
  %a = mtp.linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %b = mtp.add %a, %r : tensor<?x8xf32>
  %c = mtp.add %b, %x : tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

// The role of a projection is kept. If several are merged, the role is the
// router's, or else the head's.
// CHECK-LABEL: func.func @roles
func.func @roles(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %z: tensor<?x8xf32>, %r: tensor<?x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: mtp.fused_linear {{.*}} weights(%{{.*}}, %{{.*}}) role head : {{.*}} -> tensor<?x16xf32>
  // CHECK: mtp.fused_linear {{.*}} weights(%{{.*}}, %{{.*}}, %{{.*}}) role router : {{.*}} -> tensor<?x24xf32>
  // CHECK: mtp.fused_linear {{.*}} residual %{{.*}} role head : {{.*}} -> tensor<?x8xf32>
  %0 = mtp.linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %1 = mtp.linear %x, %w role head : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %2 = mtp.linear %y, %w role head : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %3 = mtp.linear %y, %w role router : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %4 = mtp.linear %y, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %5 = mtp.linear %z, %w role head : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %6 = mtp.add %5, %r : tensor<?x8xf32>
  return %0, %1, %2, %3, %4, %6 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
