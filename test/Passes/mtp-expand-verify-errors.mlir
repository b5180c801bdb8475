// RUN: mtp-opt %s --mtp-expand-verify --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  // expected-error @+1 {{'mtp.verify' op expected a round or a prefill with a k, is mtp-instantiate-rounds missing before this pass?}}
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  // expected-error @+1 {{'mtp.verify' op expected 2 drafts per slot, got none}}
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// The number of drafts must follow from k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.generate %index {
    ^bb0(%j: index):
      tensor.yield %slot : i32
    } : tensor<?xi32>
    mtp.yield %d : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>
  // expected-error @+1 {{'mtp.verify' op expected 2 drafts per slot, got 'tensor<?x?xi32>'}}
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.verify' op expected a tree of at least 3 nodes for k = 2, got 2; lower max_k}}
  %logits, %hidden = mtp.verify %drafts tree [-1, 0] {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.verify' op expected 3 parents per slot, got 'tensor<?x2xi32>'}}
  %logits, %hidden = mtp.verify %drafts parents %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>, tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// The number of verified rows would change the result of another rule.
module attributes {mtp.custom_rule, mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 8>} {
mtp.round @custom k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.verify' op expected max_rows of at least max_batch * 3 = 12, or none, got 8: without an mtp.accept that is exact, and takes the drafts, output would depend on how many sequences run}}
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 8>} {
mtp.round @captures k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %both = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d : tensor<3xi32>
  } : (tensor<?xi32>) -> tensor<?x3xi32>
  %own = mtp.reshape %both : tensor<?x3xi32> -> tensor<?xi32>
  // expected-error @+1 {{'mtp.verify' op expected max_rows of at least max_batch * 3 = 12, or none, got 8: its region needs all rows of a slot}}
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %own, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 8>} {
// expected-error @+1 {{'mtp.round' op expected max_rows of at least max_batch * 3 = 12, or none, got 8: without an mtp.verify all rows are computed}}
mtp.round @core k 2 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.output "slots" %slots : tensor<?xi32>
}
}

// -----

// The error names the need of the largest round, not the first that fails
// (issue 43, row 19).
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 3, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 5>} {
mtp.round @one k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.output "slots" %slots : tensor<?xi32>
}
// expected-error @+1 {{'mtp.round' op expected max_rows of at least max_batch * 4 = 12, or none, got 5: without an mtp.verify all rows are computed}}
mtp.round @three k 3 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.output "slots" %slots : tensor<?xi32>
}
mtp.round @two k 2 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.output "slots" %slots : tensor<?xi32>
}
}
