// RUN: mtp-opt %s --mtp-expand-verify --split-input-file | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// States that are read are declared.
// CHECK-DAG: mtp.state @length : i32
// CHECK-DAG: mtp.state @accepted : i32
// CHECK-DAG: mtp.state @window[max_k + 1] : i32
// CHECK-DAG: mtp.state @loop[8] : i32

// Rows of the anchor and the drafts, at positions from the length on. Rows
// after a missing draft, and rows of an ended sequence, have no position. Then
// the region runs on the active rows. The host gets tokens and logits, and
// their places.
// CHECK-LABEL: mtp.round @chain k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[D:.*]] = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[W:.*]]:4 = mtp.per_slot %[[SLOTS]](%[[D]]) {
// CHECK: ^bb0(%{{.*}}: index, %[[SLOT:.*]]: i32, %[[OWN:.*]]: tensor<2xi32>):
// CHECK: %[[N:.*]] = mtp.load @length[] : i32
// CHECK: %[[D1:.*]] = tensor.extract %[[OWN]]
// CHECK: %[[D2:.*]] = tensor.extract %[[OWN]]
// CHECK: %[[A:.*]] = mtp.load @accepted[] : i32
// CHECK: %[[AT:.*]] = arith.index_cast %[[A]]
// CHECK: %[[ANCHOR:.*]] = mtp.load @window[%[[AT]]] : i32
// CHECK: %[[TOKENS:.*]] = tensor.from_elements %[[ANCHOR]], %[[D1]], %[[D2]] : tensor<3xi32>
// CHECK: %[[OF:.*]] = tensor.generate
// CHECK: tensor.yield %[[SLOT]] : i32
// The number of drafts before the first missing one; no vector, which a GPU
// would have in memory.
// CHECK-NOT: tensor.generate
// Rows beyond the context's last place, or of an ended slot, are padding rows.
// CHECK: %[[ENDED:.*]] = mtp.load @loop[
// CHECK: %[[RUNS:.*]] = arith.cmpi eq, %[[ENDED]]
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[N]]
// CHECK: %[[REST:.*]] = arith.select %[[RUNS]], %[[LEFT]]
// CHECK: %[[IS1:.*]] = arith.cmpi sge, %[[D1]]
// CHECK: %[[TOKEN1:.*]] = arith.andi %[[IS1]]
// CHECK: %[[HAS1:.*]] = arith.cmpi sgt, %[[REST]]
// CHECK: %[[LIVES1:.*]] = arith.andi %[[TOKEN1]], %[[HAS1]]
// CHECK: arith.select %[[LIVES1]]
// CHECK: %[[LONG1:.*]] = arith.maxsi
// CHECK: %[[IS2:.*]] = arith.cmpi sge, %[[D2]]
// CHECK: %[[TOKEN2:.*]] = arith.andi %[[IS2]], %[[LIVES1]]
// CHECK: %[[HAS2:.*]] = arith.cmpi sgt, %[[REST]]
// CHECK: %[[LIVES2:.*]] = arith.andi %[[TOKEN2]], %[[HAS2]]
// CHECK: %[[LONG2:.*]] = arith.select %[[LIVES2]]
// CHECK: %[[DRAFTED:.*]] = arith.maxsi %[[LONG1]], %[[LONG2]]
// CHECK: %[[LIVE:.*]] = arith.addi %[[DRAFTED]]
// CHECK: %[[BEFORE:.*]] = mtp.load @loop[
// CHECK: %[[ROWS:.*]] = arith.select %[[RUNS]], %[[LIVE]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[BEFORE]], %[[ROWS]]
// CHECK: mtp.store %[[AFTER]], @loop[
// CHECK: arith.select
// CHECK: %[[AT_ROW:.*]] = arith.addi %[[N]]
// CHECK: %[[IS_ROW:.*]] = arith.andi %[[RUNS]], %[[LIVES1]]
// CHECK: arith.select %[[IS_ROW]], %[[AT_ROW]]
// CHECK: %[[POSITIONS:.*]] = tensor.from_elements
// CHECK: mtp.yield %[[TOKENS]], %[[OF]], %[[POSITIONS]], %[[DRAFTED]] : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, i32
// CHECK: %[[T:.*]] = mtp.reshape %[[W]]#0 : tensor<?x3xi32> -> tensor<?xi32>
// CHECK: %[[S:.*]] = mtp.reshape %[[W]]#1
// CHECK: %[[P:.*]] = mtp.reshape %[[W]]#2
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[S]], %[[P]] : tensor<?xi32>
// CHECK: mtp.output "tokens" %[[T]]
// CHECK: mtp.output "drafted" %[[W]]#3 : tensor<?xi32>
// CHECK: %[[PACKED:.*]], %[[TP:.*]], %[[PLACES:.*]] = mtp.pack %[[ROWS]], %[[T]]
// CHECK: mtp.output "places" %[[PLACES]]
// CHECK: %[[E:.*]] = mtp.embed %[[TP]]
// CHECK: %[[H:.*]] = mtp.mask_first %[[E]], %[[PACKED]]
// CHECK: %[[L:.*]] = mtp.linear %[[H]]
// CHECK: mtp.output "logits" %[[L]] : tensor<?x16xf32>
// CHECK-NOT: mtp.verify
// Ops other than accept get unpacked rows.
// CHECK: %[[OWN_H:.*]] = mtp.unpack %[[H]], %[[PLACES]] : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
// Rows are a result if an op takes them.
// CHECK: mtp.mask_first %[[OWN_H]], %[[ROWS]]
mtp.state @hidden[8] : f32
mtp.round @chain k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %m = mtp.mask_first %e, %r : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %masked = mtp.mask_first %hidden, %rows : tensor<?x8xf32>
  mtp.output "masked" %masked : tensor<?x8xf32>
}

