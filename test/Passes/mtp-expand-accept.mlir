// RUN: mtp-opt %s --mtp-expand-accept --split-input-file | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// The region on all rows, then a walk for every slot: a draft counts while it and
// all before it equal the picks.
// CHECK-LABEL: mtp.round @chain k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[D:.*]]:2 = mtp.per_slot
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[L:.*]] = mtp.embed
// CHECK: %[[P:.*]] = mtp.sample %[[L]], %[[ROWS]]
// CHECK: mtp.output "picks" %[[P]]
// CHECK: %[[PICKS:.*]] = mtp.regroup %[[P]] : tensor<?xi32> -> tensor<?x3xi32>
// CHECK: %[[COUNT:.*]] = mtp.per_slot %[[SLOTS]](%[[PICKS]], %[[D]]#0) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[OWN:.*]]: tensor<3xi32>, %[[DRAFTS:.*]]: tensor<2xi32>):
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[END:.*]] = arith.constant 2 : index
// CHECK: %[[WALK:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[END]] step %{{.*}} iter_args(%[[SO_FAR:.*]] = %[[ZERO]], %[[ALL:.*]] = %[[ONE]]) -> (i32, i32) {
// CHECK: %[[DRAFT:.*]] = tensor.extract %[[DRAFTS]][
// CHECK: %[[PICK:.*]] = tensor.extract %[[OWN]][
// CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[DRAFT]], %[[PICK]]
// CHECK: %[[STILL:.*]] = arith.select %[[EQUAL]], %[[ALL]], %[[ZERO]]
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
  %places = mtp.regroup %p : tensor<?x3xi32> -> tensor<?xi32>
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
// CHECK: %[[PICKS:.*]] = mtp.regroup %[[P]] : tensor<?xi32> -> tensor<?x1xi32>
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

// In a prefill the region runs on the last row of each sequence, at its position.
// CHECK-LABEL: mtp.prefill @prompt k 0 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[L:.*]] = mtp.embed
// CHECK: %[[AT:.*]]:3 = mtp.per_slot %[[SLOTS]] {
// CHECK-COUNT-3: mtp.load @prompt_sequences[
// CHECK: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: mtp.yield %{{.*}}, %{{.*}}, %[[NONE]]
// CHECK: %[[LAST:.*]] = mtp.take_rows %[[L]], %[[AT]]#0
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[SLOTS]], %[[AT]]#1
// CHECK: %[[P:.*]] = mtp.sample %[[LAST]], %[[ROWS]]
// CHECK: mtp.output "logits" %[[LAST]]
// CHECK: mtp.output "picks" %[[P]]
// CHECK: %[[PICKS:.*]] = mtp.regroup %[[P]] : tensor<?xi32> -> tensor<?x1xi32>
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
// A tree: node by node, on to a child of the node stood on that carries its pick;
// the path is made on the way. A smaller k is the first nodes.
// CHECK-LABEL: mtp.round @tree k 3 {
// CHECK: %[[P:.*]] = mtp.argmax
// CHECK: %[[PICKS:.*]] = mtp.regroup %[[P]] : tensor<?xi32> -> tensor<?x4xi32>
// CHECK: %[[R:.*]]:3 = mtp.per_slot %{{.*}}(%[[PICKS]], %{{.*}}) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[OWN:.*]]: tensor<4xi32>, %[[DRAFTS:.*]]: tensor<3xi32>):
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: %[[BEGIN:.*]] = tensor.generate
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[NONE]]
// Node 1.
// CHECK: %[[IS_CHILD:.*]] = arith.cmpi eq
// CHECK: %[[TOKEN:.*]] = tensor.extract %[[DRAFTS]][
// CHECK: %[[PICK:.*]] = tensor.extract %[[OWN]][
// CHECK: %[[CARRIES:.*]] = arith.cmpi eq, %[[TOKEN]], %[[PICK]]
// CHECK: %[[FOLLOWS:.*]] = arith.andi %[[IS_CHILD]], %[[CARRIES]]
// CHECK: %[[PATH1:.*]] = tensor.insert %{{.*}} into %[[BEGIN]]
// CHECK: %[[NODE1:.*]] = arith.select %[[FOLLOWS]]
// Node 2, whose parent is that of node 1, and node 3.
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: arith.cmpi eq, %[[NODE1]], %[[ZERO]]
// CHECK: %[[PATH2:.*]] = tensor.insert %{{.*}} into %[[PATH1]]
// CHECK: %[[NODE2:.*]] = arith.select
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: arith.cmpi eq, %[[NODE2]], %[[ONE]]
// CHECK: %[[PATH:.*]] = tensor.insert %{{.*}} into %[[PATH2]]
// CHECK: %{{.*}} = arith.select
// CHECK: %[[COUNT:.*]] = arith.select
// The picks in the order of the path.
// CHECK: %[[ALONG:.*]] = tensor.generate
// CHECK: %[[NODE:.*]] = tensor.extract %[[PATH]][
// CHECK: %[[AT:.*]] = arith.index_cast %[[NODE]]
// CHECK: tensor.extract %[[OWN]][%[[AT]]]
// CHECK: mtp.yield %[[COUNT]], %[[ALONG]], %[[PATH]] : i32, tensor<4xi32>, tensor<4xi32>
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
  %places = mtp.regroup %p : tensor<?x4xi32> -> tensor<?xi32>
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

// The walks as functions, a body for each row of the operands.
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
// CHECK: tensor.yield
// CHECK: arith.cmpi eq
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[AT:.*]] = arith.index_cast %[[ONE]]
// CHECK: tensor.extract %[[NODES]][%[[AT]]]
// CHECK: tensor.insert
// CHECK: %[[PATH:.*]] = tensor.insert
// The pick of the path's last node comes next.
// CHECK: %[[LAST:.*]] = tensor.extract %[[PATH]][
// CHECK: %[[END:.*]] = arith.index_cast %[[LAST]]
// CHECK: %[[NEXT:.*]] = tensor.extract %[[OWN]][%[[END]]]
// CHECK: mtp.yield %[[PATH]], %{{.*}}, %[[NEXT]] : tensor<3xi32>, i32, i32
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @accept_tree(%tokens: tensor<2x3xi32>, %picks: tensor<2x3xi32>)
    -> (tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>) {
  %path, %count, %next = mtp.accept_tree %tokens, %picks [-1, 0, 0]
    : tensor<2x3xi32>, tensor<2x3xi32> -> tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>
  return %path, %count, %next : tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>
}
