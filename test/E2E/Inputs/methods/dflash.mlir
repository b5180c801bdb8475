// DFlash's block (arXiv:2602.06036): k drafts in one pass of a layer. Its cache has keys and
// values of committed tokens, made of two of the target's states. The rows of the block, the
// anchor and a mask for each draft, see these entries and each other. A row's logits are for
// the token at its own position.
module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
func.func private @both(%t: tensor<?xi32>, %rows: !mtp.rows) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %ew = mtp.weight "/embed" : tensor<64x32xf32>
  %hw = mtp.weight "/head" : tensor<64x32xf32>
  %e = mtp.embed %t, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %x = mtp.apply @layer(%e, %rows) weights "layers.0." cache @kv[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
  %y = mtp.apply @layer(%x, %rows) weights "layers.1." cache @kv[1] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
  %l = mtp.linear %y, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  %xy = mtp.concat %x, %y : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
  return %l, %xy : tensor<?x64xf32>, tensor<?x64xf32>
}
// Returns the layer's keys and values of committed tokens.
func.func private @inject(%h: tensor<?x64xf32>, %rows: !mtp.rows) {
  %tw = mtp.weight "/taps" : tensor<32x64xf32>
  %nw = mtp.weight "norm" : tensor<32xf32>
  %kw = mtp.weight "k" : tensor<16x32xf32>
  %vw = mtp.weight "v" : tensor<16x32xf32>
  %c = mtp.linear %h, %tw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %n = mtp.rms_norm %c, %nw eps 1.0e-6 : tensor<?x32xf32>, tensor<32xf32>
  %k = mtp.linear %n, %kw : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  %v = mtp.linear %n, %vw : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  %kr = mtp.rope %k, %rows by <dim = 8, theta = 10000.0> heads 2 of 8 : tensor<?x16xf32>
  mtp.cache_append %kr, %rows into @dkv[0] at 0 : tensor<?x16xf32>
  mtp.cache_append %v, %rows into @dkv[0] at 16 : tensor<?x16xf32>
  return
}
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x64xf32>
    mtp.apply @inject(%h, %rows) weights "layers.0." : (tensor<?x64xf32>, !mtp.rows) -> ()
    // The rows of the block, and the drafting row for each verified row, which is one position
    // earlier.
    %bt, %bs, %bp, %br, %bm, %own, %ds, %dp = mtp.per_slot %slots {
    ^bb0(%index: index, %slot: i32):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %mask = arith.constant 18 : i32
      %bit = arith.constant 1 : i64
      %rows = arith.addi %k, %c1 : index
      %n = mtp.load @length[] : i32
      %a = mtp.load @accepted[] : i32
      %last = arith.index_cast %a : i32 to index
      %token = mtp.load @window[%last] : i32
      %tokens = tensor.generate %rows {
      ^bb0(%j: index):
        %is_anchor = arith.cmpi eq, %j, %c0 : index
        %x = arith.select %is_anchor, %token, %mask : i32
        tensor.yield %x : i32
      } : tensor<?xi32>
      %of = tensor.splat %slot[%rows] : tensor<?xi32>
      %positions = tensor.generate %rows {
      ^bb0(%j: index):
        %far = arith.index_cast %j : index to i32
        %p = arith.addi %n, %far : i32
        tensor.yield %p : i32
      } : tensor<?xi32>
      %roots = tensor.splat %n[%rows] : tensor<?xi32>
      %count = arith.index_cast %rows : index to i64
      %above = arith.shli %bit, %count : i64
      %all = arith.subi %above, %bit : i64
      %masks = tensor.splat %all[%rows] : tensor<?xi64>
      %first = arith.muli %index, %rows : index
      %drafting = tensor.generate %k {
      ^bb0(%j: index):
        %row = arith.addi %first, %j : index
        %behind = arith.addi %row, %c1 : index
        %i = arith.index_cast %behind : index to i32
        tensor.yield %i : i32
      } : tensor<?xi32>
      %own = tensor.splat %slot[%k] : tensor<?xi32>
      %verifying = tensor.generate %k {
      ^bb0(%j: index):
        %far = arith.index_cast %j : index to i32
        %p = arith.addi %n, %far : i32
        tensor.yield %p : i32
      } : tensor<?xi32>
      mtp.yield %tokens, %of, %positions, %roots, %masks, %drafting, %own, %verifying : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
    } : (tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi64>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
    %token = mtp.reshape %bt : tensor<?x?xi32> -> tensor<?xi32>
    %of = mtp.reshape %bs : tensor<?x?xi32> -> tensor<?xi32>
    %position = mtp.reshape %bp : tensor<?x?xi32> -> tensor<?xi32>
    %root = mtp.reshape %br : tensor<?x?xi32> -> tensor<?xi32>
    %mask = mtp.reshape %bm : tensor<?x?xi64> -> tensor<?xi64>
    %drafting = mtp.reshape %own : tensor<?x?xi32> -> tensor<?xi32>
    %slot = mtp.reshape %ds : tensor<?x?xi32> -> tensor<?xi32>
    %verified = mtp.reshape %dp : tensor<?x?xi32> -> tensor<?xi32>
    %block = mtp.make_tree_rows %of, %position from %root at %position seeing %mask refreshed : tensor<?xi32>, tensor<?xi64>
    %ew = mtp.weight "embed" : tensor<64x32xf32>
    %hw = mtp.weight "head" : tensor<64x32xf32>
    %e = mtp.embed %token, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
    %x = mtp.apply @layer(%e, %block) weights "layers.0." cache @dkv[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
    %g = mtp.gather_rows %x, %drafting : tensor<?x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
    %l = mtp.linear %g, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    %verifying = mtp.make_rows %slot, %verified : tensor<?xi32>
    %d = mtp.sample %l, %verifying : tensor<?x64xf32> -> tensor<?xi32>
    %drafts = mtp.reshape %d : tensor<?xi32> -> tensor<?x?xi32>
    mtp.yield %drafts : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %xy = func.call @both(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x64xf32>)
    mtp.yield %l, %xy : tensor<?x64xf32>, tensor<?x64xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x64xf32>
}
