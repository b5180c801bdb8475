// RUN: mtp-opt %s --mtp-expand-tree-rows --split-input-file --verify-diagnostics | FileCheck %s

// Rows stand at places that follow each other; a node's position is its root's
// place and its depth. Dead rows stay dead. In functions as in rounds.
// CHECK-LABEL: func.func @tree(
// CHECK-SAME: %[[X:.*]]: tensor<8x8xf32>, %[[SLOTS:.*]]: tensor<8xi32>, %[[PLACES:.*]]: tensor<8xi32>)
// CHECK: %[[R:.*]]:2 = mtp.per_slot %[[SLOTS]](%[[PLACES]]) {
// CHECK: ^bb0(%[[I:.*]]: index, %{{.*}}: i32, %[[PLACE:.*]]: i32):
// Depths of the nodes: 0, 1, 1, 2.
// CHECK: %[[D0:.*]] = arith.constant 0 : i32
// CHECK: %[[D1:.*]] = arith.constant 1 : i32
// CHECK: %[[D2:.*]] = arith.constant 1 : i32
// CHECK: %[[D3:.*]] = arith.constant 2 : i32
// CHECK: %[[DEAD:.*]] = arith.constant -1 : i32
// CHECK: %[[ROW:.*]] = arith.index_cast %[[I]]
// CHECK: %[[NODES:.*]] = arith.constant 4 : i32
// CHECK: %[[NODE:.*]] = arith.remui %[[ROW]], %[[NODES]]
// CHECK: %[[ROOT:.*]] = arith.subi %[[PLACE]], %[[NODE]]
// CHECK: %[[DEPTHS:.*]] = tensor.from_elements %[[D0]], %[[D1]], %[[D2]], %[[D3]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[NODE]]
// CHECK: %[[DEPTH:.*]] = tensor.extract %[[DEPTHS]][%[[AT]]]
// CHECK: %[[POSITION:.*]] = arith.addi %[[ROOT]], %[[DEPTH]]
// CHECK: %[[LIVE:.*]] = arith.cmpi sge, %[[PLACE]],
// CHECK: %[[P:.*]] = arith.select %[[LIVE]], %[[POSITION]], %[[DEAD]]
// CHECK: %[[B:.*]] = arith.select %[[LIVE]], %[[ROOT]], %[[DEAD]]
// CHECK: mtp.yield %[[P]], %[[B]]
// CHECK: %[[ROWS:.*]] = mtp.make_tree_rows %[[SLOTS]], %[[R]]#0 from %[[R]]#1 at %[[PLACES]] [-1, 0, 0, 1] : tensor<8xi32>
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
