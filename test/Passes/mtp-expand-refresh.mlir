// RUN: mtp-opt %s --mtp-expand-refresh --split-input-file | FileCheck %s

// With hidden states a row is at the position of its hidden state, one before
// its token's.
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
// CHECK: %[[T:.*]] = mtp.reshape %[[AT]]#0
// CHECK: %[[S:.*]] = mtp.reshape %[[AT]]#1
// CHECK: %[[P:.*]] = mtp.reshape %[[AT]]#2
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[S]], %[[P]]
// CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 3
// CHECK: mtp.embed %[[T]]
// CHECK: mtp.mask_first %[[H]], %[[ROWS]]
// CHECK: mtp.gather_rows %{{.*}}, %[[AT]]#3
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
  %own = mtp.gather_rows %x, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
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
  %own = mtp.gather_rows %m, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %own, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}

// -----

// The second module: three committed rows per slot, one position below the
// first module's, and two rows of nodes, whose parent is the anchor. Hidden
// states are the kept one and the first module's results, of which the anchor's
// row is kept.
// CHECK: mtp.state @carry_2[8] : f32 rebuild rows 2
// CHECK-LABEL: mtp.round @second k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 3
// CHECK: %[[G:.*]] = mtp.mask_first %[[H]]
// CHECK: mtp.make_tree_rows
// CHECK: %[[PARENTS:.*]] = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[M:.*]]:10 = mtp.per_slot %[[SLOTS]](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[PARENTS]]) {
// CHECK: arith.shrui
// CHECK: } : {{.*}} -> (tensor<?x5xi32>, tensor<?x5xi32>, tensor<?x5xi32>, tensor<?x5xi32>, tensor<?x5xi64>, tensor<?x5xi32>, tensor<?x5xi32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xi32>)
// CHECK: %[[KEPT:.*]] = mtp.read_state @carry_2 of %[[SLOTS]] :
// CHECK: %[[ALL:.*]] = mtp.concat_rows %[[KEPT]] rows 1, %[[G]] rows 3
// CHECK: %[[OWN:.*]] = mtp.gather_rows %[[ALL]]
// CHECK: mtp.write_state %[[G]][%[[M]]#9], @carry_2 of %[[SLOTS]]
// CHECK: %[[ROWS:.*]] = mtp.make_tree_rows {{.*}} refreshed
// CHECK: %[[LAST:.*]] = mtp.reshape %[[M]]#7
// CHECK: %[[G2:.*]] = mtp.mask_first %[[OWN]], %[[ROWS]]
// CHECK: mtp.gather_rows %[[G2]], %[[M]]#8
// CHECK: mtp.gather_rows %[[G2]], %[[LAST]]
// Nodes only.
// CHECK: %[[N:.*]]:5 = mtp.per_slot %[[SLOTS]]({{.*}}) {
// CHECK: arith.shrui
// CHECK: %[[MOVED:.*]] = mtp.make_tree_rows {{.*}} refreshed
// CHECK: mtp.mask_first %{{.*}}, %[[MOVED]]
// CHECK-NOT: mtp.refresh_module
// CHECK-NOT: mtp.module_rows
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out[1, 8] : f32
mtp.round @second k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
  %g = mtp.mask_first %h, %rows : tensor<?x8xf32>
  %a, %b = mtp.per_slot %slots(%next) {
  ^bb0(%index: index, %slot: i32, %n: i32):
    %two = tensor.splat %n : tensor<2xi32>
    %c3 = arith.constant 3 : i64
    %masks = tensor.splat %c3 : tensor<2xi64>
    mtp.yield %two, %masks : tensor<2xi32>, tensor<2xi64>
  } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xi64>)
  %x = mtp.reshape %a : tensor<?x2xi32> -> tensor<?xi32>
  %m = mtp.reshape %b : tensor<?x2xi64> -> tensor<?xi64>
  %tree = mtp.make_tree_rows %x, %x from %x at %x seeing %m refreshed : tensor<?xi32>, tensor<?xi64>
  %t2, %rows2, %h2, %anchor2, %last = mtp.refresh_module 2 of %g with %x at %tree
      : (tensor<?x8xf32>, tensor<?xi32>, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
  %g2 = mtp.mask_first %h2, %rows2 : tensor<?x8xf32>
  %one = mtp.gather_rows %g2, %anchor2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %one, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
  %two = mtp.gather_rows %g2, %last : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  %moved = mtp.module_rows %tree module 2
  %g3 = mtp.mask_first %two, %moved : tensor<?x8xf32>
  %three = mtp.gather_rows %g3, %anchor2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %three, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}

// A prompt's rows with the token two places ahead, and the results of the
// module before.
// CHECK-LABEL: mtp.prefill @prompt k 2 {
// CHECK: %[[T:.*]], %[[ONE:.*]] = mtp.prompt_rows ahead 1
// CHECK: %[[G:.*]] = mtp.mask_first %{{.*}}, %[[ONE]]
// CHECK: mtp.write_state %[[G]][%{{.*}}], @carry_2 of
// CHECK: %{{.*}}, %[[TWO:.*]] = mtp.prompt_rows ahead 2
// CHECK: mtp.mask_first %[[G]], %[[TWO]]
mtp.prefill @prompt k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %g = mtp.mask_first %e, %rows : tensor<?x8xf32>
  %t2, %rows2, %h, %anchor, %last = mtp.refresh_module 2 of %g : (tensor<?x8xf32>) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
  %g2 = mtp.mask_first %h, %rows2 : tensor<?x8xf32>
  %own = mtp.gather_rows %g2, %slots : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %own, @out of %slots : tensor<?x8xf32>, tensor<?xi32>
}
}
