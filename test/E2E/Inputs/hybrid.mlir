// A hybrid like Qwen3.5: two recurrent layers, one layer of gated attention, and a drafter with
// attention of its own. The attention sees only 32 positions, so older tokens are only in the
// recurrent states.
module attributes {mtp.envelope = #mtp.envelope<max_k = 8, max_batch = 4, max_context = 1152, prefill_chunk = 32, page = 16>} {
mtp.weights files ["hybrid.safetensors"]
mtp.recurrence @memory layers 2 heads 4 keys 16 values 16 key_heads 2 window 4
mtp.cache @kv layers 1 entry 64 : f32
mtp.cache @dkv layers 1 entry 64 : f32

func.func private @linear_layer(%x: tensor<?x64xf32>, %rows: !mtp.rows) -> tensor<?x64xf32> {
  %nw = mtp.weight "norm" : tensor<64xf32>
  %n = mtp.rms_norm %x, %nw eps 1.0e-6 offset 1 : tensor<?x64xf32>, tensor<64xf32>
  %qkvw = mtp.weight "in_proj_qkv" : tensor<128x64xf32>
  %zw = mtp.weight "in_proj_z" : tensor<64x64xf32>
  %aw = mtp.weight "in_proj_a" : tensor<4x64xf32>
  %bw = mtp.weight "in_proj_b" : tensor<4x64xf32>
  %qkv = mtp.linear %n, %qkvw : tensor<?x64xf32>, tensor<128x64xf32> -> tensor<?x128xf32>
  %z = mtp.linear %n, %zw : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %a = mtp.linear %n, %aw : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>
  %b = mtp.linear %n, %bw : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>
  %cw = mtp.weight "conv1d" : tensor<128x4xf32>
  %c = mtp.causal_conv %qkv, %cw, %rows : tensor<?x128xf32>, tensor<128x4xf32>
  %q = mtp.slice %c cols 0 to 32 : tensor<?x128xf32> -> tensor<?x32xf32>
  %k = mtp.slice %c cols 32 to 64 : tensor<?x128xf32> -> tensor<?x32xf32>
  %v = mtp.slice %c cols 64 to 128 : tensor<?x128xf32> -> tensor<?x64xf32>
  %qn = mtp.l2_norm %q groups 2 eps 1.0e-6 : tensor<?x32xf32>
  %kn = mtp.l2_norm %k groups 2 eps 1.0e-6 : tensor<?x32xf32>
  %beta = mtp.sigmoid %b : tensor<?x4xf32>
  %rate = mtp.weight "A_log" : tensor<4xf32>
  %bias = mtp.weight "dt_bias" : tensor<4xf32>
  %g = mtp.decay %a rate %rate bias %bias : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  %y = mtp.delta_rule %qn, %kn, %v decay %g beta %beta, %rows scale 0.25 : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>
  %ow = mtp.weight "out_norm" : tensor<16xf32>
  %yn = mtp.rms_norm %y, %ow groups 4 eps 1.0e-6 : tensor<?x64xf32>, tensor<16xf32>
  %gated = mtp.swiglu %z, %yn : tensor<?x64xf32>
  %pw = mtp.weight "out_proj" : tensor<64x64xf32>
  %o = mtp.linear %gated, %pw : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %r = mtp.add %x, %o : tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

func.func private @full_layer(%x: tensor<?x64xf32>, %rows: !mtp.rows) -> tensor<?x64xf32> {
  %nw = mtp.weight "norm" : tensor<64xf32>
  %n = mtp.rms_norm %x, %nw eps 1.0e-6 offset 1 : tensor<?x64xf32>, tensor<64xf32>
  %qw = mtp.weight "q" : tensor<64x64xf32>
  %gw = mtp.weight "gate" : tensor<64x64xf32>
  %kw = mtp.weight "k" : tensor<32x64xf32>
  %vw = mtp.weight "v" : tensor<32x64xf32>
  %q = mtp.linear %n, %qw : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %g = mtp.linear %n, %gw : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %k = mtp.linear %n, %kw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %v = mtp.linear %n, %vw : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %qr = mtp.rope %q, %rows by <dim = 8, theta = 10000.0> heads 4 of 16 : tensor<?x64xf32>
  %kr = mtp.rope %k, %rows by <dim = 8, theta = 10000.0> heads 2 of 16 : tensor<?x32xf32>
  %a = mtp.attention %qr, %kr, %v, %rows heads 4 kv_heads 2 scale 0.25 window 32 : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
  %ag = mtp.sigmoid_gate %a by %g : tensor<?x64xf32>, tensor<?x64xf32>
  %ow = mtp.weight "o" : tensor<64x64xf32>
  %o = mtp.linear %ag, %ow : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %r = mtp.add %x, %o : tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

func.func private @target(%tokens: tensor<?xi32>, %rows: !mtp.rows) -> (tensor<?x96xf32>, tensor<?x64xf32>) {
  %ew = mtp.weight "/embed" : tensor<96x64xf32>
  %hw = mtp.weight "/head" : tensor<96x64xf32>
  %e = mtp.embed %tokens, %ew : tensor<?xi32>, tensor<96x64xf32> -> tensor<?x64xf32>
  %x = mtp.apply @linear_layer(%e, %rows) weights "layers.0." memory @memory[0] : (tensor<?x64xf32>, !mtp.rows) -> tensor<?x64xf32>
  %y = mtp.apply @full_layer(%x, %rows) weights "layers.1." cache @kv[0] : (tensor<?x64xf32>, !mtp.rows) -> tensor<?x64xf32>
  %z = mtp.apply @linear_layer(%y, %rows) weights "layers.2." memory @memory[1] : (tensor<?x64xf32>, !mtp.rows) -> tensor<?x64xf32>
  %l = mtp.linear %z, %hw role head : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  return %l, %z : tensor<?x96xf32>, tensor<?x64xf32>
}

func.func private @drafter(%tokens: tensor<?xi32>, %hidden: tensor<?x64xf32>, %rows: !mtp.rows) -> (tensor<?x96xf32>, tensor<?x64xf32>) {
  %ew = mtp.weight "/embed" : tensor<96x64xf32>
  %fw = mtp.weight "/fuse" : tensor<64x128xf32>
  %hw = mtp.weight "/head" : tensor<96x64xf32>
  %e = mtp.embed %tokens, %ew : tensor<?xi32>, tensor<96x64xf32> -> tensor<?x64xf32>
  %c = mtp.concat %e, %hidden : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x128xf32>
  %x = mtp.linear %c, %fw : tensor<?x128xf32>, tensor<64x128xf32> -> tensor<?x64xf32>
  %y = mtp.apply @full_layer(%x, %rows) weights "layers.1." cache @dkv[0] : (tensor<?x64xf32>, !mtp.rows) -> tensor<?x64xf32>
  %l = mtp.linear %y, %hw role head : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  return %l, %y : tensor<?x96xf32>, tensor<?x64xf32>
}

mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%tokens: tensor<?xi32>, %hidden: tensor<?x64xf32>, %rows: !mtp.rows):
    %step:2 = func.call @drafter(%tokens, %hidden, %rows) : (tensor<?xi32>, tensor<?x64xf32>, !mtp.rows) -> (tensor<?x96xf32>, tensor<?x64xf32>)
    mtp.yield %step#0, %step#1 : tensor<?x96xf32>, tensor<?x64xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%tokens: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%tokens, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x96xf32>, tensor<?x64xf32>)
    mtp.yield %l, %h : tensor<?x96xf32>, tensor<?x64xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x96xf32>, tensor<?x64xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x96xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x96xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x96xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x64xf32>
}
}
