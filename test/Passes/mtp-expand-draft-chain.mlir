// RUN: mtp-opt %s --mtp-expand-draft-chain --split-input-file | FileCheck %s

// One module, one draft: the refresh alone. Its rows are those that the last
// round verified, from position n - 1 - a on. Rows after the anchor's and rows
// before position 0 are padding rows.
// CHECK-DAG: mtp.state @length : i32
// CHECK-DAG: mtp.state @accepted : i32
// CHECK-DAG: mtp.state @window[max_k + 1] : i32
// CHECK-DAG: mtp.state @hidden[max_k + 1, 8] : f32{{$}}
// CHECK-NOT: @carry
// CHECK-LABEL: mtp.round @one k 1 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[AT:.*]]:5 = mtp.per_slot %[[SLOTS]] {
// CHECK: ^bb0(%[[I:.*]]: index, %[[SLOT:.*]]: i32):
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: %[[A:.*]] = mtp.load @accepted[]
// Tokens of the window, up to the anchor.
// CHECK: %[[TOKENS:.*]] = tensor.generate
// CHECK: mtp.load @window[
// CHECK: %[[ON:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} : i32
// CHECK: %[[OLD:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i32
// CHECK: %[[LIVE:.*]] = arith.andi %[[ON]], %[[OLD]]
// CHECK: arith.select %[[LIVE]], %{{.*}}, %{{.*}}
// CHECK: %[[OF:.*]] = tensor.generate
// CHECK: tensor.yield %[[SLOT]]
// CHECK: %[[POSITIONS:.*]] = tensor.generate
// CHECK: %[[DEAD:.*]] = arith.constant -1 : i32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[DEAD]]
// The anchor's row among the rows of all slots, 2 each.
// CHECK: %[[WITHIN:.*]] = arith.minsi
// CHECK: %[[BLOCK:.*]] = arith.muli
// CHECK: %[[ROW:.*]] = arith.addi %[[BLOCK]], %[[WITHIN]]
// CHECK: %[[P:.*]] = arith.addi %[[N]],
// CHECK: mtp.yield %[[TOKENS]], %[[OF]], %[[POSITIONS]], %[[ROW]], %[[P]] : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, i32, i32
// CHECK: %[[S:.*]] = mtp.reshape %[[AT]]#1
// CHECK: %[[PS:.*]] = mtp.reshape %[[AT]]#2
// CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 2
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[S]], %[[PS]]
// CHECK: mtp.weight "m1"
// CHECK: %[[G:.*]] = mtp.mask_first %[[H]], %[[ROWS]]
// CHECK: %[[L:.*]] = mtp.linear %[[G]]
// The accept op's region picks, for the row that will verify the draft.
// CHECK: %[[OWN:.*]] = mtp.gather_rows %[[L]], %[[AT]]#3
// CHECK: %[[VERIFIED:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#4
// CHECK: %[[D1:.*]] = mtp.sample %[[OWN]], %[[VERIFIED]]
// CHECK: %[[D:.*]] = mtp.per_slot %[[SLOTS]](%[[D1]]) {
// CHECK: tensor.from_elements %{{.*}} : tensor<1xi32>
// CHECK: -> tensor<?x1xi32>
// CHECK: mtp.verify %[[D]] {
// CHECK: mtp.accept %[[D]],
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @one k 1 {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %verified exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// Two modules, three drafts: two refreshes, and the second module once more.
// CHECK-DAG: mtp.state @hidden[max_k + 1, 8] : f32{{$}}
// CHECK-DAG: mtp.state @carry_2[8] : f32 rebuild rows 2
// CHECK-LABEL: mtp.round @two k 3 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// Values that need no draft are computed at once: 4 rows of the first module, 5
// of the second, and the positions of the drafts.
// CHECK: %[[AT:.*]]:12 = mtp.per_slot %[[SLOTS]] {
// CHECK: } : (tensor<?xi32>) -> (tensor<?x4xi32>, tensor<?x4xi32>, tensor<?x4xi32>, tensor<?xi32>, tensor<?x5xi32>, tensor<?x5xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
// CHECK: mtp.read_state @hidden of %[[SLOTS]] rows 4
// CHECK: mtp.weight "m1"
// CHECK: %[[G1:.*]] = mtp.mask_first
// CHECK: %[[L1:.*]] = mtp.linear %[[G1]]
// CHECK: %[[OWN1:.*]] = mtp.gather_rows %[[L1]], %[[AT]]#3
// CHECK: %[[V1:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#8
// CHECK: %[[D1:.*]] = mtp.sample %[[OWN1]], %[[V1]]
// The second module's tokens end in draft 1.
// CHECK: %[[T2:.*]] = mtp.per_slot %[[SLOTS]](%[[D1]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[DRAFT:.*]]: i32):
// CHECK: %[[LATER:.*]] = tensor.from_elements %[[DRAFT]]
// CHECK: %[[OLD:.*]] = mtp.load @window[
// CHECK: %[[NEW:.*]] = tensor.extract %[[LATER]][
// CHECK: arith.select %{{.*}}, %[[OLD]], %[[NEW]]
// CHECK: -> tensor<?x5xi32>
// Its hidden states are its carry and the results of the first module. A row of
// these becomes the next round's carry, after this round's has been read.
// CHECK: %[[CARRY:.*]] = mtp.read_state @carry_2 of %[[SLOTS]] :
// CHECK: %[[H2:.*]] = mtp.concat_rows %[[CARRY]] rows 1, %[[G1]] rows 4
// CHECK: mtp.write_state %[[G1]][%[[AT]]#7], @carry_2 of %[[SLOTS]]
// CHECK: mtp.weight "m2"
// CHECK: %[[G2:.*]] = mtp.mask_first %[[H2]]
// CHECK: %[[L2:.*]] = mtp.linear %[[G2]]
// The chain continues from the anchor's row, one row per slot.
// CHECK: %[[OWN2:.*]] = mtp.gather_rows %[[L2]], %[[AT]]#6
// CHECK: %[[H3:.*]] = mtp.gather_rows %[[G2]], %[[AT]]#6
// CHECK: %[[V2:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#9
// CHECK: %[[D2:.*]] = mtp.sample %[[OWN2]], %[[V2]]
// CHECK: %[[R3:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#11
// CHECK: mtp.weight "m2"
// CHECK: %[[G3:.*]] = mtp.mask_first %[[H3]], %[[R3]]
// CHECK: %[[L3:.*]] = mtp.linear %[[G3]]
// CHECK: %[[V3:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#10
// CHECK: %[[D3:.*]] = mtp.sample %[[L3]], %[[V3]]
// CHECK: %[[D:.*]] = mtp.per_slot %[[SLOTS]](%[[D1]], %[[D2]], %[[D3]]) {
// CHECK: mtp.verify %[[D]] {
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @two k 3 {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m2" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %verified exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// A prefill fills the modules' caches: each runs over the rows for which the
// token at its distance ahead is in the prompt. Between them the carry of the
// first round is kept for sequences whose row is in the chunk.
// CHECK-DAG: mtp.state @carry_2[8] : f32 rebuild rows 2
// CHECK-DAG: mtp.state shared @prompt_sequences[5, max_batch] : i32
// CHECK-NOT: mtp.state
// CHECK-LABEL: mtp.prefill @prompt k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[LOGITS:.*]], %[[H:.*]] = mtp.verify {
// CHECK: %{{.*}}, %[[R1:.*]] = mtp.prompt_rows ahead 1
// CHECK: mtp.weight "m1"
// CHECK: %[[G1:.*]] = mtp.mask_first %[[H]], %[[R1]]
// CHECK: %[[INDEX:.*]] = mtp.per_slot %[[SLOTS]] {
// CHECK: mtp.load @prompt_sequences[
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: %[[ROW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NONE]]
// CHECK: mtp.yield %[[ROW]] : i32
// CHECK: mtp.write_state %[[G1]][%[[INDEX]]], @carry_2 of %[[SLOTS]]
// CHECK: %{{.*}}, %[[R2:.*]] = mtp.prompt_rows ahead 2
// CHECK: mtp.weight "m2"
// CHECK: mtp.mask_first %[[G1]], %[[R2]]
// CHECK-NOT: mtp.draft_chain
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @prompt k 2 {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m2" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}

// -----

// A separate draft model: rows are at their tokens' positions, the first at n -
// a, and only tokens are handed on.
// CHECK-NOT: mtp.state @hidden
// CHECK-LABEL: mtp.round @model k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[AT:.*]]:7 = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: %[[A:.*]] = mtp.load @accepted[]
// CHECK: tensor.yield
// CHECK: %[[DIFFERENCE:.*]] = arith.subi %[[N]], %[[A]]
// CHECK: %[[BEHIND:.*]] = arith.constant 0 : i32
// CHECK: arith.addi %[[DIFFERENCE]], %[[BEHIND]]
// CHECK: %[[T:.*]] = mtp.reshape %[[AT]]#0
// CHECK-NOT: mtp.read_state
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[E1:.*]] = mtp.embed %[[T]]
// CHECK: %[[L1:.*]] = mtp.mask_first %[[E1]], %[[ROWS]]
// CHECK: %[[OWN:.*]] = mtp.gather_rows %[[L1]], %[[AT]]#3
// CHECK: %[[D1:.*]] = mtp.sample %[[OWN]]
// CHECK-NOT: mtp.gather_rows
// CHECK: %[[NEXT:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#6
// CHECK: %[[E2:.*]] = mtp.embed %[[D1]]
// CHECK: %[[L2:.*]] = mtp.mask_first %[[E2]], %[[NEXT]]
// CHECK: mtp.sample %[[L2]]
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @model k 2 {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %l = mtp.mask_first %e, %rows : tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}

// For a prompt it runs over all rows.
// CHECK-LABEL: mtp.prefill @prompt k 2 {
// CHECK: %[[T:.*]], %[[ROWS:.*]] = mtp.prompt_rows :
// CHECK: %[[E:.*]] = mtp.embed %[[T]]
// CHECK: mtp.mask_first %[[E]], %[[ROWS]]
// CHECK-NOT: mtp.write_state
mtp.prefill @prompt k 2 {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %l = mtp.mask_first %e, %rows : tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
}
}

// -----

// Draft logits are kept if an op reads them, per slot. The logits are over a
// vocabulary, with which the accept op's region picks.
// CHECK: mtp.vocabulary @few
// CHECK-LABEL: mtp.round @logits k 2 {
// CHECK: %[[L1:.*]] = mtp.gather_rows
// CHECK: %[[D1:.*]] = mtp.sample %[[L1]], %{{.*}} tokens @few {mtp.picks_drafts} : tensor<?x4xf32> -> tensor<?xi32>
// CHECK: %[[L2:.*]] = mtp.embed %[[D1]]
// CHECK: mtp.sample %[[L2]], %{{.*}} tokens @few {mtp.picks_drafts} : tensor<?x4xf32> -> tensor<?xi32>
// CHECK: %[[ALL:.*]] = mtp.concat_rows %[[L1]] rows 1, %[[L2]] rows 1 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
// CHECK: %[[Q:.*]] = mtp.reshape %[[ALL]] : tensor<?x4xf32> -> tensor<?x2x4xf32>
// CHECK: mtp.output "from" %[[Q]] : tensor<?x2x4xf32>
// CHECK-LABEL: mtp.round @unread k 1 {
// CHECK-NOT: tensor<?x1x4xf32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
mtp.round @logits k 2 {
  %drafts, %from = mtp.draft_chain vocabulary @few {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>, tensor<?x?x4xf32>
  mtp.output "from" %from : tensor<?x?x4xf32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %verified exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
mtp.round @unread k 1 {
  %drafts, %from = mtp.draft_chain vocabulary @few {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>, tensor<?x?x4xf32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %verified exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// A value that accept's region captures has a row for each row of a window: a
// draft's pick takes the row that verifies it. It is computed after the drafts,
// and moves before them.
// CHECK-LABEL: mtp.round @captured k 2 {
// CHECK: mtp.gather_rows
// CHECK: %[[BIAS:.*]] = mtp.reshape %{{.*}} : tensor<?x3x16xf32>
// CHECK: %[[AT0:.*]] = mtp.per_slot
// CHECK: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK: arith.muli %{{.*}}, %[[THREE]]
// CHECK: %[[I0:.*]] = mtp.reshape %[[AT0]]
// CHECK: %[[B0:.*]] = mtp.gather_rows %[[BIAS]], %[[I0]]
// CHECK: mtp.add %{{.*}}, %[[B0]]
// CHECK: %[[AT1:.*]] = mtp.per_slot
// CHECK: arith.constant 1 : i32
// CHECK: %[[I1:.*]] = mtp.reshape %[[AT1]]
// CHECK: %[[B1:.*]] = mtp.gather_rows %[[BIAS]], %[[I1]]
// CHECK: mtp.add %{{.*}}, %[[B1]]
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @captured k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %grid = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %x = arith.constant -1.0 : f32
    %b = tensor.splat %x : tensor<3x16xf32>
    mtp.yield %b : tensor<3x16xf32>
  } : (tensor<?xi32>) -> tensor<?x3x16xf32>
  %bias = mtp.reshape %grid : tensor<?x3x16xf32> -> tensor<?x16xf32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %m = mtp.add %l, %bias : tensor<?x16xf32>
    %p = mtp.sample %m, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// The region gets the slot of a draft's row and the tokens that lead to it.
// CHECK-LABEL: mtp.round @paths k 2 {
// Only the anchor.
// CHECK: mtp.gather_rows
// CHECK: mtp.per_slot %[[S:.*]] {
// CHECK: %[[A:.*]] = mtp.load @window[
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: tensor.from_elements %[[A]], %[[NONE]], %[[NONE]] : tensor<3xi32>
// CHECK: mtp.per_slot %[[S]](%{{.*}}) {
// CHECK: %[[D1:.*]] = mtp.sample
// The first draft after it.
// CHECK: mtp.per_slot %[[S]](%[[D1]]) {
// CHECK: mtp.per_slot %[[S]](%{{.*}}) {
// CHECK: %[[A1:.*]] = mtp.load @window[
// CHECK: %[[NONE1:.*]] = arith.constant -1 : i32
// CHECK: %[[T1:.*]] = tensor.extract
// CHECK: tensor.from_elements %[[A1]], %[[T1]], %[[NONE1]] : tensor<3xi32>
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @paths k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x3xi32>):
    %first = mtp.per_slot %of(%path) {
    ^bb0(%index: index, %slot: i32, %tokens: tensor<3xi32>):
      %c0 = arith.constant 0 : index
      %t = tensor.extract %tokens[%c0] : tensor<3xi32>
      mtp.yield %t : i32
    } : (tensor<?xi32>, tensor<?x3xi32>) -> tensor<?xi32>
    %m = mtp.mask_tokens %l, %first : tensor<?x16xf32>, tensor<?xi32>
    %p = mtp.sample %m, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// A catch-up reads the kept hidden states.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.prefill @behind k 2 catch_up 9 {
// CHECK: %[[H:.*]] = mtp.recent_hidden
// CHECK: %{{.*}}, %[[ROWS:.*]] = mtp.prompt_rows ahead 1
// CHECK: mtp.mask_first %[[H]], %[[ROWS]]
// CHECK-NOT: mtp.draft_chain
mtp.prefill @behind k 2 catch_up 9 {
  %hidden = mtp.recent_hidden : tensor<?x8xf32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<16x8xf32>
    %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
}
}
