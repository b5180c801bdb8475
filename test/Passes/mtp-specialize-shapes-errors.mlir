// RUN: mtp-opt %s --mtp-specialize-shapes --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.round' op expected a round with a k, is mtp-instantiate-rounds missing before this pass?}}
mtp.round @r {
}
mtp.prefill @p k 0 {
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
// expected-error @+1 {{'mtp.prefill' op expected a prefill with a k, is mtp-instantiate-rounds missing before this pass?}}
mtp.prefill @p {
}
}

// -----

// expected-error @+1 {{expected a round for k = 1, got none}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// expected-error @+1 {{expected a prefill beside the rounds, got none}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
}

// -----

// A prefill alone fills caches that no round reads.
// expected-error @+1 {{expected a round for k = 0, got none}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @p k 0 {
}
}

// -----

// The vocabulary is that of the logits.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.round' op expected an mtp.output "logits" of rows as wide as the vocabulary}}
mtp.round @r k 0 {
}
mtp.prefill @p k 0 {
}
}

// -----

// The runtime finds states and programs by their names.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{expected a name other than 'length', which a state of the round has; rename it}}
func.func @length(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  return %x : tensor<2x8xf32>
}
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{expected a name other than 'page_table', which a state of the round has; rename it}}
mtp.cache @page_table layers 1 entry 8 : f32
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{expected a name other than 'decode_k0', which a program of the round has; rename it}}
func.func @decode_k0(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  return %x : tensor<2x8xf32>
}
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// expected-error @+1 {{expected a name that does not begin with 'mtp.', as the runtime's kernels do, got 'mtp.sample'}}
func.func @mtp.sample(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  return %x : tensor<2x8xf32>
}

// -----

// A slot's one number is not a group of two.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
  // expected-error @+1 {{'mtp.reshape' op expected a number of rows that follows from the slots of a round or the rows of a chunk, got 'tensor<?x2xi32>' of 'tensor<?xi32, #exec.count<n>>'}}
  %pairs = mtp.reshape %slots : tensor<?xi32> -> tensor<?x2xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A prefill that reads the prompt ahead drafts.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
mtp.round @s k 1 {
}
// expected-error @+1 {{'mtp.prefill' op expected one for k = 1, too, got none: the prompt is read 2 places ahead}}
mtp.prefill @p k 0 {
  %t, %rows = mtp.prompt_rows ahead 2 : tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
// expected-error @+1 {{'mtp.prefill' op expected one for k = 0, too, got none}}
mtp.prefill @p k 1 {
}
}

// -----

// A declared output has the declared rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
  mtp.output "doubt" %slots for tokens : tensor<?xi32>
}
mtp.round @s k 1 {
  %slots = mtp.slots : tensor<?xi32>
  // expected-error @+1 {{'mtp.output' op expected 2 * n rows for tokens, got n rows}}
  mtp.output "doubt" %slots for tokens : tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}
