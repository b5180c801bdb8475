// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

// Plain decoding: no drafts anywhere.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @plain {
mtp.round @plain {
  // CHECK: %[[LOGITS:.*]], %[[HIDDEN:.*]] = mtp.verify {
  // CHECK: } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // CHECK: %{{.*}}, %{{.*}} = mtp.accept %[[LOGITS]] exact {
  // CHECK: } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}

// What a prefill does with a chunk: no drafts, and the ops may be told the rows.
// CHECK-LABEL: mtp.prefill @prompt {
mtp.prefill @prompt {
  // CHECK: %[[LOGITS:.*]], %[[HIDDEN:.*]], %[[ROWS:.*]] = mtp.verify {
  // CHECK: } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %logits, %hidden, %rows = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  // CHECK: mtp.accept %[[LOGITS]] of %[[ROWS]] exact {
  // CHECK: } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  %count, %picks = mtp.accept %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @accept
func.func @accept(%drafts: tensor<4x3xi32>, %picks: tensor<4x4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  // CHECK: mtp.accept_tokens %{{.*}}, %{{.*}} : tensor<4x3xi32>, tensor<4x4xi32> -> tensor<4xi32>, tensor<4xi32>
  %count, %next = mtp.accept_tokens %drafts, %picks
                  : tensor<4x3xi32>, tensor<4x4xi32> -> tensor<4xi32>, tensor<4xi32>
  return %count, %next : tensor<4xi32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @accept_tree
func.func @accept_tree(%tokens: tensor<2x4xi32>, %picks: tensor<2x4xi32>)
    -> (tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>) {
  // CHECK: mtp.accept_tree %{{.*}}, %{{.*}} [-1, 0, 0, 1] : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>
  %path, %count, %next = mtp.accept_tree %tokens, %picks [-1, 0, 0, 1]
    : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>
  return %path, %count, %next : tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>
}
}
