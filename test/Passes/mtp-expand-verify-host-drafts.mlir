// RUN: mtp-opt %s --mtp-expand-verify --split-input-file | FileCheck %s

// A slot with masks verifies the drafts that the host writes while the round
// waits. Drafts from the slot's limit on are dropped in either case.
// CHECK: mtp.state @host_drafts[3] : i32
// CHECK-LABEL: mtp.round @masked k 2 {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[ALL:.*]]: tensor<2xi32>):
// CHECK: %[[LIMIT:.*]] = mtp.load @draft_limit[] : i32
// CHECK: mtp.load @logit_rules[
// CHECK: %[[HAS:.*]] = arith.cmpi {{.*}} : i32
// CHECK: %[[OWN1:.*]] = tensor.extract %[[ALL]]
// CHECK: %[[HOST1:.*]] = mtp.load @host_drafts[
// CHECK: %[[D1:.*]] = arith.select %[[HAS]], %[[HOST1]], %[[OWN1]] : i32
// CHECK: arith.cmpi sgt, %[[LIMIT]]
// CHECK: arith.select %{{.*}}, %[[D1]], %{{.*}} : i32
// CHECK: %[[OWN2:.*]] = tensor.extract %[[ALL]]
// CHECK: %[[HOST2:.*]] = mtp.load @host_drafts[
// CHECK: %[[D2:.*]] = arith.select %[[HAS]], %[[HOST2]], %[[OWN2]] : i32
// CHECK: arith.cmpi sgt, %[[LIMIT]]
// CHECK: arith.select %{{.*}}, %[[D2]], %{{.*}} : i32
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @logit_rules[256] : i32
mtp.state @token_counts[8] : i32
mtp.state @logit_bias[16] : i32
mtp.state @logit_masks[3, 1] : i32
mtp.round @masked k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  mtp.await_host %drafts : tensor<?x2xi32>
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

// The host cannot write drafts in a round that does not wait for it.
// CHECK-NOT: @host_drafts
// CHECK-LABEL: mtp.round @masked k 2 {
// CHECK-NOT: @host_drafts
// CHECK: mtp.accept
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @logit_rules[256] : i32
mtp.state @token_counts[8] : i32
mtp.state @logit_bias[16] : i32
mtp.state @logit_masks[3, 1] : i32
mtp.round @masked k 2 {
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