// Without drafts it is the anchor's row. The slots are the round's, wherever
// they are used.
// CHECK-LABEL: mtp.round @plain k 0 {
// CHECK-NEXT: %[[SLOTS:.*]] = mtp.slots
// CHECK-NEXT: mtp.per_slot %[[SLOTS]] {
// CHECK: mtp.yield %{{.*}} : tensor<1xi32>, tensor<1xi32>, tensor<1xi32>
// CHECK-NOT: mtp.output "drafted"
// CHECK: mtp.output "logits"
// CHECK: mtp.write_state %{{.*}}, @hidden of %[[SLOTS]]
// CHECK-NOT: mtp.slots
mtp.round @plain k 0 {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %slots = mtp.slots : tensor<?xi32>
  mtp.write_state %hidden, @hidden of %slots : tensor<?x8xf32>, tensor<?xi32>
}

// A prefill runs the region over the chunk's rows; the host does not read its
// logits.
// CHECK-LABEL: mtp.prefill @prompt k 0 {
// CHECK-NEXT: %[[T:.*]], %[[ROWS:.*]] = mtp.prompt_rows : tensor<?xi32>
// CHECK-NEXT: mtp.weight
// CHECK-NEXT: %[[E:.*]] = mtp.embed %[[T]]
// CHECK-NEXT: mtp.mask_first %[[E]], %[[ROWS]]
// CHECK-NEXT: mtp.linear
// CHECK-NEXT: }
mtp.prefill @prompt k 0 {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %m = mtp.mask_first %e, %r : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// A tree: a smaller k uses its first nodes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @tree k 3 {
// CHECK: %[[PLAIN:.*]] = mtp.make_rows
// CHECK: %[[TREE:.*]] = mtp.tree_rows %[[PLAIN]] [-1, 0, 0, 1]{{$}}
// CHECK: %[[ROWS:.*]], %{{.*}}, %{{.*}} = mtp.pack %[[TREE]]
// CHECK: mtp.mask_first %{{.*}}, %[[ROWS]]
mtp.round @tree k 3 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d : tensor<3xi32>
  } : (tensor<?xi32>) -> tensor<?x3xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1, 2] {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %m = mtp.mask_first %e, %r : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// An accept picks from packed logits by packed rows, if they have no other
// reader.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @picks k 1 {
// CHECK: %[[ROWS:.*]], %{{.*}}, %{{.*}} = mtp.pack
// CHECK: %[[L:.*]] = mtp.linear
// CHECK-NOT: mtp.unpack
// CHECK: mtp.accept %{{.*}}, %[[L]] of %[[ROWS]] exact
mtp.round @picks k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<1xi32>
    mtp.yield %d : tensor<1xi32>
  } : (tensor<?xi32>) -> tensor<?x1xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @both k 1 {
// CHECK: %[[WINDOW:.*]] = mtp.make_rows
// CHECK: %[[L:.*]] = mtp.linear
// CHECK: %[[OWN:.*]] = mtp.unpack %[[L]]
// CHECK: mtp.output "mine" %[[OWN]]
// CHECK: mtp.accept %{{.*}}, %[[OWN]] of %[[WINDOW]] exact
mtp.round @both k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<1xi32>
    mtp.yield %d : tensor<1xi32>
  } : (tensor<?xi32>) -> tensor<?x1xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  mtp.output "mine" %logits : tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// If the rule is exact and takes the drafts that are verified, drafts from the
