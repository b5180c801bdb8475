// RUN: not mtp-opt %s --mtp-instantiate-rounds --mtp-expand-draft-tree 2>&1 | FileCheck %s

// The error names the nodes that the largest round needs, not the first that
// fails (issue 43, row 19): three nodes are too few from k = 3 on.
// CHECK: error: 'mtp.draft_tree' op expected a tree of at least 6 nodes for k = 5, got 3; lower max_k
module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @generate {
  %drafts = mtp.draft_tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %e, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0] {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
