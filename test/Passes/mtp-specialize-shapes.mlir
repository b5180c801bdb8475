// RUN: mtp-opt %s --mtp-specialize-shapes | FileCheck %s
// RUN: mtp-opt %s --mtp-specialize-shapes=single | FileCheck %s --check-prefix=SINGLE

// A program for each n, with static numbers of rows.
// SINGLE-LABEL: exec.program @decode_b1_k0 decode k 0 n 1 to 1 {
// SINGLE-LABEL: exec.program @decode_b1_k1 decode k 1 n 1 to 1 {
// SINGLE-LABEL: exec.program @decode_b2_k0 decode k 0 n 2 to 2 {
// SINGLE: mtp.slots : tensor<2xi32>
// SINGLE-LABEL: exec.program @decode_b2_k1 decode k 1 n 2 to 2 {
// SINGLE: mtp.concat_rows {{.*}} -> tensor<6x8xf32>
// SINGLE-LABEL: exec.program @prefill_c1 prefill k 0 n 1 to 1 {
// SINGLE-LABEL: exec.program @prefill_c5_mtp prefill k 1 n 5 to 5 {
// SINGLE: mtp.prompt_rows ahead 2 : tensor<5xi32>
// SINGLE-LABEL: exec.program @prefill_c32 prefill k 0 n 32 to 32 {
// SINGLE-LABEL: exec.program @prefill_s2_c2 prefill sequences 2 k 0 n 2 to 2 {
// SINGLE-LABEL: exec.program @prefill_s2_c32_mtp prefill sequences 2 k 1 n 32 to 32 {
// SINGLE-NOT: #exec.count

// Each round becomes a program for all batches, each prefill one for all
// chunks: rows become counts of n. The distance of reading ahead and the
// vocabulary are attributes of the model.
// CHECK: module attributes {exec.model = {modules = 2 : i64, vocab = 16 : i64}
// States of slots get one more extent; the host's states exist, declared or
// not.
// CHECK-DAG: exec.state @length : memref<2xi32>{{$}}
// CHECK-DAG: exec.state @hidden : memref<2x2x8xf32> rebuild rows 2
// CHECK-DAG: exec.state @history : memref<2x64xi32> init -1 rebuild tokens
// CHECK-DAG: exec.state @out_tokens : memref<2x2xi32>
// CHECK-DAG: exec.state @out_count : memref<2xi32>
// CHECK-DAG: exec.state @sampling : memref<2x8xi32>
// CHECK-DAG: exec.state @page_table : memref<2x4xi32>
// CHECK-DAG: exec.state shared @active : memref<2xi32>
// CHECK-DAG: exec.state shared @prompt_tokens : memref<3x32xi32>
// CHECK-DAG: exec.state shared @prompt_positions : memref<3x32xi32>
// CHECK-DAG: exec.state shared @prompt_slots : memref<32xi32>
// CHECK-DAG: exec.state shared @prompt_sequences : memref<5x2xi32>
// CHECK-DAG: exec.state @bias : memref<2x8xf32> init 5.000000e-01 input
// CHECK-DAG: exec.state @kept : memref<2xi32> rebuild save
// CHECK-NOT: mtp.state
// CHECK-NOT: mtp.round

// The host reads after everything else.
// CHECK-LABEL: exec.program @decode_k0 decode k 0 n 1 to 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<?xi32, #exec.count<n>>
// CHECK: %[[L:.*]] = mtp.embed %[[SLOTS]], %{{.*}} -> tensor<?x16xf32, #exec.count<n>>
// CHECK: mtp.per_slot %[[SLOTS]] {
// CHECK: } : (tensor<?xi32, #exec.count<n>>) -> ()
// CHECK-NEXT: exec.output "logits" %[[L]] : tensor<?x16xf32, #exec.count<n>>
// CHECK-NEXT: }