// slot's limit on are dropped, for both.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK: mtp.state @draft_limit : i32 init 2147483647
// CHECK-LABEL: mtp.round @limited k 2 {
// CHECK: %[[W:.*]]:5 = mtp.per_slot %{{.*}}(%{{.*}}) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[ALL:.*]]: tensor<2xi32>):
// CHECK: %[[LIMIT:.*]] = mtp.load @draft_limit[] : i32
// CHECK: %[[DRAFT:.*]] = tensor.extract %[[ALL]]
// CHECK: %[[BEFORE:.*]] = arith.cmpi sgt, %[[LIMIT]]
// CHECK: %[[D1:.*]] = arith.select %[[BEFORE]], %[[DRAFT]], %{{.*}} : i32
// CHECK: tensor.extract %[[ALL]]
// CHECK: %[[D2:.*]] = arith.select
// CHECK: tensor.from_elements %{{.*}}, %[[D1]], %[[D2]] : tensor<3xi32>
// CHECK: %[[OWN1:.*]] = arith.select %{{.*}}, %[[D1]], %{{.*}} : i32
// CHECK: %[[OWN2:.*]] = arith.select %{{.*}}, %[[D2]], %{{.*}} : i32
// CHECK: %[[OWN:.*]] = tensor.from_elements %[[OWN1]], %[[OWN2]] : tensor<2xi32>
// CHECK: mtp.yield %{{.*}}, %[[OWN]] : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, i32, tensor<2xi32>
// CHECK: mtp.accept %[[W]]#4, %
mtp.round @limited k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

// Another rule's result may depend on k: a slot keeps all drafts of its round,
// except those after a missing one or beyond the context.
module attributes {mtp.custom_rule, mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-NOT: @draft_limit
// CHECK-LABEL: mtp.round @custom k 2 {
// CHECK: %[[W:.*]]:5 = mtp.per_slot
// CHECK: mtp.accept %[[W]]#4, %
mtp.round @custom k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

// Taps are results like others; the rows come last.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @taps k 0 {
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[E:.*]] = mtp.embed
// CHECK: %[[L:.*]] = mtp.linear %[[E]]
// CHECK: mtp.write_state %[[E]], @tap
// CHECK: mtp.mask_first %[[E]], %[[ROWS]]
mtp.state @tap[max_k + 1, 8] : f32
mtp.state @out[max_k + 1, 8] : f32
mtp.round @taps k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %logits, %hidden, %more:2 = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    %h = mtp.add %e, %e : tensor<?x8xf32>
    mtp.yield %l, %h, %e : tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>, !mtp.rows)
  mtp.write_state %more#0, @tap of %slots : tensor<?x8xf32>, tensor<?xi32>
  %m = mtp.mask_first %more#0, %more#1 : tensor<?x8xf32>
  mtp.write_state %m, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}

// -----

// A tree per slot: its parents go to the rows, and determine how many drafts
// could be accepted.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @own k 3 {
// CHECK: %[[MADE:.*]]:2 = mtp.per_slot
// CHECK: mtp.per_slot %{{.*}}(%[[MADE]]#0, %[[MADE]]#1) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[DRAFTS:.*]]: tensor<3xi32>, %[[PARENTS:.*]]: tensor<4xi32>):
// CHECK-COUNT-3: tensor.extract %[[DRAFTS]]
// CHECK: %[[TOKENS:.*]] = tensor.from_elements {{.*}} : tensor<3xi32>
// CHECK: scf.for
// CHECK: tensor.extract %[[PARENTS]]
// CHECK: tensor.extract %[[TOKENS]]
// CHECK: %[[PLAIN:.*]] = mtp.make_rows
// CHECK: mtp.tree_rows %[[PLAIN]] parents %[[MADE]]#1 : tensor<?x4xi32>
mtp.round @own k 3 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<3xi32>
    %p = tensor.splat %slot : tensor<4xi32>
    mtp.yield %d, %p : tensor<3xi32>, tensor<4xi32>
  } : (tensor<?xi32>) -> (tensor<?x3xi32>, tensor<?x4xi32>)
  %logits, %hidden = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %m = mtp.mask_first %e, %r : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x3xi32>, tensor<?x4xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// A region that captures rows gets those of the window, and so does an accept
