// RUN: mtp-opt %s --mtp-expand-accept --split-input-file | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// The region on all rows, then a walk for every slot: a draft counts while it
// and all before it equal the picks.
// CHECK-LABEL: mtp.round @chain k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[D:.*]]:2 = mtp.per_slot
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[L:.*]] = mtp.embed
// CHECK: %[[P:.*]] = mtp.sample %[[L]], %[[ROWS]]
// CHECK: mtp.output "picks" %[[P]]
// CHECK: %[[PICKS:.*]] = mtp.reshape %[[P]] : tensor<?xi32> -> tensor<?x3xi32>
// CHECK: %[[COUNT:.*]] = mtp.per_slot %[[SLOTS]](%[[PICKS]], %[[D]]#0) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[OWN:.*]]: tensor<3xi32>, %[[DRAFTS:.*]]: tensor<2xi32>):
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[END:.*]] = arith.constant 2 : index
// CHECK: %[[WALK:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[END]] step %{{.*}} iter_args(%[[SO_FAR:.*]] = %[[ZERO]], %[[ALL:.*]] = %[[ONE]]) -> (i32, i32) {
// CHECK: %[[DRAFT:.*]] = tensor.extract %[[DRAFTS]][
// CHECK: %[[PICK:.*]] = tensor.extract %[[OWN]][
// CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[DRAFT]], %[[PICK]]
// A padding row has neither draft nor pick.
// CHECK: %[[IS:.*]] = arith.cmpi sge, %[[DRAFT]]
// CHECK: %[[AGREES:.*]] = arith.andi %[[EQUAL]], %[[IS]]
// CHECK: %[[STILL:.*]] = arith.select %[[AGREES]], %[[ALL]], %[[ZERO]]
// CHECK: %[[SUM:.*]] = arith.addi %[[SO_FAR]], %[[STILL]]
// CHECK: scf.yield %[[SUM]], %[[STILL]]
// CHECK: mtp.yield %[[WALK]]#0 : i32
// CHECK: mtp.output "count" %[[COUNT]]
// CHECK: mtp.output "grid" %[[PICKS]] : tensor<?x3xi32>
mtp.round @chain k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  %places = mtp.reshape %p : tensor<?x3xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %places, %places : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %places, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
}

// Without drafts nothing is accepted, and a path is the anchor.
// CHECK-LABEL: mtp.round @plain k 0 {
// CHECK: %[[P:.*]] = mtp.argmax
// CHECK: %[[PICKS:.*]] = mtp.reshape %[[P]] : tensor<?xi32> -> tensor<?x1xi32>
// CHECK: %[[R:.*]]:2 = mtp.per_slot
// CHECK: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: %[[NODE:.*]] = arith.constant 0 : i32
// CHECK: %[[PATH:.*]] = tensor.from_elements %[[NODE]] : tensor<1xi32>
// CHECK: mtp.yield %[[NONE]], %[[PATH]]
// CHECK: mtp.output "count" %[[R]]#0
// CHECK: mtp.output "grid" %[[PICKS]]
// CHECK: mtp.output "path" %[[R]]#1
mtp.round @plain k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks, %path = mtp.accept %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
  mtp.output "path" %path : tensor<?x?xi32>
}

