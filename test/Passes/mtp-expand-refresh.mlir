// RUN: mtp-opt %s --mtp-expand-refresh --split-input-file | FileCheck %s

// With hidden states a row stands where its hidden state does, one before its token.
// CHECK-DAG: mtp.state @length : i32
// CHECK-DAG: mtp.state @accepted : i32
// CHECK-DAG: mtp.state @window[max_k + 1] : i32
// CHECK-DAG: mtp.state @hidden[max_k + 1, 8] : f32
// CHECK-LABEL: mtp.round @two k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[AT:.*]]:5 = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: %[[A:.*]] = mtp.load @accepted[]
// CHECK: %[[FIRST:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
// CHECK: arith.constant -1 : i32
// CHECK: mtp.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[N]] : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, i32, i32
// CHECK: %[[T:.*]] = mtp.regroup %[[AT]]#0
// CHECK: %[[S:.*]] = mtp.regroup %[[AT]]#1
// CHECK: %[[P:.*]] = mtp.regroup %[[AT]]#2
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[S]], %[[P]]
// CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 3
// CHECK: mtp.embed %[[T]]
// CHECK: mtp.mask_first %[[H]], %[[ROWS]]
// CHECK: mtp.take_rows %{{.*}}, %[[AT]]#3
// CHECK: mtp.make_rows %{{.*}}, %[[AT]]#4
// CHECK-NOT: mtp.refresh
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @two k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %h, %rows : tensor<?x8xf32>
  %x = mtp.add %e, %m : tensor<?x8xf32>
  %own = mtp.take_rows %x, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  %at = mtp.make_rows %slots, %next : tensor<?xi32>
  %y = mtp.mask_first %own, %at : tensor<?x8xf32>
  mtp.write_state %y, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
mtp.state @out[1, 8] : f32
}

// -----

// Without them no hidden states are kept.
// CHECK-LABEL: module
// CHECK-NOT: @hidden
// CHECK: mtp.round @own k 1 {
// CHECK: %{{.*}}:5 = mtp.per_slot
// CHECK-NOT: mtp.refresh
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.round @own k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows, %anchor, %next = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %own = mtp.take_rows %m, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %own, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}
