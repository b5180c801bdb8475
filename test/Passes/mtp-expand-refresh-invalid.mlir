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
  %own = mtp.take_rows %g, %slots : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %own, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.round @second k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
  // expected-error @below {{expected rows of mtp.make_tree_rows, as many for each slot}}
  %t2, %rows2, %h2, %anchor2, %last = mtp.refresh_module 2 of %h with %t at %rows
      : (tensor<?x8xf32>, tensor<?xi32>, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
  %g2 = mtp.mask_first %h2, %rows2 : tensor<?x8xf32>
  %one = mtp.take_rows %g2, %anchor2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %one, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}
