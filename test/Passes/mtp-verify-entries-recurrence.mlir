// RUN: mtp-opt %s --mtp-verify-entries --split-input-file --verify-diagnostics

// E3: a second use would run a slot's rows through the state again.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.recurrence @memory layers 1 heads 1 keys 2 values 4 key_heads 1 window 4
mtp.round @r {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-note @+1 {{the first is here}}
    %c = mtp.causal_conv %e, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    // expected-error @+1 {{'mtp.causal_conv' op expected layer 0 of @memory to be used once, got a second use}}
    %d = mtp.causal_conv %c, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %d, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %d : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E4: a drafter's rows are run again in the next round.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.recurrence @memory layers 1 heads 1 keys 2 values 4 key_heads 1 window 4
mtp.round @r {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    // expected-error @+1 {{'mtp.causal_conv' op expected the rows of an mtp.verify, or of mtp.run_rows: a drafter has no recurrent layers, since its rows may be run again}}
    %c = mtp.causal_conv %h, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %c, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %c : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

// E3: a loop runs its body's rows more than once.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.recurrence @memory layers 1 heads 1 keys 8 values 8 key_heads 1 window 4
mtp.prefill @p {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %runs = mtp.run_rows %rows pending %t keeps %t : tensor<?xi32>
  %w = mtp.weight "head" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %g = mtp.slice %e cols 0 to 1 : tensor<?x8xf32> -> tensor<?x1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{the loop is here}}
  %y = scf.for %i = %c0 to %c2 step %c1 iter_args(%v = %e) -> tensor<?x8xf32> {
    // expected-error @+1 {{'mtp.delta_rule' op expected no loop around it, which would run its rows again}}
    %o = mtp.delta_rule %e, %e, %v decay %g beta %g, %runs in @memory[0] scale 1.0 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x1xf32>
    scf.yield %o : tensor<?x8xf32>
  }
}
}

// -----

// E5: branches would each need a state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 3>} {
mtp.recurrence @memory layers 1 heads 1 keys 2 values 4 key_heads 1 window 4
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.from_elements %slot, %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  // expected-note @+1 {{the tree is verified here}}
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.causal_conv' op expected a chain of drafts, since there is one state for all branches of a tree}}
    %c = mtp.causal_conv %e, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %c, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %c : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// E6: a prompt that left a layer out would leave it behind.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-note @+1 {{the recurrence is declared here}}
mtp.recurrence @memory layers 1 heads 1 keys 8 values 8 key_heads 1 window 4
// expected-error @+1 {{'mtp.prefill' op expected an mtp.causal_conv with layer 0 of @memory, got none}}
mtp.prefill @p {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %runs = mtp.run_rows %rows pending %t keeps %t : tensor<?xi32>
  %w = mtp.weight "head" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %g = mtp.slice %e cols 0 to 1 : tensor<?x8xf32> -> tensor<?x1xf32>
  // Rows that state how they run may be anywhere.
  %y = mtp.delta_rule %e, %e, %e decay %g beta %g, %runs in @memory[0] scale 1.0 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x1xf32>
}
}