// In a prefill the region runs on the last row of each sequence, at its
// position.
// CHECK-LABEL: mtp.prefill @prompt k 0 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[L:.*]] = mtp.embed
// CHECK: %[[AT:.*]]:3 = mtp.per_slot %[[SLOTS]] {
// CHECK-COUNT-3: mtp.load @prompt_sequences[
// CHECK: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: mtp.yield %{{.*}}, %{{.*}}, %[[NONE]]
// CHECK: %[[LAST:.*]] = mtp.gather_rows %[[L]], %[[AT]]#0
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#1
// CHECK: %[[P:.*]] = mtp.sample %[[LAST]], %[[ROWS]]
// CHECK: mtp.output "logits" %[[LAST]]
// CHECK: mtp.output "picks" %[[P]]
// CHECK: %[[PICKS:.*]] = mtp.reshape %[[P]] : tensor<?xi32> -> tensor<?x1xi32>
// CHECK: mtp.output "count" %[[AT]]#2
// CHECK: mtp.output "grid" %[[PICKS]]
mtp.prefill @prompt k 0 {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// A tree: a node stays if its parent does and if its token is its parent's
// pick. The path of the deepest node is found backwards. A smaller k uses the
// first nodes.
// CHECK-LABEL: mtp.round @tree k 3 {
// CHECK: %[[P:.*]] = mtp.argmax
// CHECK: %[[PICKS:.*]] = mtp.reshape %[[P]] : tensor<?xi32> -> tensor<?x4xi32>
// CHECK: %[[R:.*]]:3 = mtp.per_slot %{{.*}}(%[[PICKS]], %{{.*}}) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[OWN:.*]]: tensor<4xi32>, %[[DRAFTS:.*]]: tensor<3xi32>):
// CHECK: %[[PARENTS:.*]] = tensor.from_elements
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: %[[WALK:.*]]:3 = scf.for {{.*}} iter_args(%[[DEPTHS:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[LONGEST:.*]] = %{{.*}})
// CHECK: %[[PARENT:.*]] = tensor.extract %[[PARENTS]]
// CHECK: %[[ABOVE:.*]] = tensor.extract %[[DEPTHS]]
// CHECK: %[[TOKEN:.*]] = tensor.extract %[[DRAFTS]]
// CHECK: %[[PICK:.*]] = tensor.extract %[[OWN]]
// CHECK: arith.cmpi eq, %[[TOKEN]], %[[PICK]]
// CHECK: %[[DEPTH:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NONE]]
// The first of the deepest.
// CHECK: arith.cmpi sgt, %[[DEPTH]], %[[LONGEST]]
// CHECK: %[[PATH:.*]]:2 = scf.for
// CHECK: arith.subi %[[WALK]]#2,
// The picks in the order of the path.
// CHECK: %[[ALONG:.*]] = tensor.generate
// CHECK: %[[NODE:.*]] = tensor.extract %[[PATH]]#0[
// CHECK: %[[AT:.*]] = arith.index_cast %[[NODE]]
// CHECK: tensor.extract %[[OWN]][%[[AT]]]
// CHECK: mtp.yield %[[WALK]]#2, %[[ALONG]], %[[PATH]]#0 : i32, tensor<4xi32>, tensor<4xi32>
// CHECK: mtp.output "count" %[[R]]#0
// CHECK: mtp.output "grid" %[[R]]#1
// CHECK: mtp.output "path" %[[R]]#2
mtp.round @tree k 3 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<3xi32>
    %q = tensor.splat %slot : tensor<4xi32>
    mtp.yield %d, %q : tensor<3xi32>, tensor<4xi32>
  } : (tensor<?xi32>) -> (tensor<?x3xi32>, tensor<?x4xi32>)
  %places = mtp.reshape %p : tensor<?x4xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %places, %places : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %places, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows exact tree [-1, 0, 0, 1, 2] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
  mtp.output "path" %path : tensor<?x?xi32>
}
}

// -----

// The walks as functions, a body per row of the operands.
// CHECK-LABEL: func.func @accept(
// CHECK-SAME: %[[DRAFTS:.*]]: tensor<4x3xi32>, %[[PICKS:.*]]: tensor<4x4xi32>)
// CHECK: %[[EACH:.*]] = arith.constant dense<0> : tensor<4xi32>
// CHECK: %[[R:.*]]:2 = mtp.per_slot %[[EACH]](%[[PICKS]], %[[DRAFTS]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[OWN:.*]]: tensor<4xi32>, %{{.*}}: tensor<3xi32>):
// CHECK: %[[WALK:.*]]:2 = scf.for
// CHECK: %[[AT:.*]] = arith.index_cast %[[WALK]]#0
// CHECK: %[[NEXT:.*]] = tensor.extract %[[OWN]][%[[AT]]]
// CHECK: mtp.yield %[[WALK]]#0, %[[NEXT]]
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @accept(%drafts: tensor<4x3xi32>, %picks: tensor<4x4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %count, %next = mtp.accept_tokens %drafts, %picks
                  : tensor<4x3xi32>, tensor<4x4xi32> -> tensor<4xi32>, tensor<4xi32>
  return %count, %next : tensor<4xi32>, tensor<4xi32>
}

// -----

