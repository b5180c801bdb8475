// Drafts a tree with a module, in the readable form. A smaller k has the first nodes. The
// module is the target's first layer with a cache of its own.
//
//   0 --- 1 --- 3
//    \     \--- 4
//     \--- 2 --- 5
module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.round @generate {
  %drafts = mtp.draft_tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x32xf32>, %rows: !mtp.rows):
    %ew = mtp.weight "/embed" : tensor<64x32xf32>
    %hw = mtp.weight "/head" : tensor<64x32xf32>
    %e = mtp.embed %t, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
    %x = mtp.apply @layer(%e, %rows) weights "layers.0." cache @dkv[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
    %l = mtp.linear %x, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    mtp.yield %l, %x : tensor<?x64xf32>, tensor<?x32xf32>
  } : tensor<?x5xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x5xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 1, 1, 2] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x5xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
