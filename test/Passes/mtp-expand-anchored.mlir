// RUN: mtp-opt %s --mtp-expand-anchored --split-input-file --verify-diagnostics | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// In a round the noise is at the slot's length, and the number is the distance
// from it.
// CHECK-LABEL: mtp.round @r
// CHECK: %[[OF:.*]] = mtp.row_slots %[[ROWS:.*]] : tensor<?xi32>
// CHECK: %[[AT:.*]] = mtp.row_positions %[[ROWS]] : tensor<?xi32>
// CHECK: %[[P:.*]]:2 = mtp.per_slot %[[OF]](%[[AT]])
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[X:.*]]: i32):
// CHECK: %[[N:.*]] = mtp.load @length[] : i32
// CHECK: %[[D:.*]] = arith.subi %[[X]], %[[N]] : i32
// CHECK: mtp.yield %[[N]], %[[D]] : i32, i32
// CHECK: %[[ANCHORS:.*]] = mtp.make_rows %[[OF]], %[[P]]#0
// CHECK: mtp.sample %{{.*}}, %[[ANCHORS]] number %[[P]]#1 : tensor<?x16xf32>, tensor<?xi32> -> tensor<?xi32>
mtp.round @r k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %t = mtp.sample %l, %rows anchored : tensor<?x16xf32> -> tensor<?xi32>
  mtp.output "picks" %t : tensor<?xi32>
}
// In a prefill a row is its own anchor.
// CHECK-LABEL: mtp.prefill @p
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[OF:.*]] = mtp.row_slots %[[ROWS]]
// CHECK: %[[N:.*]] = mtp.per_slot %[[OF]]
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: mtp.yield %[[ZERO]] : i32
// CHECK: mtp.sample %{{.*}}, %[[ROWS]] number %[[N]] :
mtp.prefill @p k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %t = mtp.sample %l, %rows anchored : tensor<?x16xf32> -> tensor<?xi32>
  mtp.output "picks" %t : tensor<?xi32>
}
}

// -----

func.func @f(%l: tensor<2x16xf32>, %rows: !mtp.rows) -> tensor<2xi32> {
  // expected-error @+1 {{'mtp.sample' op expected in a round or a prefill: there is no anchor in a function that is run by itself}}
  %t = mtp.sample %l, %rows anchored : tensor<2x16xf32> -> tensor<2xi32>
  return %t : tensor<2xi32>
}
