// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// verify_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  // expected-error @+1 {{'mtp.verify' op expected the target to take ('tensor<?xi32>', '!mtp.rows'), got ('tensor<?xi32>')}}
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// verify_c2
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  // expected-error @+1 {{'mtp.verify' op expected the region to yield ('tensor<?x16xf32>', 'tensor<?x8xf32>')}}
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %e, %l : tensor<?x8xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// verify_c3
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  // expected-error @+1 {{'mtp.verify' op expected drafts with a tree}}
  %logits, %hidden = mtp.verify tree [-1, 0] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// accept_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the region to take ('tensor<?x16xf32>', '!mtp.rows'), got ('tensor<?x8xf32>', '!mtp.rows')}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// accept_c2
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the region to yield ('tensor<?xi32>')}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %l : tensor<?x16xf32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// verify_c3
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  // expected-error @+1 {{'mtp.verify' op expected a tree or parents, got both}}
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0] parents %p {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>, tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// accept_c3
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  %w = mtp.weight "embed" : tensor<16x16xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'mtp.accept' op expected drafts with a tree}}
  %count, %picks = mtp.accept %x exact parents %p {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>, tensor<?x3xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c3
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.accept' op expected drafts with a tree}}
  %count, %picks = mtp.accept %logits exact tree [-1, 0] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

func.func @accept_tokens_c1(%d: tensor<4x3xi32>, %p: tensor<4x3xi32>) {
  // expected-error @+1 {{'mtp.accept_tokens' op expected width 4 of the picks, got 'tensor<4x3xi32>'}}
  %c, %n = mtp.accept_tokens %d, %p : tensor<4x3xi32>, tensor<4x3xi32> -> tensor<4xi32>, tensor<4xi32>
  return
}

// -----

func.func @accept_tokens_c2(%d: tensor<4x3xi32>, %p: tensor<4x4xi32>) {
  // expected-error @+1 {{'mtp.accept_tokens' op expected operands and results with the rows of 'tensor<4x3xi32>', got 'tensor<2xi32>'}}
  %c, %n = mtp.accept_tokens %d, %p : tensor<4x3xi32>, tensor<4x4xi32> -> tensor<4xi32>, tensor<2xi32>
  return
}

// -----

func.func @accept_tree_c1(%t: tensor<2x2xi32>) {
  // expected-error @+1 {{'mtp.accept_tree' op expected the parent of node 1 before it, got -1}}
  %p, %c, %n = mtp.accept_tree %t, %t [-1, -1] : tensor<2x2xi32>, tensor<2x2xi32> -> tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>
  return
}

// -----

func.func @accept_tree_c2(%t: tensor<2x2xi32>) {
  // expected-error @+1 {{'mtp.accept_tree' op expected width 3 of tokens, picks and path, got 'tensor<2x2xi32>'}}
  %p, %c, %n = mtp.accept_tree %t, %t [-1, 0, 0] : tensor<2x2xi32>, tensor<2x2xi32> -> tensor<2x2xi32>, tensor<2xi32>, tensor<2xi32>
  return
}

// -----

// commit_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<4x?xi32>)
  // expected-error @+1 {{'mtp.commit' op expected picks with the rows of 'tensor<?xi32>', got 'tensor<4x?xi32>'}}
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<4x?xi32>, tensor<?x8xf32>
}
}

// -----

// accept_c3
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %l = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    mtp.yield %d, %f : tensor<2xi32>, tensor<16xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>)
  // expected-error @+1 {{'mtp.accept' op expected a tree where there is a path}}
  %count, %picks, %path = mtp.accept %drafts, %l exact {
  ^bb0(%logits: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %logits : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>)
}
}

// -----

// commit_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %drafts = mtp.draft_tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x2xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks, %path = mtp.accept %drafts, %logits exact tree [-1, 0, 0] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<4x?xi32>)
  // expected-error @+1 {{'mtp.commit' op expected a path with the rows of 'tensor<?xi32>', got 'tensor<4x?xi32>'}}
  mtp.commit %count, %picks, %hidden along %path : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>, tensor<4x?xi32>
}
}

// -----

// accept_c4
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected a rule with custom, and none without}}
  %count, %picks = mtp.accept %drafts, %x exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, picks) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c4
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected a rule with custom, and none without}}
  %count, %picks = mtp.accept %drafts, %x custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c4
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected draft logits where the rule sees them, and none where it does not}}
  %count, %picks = mtp.accept %drafts, %x with %q custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, picks) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c4
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected draft logits where the rule sees them, and none where it does not}}
  %count, %picks = mtp.accept %drafts, %x custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, picks, draft_logits) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>, %ql: tensor<?x2x4xf32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c5
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the rule to name slots once}}
  %count, %picks = mtp.accept %drafts, %x custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, slots) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c5
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the rule to take ('tensor<?xi32>', 'tensor<?x?x16xf32>'), got ('tensor<?xi32>', 'tensor<?x?xi32>')}}
  %count, %picks = mtp.accept %drafts, %x custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, logits) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c5
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the rule to yield ('tensor<?xi32>', 'tensor<?x?xi32>')}}
  %count, %picks = mtp.accept %drafts, %x custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, picks) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>):
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// accept_c5
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %x, %q = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %own = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<16xf32>
    %g = arith.constant dense<0.0> : tensor<2x4xf32>
    mtp.yield %own, %f, %g : tensor<2xi32>, tensor<16xf32>, tensor<2x4xf32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x4xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the rule to yield ('tensor<?xi32>', 'tensor<?x?xi32>', 'tensor<?x?xi32>')}}
  %count, %picks = mtp.accept %drafts, %x custom tree [-1, 0, 0] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, picks) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x?xi32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// verify_c4
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @p {
  // expected-error @+1 {{'mtp.verify' op expected the rows as the last result}}
  %logits, %hidden, %made, %tap = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e, %e : tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows, tensor<?x8xf32>)
}
}

// -----

// accept_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @p {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.accept' op expected the region to take ('tensor<?x16xf32>', '!mtp.rows', 'tensor<?xi32>', 'tensor<?x?xi32>'), got ('tensor<?x16xf32>', '!mtp.rows', 'tensor<?xi32>', 'tensor<?xi32>')}}
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?xi32>):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}