// CHECK-LABEL: exec.program @decode_k1 decode k 1 n 1 to 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<?xi32, #exec.count<n>>
// CHECK: %[[P:.*]]:2 = mtp.per_slot %[[SLOTS]] {
// CHECK: } : (tensor<?xi32, #exec.count<n>>) -> (tensor<?x2xi32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>)
// CHECK: exec.await_host
// CHECK: %[[T:.*]] = mtp.reshape %[[P]]#0 : tensor<?x2xi32, #exec.count<n>> -> tensor<?xi32, #exec.count<2 * n>>
// CHECK: mtp.reshape %[[T]] : tensor<?xi32, #exec.count<2 * n>> -> tensor<?x2xi32, #exec.count<n>>
// CHECK: mtp.make_rows %[[T]], %[[T]] : tensor<?xi32, #exec.count<2 * n>>
// CHECK: mtp.pack %{{.*}}, %[[T]] : tensor<?xi32, #exec.count<2 * n>>
// CHECK: mtp.unpack {{.*}} -> tensor<?xi32, #exec.count<2 * n>>
// CHECK: mtp.read_state @hidden of %[[SLOTS]] rows 2 : {{.*}} -> tensor<?x8xf32, #exec.count<2 * n>>
// CHECK: mtp.read_state @hidden of %[[SLOTS]] : {{.*}} -> tensor<?x8xf32, #exec.count<n>>
// CHECK: mtp.concat_rows {{.*}} -> tensor<?x8xf32, #exec.count<3 * n>>
// CHECK: mtp.mask_first {{.*}} : tensor<?x8xf32, #exec.count<2 * n>>
// CHECK: mtp.gather_rows {{.*}} -> tensor<?x8xf32, #exec.count<n>>
// CHECK: mtp.linear {{.*}} -> tensor<?x16xf32, #exec.count<n>>
// CHECK: mtp.row_slots {{.*}} : tensor<?xi32, #exec.count<2 * n>>
// Readers of packed rows have one row per number.
// CHECK: mtp.gather {{.*}} : tensor<?x16xf32, #exec.count<2 * n>>, {{.*}} -> tensor<?x2xf32, #exec.count<n>>
// CHECK: mtp.sample_residual {{.*}} : (tensor<?x16xf32, #exec.count<2 * n>>, {{.*}} -> tensor<?xi32, #exec.count<n>>
// CHECK: mtp.write_state {{.*}} : tensor<?x8xf32, #exec.count<3 * n>>[tensor<?x2xi32, #exec.count<n>>], tensor<?xi32, #exec.count<n>>
// CHECK: exec.output "drafts" %[[P]]#0 : tensor<?x2xi32, #exec.count<n>>
// CHECK: exec.output "parents" %[[P]]#0 : tensor<?x2xi32, #exec.count<n>>
// CHECK: exec.output "of" %{{.*}} for tokens : tensor<?xi32, #exec.count<2 * n>>

// A chunk has one slot per sequence, whatever its number of rows: one program
// for one sequence, and others for 2 and 4 if there are enough slots.
// CHECK-LABEL: exec.program @prefill prefill k 0 n 1 to 32 {
// CHECK: %[[T:.*]], %{{.*}} = mtp.prompt_rows : tensor<?xi32, #exec.count<n>>
// CHECK: %[[L:.*]] = mtp.embed %[[T]], %{{.*}} -> tensor<?x16xf32, #exec.count<n>>
// CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<1xi32>
// CHECK: mtp.gather_rows %[[L]], %[[SLOTS]] : {{.*}} -> tensor<1x16xf32>
// CHECK-LABEL: exec.program @prefill_mtp prefill k 1 n 1 to 32 {
// CHECK: mtp.prompt_rows ahead 2 : tensor<?xi32, #exec.count<n>>
// CHECK-LABEL: exec.program @prefill_s2 prefill sequences 2 k 0 n 2 to 32 {
// CHECK: %[[T:.*]], %{{.*}} = mtp.prompt_rows : tensor<?xi32, #exec.count<n>>
// CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<2xi32>
// CHECK: mtp.gather_rows %{{.*}}, %[[SLOTS]] : {{.*}} -> tensor<2x16xf32>
// CHECK-LABEL: exec.program @prefill_s2_mtp prefill sequences 2 k 1 n 2 to 32 {
// A catch-up is for any number of sequences, with the same number of rows for
// each.
// CHECK-LABEL: exec.program @catch_up prefill sequences 2 catch_up 9 k 1 n 1 to 18 {
// CHECK: mtp.prompt_rows ahead 1 : tensor<?xi32, #exec.count<n>>
// CHECK-LABEL: exec.program @twice function
// CHECK-NOT: exec.program
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 32, page = 16>} {
mtp.state @length : i32
mtp.state @hidden[max_k + 1, 8] : f32 rebuild rows 2
mtp.state @history[max_context] : i32 init -1 rebuild tokens
mtp.state @bias[8] : f32 init 0.5 input
mtp.state @kept : i32 rebuild save

mtp.round @generate_k0 k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}

