// A two-layer model whose rows are a chain in one function and a tree in another. tree_test.cpp
// compares the two.

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.weights files ["tree.safetensors"]
mtp.cache @target layers 2 entry 32 : f32

func.func private @layer(%x: tensor<10x32xf32>, %rows: !mtp.rows) -> tensor<10x32xf32> {
  %nw = mtp.weight "norm" : tensor<32xf32>
  %n = mtp.rms_norm %x, %nw eps 1.0e-6 : tensor<10x32xf32>, tensor<32xf32>
  %qw = mtp.weight "q" : tensor<32x32xf32>
  %kw = mtp.weight "k" : tensor<16x32xf32>
  %vw = mtp.weight "v" : tensor<16x32xf32>
  %q = mtp.linear %n, %qw : tensor<10x32xf32>, tensor<32x32xf32> -> tensor<10x32xf32>
  %k = mtp.linear %n, %kw : tensor<10x32xf32>, tensor<16x32xf32> -> tensor<10x16xf32>
  %v = mtp.linear %n, %vw : tensor<10x32xf32>, tensor<16x32xf32> -> tensor<10x16xf32>
  %qr = mtp.rope %q, %rows by <dim = 8, theta = 10000.0> heads 4 of 8 : tensor<10x32xf32>
  %kr = mtp.rope %k, %rows by <dim = 8, theta = 10000.0> heads 2 of 8 : tensor<10x16xf32>
  %a = mtp.attention %qr, %kr, %v, %rows heads 4 kv_heads 2 scale 0.353553390593 : tensor<10x32xf32>, tensor<10x16xf32>, tensor<10x16xf32> -> tensor<10x32xf32>
  %ow = mtp.weight "o" : tensor<32x32xf32>
  %o = mtp.linear %a, %ow : tensor<10x32xf32>, tensor<32x32xf32> -> tensor<10x32xf32>
  %y = mtp.add %x, %o : tensor<10x32xf32>
  return %y : tensor<10x32xf32>
}

func.func private @model(%tokens: tensor<10xi32>, %rows: !mtp.rows) -> tensor<10x64xf32> {
  %ew = mtp.weight "/embed" : tensor<64x32xf32>
  %e = mtp.embed %tokens, %ew : tensor<10xi32>, tensor<64x32xf32> -> tensor<10x32xf32>
  %x = mtp.apply @layer(%e, %rows) weights "layers.0." cache @target[0] : (tensor<10x32xf32>, !mtp.rows) -> tensor<10x32xf32>
  %y = mtp.apply @layer(%x, %rows) weights "layers.1." cache @target[1] : (tensor<10x32xf32>, !mtp.rows) -> tensor<10x32xf32>
  %l = mtp.linear %y, %ew : tensor<10x32xf32>, tensor<64x32xf32> -> tensor<10x64xf32>
  return %l : tensor<10x64xf32>
}

// A chain. Padding rows (position -1) make it shorter.
func.func @chain(%tokens: tensor<10xi32>, %slots: tensor<10xi32>, %positions: tensor<10xi32>) -> tensor<10x64xf32> {
  %rows = mtp.make_rows %slots, %positions : tensor<10xi32>
  %l = mtp.apply @model(%tokens, %rows) : (tensor<10xi32>, !mtp.rows) -> tensor<10x64xf32>
  return %l : tensor<10x64xf32>
}

// Two trees at once, of two branches each: 0 - 1 - 3 and 0 - 2 - 4.
func.func @tree(%tokens: tensor<10xi32>, %slots: tensor<10xi32>, %positions: tensor<10xi32>) -> tensor<10x64xf32> {
  %chain = mtp.make_rows %slots, %positions : tensor<10xi32>
  %rows = mtp.tree_rows %chain [-1, 0, 0, 1, 2]
  %l = mtp.apply @model(%tokens, %rows) : (tensor<10xi32>, !mtp.rows) -> tensor<10x64xf32>
  return %l : tensor<10x64xf32>
}

// Functions that use caches take their pages from a session's pool, so the module needs a round
// for sessions.
mtp.round @plain {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<64x32xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
    %k = mtp.slice %e cols 0 to 16 : tensor<?x32xf32> -> tensor<?x16xf32>
    %x = mtp.attention %e, %k, %k, %rows heads 4 kv_heads 2 scale 0.353553390593 cache @target[0] : tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x32xf32>
    %y = mtp.attention %x, %k, %k, %rows heads 4 kv_heads 2 scale 0.353553390593 cache @target[1] : tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32> -> tensor<?x32xf32>
    %l = mtp.linear %y, %w : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    mtp.yield %l, %y : tensor<?x64xf32>, tensor<?x32xf32>
  } : () -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
}
