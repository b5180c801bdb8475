// RUN: mtp-opt %s --mtp-verify-wiring --split-input-file --verify-diagnostics

// Cases are named by the rule that they break.

// W1
// expected-error @+1 {{expected a round in a module with an envelope}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
}

// -----

// W2
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %dw = mtp.weight "d_embed" : tensor<32x8xf32>
    // expected-error @+1 {{'mtp.embed' op expected the target's vocabulary of 16, got 32}}
    %de = mtp.embed %t, %dw : tensor<?xi32>, tensor<32x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    // expected-note @+1 {{the target embeds here}}
    %y = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// W7
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.attention' op expected a cache, got none from the mtp.apply ops around it}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// W7
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-note @+1 {{the cache is declared here}}
mtp.cache @kv layers 1 entry 32 : bf16
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.attention' op expected entries of 16 columns in @kv, got 32}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// W7: the notes lead from the attention to the round.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
func.func private @attend(%x: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  // expected-error @+1 {{'mtp.attention' op expected a cache, got none from the mtp.apply ops around it}}
  %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{applied here}}
    %y = mtp.apply @attend(%e, %rows) : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// W8
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.cache' op expected layer 1 to be used by the round}}
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// W9: a step runs on rows that it is given, and not on those around it.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  // expected-note @+1 {{other rows are used, made here}}
  %other = mtp.make_rows %slots, %slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    // expected-error @+1 {{'mtp.mask_first' op expected the rows that the region around it is given}}
    %m = mtp.mask_first %h, %other : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

func.func private @w10_rows(%x: tensor<?x8xf32>, %rows: !mtp.rows, %other: !mtp.rows) {
  // expected-note @+1 {{rotated here, by other rows}}
  %q = mtp.rope %x, %other by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  %k = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  // expected-error @+1 {{'mtp.attention' op expected query and key rotated by the rows that attend}}
  %y = mtp.attention %q, %k, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func private @w10(%x: tensor<?x8xf32>, %rows: !mtp.rows) {
  %q = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  // expected-note @+1 {{the key is rotated here}}
  %k = mtp.rope %x, %rows by <dim = 8, theta = 10000.0, layout = interleaved> heads 1 of 8 : tensor<?x8xf32>
  // expected-error @+1 {{'mtp.attention' op expected query and key rotated alike, got #mtp.rope<dim = 8, theta = 1.000000e+04> and #mtp.rope<dim = 8, theta = 1.000000e+04, layout = interleaved>}}
  %y = mtp.attention %q, %k, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func private @w10_one(%x: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-note @+1 {{rotated here}}
  %q = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  // expected-error @+1 {{'mtp.attention' op expected query and key both rotated or neither, got only the query}}
  %y = mtp.attention %q, %x, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

// expected-note @+1 {{order hidden_embedding is claimed here}}
func.func private @w3(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = hidden_embedding, mask_first = true, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  // expected-error @+1 {{'mtp.concat' op expected the hidden state as operand 0 of the drafter's projection, got the embedding}}
  %c = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-note @+1 {{order embedding_hidden is claimed here}}
func.func private @w3_same(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  // expected-error @+1 {{'mtp.concat' op expected the hidden state as operand 1 of the drafter's projection, got the embedding}}
  %c = mtp.concat %0, %0 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-error @+1 {{expected a projection of embedding and hidden state in a function with 'mtp.wiring'}}
func.func private @w3_none(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = false, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-error @+1 {{expected a drafter to take tokens, hidden and rows and to return logits and hidden, got '(tensor<?x8xf32>) -> tensor<?x8xf32>'}}
func.func private @w3_signature(%h: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = false, carry = pre_norm>} {
  return %h : tensor<?x8xf32>
}

// -----

func.func private @w4(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = false, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %v = mtp.weight "embed4" : tensor<16x4xf32>
  %n4 = mtp.weight "norm4" : tensor<4xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x12xf32>
  %e = mtp.embed %t, %v : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
  %0 = mtp.rms_norm %e, %n4 eps 1.0e-6 : tensor<?x4xf32>, tensor<4xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  // expected-error @+1 {{'mtp.concat' op expected operand 0 as wide as the hidden state, 8, got 4}}
  %c = mtp.concat %0, %1 : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>
  %3 = mtp.linear %c, %p : tensor<?x12xf32>, tensor<8x12xf32> -> tensor<?x8xf32>
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-note @+1 {{mask_first is claimed here}}
func.func private @w5(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %0 = mtp.rms_norm %e, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  // expected-error @+1 {{'mtp.concat' op expected the embedding masked at position 0}}
  %c = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-note @+1 {{mask_first is claimed here}}
func.func private @w5_unclaimed(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = false, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  // expected-error @+1 {{'mtp.concat' op expected the embedding not masked at position 0}}
  %c = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-note @+1 {{carry pre_norm is claimed here}}
func.func private @w6(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %c = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the head's norm is here}}
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'func.return' op expected the hidden state before the head's norm as the second result}}
  return %l, %4 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-note @+1 {{carry post_norm is claimed here}}
func.func private @w6_post(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = post_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %c = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the head's norm is here}}
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %4, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'func.return' op expected the hidden state after the head's norm as the second result}}
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}

// -----

// expected-error @+1 {{expected the first result of a drafter to be a projection of a norm, to tell which hidden state is handed on}}
func.func private @w6_no_norm(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) attributes {mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true, carry = pre_norm>} {
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %n = mtp.weight "norm" : tensor<8xf32>
  %p = mtp.weight "proj" : tensor<8x16xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %0 = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %1 = mtp.rms_norm %h, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %c = mtp.concat %0, %1 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %3 = mtp.linear %c, %p : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
  %4 = mtp.rms_norm %3, %n eps 1.0e-6 : tensor<?x8xf32>, tensor<8xf32>
  %l = mtp.linear %3, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %3 : tensor<?x16xf32>, tensor<?x8xf32>
}
