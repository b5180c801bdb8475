// RUN: mtp-opt %s --mtp-expand-draft-chain --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  // expected-error @+1 {{'mtp.draft_chain' op expected a round or a prefill with a k, is mtp-instantiate-rounds missing before this pass?}}
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

// Nothing determines how a draft is picked.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 1 {
  // expected-error @+1 {{'mtp.draft_chain' op expected an mtp.accept after it: drafts are picked by its region}}
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

// Nothing gives the modules hidden states.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @p k 2 {
  // expected-error @+1 {{'mtp.draft_chain' op expected an mtp.verify before it, whose hidden states fill the modules' caches, got none}}
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

// A region must be able to treat logits of few columns like the target's.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
mtp.round @r k 1 {
  %drafts = mtp.draft_chain vocabulary @few {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %verified exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    // expected-error @+1 {{'mtp.add' op expected mtp.argmax, mtp.sample or mtp.mask_tokens, as drafts of the vocabulary @few are picked by this region, too}}
    %twice = mtp.add %l, %l : tensor<?x16xf32>
    %s = mtp.argmax %twice : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// The region captures values computed from the drafts that it picks.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @of_drafts k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  // expected-note @+1 {{this comes after the drafts, or of them; the region sees the tokens before its rows with (logits, rows, slots, path)}}
  %logits, %bias, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  // expected-error @+1 {{'mtp.accept' op expected what its region captures to be there before drafts are picked, as they are picked by this region, too}}
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %m = mtp.add %l, %bias : tensor<?x16xf32>
    %p = mtp.sample %m, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// The region captures a value read from a state that the host writes after the
// drafts.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @bias[3, 16] : f32 input
mtp.round @stops k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  mtp.await_host %drafts : tensor<?x2xi32>
  // expected-note @+1 {{this comes after the drafts, or of them; the region sees the tokens before its rows with (logits, rows, slots, path)}}
  %bias = mtp.read_state @bias of %slots rows 3 : tensor<?xi32> -> tensor<?x16xf32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  // expected-error @+1 {{'mtp.accept' op expected what its region captures to be there before drafts are picked, as they are picked by this region, too}}
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %m = mtp.add %l, %bias : tensor<?x16xf32>
    %p = mtp.sample %m, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// The probability of a draft is unknown if the region computes with picks.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x1xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  // expected-error @+1 {{'mtp.accept' op expected a region that ends with an mtp.sample at its rows, or an mtp.argmax, as p_min goes by the probability of what it picks}}
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    %m = mtp.mask_tokens %l, %p : tensor<?x16xf32>, tensor<?xi32>
    %q = mtp.sample %m, %rows anchored : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %q : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x2xi32>)
}
}

// -----

// A state of this name is the confidence by which the chain ends.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-note @+1 {{declared here}}
mtp.state @draft_p_min : f32 init 0.25 input
mtp.round @r k 1 {
  // expected-error @+1 {{'mtp.draft_chain' op expected 'mtp.state @draft_p_min : f32 init 5.0}}
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x1xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x2xi32>)
}
}