mtp.round @generate_k1 k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %grid, %last = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    %g = tensor.splat %n : tensor<2xi32>
    mtp.yield %g, %n : tensor<2xi32>, i32
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?xi32>)
  mtp.await_host %grid parents %grid : tensor<?x2xi32>, tensor<?x2xi32>
  %tokens = mtp.reshape %grid : tensor<?x2xi32> -> tensor<?xi32>
  %again = mtp.reshape %tokens : tensor<?xi32> -> tensor<?x2xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<?xi32>
  %packed, %of, %places = mtp.pack %rows, %tokens : tensor<?xi32>
  %own = mtp.unpack %of, %places : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %h = mtp.read_state @hidden of %slots rows 2 : tensor<?xi32> -> tensor<?x8xf32>
  %one = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  %both = mtp.concat_rows %one rows 1, %h rows 2 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %m = mtp.mask_first %h, %rows : tensor<?x8xf32>
  %t = mtp.gather_rows %m, %last : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  %v = mtp.weight "head" : tensor<16x8xf32>
  %l = mtp.linear %t, %v : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  mtp.output "logits" %l : tensor<?x16xf32>
  %slot_of = mtp.row_slots %packed : tensor<?xi32>
  %own_slot = mtp.unpack %slot_of, %places : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  mtp.output "of" %own_slot for tokens : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %e = mtp.embed %of, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %few = mtp.gather %e[%again] at %places : tensor<?x16xf32>, tensor<?x2xi32>, tensor<?xi32> -> tensor<?x2xf32>
  %u = mtp.per_slot %slots(%few) {
  ^bb0(%index: index, %slot: i32, %x: tensor<2xf32>):
    %c0 = arith.constant 0 : index
    %number = tensor.extract %x[%c0] : tensor<2xf32>
    mtp.yield %number : f32
  } : (tensor<?xi32>, tensor<?x2xf32>) -> tensor<?xf32>
  %r = mtp.sample_residual %e[%again] at %last by %u : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  mtp.output "r" %r : tensor<?xi32>
  mtp.write_state %both[%again], @hidden of %slots : tensor<?x8xf32>[tensor<?x2xi32>], tensor<?xi32>
}

mtp.prefill @prompt_k0 k 0 {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %slots = mtp.slots : tensor<?xi32>
  %own = mtp.gather_rows %l, %slots : tensor<?x16xf32>, tensor<?xi32> -> tensor<?x16xf32>
  mtp.output "logits" %own : tensor<?x16xf32>
}

mtp.prefill @prompt_k1 k 1 {
  %t, %rows = mtp.prompt_rows ahead 2 : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %slots = mtp.slots : tensor<?xi32>
  %own = mtp.gather_rows %l, %slots : tensor<?x16xf32>, tensor<?xi32> -> tensor<?x16xf32>
  mtp.output "logits" %own : tensor<?x16xf32>
}

mtp.prefill @behind k 1 catch_up 9 {
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
}

func.func @twice(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %y = mtp.add %x, %x : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
}
