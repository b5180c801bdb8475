// EAGLE's chain, in which a slot sets the number of drafts that it wants (want_k): one more
// than the last round accepted. After a round without accepted drafts it has one round without
// drafts, and then one with two.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
mtp.state @want_k : i32 init 1 rebuild save
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
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
  mtp.per_slot %slots(%count) {
  ^bb0(%index: index, %slot: i32, %kept: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %wanted = mtp.load @want_k[] : i32
    %paused = arith.cmpi eq, %wanted, %zero : i32
    %some = arith.cmpi sgt, %kept, %zero : i32
    %more = arith.addi %kept, %one : i32
    %again = arith.select %paused, %two, %zero : i32
    %next = arith.select %some, %more, %again : i32
    mtp.store %next, @want_k[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?xi32>) -> ()
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
