// RUN: mtp-opt %s --mtp-expand-accept --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.accept' op expected a round or a prefill with a k, is mtp-instantiate-rounds missing before this pass?}}
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// Logits that are not a verify's: their rows are unknown.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.accept' op expected the rows of its logits where these are not an mtp.verify's}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'mtp.accept' op expected 2 drafts per slot, got none}}
  %count, %picks = mtp.accept %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.accept' op expected 1 drafts per slot, got 'tensor<?x2xi32>'}}
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-error @+1 {{'mtp.accept' op expected a tree of at least 3 nodes for k = 2, got 2; lower max_k}}
  %count, %picks = mtp.accept %drafts, %logits of %rows exact tree [-1, 0] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// A rule yields a token for each row.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'mtp.accept' op expected the rule to yield 3 tokens and nodes per slot, got 'tensor<?x2xi32>'}}
  %count, %picks = mtp.accept %drafts, %logits of %rows custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, drafts) {
  ^bb0(%s: tensor<?xi32>, %d: tensor<?x2xi32>):
    mtp.yield %s, %d : tensor<?xi32>, tensor<?x2xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// Unknown positions.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<1xi32>
    mtp.yield %d : tensor<1xi32>
  } : (tensor<?xi32>) -> tensor<?x1xi32>
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'mtp.accept' op expected rows that mtp.make_rows made, whose positions the rule sees}}
  %count, %picks = mtp.accept %drafts, %logits of %rows custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, positions) {
  ^bb0(%s: tensor<?xi32>, %at: tensor<?x?xi32>):
    mtp.yield %s, %at : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// One row per slot, for the three of its window.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @few k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %table = mtp.weight "table" : tensor<16x16xf32>
  // expected-note @+1 {{captured from here}}
  %bias = mtp.embed %slots, %table : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  // expected-error @+1 {{'mtp.accept' op expected what its region captures to have the 3 rows of each slot's window, got 1}}
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %m = mtp.add %l, %bias : tensor<?x16xf32>
    %p = mtp.sample %m, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// Several rows of a slot would overwrite each other.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @n : i32
mtp.round @stores k 0 {
  %logits, %hidden, %made = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x1xi32>):
    // expected-error @+1 {{'mtp.per_slot' op expected no store in the region that picks: it runs for several rows of a slot}}
    mtp.per_slot %of {
    ^bb0(%index: index, %slot: i32):
      mtp.store %slot, @n[] : i32
      mtp.yield
    } : (tensor<?xi32>) -> ()
    %p = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x1xi32>)
}
}
