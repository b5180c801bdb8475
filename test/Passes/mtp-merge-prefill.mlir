// RUN: mtp-opt %s --mtp-merge-prefill | FileCheck %s

// The prefill's ops come after the round's, with the values that the round's
// verify has computed for it, for the slots of prompts. Rows of the prompt are
// packed once for all reads ahead, and outputs have separate names.
// CHECK-LABEL: mtp.round @mixed k 1 prompts 6 {
// CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<?xi32>
// CHECK: %[[READING:.*]] = mtp.slots prompts
// CHECK: %[[L:.*]] = mtp.embed %[[READING]]
// CHECK: %[[H:.*]] = mtp.embed
// CHECK-NOT: mtp.prompt_values
// CHECK: mtp.output "picks" %[[SLOTS]]
// CHECK-NOT: mtp.slots
// CHECK-NOT: mtp.verify
// CHECK: %[[AHEAD:.*]], %{{.*}} = mtp.prompt_rows ahead 1
// CHECK: %[[TOKENS:.*]], %[[ROWS:.*]] = mtp.prompt_rows :
// CHECK: %[[PACKED:.*]], %{{.*}}, %{{.*}} = mtp.pack %[[ROWS]], %[[TOKENS]] :
// CHECK: mtp.prompt_rows ahead 2
// CHECK-NOT: mtp.pack
// CHECK: %[[E:.*]] = mtp.embed %[[AHEAD]]
// CHECK: %[[M:.*]] = mtp.mask_first %[[H]], %[[PACKED]]
// CHECK: %[[S:.*]] = mtp.add %[[E]], %[[M]]
// CHECK: %[[M2:.*]] = mtp.mask_first %[[S]], %[[PACKED]]
// CHECK: %[[S2:.*]] = mtp.add %[[S]], %[[M2]]
// CHECK: mtp.write_state %[[S2]], @hidden of %[[READING]]
// CHECK: mtp.output "prompt_logits" %[[L]]
// CHECK-NOT: mtp.prefill
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
mtp.round @mixed k 1 prompts 6 {
  %slots = mtp.slots : tensor<?xi32>
  %tokens, %rows = mtp.prompt_rows : tensor<?xi32>
  %reading = mtp.slots prompts : tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %l = mtp.embed %reading, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %h = mtp.embed %tokens, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.prompt_values %l, %h, %rows : tensor<?x8xf32>, tensor<?x8xf32>, !mtp.rows
  mtp.output "picks" %slots : tensor<?xi32>
}
mtp.prefill @prompt k 1 beside @mixed {
  %slots = mtp.slots : tensor<?xi32>
  %l, %h, %rows = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %r: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    mtp.yield %e, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x8xf32>, tensor<?x8xf32>, !mtp.rows)
  %ahead, %next = mtp.prompt_rows ahead 1 : tensor<?xi32>
  %further, %last = mtp.prompt_rows ahead 2 : tensor<?xi32>
  %w = mtp.weight "drafter" : tensor<16x8xf32>
  %e = mtp.embed %ahead, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %h, %next : tensor<?x8xf32>
  %s = mtp.add %e, %m : tensor<?x8xf32>
  %m2 = mtp.mask_first %s, %last : tensor<?x8xf32>
  %s2 = mtp.add %s, %m2 : tensor<?x8xf32>
  mtp.write_state %s2, @hidden of %slots : tensor<?x8xf32>, tensor<?xi32>
  mtp.output "logits" %l : tensor<?x8xf32>
}
mtp.state @hidden[max_k + 1, 8] : f32
}
