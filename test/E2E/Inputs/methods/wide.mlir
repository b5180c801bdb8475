// A drafter that reads the states of both layers of the target (EAGLE-3, arXiv:2503.01840,
// reads three). They are twice as wide as the state that it hands on, and projected only on
// verified rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.cache @dkv layers 1 entry 32 : f32
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
mtp.round @generate {
  %drafts = mtp.draft_chain input {
  ^bb0(%xy: tensor<?x64xf32>):
    %fw = mtp.weight "/fuse" : tensor<32x64xf32>
    %h = mtp.linear %xy, %fw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    mtp.yield %h : tensor<?x32xf32>
  } step {
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
