// RUN: mtp-opt %s --mtp-specialize-shapes --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @target layers 1 entry 16 : f32
mtp.round @tree {
  // expected-error @+1 {{'mtp.draft_tree' op has no program: rounds are compiled for draft chains; a tree can be verified in a function}}
  %drafts = mtp.draft_tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x3xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
    %a = mtp.attention %e, %e, %e, %tree heads 1 kv_heads 1 scale 1.0 cache @target[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %a, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %a : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x4xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x4xi32>, tensor<?x8xf32>
}
}
