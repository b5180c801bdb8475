// RUN: mtp-opt %s --mtp-instantiate-rounds --split-input-file --verify-diagnostics

// Nothing says what a prompt does.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.round' op expected an mtp.prefill in the module, since the round has no mtp.verify and mtp.commit that say what it does}}
mtp.round @core {
}
}

// -----

// How often a loop runs must follow from k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @core {
  %slots = mtp.slots : tensor<?xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = mtp.k
  %bigrams = mtp.weight "bigrams" : tensor<16x16xf32>
  %batch = tensor.dim %slots, %c0 : tensor<?xi32>
  %bound = arith.addi %batch, %k : index
  // expected-error @+1 {{'scf.for' op expected bounds that follow from mtp.k: the ops of a round are known when it is compiled}}
  %last = scf.for %j = %c0 to %bound step %c1 iter_args(%t = %slots) -> tensor<?xi32> {
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %next = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    scf.yield %next : tensor<?xi32>
  }
  mtp.per_slot %slots(%last) {
  ^bb0(%index: index, %slot: i32, %t: i32):
    mtp.store %t, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?xi32>) -> ()
}
mtp.state @length : i32
mtp.prefill @prompt {
}
}

// -----

// At k = 0 nothing is drafted.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @core {
  %slots = mtp.slots : tensor<?xi32>
  // expected-error @+1 {{'mtp.draft_chain' op expected no use of the drafts but by mtp.verify and mtp.accept: at k = 0 there are none}}
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x1xi32>
  // expected-note @+1 {{they are used here}}
  mtp.per_slot %slots(%drafts) {
  ^bb0(%index: index, %slot: i32, %d: tensor<1xi32>):
    %c0 = arith.constant 0 : index
    %t = tensor.extract %d[%c0] : tensor<1xi32>
    mtp.store %t, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?x1xi32>) -> ()
}
mtp.prefill @prompt {
}
}

// -----

// Calls are inlined first: what they take does not follow the number of rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
func.func private @target(%t: tensor<?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
mtp.round @plain {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    // expected-error @+1 {{'func.call' op expected no call in the target, is mtp-inline-layers missing before this pass?}}
    %l, %h = func.call @target(%t) : (tensor<?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
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

// What a region takes of a round's state is not there in a prompt. The target as a
// function has no slots, either: that costs the scoring of texts alone.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @bias[8] : f32
mtp.round @plain {
  %slots = mtp.slots : tensor<?xi32>
  // expected-note @+1 {{made here}}
  %bias = mtp.read_state @bias of %slots : tensor<?xi32> -> tensor<?x8xf32>
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.add' op expected an mtp.prefill in the module, since a prompt does not have what this op of the round reads}}
    %b = mtp.add %e, %bias : tensor<?x8xf32>
    %l = mtp.linear %b, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
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

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @bias[8] : f32
mtp.round @plain {
  %slots = mtp.slots : tensor<?xi32>
  // expected-note @+1 {{this is made of the slots of a round}}
  %bias = mtp.read_state @bias of %slots : tensor<?xi32> -> tensor<?x8xf32>
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-warning @+1 {{the target needs more than tokens and rows, so that no text can be scored: the artifact has no function prompt_logits}}
    %b = mtp.add %e, %bias : tensor<?x8xf32>
    %l = mtp.linear %b, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// Count and picks of core ops are a round's as well.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @plain {
  %slots = mtp.slots : tensor<?xi32>
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %picked = mtp.argmax %logits : tensor<?x16xf32> -> tensor<?xi32>
  // expected-note @+1 {{made here}}
  %count, %picks = mtp.per_slot %slots(%picked) {
  ^bb0(%index: index, %slot: i32, %t: i32):
    %n = mtp.load @length[] : i32
    %p = tensor.from_elements %t : tensor<1xi32>
    mtp.yield %n, %p : i32, tensor<1xi32>
  } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?x1xi32>)
  // expected-error @+1 {{'mtp.commit' op expected an mtp.prefill in the module, since a prompt does not have what this op of the round reads}}
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>
}
}
