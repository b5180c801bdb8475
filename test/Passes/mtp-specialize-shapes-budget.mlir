// RUN: mtp-opt %s --mtp-specialize-shapes | FileCheck %s
// RUN: mtp-opt %s --mtp-specialize-shapes=single | FileCheck %s --check-prefix=EACH

// If packed rows have a budget, batches that fit have the usual program, and
// larger batches another one, with the budget's number of rows.
// CHECK-LABEL: exec.program @decode_k0 decode k 0 n 1 to 4 {
// CHECK-LABEL: exec.program @decode_k1 decode k 1 n 1 to 2 {
// CHECK: mtp.pack {{.*}} at_most 5 : tensor<?xi32, #exec.count<2 * n>>{{$}}
// CHECK: mtp.embed {{.*}} -> tensor<?x16xf32, #exec.count<2 * n>>
// CHECK-LABEL: exec.program @decode_k1_from3 decode k 1 n 3 to 4 {
// CHECK: mtp.pack {{.*}} at_most 5 : tensor<?xi32, #exec.count<2 * n>> -> tensor<5xi32>
// CHECK: %[[L:.*]] = mtp.embed {{.*}} -> tensor<5x16xf32>
// CHECK: mtp.unpack {{.*}} : tensor<5xi32>, tensor<?xi32, #exec.count<2 * n>> -> tensor<?xi32, #exec.count<2 * n>>
// CHECK: exec.output "logits" %[[L]] : tensor<5x16xf32>

// Prompt rows do not count in the budget.
// CHECK-LABEL: exec.program @decode_k1_prompts decode prompts 3 k 1 n 1 to 2 {
// CHECK: mtp.pack {{.*}} at_most 5 : tensor<?xi32, #exec.count<2 * n>>, tensor<3xi32> -> tensor<?xi32, #exec.count<3 + 2 * n>>
// CHECK-LABEL: exec.program @decode_k1_prompts_from3 decode prompts 3 k 1 n 3 to 4 {
// CHECK: mtp.pack {{.*}} at_most 5 : tensor<?xi32, #exec.count<2 * n>>, tensor<3xi32> -> tensor<8xi32>

// EACH-LABEL: exec.program @decode_b2_k1 decode k 1 n 2 to 2 {
// EACH: mtp.pack {{.*}} at_most 5 : tensor<4xi32>{{$}}
// EACH-LABEL: exec.program @decode_b3_k1 decode k 1 n 3 to 3 {
// EACH: mtp.pack {{.*}} at_most 5 : tensor<6xi32> -> tensor<5xi32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 3, max_rows = 5>} {
mtp.round @generate_k0 k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}

mtp.round @generate_k1 k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %tokens = mtp.reshape %grid : tensor<?x2xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<?xi32>
  %packed, %of, %places = mtp.pack %rows, %tokens at_most 5 : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %of, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %own = mtp.unpack %of, %places : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  mtp.output "logits" %l : tensor<?x16xf32>
  mtp.output "tokens" %own : tensor<?xi32>
}

mtp.round @generate_k1_prompts k 1 prompts 3 {
  %slots = mtp.slots : tensor<?xi32>
  %grid = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %d = tensor.splat %slot : tensor<2xi32>
    mtp.yield %d : tensor<2xi32>
  } : (tensor<?xi32>) -> tensor<?x2xi32>
  %tokens = mtp.reshape %grid : tensor<?x2xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<?xi32>
  %text, %theirs = mtp.prompt_rows : tensor<?xi32>
  %packed, %of, %places, %more = mtp.pack %rows, %tokens prompts %theirs, %text at_most 5 : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %of, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}

mtp.prefill @prompt_k0 k 0 {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
}
}
