// RUN: mtp-opt %s --mtp-collect-inputs --split-input-file --verify-diagnostics | FileCheck %s

// Two projections share an input, so it is returned once. The logits are not
// computed, and the round stays.
// CHECK-LABEL: mtp.round @generate {
// CHECK: mtp.accept
// CHECK-LABEL: func.func @projection_inputs(
// CHECK-SAME: %[[T:.*]]: tensor<64xi32> {mtp.name = "tokens"}, %[[S:.*]]: tensor<64xi32> {mtp.name = "slots"}, %[[P:.*]]: tensor<64xi32> {mtp.name = "positions"})
// CHECK-SAME: -> (tensor<64x8xf32> {mtp.name = "gate up"}, tensor<64x8xf32> {mtp.name = "down"}, tensor<64x8xf32> {mtp.name = "embed"})
// CHECK: %[[E:.*]] = mtp.embed %[[T]], %{{.*}} -> tensor<64x8xf32>
// CHECK: %[[G:.*]] = mtp.linear %[[E]]
// CHECK: %[[U:.*]] = mtp.linear %[[E]]
// CHECK: %[[A:.*]] = mtp.swiglu %[[G]], %[[U]]
// CHECK: %[[D:.*]] = mtp.linear %[[A]]
// CHECK-NOT: mtp.linear
// CHECK: return %[[E]], %[[A]], %[[D]] :
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 64, page = 16>} {
mtp.round @generate {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %gw = mtp.weight "gate" : tensor<8x8xf32>
    %uw = mtp.weight "up" : tensor<8x8xf32>
    %dw = mtp.weight "down" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %g = mtp.linear %e, %gw : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %u = mtp.linear %e, %uw : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %a = mtp.swiglu %g, %u : tensor<?x8xf32>
    %d = mtp.linear %a, %dw : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %d, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %d : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// expected-error@below {{expected a round whose target needs tokens and rows only, to collect the inputs of projections}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 64, page = 16>} {
}
