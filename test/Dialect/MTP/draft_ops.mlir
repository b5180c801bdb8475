// RUN: mtp-opt %s --split-input-file --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --split-input-file --mlir-print-op-generic | mtp-opt --split-input-file | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @generate {
mtp.round @generate {
  // CHECK: %[[DRAFTS:.*]] = mtp.draft_chain {
  // CHECK: ^bb0(%{{.*}}: tensor<?xi32>, %{{.*}}: tensor<?x8xf32>, %{{.*}}: !mtp.rows):
  // CHECK: mtp.yield %{{.*}}, %{{.*}} : tensor<?x16xf32>, tensor<?x8xf32>
  // CHECK: }, {
  // CHECK: } : tensor<?x?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  // CHECK: %[[LOGITS:.*]], %[[HIDDEN:.*]] = mtp.verify %[[DRAFTS]] {
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // CHECK: mtp.accept %[[DRAFTS]], %[[LOGITS]] exact {
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  // CHECK: mtp.commit
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @target layers 1 entry 16 : f32
// CHECK-LABEL: mtp.round @tree {
mtp.round @tree {
  // CHECK: mtp.draft_tree [-1, 0, 0, 1] {
  // CHECK: }, {
  // CHECK: } : tensor<?x3xi32>
  %drafts = mtp.draft_tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "other" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x3xi32>
  // CHECK: %[[LOGITS:.*]], %[[HIDDEN:.*]], %[[ROWS:.*]] = mtp.verify %[[DRAFTS:.*]] tree [-1, 0, 0, 1] {
  %logits, %hidden, %verified = mtp.verify %drafts tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // CHECK: %[[TREE:.*]] = mtp.tree_rows %{{.*}} [-1, 0, 0, 1]
    %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
    // CHECK: mtp.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[TREE]]
    %a = mtp.attention %e, %e, %e, %tree heads 1 kv_heads 1 scale 1.0 cache @target[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %a, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %a : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  // CHECK: %[[COUNT:.*]], %[[PICKS:.*]], %[[PATH:.*]] = mtp.accept %[[DRAFTS]], %[[LOGITS]] of %[[ROWS]] exact tree [-1, 0, 0, 1] {
  // CHECK: } : (tensor<?x3xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x4xi32>, tensor<?x4xi32>)
  %count, %picks, %path = mtp.accept %drafts, %logits of %verified exact tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x4xi32>, tensor<?x4xi32>)
  // CHECK: mtp.commit %[[COUNT]], %[[PICKS]], %[[HIDDEN]] along %[[PATH]] : tensor<?xi32>, tensor<?x4xi32>, tensor<?x8xf32>, tensor<?x4xi32>
  mtp.commit %count, %picks, %hidden along %path : tensor<?xi32>, tensor<?x4xi32>, tensor<?x8xf32>, tensor<?x4xi32>
}
}

// -----

// A step without hidden states is a model of its own.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @model k 1 {
mtp.round @model k 1 {
  // CHECK: mtp.draft_chain {
  // CHECK: ^bb0(%{{.*}}: tensor<?xi32>, %{{.*}}: !mtp.rows):
  // CHECK: mtp.yield %{{.*}} : tensor<?x16xf32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
}
}

// -----

// Drafts that end when they become unlikely.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
// CHECK-LABEL: mtp.round @ending k 1 {
mtp.round @ending k 1 {
  // CHECK: mtp.draft_chain vocabulary @few p_min 2.500000e-01 {
  %drafts = mtp.draft_chain vocabulary @few p_min 0.25 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>
}
}

// -----