// Tokens begin with node 0's here.
// CHECK-LABEL: func.func @accept_tree(
// CHECK-SAME: %[[TOKENS:.*]]: tensor<2x3xi32>, %[[PICKS:.*]]: tensor<2x3xi32>)
// CHECK: %[[R:.*]]:3 = mtp.per_slot %{{.*}}(%[[PICKS]], %[[TOKENS]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[OWN:.*]]: tensor<3xi32>, %[[NODES:.*]]: tensor<3xi32>):
// CHECK: scf.for
// CHECK: tensor.extract %[[NODES]]
// CHECK: %[[PATH:.*]]:2 = scf.for
// The pick of the path's last node comes next.
// CHECK: %[[LAST:.*]] = tensor.extract %[[PATH]]#0[
// CHECK: %[[END:.*]] = arith.index_cast %[[LAST]]
// CHECK: %[[NEXT:.*]] = tensor.extract %[[OWN]][%[[END]]]
// CHECK: mtp.yield %[[PATH]]#0, %{{.*}}, %[[NEXT]] : tensor<3xi32>, i32, i32
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @accept_tree(%tokens: tensor<2x3xi32>, %picks: tensor<2x3xi32>)
    -> (tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>) {
  %path, %count, %next = mtp.accept_tree %tokens, %picks [-1, 0, 0]
    : tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>
  return %path, %count, %next : tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// A rule gets its arguments for every slot; its own mtp.slots are the round's.
// Its results are clamped: a count up to k, tokens of the vocabulary.
// CHECK: mtp.state @known[max_context + 1] : i32 init -1 rebuild tokens
// CHECK-LABEL: mtp.round @rule k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK-NOT: mtp.slots
// CHECK: %[[D:.*]]:4 = mtp.per_slot %[[SLOTS]]
// CHECK: %[[PLACES:.*]] = mtp.reshape %[[D]]#1
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[PLACES]], %[[PLACES]]
// CHECK: %[[L:.*]] = mtp.embed
// CHECK: %[[P:.*]] = mtp.sample %[[L]], %[[ROWS]]
// CHECK: mtp.output "picks" %[[P]]
// CHECK: %[[PICKS:.*]] = mtp.reshape %[[P]] : tensor<?xi32> -> tensor<?x3xi32>
// CHECK: %[[LOGITS:.*]] = mtp.reshape %[[L]] : tensor<?x16xf32> -> tensor<?x3x16xf32>
// CHECK: %[[BEST:.*]] = mtp.sample %{{.*}}, %[[ROWS]]
// CHECK: %[[OWN:.*]]:2 = mtp.per_slot %[[SLOTS]](%[[D]]#0, %[[D]]#1, %[[PICKS]], %[[LOGITS]], %[[D]]#2) {
// Drafts stay if the rule keeps them and they are tokens.
// CHECK: mtp.per_slot %[[SLOTS]](%[[OWN]]#0, %[[OWN]]#1, %[[D]]#0, %[[PICKS]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[N:.*]]: i32, %[[T:.*]]: tensor<3xi32>, %[[DRAFTS:.*]]: tensor<2xi32>, %[[OWNPICKS:.*]]: tensor<3xi32>):
// CHECK: %[[FIRST:.*]] = arith.cmpi sgt, %[[N]]
// CHECK: %[[DRAFT1:.*]] = tensor.extract %[[DRAFTS]]
// CHECK: %[[TOKEN1:.*]] = arith.cmpi sge, %[[DRAFT1]]
// CHECK: %[[BOTH1:.*]] = arith.andi %{{.*}}, %[[TOKEN1]]
// CHECK: %[[STAYS1:.*]] = arith.andi %[[FIRST]], %[[BOTH1]]
// CHECK: %[[ON1:.*]] = arith.andi %{{.*}}, %[[STAYS1]]
// CHECK: %[[KEPT:.*]] = arith.select %[[ON1]]
// CHECK: %[[SECOND:.*]] = arith.cmpi sgt, %[[N]]
// CHECK: %[[DRAFT2:.*]] = tensor.extract %[[DRAFTS]]
// CHECK: %[[TOKEN2:.*]] = arith.cmpi sge, %[[DRAFT2]]
// CHECK: %[[BOTH2:.*]] = arith.andi %{{.*}}, %[[TOKEN2]]
// CHECK: %[[STAYS2:.*]] = arith.andi %[[SECOND]], %[[BOTH2]]
// CHECK: %[[ON2:.*]] = arith.andi %[[ON1]], %[[STAYS2]]
// CHECK: %[[COUNT:.*]] = arith.select %[[ON2]], %{{.*}}, %[[KEPT]] : i32
// If the row after the last draft has no pick, it has no token.
// CHECK: %[[PICK:.*]] = tensor.extract %[[OWNPICKS]][
// CHECK: %[[ENDS:.*]] = arith.cmpi slt, %[[PICK]],
// CHECK: tensor.generate
// CHECK: %[[ISEND:.*]] = arith.andi %[[ENDS]],
// CHECK: tensor.extract %[[T]][
// CHECK: %[[LAST:.*]] = arith.constant 15 : i32
// CHECK: arith.minsi %{{.*}}, %[[LAST]]
// CHECK: %[[TOKEN:.*]] = arith.maxsi
// CHECK: arith.select %[[ISEND]], %{{.*}}, %[[TOKEN]] : i32
// CHECK-NOT: tensor.generate
// CHECK: mtp.yield %[[COUNT]],
mtp.round @rule k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p, %from, %other = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    %f = arith.constant dense<1.0> : tensor<2x16xf32>
    mtp.yield %d, %q, %f, %d : tensor<2xi32>, tensor<3xi32>, tensor<2x16xf32>, tensor<2xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>, tensor<?x2x16xf32>, tensor<?x2xi32>)
  %places = mtp.reshape %p : tensor<?x3xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %places, %places : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %places, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %logits with %from of %rows custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (drafts, positions, picks, logits, draft_logits, rows) {
  ^bb0(%rd: tensor<?x2xi32>, %at: tensor<?x3xi32>, %rp: tensor<?x3xi32>, %rl: tensor<?x3x16xf32>, %rq: tensor<?x2x16xf32>, %rr: !mtp.rows):
    %own = mtp.slots : tensor<?xi32>
    %flat = mtp.reshape %rl : tensor<?x3x16xf32> -> tensor<?x16xf32>
    %best = mtp.sample %flat, %rr : tensor<?x16xf32> -> tensor<?xi32>
    mtp.output "best" %best : tensor<?xi32>
    %n, %t = mtp.per_slot %own(%rd, %at, %rp, %rl, %rq) {
    ^bb0(%index: index, %slot: i32, %d: tensor<2xi32>, %a: tensor<3xi32>, %k: tensor<3xi32>, %x: tensor<3x16xf32>, %y: tensor<2x16xf32>):
      %c0 = arith.constant 0 : index
      %first = tensor.extract %d[%c0] : tensor<2xi32>
      mtp.yield %first, %k : i32, tensor<3xi32>
    } : (tensor<?xi32>, tensor<?x2xi32>, tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x3x16xf32>, tensor<?x2x16xf32>) -> (tensor<?xi32>, tensor<?x3xi32>)
    mtp.yield %n, %t : tensor<?xi32>, tensor<?x3xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, tensor<?x2x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// In a tree a position is the root's plus the node's depth, and the rule's path
// has nodes or -1.
// CHECK-LABEL: mtp.round @tree_rule k 2 {
// CHECK: %[[TREE:.*]] = mtp.tree_rows
// CHECK: %[[PICKS:.*]] = mtp.reshape %{{.*}} : tensor<?xi32> -> tensor<?x3xi32>
// CHECK: %[[AT:.*]] = mtp.per_slot %[[SLOTS:[^ (]*]](%{{.*}}) {
// CHECK: %[[ROOT:.*]] = tensor.extract
// CHECK: %[[P0:.*]] = arith.addi %[[ROOT]],
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[P1:.*]] = arith.addi %[[ROOT]], %[[ONE]]
// CHECK: %[[ALSO:.*]] = arith.constant 1 : i32
// CHECK: %[[P2:.*]] = arith.addi %[[ROOT]], %[[ALSO]]
// CHECK: tensor.from_elements %[[P0]], %[[P1]], %[[P2]]
// CHECK: %[[R:.*]]:3 = mtp.per_slot %[[SLOTS]](%{{.*}}, %[[AT]], %[[PICKS]], %{{.*}}) {
// CHECK-COUNT-2: tensor.generate
// CHECK: mtp.yield
// CHECK: mtp.output "path" %[[R]]#2 : tensor<?x3xi32>
mtp.round @tree_rule k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  %places = mtp.reshape %p : tensor<?x3xi32> -> tensor<?xi32>
  %plain = mtp.make_rows %places, %places : tensor<?xi32>
  %rows = mtp.tree_rows %plain [-1, 0, 0]
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %places, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks, %path = mtp.accept %drafts, %logits of %rows custom tree [-1, 0, 0] {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, positions, picks) {
  ^bb0(%s: tensor<?xi32>, %at: tensor<?x3xi32>, %rp: tensor<?x3xi32>):
    mtp.yield %s, %at, %rp : tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
  mtp.output "path" %path : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// A rule may yield only the bonus token: the drafts come before it.
// CHECK-LABEL: mtp.round @bonus k 2 {
// CHECK: mtp.per_slot %{{.*}}(%{{.*}}, %{{.*}}, %[[D:.*]]#0, %{{.*}}) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[N:.*]]: i32, %[[T:.*]]: i32, %[[OWN:.*]]: tensor<2xi32>, %{{.*}}: tensor<3xi32>):
// CHECK-COUNT-2: tensor.extract %[[OWN]]
// CHECK: %[[COUNT:.*]] = arith.select
// CHECK: tensor.generate
// CHECK: %[[IS:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNT]] : i32
// CHECK: %[[DRAFT:.*]] = tensor.extract %[[OWN]][
// CHECK: arith.select %[[IS]], %[[DRAFT]], %[[T]] : i32
mtp.round @bonus k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  %places = mtp.reshape %p : tensor<?x3xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %places, %places : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %places, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %logits of %rows custom {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots) {
  ^bb0(%s: tensor<?xi32>):
    mtp.yield %s, %s : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
  mtp.output "grid" %picks : tensor<?x?xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// Packed rows: picks are made for active rows, and unpacked.
// CHECK-LABEL: mtp.round @packed k 2 {
// CHECK: %[[ROWS:.*]], %[[T:.*]], %[[PLACES:.*]] = mtp.pack
// CHECK: %[[P:.*]] = mtp.sample %{{.*}}, %[[ROWS]]
// CHECK: %[[OWN:.*]] = mtp.unpack %[[P]], %[[PLACES]] : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
// CHECK: mtp.output "picks" %[[OWN]]
// CHECK: %[[PICKS:.*]] = mtp.reshape %[[OWN]]
// CHECK: mtp.per_slot %{{.*}}(%[[PICKS]], %{{.*}}) {
mtp.round @packed k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    mtp.yield %d, %q : tensor<2xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x3xi32>)
  %places = mtp.reshape %p : tensor<?x3xi32> -> tensor<?xi32>
  %window = mtp.make_rows %places, %places : tensor<?xi32>
  %rows, %t, %at = mtp.pack %window, %places : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %logits = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %logits of %rows exact {
  ^bb0(%l: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.sample %l, %r : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x2xi32>, tensor<?x16xf32>, !mtp.rows) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.output "count" %count : tensor<?xi32>
}
}

