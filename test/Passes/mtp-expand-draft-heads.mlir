// RUN: mtp-opt %s --mtp-expand-draft-heads --split-input-file | FileCheck %s

// A chain of two of three heads: each reads the hidden states of the rows that
// were verified last. Its draft is picked from the anchor's row, like the row
// that will verify it. The third head is dropped.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @chain k 2
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[PLACES:.*]]:{{[0-9]}} = mtp.per_slot %[[SLOTS]]
// CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 3
// CHECK: mtp.weight "first"
// CHECK: %[[L0:.*]] = mtp.linear %[[H]]
// CHECK: %[[A0:.*]] = mtp.gather_rows %[[L0]], %[[ANCHOR:.*]] :
// CHECK: %[[D0:.*]] = mtp.sample %[[A0]], %{{.*}} :
// CHECK: mtp.weight "second"
// CHECK: %[[L1:.*]] = mtp.linear %[[H]]
// CHECK: %[[A1:.*]] = mtp.gather_rows %[[L1]], %[[ANCHOR]] :
// CHECK: %[[AT:.*]]:2 = mtp.per_slot
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: arith.addi %[[N]], %{{.*}} : i32
// CHECK: %[[D1:.*]] = mtp.sample %[[A1]], %{{.*}} :
// CHECK-NOT: mtp.weight "third"
// CHECK: mtp.verify
mtp.round @chain k 2 {
  %drafts = mtp.draft_heads {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "first" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "second" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "third" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// A tree: the best two of the first head. Node 1 has two children and node 2
// one: the second head's best two, picked once for both.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_nodes = 6, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @tree k 3
// CHECK: %[[B0:.*]], %{{.*}} = mtp.top_k %{{.*}} k 2 noise %{{.*}} : tensor<?x16xf32> -> tensor<?x2xi32>
// CHECK: mtp.weight "second"
// CHECK: %[[L1:.*]] = mtp.linear
// CHECK: %[[A1:.*]] = mtp.gather_rows %[[L1]]
// CHECK: %[[B1:.*]], %{{.*}} = mtp.top_k %[[A1]] k 2 noise %{{.*}} : tensor<?x16xf32> -> tensor<?x2xi32>
// CHECK-NOT: mtp.top_k
// CHECK-NOT: mtp.weight "third"
// CHECK: mtp.per_slot %{{.*}}(%[[B0]], %[[B0]], %[[B1]], %[[B1]], %[[B1]])
// CHECK: mtp.verify
mtp.round @tree k 3 nodes 6 {
  %drafts = mtp.draft_heads tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "first" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "second" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "third" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x5xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x5xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x5xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
}
}

// -----

// If the region sees the tokens before a row, a head's row is repeated for each
// node.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_nodes = 6, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @paths k 3
// CHECK: mtp.top_k %{{.*}} k 2 noise
// CHECK: mtp.weight "second"
// CHECK: %[[L1:.*]] = mtp.linear
// CHECK: %[[A1:.*]] = mtp.gather_rows %[[L1]]
// CHECK: %[[BOTH:.*]] = mtp.gather_rows %[[A1]]
// CHECK: %[[X:.*]] = mtp.mask_tokens %[[BOTH]]
// CHECK: %[[B1:.*]], %{{.*}} = mtp.top_k %[[X]] k 2 noise
// CHECK: %[[G1:.*]] = mtp.reshape %{{.*}} : tensor<?xi32> -> tensor<?x4xi32>
// CHECK: mtp.verify
mtp.round @paths k 3 nodes 6 {
  %drafts = mtp.draft_heads tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "first" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "second" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "third" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x5xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x5xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x4xi32>):
    %last = mtp.per_slot %of(%path) {
    ^bb0(%index: index, %slot: i32, %own: tensor<4xi32>):
      %c0 = arith.constant 0 : index
      %t = tensor.extract %own[%c0] : tensor<4xi32>
      mtp.yield %t : i32
    } : (tensor<?xi32>, tensor<?x4xi32>) -> tensor<?xi32>
    %x = mtp.mask_tokens %l, %last : tensor<?x16xf32>, tensor<?xi32>
    %s = mtp.sample %x, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x5xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
}
}

// -----

// In a prefill all heads run over the prompt's rows to fill caches.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @own layers 1 entry 16 : f32
// CHECK-LABEL: mtp.prefill @prompt k 3
// CHECK: %{{.*}}, %[[H:.*]], %{{.*}} = mtp.verify {
// CHECK: %{{.*}}, %[[ROWS:.*]] = mtp.prompt_rows ahead 1
// CHECK: mtp.attention %[[H]], %[[H]], %[[H]], %[[ROWS]] {{.*}} cache @own[0]
// CHECK-NOT: mtp.draft_heads
mtp.prefill @prompt k 3 {
  %logits, %hidden, %rows = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %drafts = mtp.draft_heads {
  ^bb0(%h: tensor<?x8xf32>, %rows2: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %a = mtp.attention %h, %h, %h, %rows2 heads 1 kv_heads 1 scale 1.0 cache @own[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %a, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
}
}
