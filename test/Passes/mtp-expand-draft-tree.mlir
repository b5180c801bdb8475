// RUN: mtp-opt %s --mtp-expand-draft-tree --split-input-file | FileCheck %s
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// The module's refresh, like a chain's first one, over the rows of a path of
// depth two. The anchor's row gives the two children of node 0, its best.
// CHECK-LABEL: mtp.round @generate_k4 k 4
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 3
// CHECK: %[[G:.*]] = mtp.mask_first %[[H]]
// CHECK: %[[L:.*]] = mtp.linear %[[G]]
// CHECK: %[[L0:.*]] = mtp.gather_rows %[[L]]
// CHECK: %[[H0:.*]] = mtp.gather_rows %[[G]]
// CHECK: %[[V0:.*]] = mtp.make_rows
// CHECK: %[[D0:.*]], %{{.*}} = mtp.top_k %[[L0]] k 2 noise %[[V0]]
// Only node 1 has children: the module runs over it, on the anchor's hidden
// state.
// CHECK: %[[PLACES:.*]]:6 = mtp.per_slot
// CHECK: arith.constant 3 : i64
// CHECK: %[[TREE:.*]] = mtp.make_tree_rows {{.*}} seeing %{{.*}} refreshed :
// CHECK: %[[H1:.*]] = mtp.gather_rows %[[H0]]
// CHECK: %[[G1:.*]] = mtp.mask_first %[[H1]], %[[TREE]]
// CHECK: %[[L1:.*]] = mtp.linear %[[G1]]
// CHECK: %[[D1:.*]], %{{.*}} = mtp.top_k %[[L1]] k 2 noise %{{.*}} :
// CHECK: %[[DRAFTS:.*]] = mtp.per_slot %[[SLOTS]](%[[D0]], %[[D0]], %[[D1]], %[[D1]])
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[I0:.*]] = arith.index_cast %[[ZERO]]
// CHECK: tensor.extract %{{.*}}[%[[I0]]] : tensor<2xi32>
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[I1:.*]] = arith.index_cast %[[ONE]]
// CHECK: tensor.extract %{{.*}}[%[[I1]]] : tensor<2xi32>
// CHECK: mtp.verify %[[DRAFTS]] tree [-1, 0, 0, 1, 1]
mtp.round @generate_k4 k 4 {
  %drafts = mtp.draft_tree [-1, 0, 0, 1, 1] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x4xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0, 1, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x4xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1, 1] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x4xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden along %path : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>, tensor<?x?xi32>
}
}

// -----

// A smaller k uses the first nodes: none of them but node 0 has children here.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @generate_k2 k 2
// CHECK: mtp.top_k %{{.*}} k 2 noise
// CHECK-NOT: mtp.make_tree_rows
// CHECK-NOT: mtp.top_k
// CHECK: mtp.verify
mtp.round @generate_k2 k 2 {
  %drafts = mtp.draft_tree [-1, 0, 0, 1, 1] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x4xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0, 1, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x4xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1, 1] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x4xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden along %path : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>, tensor<?x?xi32>
}
}

// -----

// A module for each of three depths. The second one runs over the committed
// rows and over nodes 1 and 2, which have children. The third runs over the
// committed rows, node 1, which leads to its level, and node 3, on the states
// that the second one handed on. The third runs once more over node 5, a row
// alone.
// CHECK-DAG: mtp.state @carry_2[8] : f32 rebuild rows 2
// CHECK-DAG: mtp.state @carry_3[8] : f32 rebuild rows 3
// CHECK-LABEL: mtp.round @modules_k4 k 4
// CHECK: mtp.weight "one"
// CHECK: %[[G:.*]] = mtp.mask_first %{{.*}} : tensor<?x8xf32>
// CHECK: mtp.read_state @carry_2
// CHECK: mtp.concat_rows %{{.*}} rows 1, %[[G]] rows 5
// CHECK: mtp.write_state %[[G]][%{{.*}}], @carry_2
// CHECK: %[[R2:.*]] = mtp.make_tree_rows
// CHECK-NOT: mtp.weight "one"
// CHECK: mtp.weight "two"
// CHECK: %[[G2:.*]] = mtp.mask_first %{{.*}}, %[[R2]]
// CHECK: mtp.read_state @carry_3
// CHECK: mtp.concat_rows %{{.*}} rows 1, %[[G2]] rows 7
// CHECK: mtp.write_state %[[G2]][%{{.*}}], @carry_3
// CHECK: %[[R3:.*]] = mtp.make_tree_rows
// CHECK: mtp.weight "three"
// CHECK: %[[G3:.*]] = mtp.mask_first %{{.*}}, %[[R3]]
// CHECK: %[[OWN:.*]] = mtp.gather_rows %[[G3]]
// CHECK: %[[R4:.*]] = mtp.make_tree_rows
// CHECK: %[[LAST:.*]] = mtp.gather_rows %[[OWN]]
// CHECK: mtp.weight "three"
// CHECK: mtp.mask_first %[[LAST]], %[[R4]]
// CHECK-NOT: mtp.weight "three"
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 7>} {
mtp.round @modules_k4 k 4 nodes 7 {
  %drafts = mtp.draft_tree [-1, 0, 0, 1, 2, 3, 5] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "one" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "two" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "three" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x6xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0, 1, 2, 3, 5] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x6xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1, 2, 3, 5] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x6xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden along %path : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>, tensor<?x?xi32>
}
}

// -----

// The logits of a tree's drafts: for the root's children the root's, for the
// second one without the first; for node 3 those of the row that ran node 1.
// They are in the order of nodes.
// CHECK-LABEL: mtp.round @logits k 3 {
// CHECK: %[[L0:.*]] = mtp.gather_rows
// CHECK: %[[D1:.*]] = mtp.argmax %[[L0]] tokens @few
// CHECK: %[[REST:.*]] = mtp.mask_tokens %[[L0]], %[[D1]] tokens @few : tensor<?x4xf32>, tensor<?xi32>
// CHECK: mtp.argmax %[[REST]] tokens @few
// CHECK: %[[L1:.*]] = mtp.embed
// CHECK: mtp.argmax %[[L1]] tokens @few
// CHECK: %[[TWO:.*]] = mtp.concat_rows %[[L0]] rows 1, %[[REST]] rows 1
// CHECK: %[[ALL:.*]] = mtp.concat_rows %[[TWO]] rows 2, %[[L1]] rows 1
// CHECK: %[[INDEX:.*]] = mtp.per_slot
// CHECK: tensor<?x3xi32>
// CHECK: %[[BY:.*]] = mtp.reshape %[[INDEX]]
// CHECK: %[[NODES:.*]] = mtp.gather_rows %[[ALL]], %[[BY]]
// CHECK: %[[Q:.*]] = mtp.reshape %[[NODES]] : tensor<?x4xf32> -> tensor<?x3x4xf32>
// CHECK: mtp.output "from" %[[Q]]
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
mtp.round @logits k 3 {
  %drafts, %from = mtp.draft_tree [-1, 0, 0, 1] vocabulary @few {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x3xi32>, tensor<?x3x4xf32>
  mtp.output "from" %from : tensor<?x3x4xf32>
  %logits, %hidden, %verified = mtp.verify %drafts tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %verified exact tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
}
}
