// EAGLE-2 (arXiv:2406.16858): the drafter is EAGLE-1's, and a beam of three nodes finds the
// shape of the tree in each round.
module attributes {mtp.envelope = #mtp.envelope<max_k = 16, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.import "beam.mlir" [@begin, @expand, @rerank]
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
  %drafts, %parents = mtp.draft {
    // Rows of a depth have three places. Four depths are enough for 16 nodes.
    %k = mtp.k
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %nodes = arith.addi %k, %c1 : index
    %fit = arith.divui %nodes, %c3 : index
    %depths = arith.minui %fit, %c3 : index
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x32xf32>
    %ls, %gs = func.call @drafter(%t, %h, %rows) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    %three, %s0, %n0, %m0 = func.call @begin(%slots, %anchor) : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>)
    %l0 = mtp.gather_rows %ls, %three : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
    %g0 = mtp.gather_rows %gs, %three : tensor<?x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
    %all:6 = scf.for %j = %c0 to %depths step %c1 iter_args(%l = %l0, %g = %g0, %at = %next, %s = %s0, %n = %n0, %m = %m0) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>) {
      %d, %row, %above, %behind, %sj, %nj, %mj = mtp.apply @expand(%slots, %l, %g, %at, %s, %n, %m) : (tensor<?xi32>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>) -> (tensor<?xi32>, !mtp.rows, tensor<?x32xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>)
      %lj, %gj = func.call @drafter(%d, %above, %row) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
      scf.yield %lj, %gj, %behind, %sj, %nj, %mj : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>
    }
    %end:7 = mtp.apply @expand(%slots, %all#0, %all#1, %all#2, %all#3, %all#4, %all#5) : (tensor<?xi32>, tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>) -> (tensor<?xi32>, !mtp.rows, tensor<?x32xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>)
    %d, %p = func.call @rerank(%slots, %end#3) : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
    mtp.yield %d, %p : tensor<?x?xi32>, tensor<?x?xi32>
  } : tensor<?x?xi32>, tensor<?x?xi32>
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
