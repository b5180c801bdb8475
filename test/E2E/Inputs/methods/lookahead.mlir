// Lookahead decoding (arXiv:2402.02057) with functions of the embedded library: a window of
// eight columns, n-grams of five tokens, eight guesses, and so 64 rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 10, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8, max_nodes = 64>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.import "<lookup.mlir>" [@remember]
mtp.import "<lookahead.mlir>" [@lookahead, @learn]
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    func.call @remember() : () -> ()
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %drafts, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %w = arith.constant 8 : index
    %n = arith.constant 5 : index
    %g = arith.constant 8 : index
    %d, %p = func.call @lookahead(%w, %n, %g) : (index, index, index) -> (tensor<?xi32>, tensor<?xi32>)
    mtp.yield %d, %p : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  %logits, %hidden = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %k = mtp.k
  %none = arith.constant 0 : index
  %is_drafting = arith.cmpi ugt, %k, %none : index
  scf.if %is_drafting {
    %own = mtp.argmax %logits : tensor<?x64xf32> -> tensor<?xi32>
    %best = mtp.reshape %own : tensor<?xi32> -> tensor<?x?xi32>
    mtp.per_slot %slots(%drafts, %best) {
    ^bb0(%index: index, %slot: i32, %d: tensor<?xi32>, %b: tensor<?xi32>):
      %w = arith.constant 8 : index
      %n = arith.constant 5 : index
      %g = arith.constant 8 : index
      func.call @learn(%w, %n, %g, %d, %b) : (index, index, index, tensor<?xi32>, tensor<?xi32>) -> ()
      mtp.yield
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>) -> ()
  }
  %count, %picks = mtp.accept %drafts, %logits exact parents %parents {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