// -----

// With more nodes than depth, the path has k + 1 nodes: node 0 and k more.
// CHECK-LABEL: mtp.round @deep k 2 nodes 5 {
// CHECK: mtp.reshape %{{.*}} : tensor<?xi32> -> tensor<?x5xi32>
// CHECK: %[[A:.*]]:3 = mtp.per_slot
// CHECK: scf.for
// CHECK: scf.yield %{{.*}} : tensor<5xi32>, i32, i32
// CHECK: mtp.yield %{{.*}} : i32, tensor<3xi32>, tensor<3xi32>
// CHECK: mtp.commit %[[A]]#0, %[[A]]#1, %{{.*}} along %[[A]]#2 :
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 5>} {
mtp.round @deep k 2 nodes 5 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %own, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<4xi32>
    %o = tensor.splat %slot : tensor<5xi32>
    mtp.yield %d, %o, %o : tensor<4xi32>, tensor<5xi32>, tensor<5xi32>
  } : (tensor<?xi32>) -> (tensor<?x4xi32>, tensor<?x5xi32>, tensor<?x5xi32>)
  %flat = mtp.reshape %own : tensor<?x5xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %flat, %flat : tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %flat, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  %count, %picks, %path = mtp.accept %drafts, %l of %rows exact parents %parents {
  ^bb0(%logits: tensor<?x16xf32>, %r: !mtp.rows):
    %s = mtp.argmax %logits : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x4xi32>, tensor<?x16xf32>, !mtp.rows, tensor<?x5xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>)
  mtp.commit %count, %picks, %e along %path : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>, tensor<?x3xi32>
}
}
