// Lookup if it finds drafts, else the tree of heads_tree.mlir, slot by slot in one round. The
// round verifies a separate tree for each slot.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_nodes = 8, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.import "<lookup.mlir>" [@remember, @lookup_before_tree]
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
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    func.call @remember() : () -> ()
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %tree = mtp.draft_heads tree [-1, 0, 0, 0, 1, 1, 2, 4] {
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
  } : tensor<?x?xi32>
  %drafts, %parents = mtp.per_slot %slots(%tree) {
  ^bb0(%index: index, %slot: i32, %own: tensor<?xi32>):
    %min = arith.constant 2 : index
    %max = arith.constant 3 : index
    %all = arith.constant dense<[-1, 0, 0, 0, 1, 1, 2, 4]> : tensor<8xi32>
    %nodes = mtp.nodes
    %parents = tensor.generate %nodes {
    ^bb0(%i: index):
      %parent = tensor.extract %all[%i] : tensor<8xi32>
      tensor.yield %parent : i32
    } : tensor<?xi32>
    %d, %p = func.call @lookup_before_tree(%own, %parents, %min, %max) : (tensor<?xi32>, tensor<?xi32>, index, index) -> (tensor<?xi32>, tensor<?xi32>)
    mtp.yield %d, %p : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>, tensor<?x?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  %logits, %hidden = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact parents %parents {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
