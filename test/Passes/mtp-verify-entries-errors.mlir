// RUN: mtp-opt %s --mtp-verify-entries --split-input-file --verify-diagnostics

// E1: the second would overwrite what the first attended to.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the first is here}}
    %z = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[1]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.attention' op expected layer 1 of @kv to be used once for the same rows, got a second use: it needs a layer of its own}}
    %y = mtp.attention %z, %z, %z, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[1]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E1: a loop that makes no rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %k = mtp.k
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "head" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{the loop is here}}
  %x = scf.for %j = %c0 to %k step %c1 iter_args(%z = %e) -> (tensor<?x8xf32>) {
    // expected-error @+1 {{'mtp.attention' op expected layer 0 of @kv to be used once for the same rows, got a loop that does not make rows}}
    %y = mtp.attention %z, %z, %z, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    scf.yield %y : tensor<?x8xf32>
  }
}
}

// -----

// E2: other weights.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "other" : tensor<16x8xf32>
    %h0 = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.attention' op expected a layer that the target does not use, the entries that the target writes there, or rows from the slot's length on: what was committed would be overwritten}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %h0 : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses the layer here}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E2: a step with hidden states has rows one place before their tokens.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %drafts = mtp.draft_chain {
  // expected-note @+1 {{these rows are not seen to be at the positions of their tokens}}
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %h0 = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.attention' op expected a layer that the target does not use, the entries that the target writes there, or rows from the slot's length on: what was committed would be overwritten}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %h0 : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses the layer here}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E2: positions that may be before the slot's length.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %t, %rows, %anchor, %next = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
    %w = mtp.weight "other" : tensor<16x8xf32>
    %last, %end = scf.for %j = %c1 to %k step %c1 iter_args(%d = %slots, %at = %anchor) -> (tensor<?xi32>, tensor<?xi32>) {
      %row = mtp.make_rows %slots, %at : tensor<?xi32>
      %e = mtp.embed %d, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
      // expected-error @+1 {{'mtp.attention' op expected a layer that the target does not use, the entries that the target writes there, or rows from the slot's length on: what was committed would be overwritten}}
      %y = mtp.attention %e, %e, %e, %row heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
      %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
      %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
      %behind = mtp.per_slot %slots(%at) {
      ^bb0(%index: index, %slot: i32, %x: i32):
        %one = arith.constant 1 : i32
        %q = arith.addi %x, %one : i32
        mtp.yield %q : i32
      } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
      scf.yield %p, %behind : tensor<?xi32>, tensor<?xi32>
    }
    %grid = mtp.reshape %last : tensor<?xi32> -> tensor<?x?xi32>
    mtp.yield %grid : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses the layer here}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E2: numbers that have nothing to do with the length.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %ten = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %five = arith.constant 5 : i32
    %sum = arith.addi %five, %five : i32
    mtp.yield %sum : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  %drafts = mtp.draft {
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %t, %rows, %anchor, %next = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
    %w = mtp.weight "other" : tensor<16x8xf32>
    %last, %end = scf.for %j = %c1 to %k step %c1 iter_args(%d = %slots, %at = %ten) -> (tensor<?xi32>, tensor<?xi32>) {
      %row = mtp.make_rows %slots, %at : tensor<?xi32>
      %e = mtp.embed %d, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
      // expected-error @+1 {{'mtp.attention' op expected a layer that the target does not use, the entries that the target writes there, or rows from the slot's length on: what was committed would be overwritten}}
      %y = mtp.attention %e, %e, %e, %row heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
      %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
      %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
      %behind = mtp.per_slot %slots(%at) {
      ^bb0(%index: index, %slot: i32, %x: i32):
        %one = arith.constant 1 : i32
        %q = arith.addi %x, %one : i32
        mtp.yield %q : i32
      } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
      scf.yield %p, %behind : tensor<?xi32>, tensor<?xi32>
    }
    %grid = mtp.reshape %last : tensor<?xi32> -> tensor<?x?xi32>
    mtp.yield %grid : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses the layer here}}
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E2: an entry that is appended by itself is one, too (issue 43, row 16).
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "head" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %own = mtp.make_rows %slots, %slots : tensor<?xi32>
  // expected-error @+1 {{'mtp.cache_append' op expected a cache of which the target uses no entry that is written here: what was committed would be overwritten, but for rows from the slot's length on}}
  mtp.cache_append %e, %own into @kv[0] at 0 : tensor<?x8xf32>
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %table = mtp.weight "head" : tensor<16x8xf32>
    %x = mtp.embed %t, %table : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses it here}}
    %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %table : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E2: in a prefill, which says nothing of the target, what the round's uses holds as well.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
mtp.round @r {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %table = mtp.weight "head" : tensor<16x8xf32>
    %x = mtp.embed %t, %table : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses it here}}
    %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %table : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
mtp.prefill @p {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "other" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // expected-error @+1 {{'mtp.cache_append' op expected a cache of which the target uses no entry that is written here}}
  mtp.cache_append %e, %rows into @kv[0] at 0 : tensor<?x8xf32>
}
}

// -----

// E2: the length of one slot says nothing of the rows of another.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
mtp.state @length : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %other, %n = mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %one = arith.constant 1 : i32
    %length = mtp.load @length[] : i32
    %next = arith.xori %s, %one : i32
    mtp.yield %next, %length : i32, i32
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>)
  %w = mtp.weight "head" : tensor<16x8xf32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %own = mtp.make_rows %slots, %n : tensor<?xi32>
  mtp.cache_append %e, %own into @kv[0] at 0 : tensor<?x8xf32>
  %theirs = mtp.make_rows %other, %n : tensor<?xi32>
  // expected-error @+1 {{'mtp.cache_append' op expected a cache of which the target uses no entry that is written here}}
  mtp.cache_append %e, %theirs into @kv[0] at 0 : tensor<?x8xf32>
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses it here}}
    %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E2: entries that move, where mtp.commit moves the path's.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %table = mtp.weight "head" : tensor<16x8xf32>
    %x = mtp.embed %t, %table : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the target uses it here}}
    %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %table : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %grid = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  // expected-error @+1 {{'mtp.cache_move' op expected a cache of which the target uses no entry that is written here: mtp.commit moves those that it accepts}}
  mtp.cache_move %grid to %grid of %slots in @kv : tensor<?x?xi32>, tensor<?xi32>
  mtp.commit %slots, %grid, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
