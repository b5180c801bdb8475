// A small model for tests. It has a target of one layer, a drafter module of
// one layer, and exported functions.

module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>,
                   mtp.generation = {bos = 1 : i32, eos = array<i32: 0>}} {
mtp.weights files ["weights.safetensors"]
mtp.cache @target_cache layers 1 entry 32 : f32
mtp.cache @drafter_cache layers 1 entry 32 : bf16

func.func private @layer(%x: tensor<?x32xf32>, %rows: !mtp.rows) -> tensor<?x32xf32> {
  %nw = mtp.weight "norm" : tensor<32xf32>
  %n = mtp.rms_norm %x, %nw eps 1.0e-6 : tensor<?x32xf32>, tensor<32xf32>
  %qw = mtp.weight "q" : tensor<32x32xf32>
  %kw = mtp.weight "k" : tensor<16x32xf32>
  %vw = mtp.weight "v" : tensor<16x32xf32>
  %q = mtp.linear %n, %qw : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %k = mtp.linear %n, %kw : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  %v = mtp.linear %n, %vw : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  %qr = mtp.rope %q, %rows by <dim = 8, theta = 10000.0> heads 4 of 8 : tensor<?x32xf32>
  %kr = mtp.rope %k, %rows by <dim = 8, theta = 10000.0> heads 2 of 8 : tensor<?x16xf32>
  %a = mtp.attention %qr, %kr, %v, %rows heads 4 kv_heads 2 scale 0.353553390593 : tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x32xf32>
  %ow = mtp.weight "o" : tensor<32x32xf32>
  %o = mtp.linear %a, %ow : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %y = mtp.add %x, %o : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

func.func private @target(%tokens: tensor<?xi32>, %rows: !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %ew = mtp.weight "/embed" : tensor<64x32xf32>
  %e = mtp.embed %tokens, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %x = mtp.apply @layer(%e, %rows) weights "layers.0." cache @target_cache[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
  %l = mtp.linear %x, %ew : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  return %l, %x : tensor<?x64xf32>, tensor<?x32xf32>
}

func.func private @module(%tokens: tensor<?xi32>, %hidden: tensor<?x32xf32>, %rows: !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>} {
  %ew = mtp.weight "/embed" : tensor<64x32xf32>
  %ones = mtp.weight "/ones" : tensor<32xf32>
  %jw = mtp.weight "/join" : tensor<32x64xf32>
  %e = mtp.embed %tokens, %ew : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x32xf32>
  %en = mtp.rms_norm %m, %ones eps 1.0e-6 : tensor<?x32xf32>, tensor<32xf32>
  %hn = mtp.rms_norm %hidden, %ones eps 1.0e-6 : tensor<?x32xf32>, tensor<32xf32>
  %j = mtp.concat %en, %hn : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
  %p = mtp.linear %j, %jw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %x = mtp.apply @layer(%p, %rows) weights "layers.1." cache @drafter_cache[0] : (tensor<?x32xf32>, !mtp.rows) -> tensor<?x32xf32>
  %n = mtp.rms_norm %x, %ones eps 1.0e-6 : tensor<?x32xf32>, tensor<32xf32>
  %l = mtp.linear %n, %ew : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  return %l, %x : tensor<?x64xf32>, tensor<?x32xf32>
}

mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x32xf32>, %rows: !mtp.rows):
    %l, %g = mtp.apply @module(%t, %h, %rows) : (tensor<?xi32>, tensor<?x32xf32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %g : tensor<?x64xf32>, tensor<?x32xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = mtp.apply @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}

func.func @accept(%drafts: tensor<2x2xi32>, %picks: tensor<2x3xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %count, %next = mtp.accept_tokens %drafts, %picks : tensor<2x2xi32>, tensor<2x3xi32> -> tensor<2xi32>, tensor<2xi32>
  return %count, %next : tensor<2xi32>, tensor<2xi32>
}

func.func @project(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %w = mtp.weight "matrix" : tensor<3x4xf32>
  %b = mtp.weight "bias" : tensor<3xf32>
  %y = mtp.linear %x, %w bias %b : tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
}
