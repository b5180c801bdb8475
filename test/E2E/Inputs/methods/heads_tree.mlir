// The heads of heads.mlir with a tree of their candidates, as in Medusa. Its choices [0], [1],
// [2], [0, 0], [0, 1], [1, 0], [0, 0, 0] are one node each, level by level:
//
//   0 --- 1 --- 4 --- 7
//    \     \--- 5
//     \--- 2 --- 6
//      \--- 3
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_nodes = 8, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
func.func private @head(%h: tensor<?x32xf32>) -> tensor<?x64xf32> {
  %uw = mtp.weight "up" : tensor<32x32xf32>
  %hw = mtp.weight "/head" : tensor<64x32xf32>
  %u = mtp.linear %h, %uw : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %s = mtp.silu %u : tensor<?x32xf32>
  %y = mtp.add %h, %s : tensor<?x32xf32>
  %l = mtp.linear %y, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  return %l : tensor<?x64xf32>
}
mtp.round @generate {
  %drafts = mtp.draft_heads tree [-1, 0, 0, 0, 1, 1, 2, 4] {
  ^bb0(%h: tensor<?x32xf32>, %rows: !mtp.rows):
    %l = mtp.apply @head(%h) weights "heads.0." : (tensor<?x32xf32>) -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  }, {
  ^bb0(%h: tensor<?x32xf32>, %rows: !mtp.rows):
    %l = mtp.apply @head(%h) weights "heads.1." : (tensor<?x32xf32>) -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  }, {
  ^bb0(%h: tensor<?x32xf32>, %rows: !mtp.rows):
    %l = mtp.apply @head(%h) weights "heads.2." : (tensor<?x32xf32>) -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x7xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 0, 1, 1, 2, 4] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x7xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 0, 1, 1, 2, 4] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x7xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
