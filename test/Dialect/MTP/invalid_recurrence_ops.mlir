// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// recurrence_c1
// expected-error @+1 {{expected layers in [1, 4096], got 0}}
mtp.recurrence @m layers 0 heads 4 keys 16 values 8 key_heads 2 window 4

// -----

// recurrence_c2
// expected-error @+1 {{expected key_heads that divide 4 heads, got 3}}
mtp.recurrence @m layers 1 heads 4 keys 16 values 8 key_heads 3 window 4

// -----

// recurrence_c2
// expected-error @+1 {{expected a positive keys, got 0}}
mtp.recurrence @m layers 1 heads 4 keys 0 values 8 key_heads 2 window 4

// -----

// recurrence_c3
// expected-error @+1 {{expected a window of 2 to 64 rows, got 1}}
mtp.recurrence @m layers 1 heads 4 keys 16 values 8 key_heads 2 window 1

// -----

// recurrence_c4
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1024, max_context = 64, prefill_chunk = 16, page = 8>} {
  // expected-error @+1 {{expected at most 2^46 numbers of a layer within the envelope}}
  mtp.recurrence @m layers 1 heads 131072 keys 1024 values 1024 key_heads 1 window 4
}

// -----

// recurrence_c4
// expected-error @+1 {{expected at most 2^46 numbers of a layer within the envelope}}
mtp.recurrence @m layers 1 heads 4 keys 2000000 values 8 key_heads 2 window 4

// -----

func.func @causal_conv_c1(%x: tensor<?x96xf32>, %w: tensor<95x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected a weight with a row for each of 96 columns, got 'tensor<95x4xf32>'}}
  %0 = mtp.causal_conv %x, %w, %rows : tensor<?x96xf32>, tensor<95x4xf32>
  return
}

// -----

// expected-note @+1 {{the recurrence is declared here}}
mtp.recurrence @m layers 1 heads 4 keys 16 values 8 key_heads 2 window 4
func.func @causal_conv_c2(%x: tensor<?x96xf32>, %w: tensor<96x3xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected 96 columns and a window of 4 for @m, got 96 and 3}}
  %0 = mtp.causal_conv %x, %w, %rows in @m[0] : tensor<?x96xf32>, tensor<96x3xf32>
  return
}

// -----

// expected-note @+1 {{the recurrence is declared here}}
mtp.recurrence @m layers 1 heads 4 keys 16 values 8 key_heads 2 window 4
func.func @causal_conv_c2_layer(%x: tensor<?x96xf32>, %w: tensor<96x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected a layer of @m below 1, got 1}}
  %0 = mtp.causal_conv %x, %w, %rows in @m[1] : tensor<?x96xf32>, tensor<96x4xf32>
  return
}

// -----

func.func @causal_conv_c2_name(%x: tensor<?x96xf32>, %w: tensor<96x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected @m to be an mtp.recurrence}}
  %0 = mtp.causal_conv %x, %w, %rows in @m[0] : tensor<?x96xf32>, tensor<96x4xf32>
  return
}

// -----

func.func @delta_rule_c1(%q: tensor<?x32xf32>, %g: tensor<?x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected a finite positive scale, got 0}}
  %0 = mtp.delta_rule %q, %q, %q decay %g beta %g, %rows scale 0.0 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @delta_rule_c2(%q: tensor<3x32xf32>, %g: tensor<2x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected the decays with the rows of 'tensor<3x32xf32>', got 'tensor<2x4xf32>'}}
  %0 = mtp.delta_rule %q, %q, %q decay %g beta %g, %rows scale 1.0 : tensor<3x32xf32>, tensor<3x32xf32>, tensor<2x4xf32>
  return
}

// -----

// expected-note @+1 {{the recurrence is declared here}}
mtp.recurrence @m layers 1 heads 4 keys 16 values 8 key_heads 2 window 4
func.func @delta_rule_c3(%q: tensor<?x16xf32>, %v: tensor<?x32xf32>, %g: tensor<?x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected 32 columns of keys, 32 of values, 4 decays and 4 betas for @m, got 16, 32, 4 and 4}}
  %0 = mtp.delta_rule %q, %q, %v decay %g beta %g, %rows in @m[0] scale 1.0 : tensor<?x16xf32>, tensor<?x32xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @delta_rule_c2_betas(%q: tensor<3x32xf32>, %g: tensor<3x64xf32>, %b: tensor<2x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected the betas with the rows of 'tensor<3x32xf32>', got 'tensor<2x4xf32>'}}
  %0 = mtp.delta_rule %q, %q, %q decay %g beta %b, %rows scale 1.0 : tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x64xf32>, tensor<2x4xf32>
  return
}

// -----

// expected-note @+1 {{the recurrence is declared here}}
mtp.recurrence @m layers 1 heads 4 keys 16 values 8 key_heads 2 window 4 decays_per_key
func.func @delta_rule_c3_decays(%q: tensor<?x32xf32>, %g: tensor<?x4xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{expected 32 columns of keys, 32 of values, 64 decays and 4 betas for @m, got 32, 32, 4 and 4}}
  %0 = mtp.delta_rule %q, %q, %q decay %g beta %g, %rows in @m[0] scale 1.0 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x4xf32>
  return
}

// -----

func.func private @f(%rows: !mtp.rows)
func.func @apply_c4(%rows: !mtp.rows) {
  // expected-error @+1 {{expected @m to be an mtp.recurrence}}
  mtp.apply @f(%rows) memory @m[0] : (!mtp.rows) -> ()
  return
}