// whose region groups them by slots.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @captures k 1 {
// CHECK-NOT: mtp.pack
// CHECK-NOT: "places"
// CHECK: mtp.add
mtp.round @captures k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %both = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<1xi32>
    %b = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d, %b : tensor<1xi32>, tensor<2xi32>
  } : (tensor<?xi32>) -> (tensor<?x1xi32>, tensor<?x2xi32>)
  %own = mtp.reshape %both : tensor<?x2xi32> -> tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %bias = mtp.embed %own, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %x = mtp.add %e, %bias : tensor<?x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  mtp.output "mine" %logits : tensor<?x16xf32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @groups k 1 {
// CHECK: mtp.pack
// CHECK: %[[L:.*]] = mtp.linear
// CHECK: %[[OWN:.*]] = mtp.unpack %[[L]]
// CHECK: mtp.accept %{{.*}}, %[[OWN]] of
mtp.round @groups k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<1xi32>
    mtp.yield %d : tensor<1xi32>
  } : (tensor<?xi32>) -> tensor<?x1xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %g = mtp.reshape %l : tensor<?x16xf32> -> tensor<?x2x16xf32>
    %back = mtp.reshape %g : tensor<?x2x16xf32> -> tensor<?x16xf32>
    %s = mtp.argmax %back : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
}
}

// -----

// A slot's own tree with more nodes than its depth: a slot with a limit has the
// nodes of a round of that k, and none is deeper than k or the limit. Accept
// gets no draft for a dropped node.
// CHECK-LABEL: mtp.round @deep k 2 nodes 5 {
// CHECK: %[[W:.*]]:5 = mtp.per_slot
// CHECK: %[[LIMIT:.*]] = mtp.load @draft_limit[] : i32
// CHECK-COUNT-3: tensor.extract %{{.*}} : tensor<4xi32>
// CHECK: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: arith.cmpi sgt, %[[LIMIT]], %[[NONE]] : i32
// CHECK: %[[D4:.*]] = tensor.extract %{{.*}} : tensor<4xi32>
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[HAS4:.*]] = arith.cmpi sgt, %[[LIMIT]], %[[ONE]] : i32
// CHECK: arith.select %[[HAS4]], %[[D4]]
// CHECK: %[[MOST:.*]] = arith.minsi %{{.*}}, %[[LIMIT]] : i32
// CHECK: scf.for
// CHECK: %[[ABOVE:.*]] = tensor.extract %{{.*}} : tensor<5xi32>
// CHECK: arith.cmpi slt, %{{.*}}, %[[MOST]] : i32
// CHECK: %[[OWN:.*]] = tensor.from_elements {{.*}} : tensor<4xi32>
// CHECK-NEXT: mtp.yield {{.*}}, %[[OWN]] :
// CHECK: mtp.accept %[[W]]#4,
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 5>} {
mtp.round @deep k 2 nodes 5 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.generate {
    ^bb0(%j: index):
      tensor.yield %slot : i32
    } : tensor<4xi32>
    %p = tensor.generate {
    ^bb0(%j: index):
      %i = arith.index_cast %j : index to i32
      tensor.yield %i : i32
    } : tensor<5xi32>
    mtp.yield %d, %p : tensor<4xi32>, tensor<5xi32>
  } : (tensor<?xi32>) -> (tensor<?x4xi32>, tensor<?x5xi32>)
  %logits, %hidden, %rows = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x4xi32>, tensor<?x5xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact parents %parents {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x4xi32>, tensor<?x16xf32>, !mtp.rows, tensor<?x5xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>)
  mtp.commit %count, %picks, %hidden along %path : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>, tensor<?x3xi32>
}
}

// -----

