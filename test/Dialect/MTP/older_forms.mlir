// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Older forms of ops: the error shows the current form.

func.func @parents(%tokens: tensor<3xi32>) {
  // expected-error @+1 {{expected 'seeing' and a mask of 64 bits for each row, which says what the row sees, as in: %rows = mtp.make_tree_rows %slots, %positions from %roots at %places seeing %masks : tensor<?xi32>, tensor<?xi64>}}
  %rows = mtp.make_tree_rows %tokens, %tokens from %tokens at %tokens [-1, 0, 0] : tensor<3xi32>
  return
}

// -----

func.func @no_masks(%tokens: tensor<3xi32>) {
  // expected-error @+1 {{expected 'seeing' and a mask of 64 bits for each row}}
  %rows = mtp.make_tree_rows %tokens, %tokens from %tokens at %tokens refreshed : tensor<3xi32>
  return
}

// -----

mtp.cache @latent layers 1 entry 8 : f32
func.func @path_and_count(%path: tensor<2x4xi32>, %count: tensor<2xi32>) {
  // expected-error @+1 {{expected 'to' and the positions that entries go to, of each slot, as in: mtp.cache_move %from to %to of %slots in @cache : tensor<?x4xi32>, tensor<?xi32>}}
  mtp.cache_move %path, %count in @latent : tensor<2x4xi32>, tensor<2xi32>
  return
}
