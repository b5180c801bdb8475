// RUN: mtp-opt %s --mtp-expand-tree-rows --split-input-file --verify-diagnostics | FileCheck %s

// Rows have consecutive places; a node's position is its root's place plus its
// depth. Padding rows stay padding rows. In functions as in rounds.
// CHECK-LABEL: func.func @tree(
// CHECK-SAME: %[[X:.*]]: tensor<8x8xf32>, %[[SLOTS:.*]]: tensor<8xi32>, %[[PLACES:.*]]: tensor<8xi32>)
// CHECK: %[[R:.*]]:3 = mtp.per_slot %[[SLOTS]](%[[PLACES]]) {
// CHECK: ^bb0(%[[I:.*]]: index, %{{.*}}: i32, %[[PLACE:.*]]: i32):
// Depths of the nodes: 0, 1, 1, 2.
// CHECK: %[[D0:.*]] = arith.constant 0 : i32
// CHECK: %[[D1:.*]] = arith.constant 1 : i32
// CHECK: %[[D2:.*]] = arith.constant 1 : i32
// CHECK: %[[D3:.*]] = arith.constant 2 : i32
// The bits of each node and of its ancestors.
// CHECK: %[[M0:.*]] = arith.constant 1 : i64
// CHECK: %[[M1:.*]] = arith.constant 3 : i64
// CHECK: %[[M2:.*]] = arith.constant 5 : i64
// CHECK: %[[M3:.*]] = arith.constant 11 : i64
// CHECK: %[[DEAD:.*]] = arith.constant -1 : i32
// CHECK: %[[ROW:.*]] = arith.index_cast %[[I]]
// CHECK: %[[NODES:.*]] = arith.constant 4 : i32
// CHECK: %[[NODE:.*]] = arith.remui %[[ROW]], %[[NODES]]
// CHECK: %[[ROOT:.*]] = arith.subi %[[PLACE]], %[[NODE]]
// CHECK: %[[IS1:.*]] = arith.cmpi eq, %[[NODE]]
// CHECK: %[[UP1:.*]] = arith.select %[[IS1]], %[[D1]], %[[D0]] : i32
// CHECK: %[[UP2:.*]] = arith.select %{{.*}}, %[[D2]], %[[UP1]] : i32
// CHECK: %[[DEPTH:.*]] = arith.select %{{.*}}, %[[D3]], %[[UP2]] : i32
// CHECK: %[[POSITION:.*]] = arith.addi %[[ROOT]], %[[DEPTH]]
// CHECK: %[[SEE1:.*]] = arith.select %{{.*}}, %[[M1]], %[[M0]] : i64
// CHECK: %[[SEE2:.*]] = arith.select %{{.*}}, %[[M2]], %[[SEE1]] : i64
// CHECK: %[[MASK:.*]] = arith.select %{{.*}}, %[[M3]], %[[SEE2]] : i64
// CHECK: %[[LIVE:.*]] = arith.cmpi sge, %[[PLACE]],
// CHECK: %[[P:.*]] = arith.select %[[LIVE]], %[[POSITION]], %[[DEAD]]
// CHECK: %[[B:.*]] = arith.select %[[LIVE]], %[[ROOT]], %[[DEAD]]
// CHECK: %[[M:.*]] = arith.select %[[LIVE]], %[[MASK]],
// CHECK: mtp.yield %[[P]], %[[B]], %[[M]]
// CHECK: %[[ROWS:.*]] = mtp.make_tree_rows %[[SLOTS]], %[[R]]#0 from %[[R]]#1 at %[[PLACES]] seeing %[[R]]#2 : tensor<8xi32>, tensor<8xi64>
// CHECK: mtp.mask_first %[[X]], %[[ROWS]]
func.func @tree(%x: tensor<8x8xf32>, %slots: tensor<8xi32>, %places: tensor<8xi32>) -> tensor<8x8xf32> {
  %rows = mtp.make_rows %slots, %places : tensor<8xi32>
  %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
  %y = mtp.mask_first %x, %tree : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @unknown(%x: tensor<8x8xf32>, %rows: !mtp.rows) -> tensor<8x8xf32> {
  // expected-error @+1 {{'mtp.tree_rows' op expected rows that mtp.make_rows made}}
  %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
  %y = mtp.mask_first %x, %tree : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @part(%x: tensor<6x8xf32>, %slots: tensor<6xi32>, %places: tensor<6xi32>) -> tensor<6x8xf32> {
  %rows = mtp.make_rows %slots, %places : tensor<6xi32>
  // expected-error @+1 {{'mtp.tree_rows' op expected whole trees of 4 rows, got 6 rows}}
  %tree = mtp.tree_rows %rows [-1, 0, 0, 1]
  %y = mtp.mask_first %x, %tree : tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// -----

// The parents are per slot: a node is active if its parent comes before it and
// is active. Its depth and its bits follow from the parent's.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @own k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[MADE:.*]]:2 = mtp.per_slot
// CHECK: %[[FLAT:.*]] = mtp.reshape %[[MADE]]#0
// CHECK: %[[R:.*]]:4 = mtp.per_slot %[[SLOTS]](%[[MADE]]#0, %[[MADE]]#1) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[PLACES:.*]]: tensor<3xi32>, %[[PARENTS:.*]]: tensor<3xi32>):
// CHECK: %[[WALK:.*]]:3 = scf.for
// CHECK: %[[PARENT:.*]] = tensor.extract %[[PARENTS]]
// CHECK: arith.cmpi sge, %[[PARENT]],
// CHECK: arith.cmpi slt, %[[PARENT]],
// CHECK: %[[MASKS:.*]] = scf.for
// CHECK: tensor.extract %[[WALK]]#0
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: mtp.yield
// CHECK: %[[BITS:.*]] = mtp.reshape %[[R]]#3 : tensor<?x3xi64> -> tensor<?xi64>
// CHECK: mtp.make_tree_rows %[[FLAT]], %{{.*}} from %{{.*}} at %{{.*}} seeing %[[BITS]] :
mtp.round @own k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %places, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    mtp.yield %p, %p : tensor<3xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?x3xi32>, tensor<?x3xi32>)
  %flat = mtp.reshape %places : tensor<?x3xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %flat, %flat : tensor<?xi32>
  %tree = mtp.tree_rows %rows parents %parents : tensor<?x3xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %flat, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %y = mtp.mask_first %x, %tree : tensor<?x8xf32>
  mtp.output "logits" %y : tensor<?x8xf32>
}
}

// -----

func.func @no_round(%x: tensor<?x8xf32>, %t: tensor<?xi32>, %p: tensor<?x3xi32>) -> tensor<?x8xf32> {
  %rows = mtp.make_rows %t, %t : tensor<?xi32>
  // expected-error @+1 {{'mtp.tree_rows' op expected a round around rows whose parents are numbers of its slots}}
  %tree = mtp.tree_rows %rows parents %p : tensor<?x3xi32>
  %y = mtp.mask_first %x, %tree : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @open k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    %q = tensor.cast %p : tensor<3xi32> to tensor<?xi32>
    mtp.yield %q : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  // expected-error @+1 {{'mtp.tree_rows' op expected parents of a known number of nodes, got 'tensor<?x?xi32>'}}
  %tree = mtp.tree_rows %rows parents %parents : tensor<?x?xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %y = mtp.mask_first %x, %tree : tensor<?x8xf32>
  mtp.output "logits" %y : tensor<?x8xf32>
}
}
