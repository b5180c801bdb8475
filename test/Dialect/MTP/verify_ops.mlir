// RUN: mtp-opt %s --split-input-file --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --split-input-file --mlir-print-op-generic | mtp-opt --split-input-file | FileCheck %s

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

// A chunk of a prefill has no drafts, and accept may take the rows.
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

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// The rule names its arguments.
// CHECK-LABEL: mtp.round @rule {
mtp.round @rule {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // CHECK: mtp.accept %{{.*}}#0, %{{.*}}#1 with %{{.*}}#2 custom {
  // CHECK: } rule (slots, positions, drafts, picks, logits, draft_logits, rows) {
  // CHECK: ^bb0(%[[S:.*]]: tensor<?xi32>, %{{.*}}: tensor<?x?xi32>, %{{.*}}: tensor<?x2xi32>, %[[P:.*]]: tensor<?x3xi32>, %{{.*}}: tensor<?x?x16xf32>, %{{.*}}: tensor<?x2x4xf32>, %{{.*}}: !mtp.rows):
  // CHECK: mtp.yield %[[S]], %[[P]] : tensor<?xi32>, tensor<?x3xi32>
  // CHECK: } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  %count, %picks = mtp.accept %drafts, %x with %q custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, positions, drafts, picks, logits, draft_logits, rows) {
  ^bb0(%s: tensor<?xi32>, %at: tensor<?x?xi32>, %d: tensor<?x2xi32>, %p: tensor<?x3xi32>, %tl: tensor<?x?x16xf32>, %dl: tensor<?x2x4xf32>, %rows: !mtp.rows):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x3xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// Taps, and a region that sees the tokens that lead to its rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.prefill @taps
mtp.prefill @taps {
  // CHECK: %[[L:.*]], %{{.*}}, %[[MORE:.*]]:2 = mtp.verify {
  // CHECK: } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>, !mtp.rows)
  %logits, %hidden, %tap, %made = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e, %e : tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>, !mtp.rows)
  // CHECK: mtp.accept %[[L]] of %[[MORE]]#1 exact {
  // CHECK: ^bb0(%{{.*}}: tensor<?x16xf32>, %{{.*}}: !mtp.rows, %{{.*}}: tensor<?xi32>, %{{.*}}: tensor<?x?xi32>):
  %count, %picks = mtp.accept %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x?xi32>):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// Each slot has its own tree.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @own_tree {
mtp.round @own_tree {
  // CHECK: %[[MADE:.*]]:2 = mtp.per_slot
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  // CHECK: %[[LOGITS:.*]], %{{.*}} = mtp.verify %[[MADE]]#0 parents %[[MADE]]#1 {
  // CHECK: mtp.tree_rows %{{.*}} parents %[[MADE]]#1 : tensor<?x3xi32>
  // CHECK: } : (tensor<?x2xi32>, tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %logits, %hidden = mtp.verify %drafts parents %p {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %tree = mtp.tree_rows %rows parents %p : tensor<?x3xi32>
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>, tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // CHECK: mtp.accept %[[MADE]]#0, %[[LOGITS]] exact parents %[[MADE]]#1 {
  // CHECK: } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x3xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  %count, %picks = mtp.accept %drafts, %logits exact parents %p {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x3xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
