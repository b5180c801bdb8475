// Heads that are layers (arXiv:2404.19737): each reads the target's hidden states with its own
// cache entries, independent of the others, and ends in the target's head.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 2 entry 32 : f32
mtp.round @generate {
  %drafts = mtp.draft_heads {
  ^bb0(%h: tensor<?x32xf32>, %rows: !mtp.rows):
    %hw = mtp.weight "head" : tensor<64x32xf32>
    %y = mtp.apply @layer(%h, %rows) weights "layers.0." cache @dkv[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
    %l = mtp.linear %y, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  }, {
  ^bb0(%h: tensor<?x32xf32>, %rows: !mtp.rows):
    %hw = mtp.weight "head" : tensor<64x32xf32>
    %y = mtp.apply @layer(%h, %rows) weights "layers.1." cache @dkv[1] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
    %l = mtp.linear %y, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