// Prompt rows follow the slots' rows, and the region runs over both. Logits are
// computed for the slots' rows and the prompt's last row. The prompt's results
// go to the prefill, whose own verify stays.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
// CHECK-LABEL: mtp.round @mixed k 0 prompts 6 {
// CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<?xi32>
// CHECK: %[[WINDOW:.*]]:3 = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[TEXT:.*]], %[[THEIRS:.*]] = mtp.prompt_rows
// CHECK: %[[PACKED:.*]], %[[T:.*]], %[[OWN:.*]], %[[AT:.*]] = mtp.pack %[[ROWS]], %[[TOKENS:.*]] prompts %[[THEIRS]], %[[TEXT]] : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
// CHECK: %[[READING:.*]] = mtp.slots prompts
// CHECK: %[[LAST:.*]]:3 = mtp.per_slot %[[READING]] {
// CHECK: mtp.load @prompt_sequences
// CHECK: %[[LASTAT:.*]] = mtp.unpack %[[AT]], %[[LAST]]#0
// CHECK: %[[END:.*]] = mtp.make_rows %[[READING]], %[[LAST]]#1
// CHECK: %{{.*}}, %[[SCORED:.*]], %[[PLACES:.*]], %[[PLACE:.*]] = mtp.pack %[[ROWS]], %[[OWN]] prompts %[[END]], %[[LASTAT]]
// CHECK: %[[E:.*]] = mtp.embed %[[T]]
// CHECK: %[[M:.*]] = mtp.mask_first %[[E]], %[[PACKED]]
// CHECK: %[[L:.*]] = mtp.linear %[[M]]
// CHECK: %[[TAKEN:.*]] = mtp.gather_rows %[[L]], %[[SCORED]]
// CHECK: mtp.output "logits" %[[TAKEN]]
// CHECK-NOT: mtp.output "places"
// CHECK: %[[PL:.*]] = mtp.unpack %[[TAKEN]], %[[PLACE]]
// CHECK: %[[PH:.*]] = mtp.unpack %[[M]], %[[AT]]
// CHECK: mtp.prompt_values %[[PL]], %[[PH]], %[[THEIRS]]
// CHECK: %[[OL:.*]] = mtp.unpack %[[TAKEN]], %[[PLACES]]
// CHECK: mtp.output "mine" %[[OL]]
mtp.round @mixed k 0 prompts 6 {
  %logits, %hidden, %rows = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %m = mtp.mask_first %x, %r : tensor<?x8xf32>
    %l = mtp.linear %m, %e : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  mtp.output "mine" %logits : tensor<?x16xf32>
}
// CHECK-LABEL: mtp.prefill @prompt k 1 beside @mixed {
// CHECK: mtp.verify
mtp.prefill @prompt k 1 beside @mixed {
  %logits, %hidden, %rows = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %x, %e : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
}
}

// -----

// If rows have masks, a prompt's rows have masks, too: each sees the rows
// before it.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 3>} {
// CHECK-LABEL: mtp.round @tree k 2 prompts 3 {
// CHECK: %[[TREE:.*]] = mtp.tree_rows
// CHECK: %{{.*}}, %[[TEXT:.*]] = mtp.prompt_rows
// CHECK: %[[OF:.*]] = mtp.row_slots %[[TEXT]]
// CHECK: %[[CHAIN:.*]]:3 = mtp.per_slot %[[OF]] {
// CHECK: mtp.load @prompt_sequences
// CHECK: arith.shli
// CHECK: mtp.yield %{{.*}} : i32, i32, i64
// CHECK: %[[ROWS:.*]] = mtp.make_tree_rows %[[OF]], %[[CHAIN]]#0
// CHECK: mtp.pack %[[TREE]], %{{.*}} prompts %[[ROWS]], %{{.*}} :
// CHECK: %[[READING:.*]] = mtp.slots prompts
// CHECK: %[[LAST:.*]] = mtp.make_tree_rows %[[READING]]
// CHECK: mtp.pack %[[TREE]], %{{.*}} prompts %[[LAST]], %{{.*}} :
mtp.round @tree k 2 prompts 3 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %x, %e : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
}
}

// -----

