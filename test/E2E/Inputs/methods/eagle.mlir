// EAGLE-1 as a chain (arXiv:2401.15077) in core ops: a layer with a cache of its own reads each
// token and the preceding hidden state, the target's or its own.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.state @length : i32
mtp.state @own[max_k] : i32
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
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x32xf32>
    %ls, %gs = func.call @drafter(%t, %h, %rows) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    %l0 = mtp.gather_rows %ls, %anchor : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
    %g0 = mtp.gather_rows %gs, %anchor : tensor<?x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
    // The row that verifies a draft has the position of the next hidden state.
    %all:3 = scf.for %j = %c1 to %k step %c1 iter_args(%l = %l0, %g = %g0, %at = %next) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>) {
      %row = mtp.make_rows %slots, %at : tensor<?xi32>
      %d = mtp.sample %l, %row : tensor<?x64xf32> -> tensor<?xi32>
      %lj, %gj = func.call @drafter(%d, %g, %row) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
      %behind = func.call @keep(%slots, %d, %at) : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
      scf.yield %lj, %gj, %behind : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?xi32>
    }
    %row = mtp.make_rows %slots, %all#2 : tensor<?xi32>
    %last = mtp.sample %all#0, %row : tensor<?x64xf32> -> tensor<?xi32>
    %end = func.call @keep(%slots, %last, %all#2) : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
    %drafts = mtp.per_slot %slots {
    ^bb0(%index: index, %slot: i32):
      %k = mtp.k
      %drafts = tensor.generate %k {
      ^bb0(%j: index):
        %d = mtp.load @own[%j] : i32
        tensor.yield %d : i32
      } : tensor<?xi32>
      mtp.yield %drafts : tensor<?xi32>
    } : (tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %drafts : tensor<?x?xi32>
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
// Stores the draft of a row, and returns the next row's position.
func.func private @keep(%slots: tensor<?xi32>, %draft: tensor<?xi32>, %at: tensor<?xi32>) -> tensor<?xi32> {
  %behind = mtp.per_slot %slots(%draft, %at) {
  ^bb0(%index: index, %slot: i32, %d: i32, %p: i32):
    %one = arith.constant 1 : i32
    %n = mtp.load @length[] : i32
    %place = arith.subi %p, %n : i32
    %i = arith.index_cast %place : i32 to index
    mtp.store %d, @own[%i] : i32
    %q = arith.addi %p, %one : i32
    mtp.yield %q : i32
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %behind : tensor<?xi32>
}
