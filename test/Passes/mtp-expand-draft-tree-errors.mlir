// RUN: mtp-opt %s --mtp-expand-draft-tree --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @generate_k5 k 5 {
  // expected-error @+1 {{expected a tree of at least 6 nodes for k = 5, got 5; lower max_k}}
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