// A head with a small vocabulary, and draft logits.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK: mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
// CHECK-LABEL: mtp.round @chain k 1 {
mtp.round @chain k 1 {
  // CHECK: %[[DRAFTS:.*]], %[[FROM:.*]] = mtp.draft_chain vocabulary @few {
  // CHECK: } : tensor<?x?xi32>, tensor<?x?x4xf32>
  %drafts, %from = mtp.draft_chain vocabulary @few {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>, tensor<?x?x4xf32>
}
// CHECK-LABEL: mtp.round @tree k 2 {
mtp.round @tree k 2 {
  // CHECK: mtp.draft_tree [-1, 0, 0] vocabulary @few {
  // CHECK: } : tensor<?x2xi32>, tensor<?x2x4xf32>
  %drafts, %from = mtp.draft_tree [-1, 0, 0] vocabulary @few {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x2xi32>, tensor<?x2x4xf32>
}
// CHECK-LABEL: func.func @picks
func.func @picks(%x: tensor<?x4xf32>, %rows: !mtp.rows) -> tensor<?xi32> {
  // CHECK: mtp.argmax %{{.*}} tokens @few : tensor<?x4xf32> -> tensor<?xi32>
  %a = mtp.argmax %x tokens @few : tensor<?x4xf32> -> tensor<?xi32>
  // CHECK: mtp.mask_tokens %{{.*}}, %{{.*}} tokens @few : tensor<?x4xf32>, tensor<?xi32>
  %y = mtp.mask_tokens %x, %a tokens @few : tensor<?x4xf32>, tensor<?xi32>
  // CHECK: mtp.sample %{{.*}}, %{{.*}} tokens @few : tensor<?x4xf32> -> tensor<?xi32>
  %s = mtp.sample %y, %rows tokens @few : tensor<?x4xf32> -> tensor<?xi32>
  return %s : tensor<?xi32>
}
}

// -----

// A drafter in core ops; an input of another width.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @core {
mtp.round @core {
  // CHECK: %{{.*}} = mtp.draft {
  %drafts = mtp.draft {
    // CHECK: mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
    // CHECK: mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>{{$}}
    %t1, %rows1, %anchor1, %next1 = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
    // CHECK: mtp.refresh_module 3 of %[[H:.*]] with %[[A:.*]], %[[B:.*]] at %[[ROWS:.*]], %[[ROWS]] : (tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>, !mtp.rows, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
    %t3, %rows3, %h3, %anchor3, %last = mtp.refresh_module 3 of %h with %t, %t1 at %rows, %rows
        : (tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>, !mtp.rows, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
    // CHECK: mtp.module_rows %{{.*}} module 3{{$}}
    %moved = mtp.module_rows %rows module 3
    %grid = mtp.reshape %anchor : tensor<?xi32> -> tensor<?x?xi32>
    // CHECK: mtp.yield %{{.*}} : tensor<?x?xi32>
    mtp.yield %grid : tensor<?x?xi32>
  // CHECK: } : tensor<?x?xi32>
  } : tensor<?x?xi32>
}
// CHECK-LABEL: mtp.prefill @nothing {
mtp.prefill @nothing {
  // CHECK: mtp.draft {
  // CHECK-NEXT: }
  mtp.draft {
  }
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // CHECK: mtp.refresh_module 2 of %{{.*}} : (tensor<?x8xf32>) ->
  %t2, %rows2, %h, %anchor, %last = mtp.refresh_module 2 of %e : (tensor<?x8xf32>) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @wide k 1 {
mtp.round @wide k 1 {
  // CHECK: mtp.draft_chain input {
  // CHECK: ^bb0(%{{.*}}: tensor<?x16xf32>):
  // CHECK: } step {
  %drafts = mtp.draft_chain input {
  ^bb0(%wide: tensor<?x16xf32>):
    %f = mtp.weight "fc" : tensor<8x16xf32>
    %x = mtp.linear %wide, %f : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
    mtp.yield %x : tensor<?x8xf32>
  } step {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 12>} {
// CHECK-LABEL: mtp.prefill @behind k 2 catch_up 15 {
mtp.prefill @behind k 2 catch_up 15 {
  // CHECK: mtp.recent_hidden : tensor<?x8xf32>
  %h = mtp.recent_hidden : tensor<?x8xf32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @heads {
mtp.round @heads {
  // CHECK: mtp.draft_heads tree [-1, 0, 0, 1, 1] {
  // CHECK: }, {
  // CHECK: } : tensor<?x4xi32>
  %drafts = mtp.draft_heads tree [-1, 0, 0, 1, 1] {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x4xi32>
}
}

// -----

// Heads that each apply a function print as a list; heads with a prefix do not.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
func.func private @first(%h: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  return %h : tensor<?x8xf32>
}
func.func private @second(%h: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  return %h : tensor<?x8xf32>
}
// CHECK-LABEL: mtp.round @list {
mtp.round @list {
  // CHECK: mtp.draft_heads tree [-1, 0, 1] [@first, @second] (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32> : tensor<?x?xi32>
  %drafts = mtp.draft_heads tree [-1, 0, 1] {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %l = mtp.apply @first(%h, %rows) : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %l = mtp.apply @second(%h, %rows) : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
func.func private @first(%h: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  return %h : tensor<?x8xf32>
}
// CHECK-LABEL: mtp.round @written {
mtp.round @written {
  // CHECK: mtp.draft_heads {
  // CHECK: mtp.apply @first({{.*}}) weights "a."
  // CHECK: }, {
  // CHECK: mtp.apply @first(
  %drafts = mtp.draft_heads {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %l = mtp.apply @first(%h, %rows) weights "a." : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  }, {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %l = mtp.apply @first(%h, %rows) : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
func.func private @first(%h: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  return %h : tensor<?x8xf32>
}
// CHECK-LABEL: mtp.round @read {
mtp.round @read {
  // CHECK: mtp.draft_heads [@first, @first] (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32> : tensor<?x?xi32>
  %drafts = mtp.draft_heads [@first, @first] (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32> : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
// CHECK-LABEL: mtp.round @head {
mtp.round @head {
  // CHECK: mtp.draft_heads vocabulary @few {
  // CHECK: } : tensor<?x?xi32>, tensor<?x?x4xf32>
  %drafts, %from = mtp.draft_heads vocabulary @few {
  ^bb0(%h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<4x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>, tensor<?x?x4xf32>
}
}
