// RUN: not mtp-opt %s --mtp-specialize-shapes --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: mtp-opt %s --mtp-specialize-shapes --split-input-file --verify-diagnostics=only-expected

// Rows of two kinds in one op: the error is at the op that takes them, and
// contains no type of the next dialect.
// NONE-NOT: error: {{.*}}#exec.count

// The rows of a sample (issue 43, row 18).
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.sample' op expected the rows to have the row count of the logits, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.sample %two, %rows : tensor<?x8xf32> -> tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A sample's numbers.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.sample' op expected the numbers to have the row count of the logits, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.sample %two, %both number %slots : tensor<?x8xf32>, tensor<?xi32> -> tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// Excluded tokens.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.mask_tokens' op expected the tokens to have the row count of the logits, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.mask_tokens %two, %slots : tensor<?x8xf32>, tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// The noise of the best columns.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.top_k' op expected the rows to have the row count of the logits, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x, %y = mtp.top_k %two k 2 noise %rows : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// The slots of masks.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @bits[1] : i32 input
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.mask_columns' op expected the slots to have the row count of the logits, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.mask_columns %two by @bits of %slots : tensor<?x8xf32>, tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// Positions of rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.make_rows' op expected the positions to have the row count of the slots, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.make_rows %twice, %slots : tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A body's operand.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.per_slot' op expected an operand to have the row count of the slots, n, got 2 * n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.per_slot %slots(%twice) {
  ^bb0(%i: index, %s: i32, %t: i32):
    mtp.yield %t : i32
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A sum.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.add' op expected the other to have the row count of one operand, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.add %two, %one : tensor<?x8xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A concatenation.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{expected an operand to have the row count of an operand, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.concat %two, %one : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A gate.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.swiglu' op expected what it gates to have the row count of the gate, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.swiglu %two, %one : tensor<?x8xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A rotation.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  // expected-error @+1 {{'mtp.rope' op expected the rows to have the row count of the activations, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.rope %two, %rows by <dim = 4, theta = 10000.0> heads 2 of 4 : tensor<?x8xf32>
}
mtp.prefill @p k 0 {
}
}

// -----

// A projection's residual.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<8x8xf32>
  %one = mtp.embed %slots, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  mtp.output "logits" %one : tensor<?x8xf32>
  %pairs = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %two = tensor.from_elements %s, %s : tensor<2xi32>
    mtp.yield %two : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %twice = mtp.reshape %pairs : tensor<?x2xi32> -> tensor<?xi32>
  %two = mtp.embed %twice, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %both = mtp.make_rows %twice, %twice : tensor<?xi32>
  %o = mtp.weight "o" : tensor<8x8xf32>
  // expected-error @+1 {{expected the other to have the row count of one part of the sum, 2 * n, got n (n: the slots of a round, or the rows of a prompt)}}
  %x = mtp.fused_linear %two weights(%o) residual %one : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
}
mtp.prefill @p k 0 {
}
}
