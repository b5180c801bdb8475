// A drafter whose head has rows for only some of the target's tokens, as in EAGLE-3 and
// FR-Spec: mtp.vocabulary lists them. Its drafts are a tree.
//
//   0 --- 1 --- 3
//    \--- 2
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.vocabulary @reduced dense<[0, 2, 3, 5, 7, 8, 10, 12, 13, 15, 17, 18, 20, 22, 23, 25, 27, 28, 30, 32, 33, 35, 37, 38, 40, 42, 43, 45, 47, 48]> : tensor<30xi32>

mtp.round @generate {
  %drafts = mtp.draft_tree [-1, 0, 0, 1] vocabulary @reduced {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %ew = mtp.weight "/embed" : tensor<64x32xf32>
    %hw = mtp.weight "/reduced" : tensor<30x32xf32>
    %e = mtp.embed %t, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
    %l = mtp.linear %e, %hw : tensor<?x32xf32>, tensor<30x32xf32> -> tensor<?x30xf32>
    mtp.yield %l : tensor<?x30xf32>
  } : tensor<?x3xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