// If windows may have more rows than the envelope has memory for, a slot has
// the rows that the host allows, and there is room for the envelope's rows. A
// trimmed row is no draft.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 8>} {
// CHECK-LABEL: mtp.round @trimmed k 2 {
// CHECK: %[[W:.*]]:5 = mtp.per_slot %{{.*}}(%{{.*}}) {
// CHECK: %[[END:.*]] = arith.constant 64 : i32
// CHECK: %[[LEFT:.*]] = arith.subi %[[END]], %{{.*}} : i32
// CHECK: %[[PLACES:.*]] = arith.select %{{.*}}, %[[LEFT]]
// CHECK: %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK: %[[WORD:.*]] = arith.index_cast %[[SEVEN]] : i32 to index
// CHECK: %[[MOST:.*]] = mtp.load @loop[%[[WORD]]] : i32
// CHECK: arith.cmpi sgt, %[[PLACES]]
// CHECK: %[[HAS1:.*]] = arith.cmpi slt, %{{.*}}, %[[MOST]] : i32
// CHECK: %[[LIVES1:.*]] = arith.andi %{{.*}}, %[[HAS1]] : i1
// CHECK: %[[HAS2:.*]] = arith.cmpi slt, %{{.*}}, %[[MOST]] : i32
// CHECK: %[[LIVES2:.*]] = arith.andi %{{.*}}, %[[HAS2]] : i1
// CHECK: %[[D1:.*]] = arith.select %[[LIVES1]]
// CHECK: %[[D2:.*]] = arith.select %[[LIVES2]]
// CHECK: tensor.from_elements %[[D1]], %[[D2]] : tensor<2xi32>
// CHECK: mtp.pack %{{.*}}, %{{.*}} at_most 8 : tensor<?xi32>
mtp.round @trimmed k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

// The program's limit applies in addition to the host's. A tree has the nodes
// of a round of that k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 4>} {
mtp.state @want_k : i32 init 2 rebuild save
// CHECK-LABEL: mtp.round @wanted k 2 nodes 4 {
// CHECK: %[[W:.*]]:5 = mtp.per_slot %{{.*}}(%{{.*}}) {
// CHECK: %[[LIMIT:.*]] = mtp.load @draft_limit[] : i32
// CHECK: %[[WISH:.*]] = mtp.load @want_k[] : i32
// CHECK: %[[LEAST:.*]] = arith.minsi %[[LIMIT]], %[[WISH]] : i32
// CHECK: tensor.extract
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: arith.cmpi sgt, %[[LEAST]], %[[ZERO]] : i32
// CHECK: tensor.extract
// CHECK: tensor.extract
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: arith.cmpi sgt, %[[LEAST]], %[[ONE]] : i32
// CHECK: mtp.accept %[[W]]#4, %
mtp.round @wanted k 2 nodes 4 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d : tensor<3xi32>
  } : (tensor<?xi32>) -> tensor<?x3xi32>
  %logits, %hidden, %rows = mtp.verify %drafts tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

// If the host has no limit, it is the only one.
module attributes {mtp.custom_rule, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @want_k : i32 init 1 rebuild save
// CHECK-NOT: @draft_limit
// CHECK-LABEL: mtp.round @asked k 1 {
// CHECK: %[[W:.*]]:5 = mtp.per_slot
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[ALL:.*]]: tensor<1xi32>):
// CHECK: %[[WISH:.*]] = mtp.load @want_k[] : i32
// CHECK: %[[DRAFT:.*]] = tensor.extract %[[ALL]]
// CHECK: %[[WANTS:.*]] = arith.cmpi sgt, %[[WISH]]
// CHECK: arith.select %[[WANTS]], %[[DRAFT]], %{{.*}} : i32
// CHECK: mtp.accept %[[W]]#4, %
mtp.round @asked k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<1xi32>
    mtp.yield %d : tensor<1xi32>
  } : (tensor<?xi32>) -> tensor<?x1xi32>
  %logits, %hidden, %rows = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
  %count, %picks = mtp.accept %drafts, %logits of %rows custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, picks) {
  ^bb0(%s: tensor<?xi32>, %p: tensor<?x2xi32>):
    mtp.yield %s, %p : tensor<?xi32>, tensor<?x2xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x2xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

// A region that writes a state for each of its rows gets all rows: a packed
// padding row has no slot.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @seen : i32
// CHECK-LABEL: mtp.round @stores k 1 {
// CHECK-NOT: mtp.pack
// CHECK: mtp.store %{{.*}}, @seen[]
// CHECK-NOT: mtp.pack
// CHECK: mtp.accept
mtp.round @stores k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.reshape %slots : tensor<?xi32> -> tensor<?x1xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %of = mtp.row_slots %rows : tensor<?xi32>
    mtp.per_slot %of {
    ^bb0(%index: index, %slot: i32):
      mtp.store %slot, @seen[] : i32
      mtp.yield
    } : (tensor<?xi32>) -> ()
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x1xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x1xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x2xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}
