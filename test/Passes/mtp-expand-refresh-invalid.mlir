// RUN: mtp-opt %s --mtp-expand-refresh --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.prefill @prompt k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
  // expected-error @below {{expected a round of modules, got a prefill}}
  %moved = mtp.module_rows %rows module 2
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %g = mtp.mask_first %e, %moved : tensor<?x8xf32>
  %own = mtp.gather_rows %g, %slots : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %own, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.round @second k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
  // expected-error @below {{expected rows of mtp.make_tree_rows, a fixed number for each slot, got those of mtp.make_rows}}
  %t2, %rows2, %h2, %anchor2, %last = mtp.refresh_module 2 of %h with %t at %rows
      : (tensor<?x8xf32>, tensor<?xi32>, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
  %g2 = mtp.mask_first %h2, %rows2 : tensor<?x8xf32>
  %one = mtp.gather_rows %g2, %anchor2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %one, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.round @tokens k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
  %m = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c3 = arith.constant 3 : i64
    mtp.yield %c3 : i64
  } : (tensor<?xi32>) -> tensor<?xi64>
  %tree = mtp.make_tree_rows %next, %next from %next at %next seeing %m refreshed : tensor<?xi32>, tensor<?xi64>
  // expected-error @below {{'mtp.refresh_module' op expected a token for each of the 1 rows of nodes that a slot has, got 3}}
  %t2, %rows2, %h2, %anchor2, %last = mtp.refresh_module 2 of %h with %t at %tree
      : (tensor<?x8xf32>, tensor<?xi32>, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
  %one = mtp.gather_rows %h2, %anchor2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %one, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.prefill @prompt k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-error @below {{'mtp.refresh_module' op expected no use of the rows from which drafts come, as a prompt has none, got one in mtp.gather_rows}}
  %t2, %rows2, %h2, %anchor2, %last = mtp.refresh_module 2 of %e
      : (tensor<?x8xf32>) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
  %one = mtp.gather_rows %h2, %anchor2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %one, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}
