// RUN: mtp-opt %s --mtp-instantiate-rounds --split-input-file --verify-diagnostics

// Nothing defines how a prompt is handled.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.round' op expected an mtp.prefill in the module, since the round has no mtp.verify and mtp.commit that say what it does}}
mtp.round @core {
}
}

// -----

// The trip count of a loop must follow from k.
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

// Calls are inlined first: their types do not follow the number of rows.
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

// A region's capture of a round's state does not exist in a prompt. The target
// as a function has no slots, either, but then only scoring of texts is lost.
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

// -----

// Values beyond a state's size would be cut off.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected max_k + 1 = 3 rows of 8 f32 of each slot, as mtp.commit writes them to the state of this name}}
mtp.state @hidden[2, 8] : f32
mtp.round @short {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %grid, %e : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// The branch taken must follow from k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @kept[2, 8] : f32
mtp.round @branch {
  %slots = mtp.slots : tensor<?xi32>
  %c0 = arith.constant 0 : index
  %k = mtp.k
  %batch = tensor.dim %slots, %c0 : tensor<?xi32>
  %even = arith.cmpi eq, %batch, %k : index
  // expected-error @+1 {{'scf.if' op expected a condition that follows from mtp.k: the ops of a round are known when it is compiled}}
  scf.if %even {
    %x = mtp.read_state @kept of %slots rows 1 : tensor<?xi32> -> tensor<?x8xf32>
    mtp.write_state %x, @kept of %slots : tensor<?x8xf32>, tensor<?xi32>
  }
}
mtp.prefill @prompt {
}
}

// -----

// No rows at k = 0.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @kept[max_k + 1, 8] : f32
mtp.round @none {
  %slots = mtp.slots : tensor<?xi32>
  %k = mtp.k
  // expected-error @+1 {{'mtp.read_state' op expected a number of rows that follows from mtp.k, at least one; what a round of k = 0 does without stands in an mtp.draft}}
  %x = mtp.read_state @kept of %slots rows %k : tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %x, @kept of %slots : tensor<?x8xf32>, tensor<?xi32>
}
mtp.prefill @prompt {
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
// expected-error @+1 {{expected a name other than 'recent_hidden', as commits keep hidden states under it for catch_up_rows}}
mtp.state @recent_hidden[4, 8] : f32
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %m = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
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

// A store in the module's own prefill cannot be repeated.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
mtp.state @seen : i32
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %m = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}

// expected-warning @+1 {{a drafter that lags cannot be refreshed, since in a prefill more than the drafter's caches is written, or a state is read; catch_up_rows is of no use}}
mtp.prefill @prompt {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %slots = mtp.slots : tensor<?xi32>
  // expected-note @+1 {{this one}}
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @seen[] : i32
    %one = arith.constant 1 : i32
    %m = arith.addi %n, %one : i32
    mtp.store %m, @seen[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The rows from which a later module continues must be known.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
mtp.cache @kv layers 3 entry 16 : f32
mtp.round @several {
  %drafts = mtp.draft {
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
    %u, %other, %a, %b, %g0 = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
    %x = mtp.attention %g0, %g0, %g0, %other heads 1 kv_heads 1 scale 1.0 cache @kv[2]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %y = mtp.attention %h, %h, %h, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %g = mtp.add %y, %h : tensor<?x8xf32>
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %deep = arith.cmpi ugt, %k, %c1 : index
    %last = scf.if %deep -> (tensor<?x8xf32>) {
      %slots = mtp.slots : tensor<?xi32>
      %m = mtp.per_slot %slots {
      ^bb0(%index: index, %slot: i32):
        %c3 = arith.constant 3 : i64
        mtp.yield %c3 : i64
      } : (tensor<?xi32>) -> tensor<?xi64>
      %tree = mtp.make_tree_rows %next, %next from %next at %next seeing %m refreshed : tensor<?xi32>, tensor<?xi64>
      // expected-error @+1 {{'mtp.refresh_module' op expected one mtp.refresh in its mtp.draft, got 2}}
      %t2, %rows2, %h2, %anchor2, %last2 = mtp.refresh_module 2 of %g with %next at %tree
          : (tensor<?x8xf32>, tensor<?xi32>, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
      %y2 = mtp.attention %h2, %h2, %h2, %rows2 heads 1 kv_heads 1 scale 1.0 cache @kv[1]
           : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
      %own2 = mtp.gather_rows %y2, %last2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
      scf.yield %own2 : tensor<?x8xf32>
    } else {
      %own = mtp.gather_rows %g, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
      scf.yield %own : tensor<?x8xf32>
    }
    %d = mtp.argmax %last : tensor<?x8xf32> -> tensor<?xi32>
    %slots = mtp.slots : tensor<?xi32>
    %grid = mtp.per_slot %slots(%d) {
    ^bb0(%index: index, %slot: i32, %own_d: i32):
      %k = mtp.k
      %all = tensor.splat %own_d[%k] : tensor<?xi32>
      mtp.yield %all : tensor<?xi32>
    } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %grid : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
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

// The host would restore drafts for which the window has no tokens.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected @accepted without 'rebuild save or tokens', as mtp.commit alone writes it}}
mtp.state @accepted : i32 rebuild save
mtp.round @short {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %grid, %e : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// A request does not supply values that a commit writes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected @window without 'input', as mtp.commit alone writes it}}
mtp.state @window[max_k + 1] : i32 input
mtp.round @short {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %grid, %e : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// A first chunk has no rows before it.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected @accepted without 'init other than 0', as mtp.commit alone writes it}}
mtp.state @accepted : i32 init 1
mtp.round @short {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %grid, %e : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// Without init -1 every token would be known, as 0.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @known[max_context + 1] : i32 init -1 rebuild tokens', as mtp.commit reads from the state of this name which token the host knows}}
mtp.state @known[max_context + 1] : i32 rebuild tokens
mtp.round @short {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %grid, %e : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// A state of the method that has this name by chance.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @known[max_context + 1] : i32 init -1 rebuild tokens', as mtp.commit reads}}
mtp.state @known[4] : i32 init 7
mtp.round @short {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %grid, %e : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
mtp.prefill @prompt {
}
}

// -----

// The error names the rows that the largest round needs, not the first that
// fails (issue 43, row 19).
module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @kept[2, 8] : f32
mtp.round @reads {
  %slots = mtp.slots : tensor<?xi32>
  %one = arith.constant 1 : index
  %k = mtp.k
  %rows = arith.addi %k, %one : index
  // expected-error @+1 {{'mtp.read_state' op expected a state of at least 6 rows, the number that the largest round reads, got 2 rows of @kept}}
  %x = mtp.read_state @kept of %slots rows %rows : tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %x, @kept of %slots : tensor<?x8xf32>, tensor<?xi32>
}
mtp.prefill @prompt {
}
}
