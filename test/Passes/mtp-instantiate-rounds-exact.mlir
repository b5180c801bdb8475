// RUN: mtp-opt %s --mtp-instantiate-rounds --split-input-file --verify-diagnostics=only-expected -o %t && FileCheck %s < %t

// Whether output is known to equal that of k = 0 follows from the writes of
// rounds and the inputs of picks, not from the word "exact" (issue 43, row 16).
// It is known for the first three.

// CHECK-NOT: mtp.custom_rule
// CHECK-COUNT-14: mtp.custom_rule
// CHECK-NOT: mtp.custom_rule

// A typical round gets no warning.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A request's inputs, a state that is never written, and the tokens that lead
// to a row are equal at every k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @bias[8] : f32 input
mtp.state @fixed : f32 init 2.0
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x?xi32>):
    %b = mtp.read_state @bias of %of : tensor<?xi32> -> tensor<?x8xf32>
    %c = mtp.per_slot %of(%path) {
    ^bb0(%i: index, %s: i32, %tokens: tensor<?xi32>):
      %c0 = arith.constant 0 : index
      %x = mtp.load @fixed[] : f32
      %t = tensor.extract %tokens[%c0] : tensor<?xi32>
      %f = arith.sitofp %t : i32 to f32
      %z = arith.mulf %x, %f : f32
      %all = tensor.splat %z : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %z = mtp.add %y, %c : tensor<?x8xf32>
    %p = mtp.sample %z, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A bias for each row of the window, by its position, as for a penalty: its
// author answers for it.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %nodes = arith.addi %k, %c1 : index
    %n = mtp.load @length[] : i32
    %all = tensor.generate %nodes {
    ^bb0(%j: index, %v: index):
      %far = arith.index_cast %j : index to i32
      %at = arith.addi %n, %far : i32
      %x = arith.sitofp %at : i32 to f32
      tensor.yield %x : f32
    } : tensor<?x8xf32>
    mtp.yield %all : tensor<?x8xf32>
  } : (tensor<?xi32>) -> tensor<?x?x8xf32>
  %bias = mtp.reshape %grid : tensor<?x?x8xf32> -> tensor<?x8xf32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %y = mtp.add %l, %bias : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @p {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The anchor is at the begin of a round.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks have noise by the anchor's position ('anchored'), which follows from where a round begins}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows anchored : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A state that is stored to under a condition on k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @own : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %k = mtp.k
    %none = arith.constant 0 : index
    %more = arith.constant 1.0 : f32
    %drafts = arith.cmpi sgt, %k, %none : index
    scf.if %drafts {
      mtp.store %more, @own[] : f32
    }
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of @own, which is written under a condition on k}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %x = mtp.load @own[] : f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The condition may be around the body.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @own : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %k = mtp.k
  %none = arith.constant 0 : index
  %is_drafting = arith.cmpi sgt, %k, %none : index
  scf.if %is_drafting {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %more = arith.constant 1.0 : f32
    mtp.store %more, @own[] : f32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  }
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of @own, which is written under a condition on k}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %x = mtp.load @own[] : f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A loop over drafts has no iterations at k = 0.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @own : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %k = mtp.k
    %none = arith.constant 0 : index
    %one = arith.constant 1 : index
    %more = arith.constant 1.0 : f32
    scf.for %j = %none to %k step %one {
      mtp.store %more, @own[] : f32
    }
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of @own, which is written under a condition on k}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %x = mtp.load @own[] : f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The contents of an mtp.draft are dropped at k = 0.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @own : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    %d = mtp.per_slot %slots {
    ^bb0(%i: index, %s: i32):
      %k = mtp.k
      %more = arith.constant 1.0 : f32
      mtp.store %more, @own[] : f32
      %all = tensor.splat %s[%k] : tensor<?xi32>
      mtp.yield %all : tensor<?xi32>
    } : (tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %d : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of @own, which is written where there are drafts alone}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %x = mtp.load @own[] : f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A state that counts rounds.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @own : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %old = mtp.load @own[] : f32
    %one = arith.constant 1.0 : f32
    %new = arith.addf %old, %one : f32
    mtp.store %new, @own[] : f32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of @own, which goes by how many rounds there were}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %x = mtp.load @own[] : f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A state that holds k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @own : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %k = mtp.k
    %i32 = arith.index_cast %k : index to i32
    %x = arith.sitofp %i32 : i32 to f32
    mtp.store %x, @own[] : f32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of @own, in which k is kept}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %x = mtp.load @own[] : f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A number of the slot that each round may change, for all of its rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of what follows from the round and is the same for all rows that it verifies}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %n = mtp.load @length[] : i32
      %x = arith.sitofp %n : i32 to f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The number of accepted drafts, read by the target.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @accepted : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %n = mtp.load @accepted[] : i32
      %f = arith.sitofp %n : i32 to f32
      %all = tensor.splat %f : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %x = mtp.add %e, %b : tensor<?x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of what follows from the round and is the same for all rows that it verifies}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// k itself.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of the k of the round}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.per_slot %of {
    ^bb0(%i: index, %s: i32):
      %k = mtp.k
      %i32 = arith.index_cast %k : index to i32
      %x = arith.sitofp %i32 : i32 to f32
      %all = tensor.splat %x : tensor<8xf32>
      mtp.yield %all : tensor<8xf32>
    } : (tensor<?xi32>) -> tensor<?x8xf32>
    %y = mtp.add %l, %b : tensor<?x8xf32>
    %p = mtp.sample %y, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The index of a row in its window.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %nodes = arith.addi %k, %c1 : index
    %all = tensor.generate %nodes {
    ^bb0(%j: index, %v: index):
      %far = arith.index_cast %j : index to i32
      %x = arith.sitofp %far : i32 to f32
      tensor.yield %x : f32
    } : tensor<?x8xf32>
    mtp.yield %all : tensor<?x8xf32>
  } : (tensor<?xi32>) -> tensor<?x?x8xf32>
  %bias = mtp.reshape %grid : tensor<?x?x8xf32> -> tensor<?x8xf32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %changed = mtp.add %logits, %bias : tensor<?x8xf32>
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: picks are made of the place of a row among those that a round verifies}}
  %count, %picks = mtp.accept %drafts, %changed exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A branch of the round.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %k = mtp.k
  %none = arith.constant 0 : index
  %drafting = arith.cmpi sgt, %k, %none : index
  %changed = scf.if %drafting -> (tensor<?x8xf32>) {
    %twice = mtp.add %logits, %logits : tensor<?x8xf32>
    scf.yield %twice : tensor<?x8xf32>
  } else {
    scf.yield %logits : tensor<?x8xf32>
  }
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: it is not known that scf.if makes picks row by row}}
  %count, %picks = mtp.accept %drafts, %changed exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// Code outputs other tokens than the picked ones.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: no mtp.commit puts out what it picks, so that code does}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
}
mtp.prefill @p {
}
}

// -----

// Code outputs the first token after a prompt.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out_count : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "drafter" : tensor<8x8xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l : tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %l, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-warning @+1 {{output may depend on k, though the rule is exact, so that the artifact does not say that it is: it decides by code which tokens it puts out, and not by an mtp.accept}}
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x8xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @p {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    mtp.store %s, @out_count[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}
