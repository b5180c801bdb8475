// RUN: mtp-opt %s --mtp-merge-prefill --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.prefill' op expected a round @mixed beside it, found none}}
mtp.prefill @prompt k 1 beside @mixed {
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @mixed k 1 prompts 6 {
}
mtp.prefill @prompt k 1 beside @mixed {
  // expected-error @+1 {{'mtp.verify' op expected the round beside its prefill to have its results, is mtp-expand-verify missing before this pass?}}
  %l, %h, %rows = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    mtp.yield %e, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x8xf32>, tensor<?x8xf32>, !mtp.rows)
}
}
