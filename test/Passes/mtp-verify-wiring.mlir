// RUN: mtp-opt %s --mtp-verify-wiring | FileCheck %s

// A target of one layer and a DeepSeek-like drafter: [embedding; hidden], the
// embedding masked at position 0, the hidden state handed on before the norm.

// CHECK-LABEL: module
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @target_kv layers 1 entry 16 : bf16
mtp.cache @drafter_kv layers 1 entry 16 : bf16

func.func private @layer(%x: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  %q = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  %k = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  %y = mtp.attention %q, %k, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @target(%t: tensor<?xi32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  %w = mtp.weight "/embed.weight" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %y = mtp.apply @layer(%e, %rows) weights "model.layers.0." cache @target_kv[0] : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
  %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
}
// CHECK: func.func private @module
// CHECK-SAME: mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>
func.func private @module(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>)
    attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>} {
  %w = mtp.weight "/embed.weight" : tensor<16x8xf32>
  %n = mtp.weight "enorm.weight" : tensor<8xf32>
  %p = mtp.weight "eh_proj.weight" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %2 = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %2, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %4 = mtp.apply @layer(%3, %rows) weights "block." : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
  %5 = mtp.rms_norm %4, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %5, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %4 : tensor<?x16xf32>, tensor<?x8xf32>
}
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %l, %g = mtp.apply @module(%t, %h, %rows) weights "mtp.0." cache @drafter_kv[0]
             : (tensor<?xi32>, tensor<?x8xf32>, !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>)
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>)
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
