// RUN: mtp-opt %s --mtp-verify-entries --split-input-file | FileCheck %s

// Several rows may use a layer, in order.
// CHECK-COUNT-3: mtp.verify

// The target's first layer and a head: a token has its own position, and
// entries are made like the target's.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %h0 = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %h0 : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// Other entries, at positions that verify rewrites: a loop whose rows begin at
// the slot's length and continue.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %t, %rows, %anchor, %next = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
    %w = mtp.weight "other" : tensor<16x8xf32>
    %last, %end = scf.for %j = %c1 to %k step %c1 iter_args(%d = %slots, %at = %next) -> (tensor<?xi32>, tensor<?xi32>) {
      %row = mtp.make_rows %slots, %at : tensor<?xi32>
      %e = mtp.embed %d, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
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
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// Rows equal to those of mtp.refresh without hidden states, and the target's
// entries.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : bf16
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %own, %last, %anchor, %next = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
  %w0 = mtp.weight "head" : tensor<16x8xf32>
  %e0 = mtp.embed %own, %w0 : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %y0 = mtp.attention %e0, %e0, %e0, %last heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %l0 = mtp.linear %y0, %w0 : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %its = mtp.gather_rows %l0, %anchor : tensor<?x16xf32>, tensor<?xi32> -> tensor<?x16xf32>
  %d = mtp.argmax %its : tensor<?x16xf32> -> tensor<?xi32>
  %drafts = mtp.reshape %d : tensor<?xi32> -> tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}
