// EAGLE-1 (arXiv:2401.15077) in core ops, with a tree of the library's shape: a layer with a
// cache of its own reads each token and the preceding hidden state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 10, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.import "two_branches.mlir" [@grow, @kept, @twice]
func.func private @drafter(%t: tensor<?xi32>, %h: tensor<?x32xf32>, %rows: !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %ew = mtp.weight "/embed" : tensor<64x32xf32>
  %fw = mtp.weight "/fuse" : tensor<32x64xf32>
  %hw = mtp.weight "/head" : tensor<64x32xf32>
  %e = mtp.embed %t, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %c = mtp.concat %e, %h : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
  %x = mtp.linear %c, %fw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %g = mtp.apply @layer(%x, %rows) weights "layers.0." cache @dkv[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
  %l = mtp.linear %g, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  return %l, %g : tensor<?x64xf32>, tensor<?x32xf32>
}
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    // Each depth after the first has four nodes.
    %k = mtp.k
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %nodes = arith.addi %k, %c1 : index
    %depths = arith.divui %nodes, %c4 : index
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x32xf32>
    %ls, %gs = func.call @drafter(%t, %h, %rows) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    %both = func.call @twice(%slots, %anchor) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
    %l0 = mtp.gather_rows %ls, %both : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
    %g0 = mtp.gather_rows %gs, %both : tensor<?x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
    %all:3 = scf.for %j = %c0 to %depths step %c1 iter_args(%l = %l0, %g = %g0, %at = %next) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>) {
      %d, %row, %behind = mtp.apply @grow(%slots, %l, %at) : (tensor<?xi32>, tensor<?x64xf32>, tensor<?xi32>) -> (tensor<?xi32>, !mtp.rows, tensor<?xi32>)
      %lj, %gj = func.call @drafter(%d, %g, %row) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
      scf.yield %lj, %gj, %behind : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>
    }
    %end:3 = mtp.apply @grow(%slots, %all#0, %all#2) : (tensor<?xi32>, tensor<?x64xf32>, tensor<?xi32>) -> (tensor<?xi32>, !mtp.rows, tensor<?xi32>)
    %drafts = func.call @kept(%slots) : (tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %drafts : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
