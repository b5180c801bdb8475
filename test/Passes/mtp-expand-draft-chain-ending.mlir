// RUN: mtp-opt %s --mtp-expand-draft-chain --split-input-file | FileCheck %s

// Two modules, three drafts. It is known in advance which slots want the first
// draft: slots that run, and whose limit allows it.
// CHECK-DAG: mtp.state @draft_limit : i32
// CHECK-DAG: mtp.state @loop[8] : i32
// CHECK-DAG: mtp.state @draft_p_min : f32 init 2.500000e-01 input
// CHECK-DAG: mtp.state @shown_confidence[32, max_k] : f32
// CHECK-LABEL: mtp.round @likely k 3 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[AT:.*]]:9 = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: mtp.load @loop[
// CHECK: %[[RUNS:.*]] = arith.cmpi eq
// CHECK: mtp.load @draft_limit[]
// CHECK: %[[MAY:.*]] = arith.cmpi sgt
// CHECK: %[[WANTS:.*]] = arith.andi %[[RUNS]], %[[MAY]]
// CHECK: %[[NONE:.*]] = arith.constant -1
// CHECK: arith.select %[[WANTS]], %[[N]], %[[NONE]]
// The module runs over all rows, its head over the anchors of these slots.
// CHECK: %[[G1:.*]] = mtp.mask_first
// CHECK: %[[L1:.*]] = mtp.linear %[[G1]]
// CHECK: %[[V1:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#8
// CHECK: %[[P1:.*]], %[[I1:.*]], %[[W1:.*]] = mtp.pack %[[V1]], %[[AT]]#3
// CHECK: %[[OWN1:.*]] = mtp.gather_rows %[[L1]], %[[I1]]
// CHECK: %[[B1:.*]], %[[C1:.*]] = mtp.top_k %[[OWN1]] k 1 noise %[[P1]] {mtp.picks_drafts, mtp.shares}
// CHECK: %[[T1:.*]] = mtp.reshape %[[B1]]
// CHECK: %[[D1:.*]] = mtp.unpack %[[T1]], %[[W1]]
// CHECK: %[[LOG1:.*]] = mtp.unpack %[[C1]], %[[W1]]
// A draft stays if it is wanted and its probability is at least the slot's. The
// host sees the probability, or -1, by round of the launch and by draft.
// CHECK: %[[NEXT:.*]]:2 = mtp.per_slot %[[SLOTS]](%[[AT]]#8, %[[D1]], %[[LOG1]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[HERE:.*]]: i32, %[[TOKEN:.*]]: i32, %[[LOG:.*]]: tensor<1xf32>):
// CHECK: arith.cmpi sge, %[[HERE]]
// CHECK: arith.cmpi sge, %[[TOKEN]]
// CHECK: %[[BOTH:.*]] = arith.andi
// CHECK: %[[OWN:.*]] = tensor.extract %[[LOG]]
// CHECK: %[[SHARE:.*]] = math.exp %[[OWN]]
// CHECK: %[[LEAST:.*]] = mtp.load @draft_p_min[] : f32
// CHECK: %[[SURE:.*]] = arith.cmpf oge, %[[SHARE]], %[[LEAST]]
// CHECK: %[[LIVES:.*]] = arith.andi %[[BOTH]], %[[SURE]]
// CHECK: %[[ROUND:.*]] = mtp.load @loop[
// CHECK: %[[ABSENT:.*]] = arith.constant -1.000000e+00 : f32
// CHECK: %[[SHOWN:.*]] = arith.select %[[LIVES]], %[[SHARE]], %[[ABSENT]] : f32
// CHECK: %[[ENTRY:.*]] = arith.index_cast %[[ROUND]]
// CHECK: mtp.store %[[SHOWN]], @shown_confidence[%[[ENTRY]], %{{.*}}] : f32
// CHECK: %[[KEPT:.*]] = arith.select %[[LIVES]], %[[TOKEN]]
// CHECK: mtp.load @draft_limit[]
// CHECK: %[[MORE:.*]] = arith.andi %[[LIVES]]
// CHECK: %[[THERE:.*]] = arith.select %[[MORE]]
// CHECK: mtp.yield %[[KEPT]], %[[THERE]] : i32, i32
// The second module's rows after a dropped draft are padding rows.
// CHECK: %[[T2:.*]]:2 = mtp.per_slot %[[SLOTS]](%[[NEXT]]#0, %[[AT]]#5) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[DRAFT:.*]]: i32, %[[WERE:.*]]: tensor<5xi32>):
// CHECK: tensor.generate
// CHECK: arith.cmpi sgt
// CHECK: arith.cmpi slt
// CHECK: %[[DEAD:.*]] = arith.andi
// CHECK: %[[WAS:.*]] = tensor.extract %[[WERE]]
// CHECK: arith.select %[[DEAD]], %{{.*}}, %[[WAS]]
// CHECK: arith.maxsi %[[DRAFT]]
// CHECK: %[[S2:.*]] = mtp.reshape %[[T2]]#0
// CHECK: mtp.make_rows %{{.*}}, %[[S2]]
// CHECK: %[[G2:.*]] = mtp.mask_first
// CHECK: %[[L2:.*]] = mtp.linear %[[G2]]
// CHECK: %[[V2:.*]] = mtp.make_rows %[[SLOTS]], %[[NEXT]]#1
// CHECK: %[[P2:.*]], %[[I2:.*]], %[[W2:.*]] = mtp.pack %[[V2]], %[[AT]]#6
// CHECK: %[[OWN2:.*]] = mtp.gather_rows %[[L2]], %[[I2]]
// CHECK: %[[H2:.*]] = mtp.gather_rows %[[G2]], %[[I2]]
// CHECK: %[[B2:.*]], %{{.*}} = mtp.top_k %[[OWN2]] k 1 noise %[[P2]] {mtp.picks_drafts, mtp.shares}
// CHECK: %[[Q2:.*]] = mtp.reshape %[[B2]]
// CHECK: %[[LAST:.*]]:4 = mtp.per_slot %[[SLOTS]](%[[NEXT]]#1,
// The last module's further step has packed rows. Token and hidden state are
// looked up among the rows of the draft before.
// CHECK: %[[S3:.*]] = mtp.make_rows %[[SLOTS]], %[[LAST]]#2
// CHECK: %[[P3:.*]], %[[I3:.*]], %[[W3:.*]] = mtp.pack %[[S3]], %[[W2]]
// CHECK: %[[T3:.*]] = mtp.unpack %[[Q2]], %[[I3]]
// CHECK: %[[H3:.*]] = mtp.gather_rows %[[H2]], %[[I3]]
// Drafts are picked for the rows that verify them, two positions later.
// CHECK: %[[OF:.*]] = mtp.row_slots %[[P3]]
// CHECK: %[[FROM:.*]] = mtp.row_positions %[[P3]]
// CHECK: %[[TO:.*]] = mtp.per_slot %[[OF]](%[[FROM]]) {
// CHECK: arith.constant 2 : i32
// CHECK: %[[V3:.*]] = mtp.make_rows %[[OF]], %[[TO]]
// CHECK: %[[G3:.*]] = mtp.mask_first %[[H3]], %[[P3]]
// CHECK: %[[L3:.*]] = mtp.linear %[[G3]]
// CHECK: mtp.top_k %[[L3]] k 1 noise %[[V3]] {mtp.picks_drafts, mtp.shares}
// CHECK: %[[D3:.*]] = mtp.per_slot %[[SLOTS]](%[[LAST]]#1,
// CHECK: %[[D:.*]] = mtp.per_slot %[[SLOTS]](%[[NEXT]]#0, %[[LAST]]#0, %[[D3]]) {
// CHECK: mtp.verify %[[D]] {
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @likely k 3 {
  %drafts = mtp.draft_chain p_min 0.25 {
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

// A separate draft model, picked from by a region of the best logits: there is
// no noise, and a row drafts the token of the next position, at which it
// verifies, too.
// CHECK-LABEL: mtp.round @best k 2 {
// CHECK: %[[P1:.*]], %{{.*}}, %[[W1:.*]] = mtp.pack
// CHECK: mtp.top_k %{{.*}} k 1 tokens @few {mtp.picks_drafts} : tensor<?x4xf32>
// CHECK: %[[P2:.*]], %[[I2:.*]], %{{.*}} = mtp.pack %{{.*}}, %[[W1]]
// CHECK: %[[T2:.*]] = mtp.unpack %{{.*}}, %[[I2]]
// CHECK-NOT: mtp.row_slots
// CHECK: mtp.embed %[[T2]]
// CHECK: mtp.top_k %{{.*}} k 1 tokens @few {mtp.picks_drafts} : tensor<?x4xf32>
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[3, 5, 8, 13]> : tensor<4xi32>
mtp.round @best k 2 {
  %drafts = mtp.draft_chain vocabulary @few p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x4xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x4xf32> -> tensor<?x4xf32>
    mtp.yield %l : tensor<?x4xf32>
  } : tensor<?x?xi32>
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

// The program's limit works with any rule; the host has no limit here. Drafts
// are picked as usual, and logits that a rule reads are in the window's order.
// CHECK-NOT: @draft_limit
// CHECK-LABEL: mtp.round @wanted k 2 {
// CHECK: mtp.load @want_k[]
// CHECK: %{{.*}}, %{{.*}}, %[[W1:.*]] = mtp.pack
// CHECK: %[[L1:.*]] = mtp.gather_rows
// CHECK: mtp.sample %[[L1]]
// CHECK: %[[A1:.*]] = mtp.unpack %[[L1]], %[[W1]]
// CHECK: mtp.per_slot
// CHECK: mtp.load @want_k[]
// CHECK: %{{.*}}, %{{.*}}, %[[W2:.*]] = mtp.pack
// CHECK: %[[L2:.*]] = mtp.embed
// CHECK: mtp.sample %[[L2]]
// CHECK: %[[A2:.*]] = mtp.unpack %[[L2]], %[[W2]]
// CHECK: mtp.concat_rows %[[A1]] rows 1, %[[A2]] rows 1
module attributes {mtp.custom_rule, mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @want_k : i32 init 2 rebuild save
mtp.round @wanted k 2 {
  %drafts, %from = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>, tensor<?x2x16xf32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %tokens = mtp.accept %drafts, %logits with %from of %verified custom {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, picks, draft_logits) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x3xi32>, %q: tensor<?x2x16xf32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x3xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// A region that distinguishes its rows by more than slot and position needs the
// rows of all slots. Rows of slots without a draft are padding rows with a
// valid token.
// CHECK-LABEL: mtp.round @paths k 2 {
// CHECK-NOT: mtp.pack
// CHECK: %[[NEXT:.*]]:4 = mtp.per_slot
// CHECK: %[[ROWS:.*]] = mtp.make_rows %{{.*}}, %[[NEXT]]#2
// CHECK: %[[E:.*]] = mtp.embed %[[NEXT]]#3
// CHECK: mtp.mask_first %[[E]], %[[ROWS]]
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @paths k 2 {
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %l = mtp.mask_first %e, %rows : tensor<?x16xf32>
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

// A packed padding row has no slot, so a step that writes for each row needs
// the rows of all slots.
// CHECK-LABEL: mtp.round @stores k 2 {
// CHECK-NOT: mtp.pack
// CHECK: mtp.store %{{.*}}, @seen[]
// CHECK-NOT: mtp.pack
// CHECK: mtp.store %{{.*}}, @seen[]
// CHECK-NOT: mtp.pack
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @seen : i32
mtp.state @last[16] : f32
mtp.round @stores k 2 {
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %of = mtp.row_slots %rows : tensor<?xi32>
    mtp.per_slot %of {
    ^bb0(%index: index, %slot: i32):
      mtp.store %slot, @seen[] : i32
      mtp.yield
    } : (tensor<?xi32>) -> ()
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// CHECK-LABEL: mtp.round @writes k 2 {
// CHECK-NOT: mtp.pack
// CHECK: mtp.write_state %{{.*}}, @last
// CHECK-NOT: mtp.pack
// CHECK: mtp.write_state %{{.*}}, @last
// CHECK-NOT: mtp.pack
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @seen : i32
mtp.state @last[16] : f32
mtp.round @writes k 2 {
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %of = mtp.row_slots %rows : tensor<?xi32>
    mtp.write_state %l, @last of %of : tensor<?x16xf32>, tensor<?xi32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// So does a region of mtp.accept that writes, or groups its rows by slots.
// CHECK-LABEL: mtp.round @picks_store k 2 {
// CHECK-NOT: mtp.pack
// CHECK: mtp.store %{{.*}}, @seen[]
// CHECK-NOT: mtp.pack
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @seen : i32
mtp.state @last[16] : f32
mtp.round @picks_store k 2 {
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    mtp.per_slot %of {
    ^bb0(%index: index, %slot: i32):
      mtp.store %slot, @seen[] : i32
      mtp.yield
    } : (tensor<?xi32>) -> ()
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// CHECK-LABEL: mtp.round @groups k 2 {
// CHECK-NOT: mtp.pack
// CHECK: mtp.probabilities
// CHECK-NOT: mtp.pack
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @seen : i32
mtp.state @last[16] : f32
mtp.round @groups k 2 {
  %drafts = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x2xi32>
  %logits, %hidden, %made = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %made exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %of = mtp.slots : tensor<?xi32>
    %p = mtp.probabilities %l of %of : tensor<?x16xf32>, tensor<?xi32>
    %s = mtp.argmax %p : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
}
}

// -----

// Another drafter's drafts may take the place of the chain's: the confidence is
// not that of the drafts that are verified, so the host does not see it.
// CHECK-NOT: @shown_confidence
// CHECK-LABEL: mtp.round @before k 1 {
// CHECK: mtp.load @draft_p_min[]
// CHECK-NOT: @shown_confidence
// CHECK: mtp.verify
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @guess : i32
mtp.round @before k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %made = mtp.draft_chain p_min 0.5 {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x1xi32>
  %drafts = mtp.per_slot %slots(%made) {
  ^bb0(%index: index, %slot: i32, %d: tensor<1xi32>):
    %c0 = arith.constant 0 : index
    %g = mtp.load @guess[] : i32
    %own = tensor.insert %g into %d[%c0] : tensor<1xi32>
    mtp.yield %own : tensor<1xi32>
  } : (tensor<?xi32>, tensor<?x1xi32>) -> tensor<?x1xi32>
  %logits, %hidden, %verified = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %verified exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x2xi32>)
}
}
