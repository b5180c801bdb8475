// RUN: mtp-opt %s --mtp-expand-verify | FileCheck %s

// Rows of recurrent layers state how many earlier rows are folded, the anchor
// and the accepted drafts, and how many rows are kept.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
mtp.recurrence @memory layers 1 heads 1 keys 2 values 4 key_heads 1 window 4

// CHECK-LABEL: mtp.round @chain k 2 {
// CHECK: %[[W:.*]]:6 = mtp.per_slot
// CHECK: %[[A:.*]] = mtp.load @accepted[] : i32
// CHECK: %[[STAY:.*]] = arith.addi %[[A]], %{{.*}} : i32
// CHECK: tensor.yield %[[STAY]] : i32
// CHECK: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK: tensor.yield %[[THREE]] : i32
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: %[[P:.*]] = mtp.reshape %[[W]]#4
// CHECK: %[[K:.*]] = mtp.reshape %[[W]]#5
// CHECK: %[[RUNS:.*]] = mtp.run_rows %[[ROWS]] pending %[[P]] keeps %[[K]]
// CHECK: %[[PACKED:.*]], %{{.*}}, %{{.*}} = mtp.pack %[[RUNS]],
// CHECK: mtp.causal_conv %{{.*}}, %{{.*}}, %[[PACKED]] in @memory[0]
mtp.round @chain k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.from_elements %slot, %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %c = mtp.causal_conv %e, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %c, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %c : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}

// Without drafts a window has the anchor; there is nothing to pack.
// CHECK-LABEL: mtp.round @plain k 0 {
// CHECK: %[[RUNS:.*]] = mtp.run_rows
// CHECK-NOT: mtp.pack
// CHECK: mtp.causal_conv %{{.*}}, %{{.*}}, %[[RUNS]] in @memory[0]
mtp.round @plain k 0 {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %c = mtp.causal_conv %e, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %c, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %c : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}

// Prompt rows of a mixed batch fold the same number, and keep one.
// CHECK-LABEL: mtp.round @mixed k 2 prompts 6 {
// CHECK: %[[RUNS:.*]] = mtp.run_rows
// CHECK: %{{.*}}, %[[PROMPT:.*]] = mtp.prompt_rows
// CHECK: %[[N:.*]]:2 = mtp.per_slot
// CHECK: %[[A:.*]] = mtp.load @accepted[] : i32
// CHECK: %[[STAY:.*]] = arith.addi %[[A]], %{{.*}} : i32
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: mtp.yield %[[STAY]], %[[ONE]] : i32, i32
// CHECK: %[[THEIRS:.*]] = mtp.run_rows %[[PROMPT]] pending %[[N]]#0 keeps %[[N]]#1
// CHECK: %[[BOTH:.*]], %{{.*}}, %{{.*}}, %{{.*}} = mtp.pack %[[RUNS]], %{{.*}} prompts %[[THEIRS]],
// CHECK: mtp.causal_conv %{{.*}}, %{{.*}}, %[[BOTH]] in @memory[0]
mtp.round @mixed k 2 prompts 6 {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.from_elements %slot, %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %c = mtp.causal_conv %e, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %c, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %c : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x2xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
}

// And so do those of a chunk.
// CHECK-LABEL: mtp.prefill @prompt k 0 {
// CHECK: %{{.*}}, %[[PROMPT:.*]] = mtp.prompt_rows
// CHECK: %[[N:.*]]:2 = mtp.per_slot
// CHECK: mtp.load @accepted[] : i32
// CHECK: %[[RUNS:.*]] = mtp.run_rows %[[PROMPT]] pending %[[N]]#0 keeps %[[N]]#1
// CHECK: mtp.causal_conv %{{.*}}, %{{.*}}, %[[RUNS]] in @memory[0]
mtp.prefill @prompt k 0 {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %cw = mtp.weight "conv" : tensor<8x4xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %c = mtp.causal_conv %e, %cw, %rows in @memory[0] : tensor<?x8xf32>, tensor<8x4xf32>
    %l = mtp.linear %c, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %c : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}
