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

// Nothing says how a draft is picked.
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
  // expected-error @+1 {{'mtp.draft_chain' op expected an mtp.verify before it, whose hidden states fill the modules' caches}}
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}
