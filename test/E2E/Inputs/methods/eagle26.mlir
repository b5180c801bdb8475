// EAGLE-1 (arXiv:2401.15077) with the static tree of its paper: 26 nodes, more than its depth.
// k is the depth; a round of a smaller k has the nodes that are no deeper.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8, max_nodes = 26>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.round @generate {
  %drafts = mtp.draft_tree [-1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6, 7, 8, 15, 15, 16, 20] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x32xf32>, %rows: !mtp.rows):
    %ew = mtp.weight "/embed" : tensor<64x32xf32>
    %fw = mtp.weight "/fuse" : tensor<32x64xf32>
    %hw = mtp.weight "/head" : tensor<64x32xf32>
    %e = mtp.embed %t, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
    %c = mtp.concat %e, %h : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
    %x = mtp.linear %c, %fw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    %g = mtp.apply @layer(%x, %rows) weights "layers.0." cache @dkv[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
    %l = mtp.linear %g, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    mtp.yield %l, %g : tensor<?x64xf32>, tensor<?x32xf32>
  } : tensor<?x25xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6, 7, 8, 15, 15, 16, 20] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x25xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5, 6, 6, 7, 8, 15, 15, 16, 20] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x25xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
