// RUN: mtp-opt %s --mtp-specialize-shapes | FileCheck %s

// Two modules and three drafts: refresh, refresh again, then the chain.

// CHECK: module attributes {exec.model = {modules = 2 : i64, vocab = 16 : i64}
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 32, page = 16>} {
// CHECK-DAG: exec.state @window : memref<2x4xi32>
// CHECK-DAG: exec.state shared @drafts : memref<2x3xi32>
// CHECK-DAG: exec.state @hidden : memref<2x4x8xf32>
// CHECK-DAG: exec.state @carry_2 : memref<2x8xf32> rebuild rows 2
// CHECK-DAG: exec.state @page_table : memref<2x5xi32>
// CHECK-DAG: exec.state shared @prefill_tokens : memref<34xi32>
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m1" : tensor<8x8xf32>
    %v = mtp.weight "head" : tensor<16x8xf32>
    %g = mtp.linear %h, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %g, %v : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  }, {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "m2" : tensor<8x8xf32>
    %v = mtp.weight "head" : tensor<16x8xf32>
    %g = mtp.linear %h, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %g, %v : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
// CHECK-NOT: mtp.round

// k = 0: no drafter, one row per slot.
// CHECK-LABEL: exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0
// CHECK-NOT: refresh_rows
// CHECK: %[[V:.*]]:3 = exec.invoke "verify_rows"({{.*}}) params [1, 0]
// CHECK-NEXT: %[[ROWS:.*]] = mtp.make_rows %[[V]]#1, %[[V]]#2 : tensor<1xi32>
// CHECK: %[[H:.*]] = mtp.embed %[[V]]#0, %{{.*}} -> tensor<1x8xf32>
// CHECK: %[[L:.*]] = mtp.linear %[[H]]
// CHECK: %[[P:.*]] = mtp.sample %[[L]], %[[ROWS]]
// CHECK: exec.invoke "accept_commit"({{%[0-9]+}}, %[[P]], {{%[0-9]+}}, %[[H]],
// CHECK: exec.output "logits" %[[L]] : tensor<1x16xf32>
// CHECK: exec.output "picks" %[[P]] : tensor<1xi32>

// k = 1: the first module alone, k + 1 rows.
// CHECK-LABEL: exec.program @decode_b1_k1
// CHECK: exec.invoke "refresh_rows"({{.*}}) params [1, 1, 1]
// CHECK-NOT: "m2"
// CHECK: exec.invoke "verify_rows"({{.*}}) params [1, 1]

// k = 3 for two slots: refreshes of k + d rows per slot and one chained row.
// CHECK-LABEL: exec.program @decode_b2_k3 "decode" batch 2 k 3 chunk 0
// CHECK: %[[R1:.*]]:4 = exec.invoke "refresh_rows"({{.*}}) params [2, 3, 1] {{.*}} -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<2xi32>)
// CHECK: %[[C1:.*]] = exec.invoke "refresh_hidden"({{.*}}) params [2, 3] {{.*}} -> tensor<8x8xf32>
// CHECK: mtp.weight "m1"
// CHECK: %[[G1:.*]] = mtp.linear %[[C1]]
// CHECK: %[[L1:.*]] = mtp.linear %[[G1]], %{{.*}} -> tensor<8x16xf32>
// CHECK: %[[S1:.*]] = mtp.take_rows %[[L1]], %[[R1]]#3 {{.*}} -> tensor<2x16xf32>
// The draft is picked by the accept op's region, for the row that will verify it.
// CHECK: %[[AT1:.*]]:2 = exec.invoke "draft_rows"({{.*}}) params [2, 1] {{.*}} -> (tensor<2xi32>, tensor<2xi32>)
// CHECK: %[[R1D:.*]] = mtp.make_rows %[[AT1]]#0, %[[AT1]]#1
// CHECK: %[[D1:.*]] = mtp.sample %[[S1]], %[[R1D]]
// CHECK: exec.invoke "put_drafts"(%[[D1]], %{{.*}}) params [2, 0]
// The second module goes on from the first one's hidden states and its carry.
// CHECK: %[[R2:.*]]:4 = exec.invoke "refresh_rows"({{.*}}) params [2, 3, 2] {{.*}} -> (tensor<10xi32>,
// CHECK: %[[CARRY:.*]] = exec.ref @carry_2
// CHECK: %[[C2:.*]] = exec.invoke "shift_hidden"(%{{.*}}, %{{.*}}, %[[CARRY]], %[[G1]]) params [2, 3, 2] {{.*}} -> tensor<10x8xf32>
// CHECK: mtp.weight "m2"
// CHECK: %[[G2:.*]] = mtp.linear %[[C2]]
// CHECK: "draft_rows"{{.*}} params [2, 2]
// CHECK: put_drafts{{.*}} params [2, 1]
// CHECK: %[[LAST:.*]] = mtp.take_rows %[[G2]], %[[R2]]#3 {{.*}} -> tensor<2x8xf32>
// Deeper than the modules: the last one again, one row per slot.
// CHECK: exec.invoke "chain_rows"({{.*}}) params [2, 1, 1] {{.*}} -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
// CHECK: mtp.weight "m2"
// CHECK: mtp.linear %[[LAST]], %{{.*}} -> tensor<2x8xf32>
// CHECK: "draft_rows"{{.*}} params [2, 3]
// CHECK: put_drafts{{.*}} params [2, 2]
// CHECK: exec.invoke "verify_rows"({{.*}}) params [2, 3] {{.*}} -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)

// CHECK-LABEL: exec.program @prefill_c32 "prefill" batch 1 k 0 chunk 32
// CHECK: exec.invoke "prefill_rows"({{.*}}) params [32, 0]
// CHECK-NOT: prefill_rows
// CHECK: exec.invoke "prefill_commit"({{.*}}) params [32]

// Each module's rows are shifted by one more token; a carry is saved between.
// CHECK-LABEL: exec.program @prefill_c8_mtp "prefill" batch 1 k 2 chunk 8
// CHECK: %[[T:.*]]:4 = exec.invoke "prefill_rows"({{.*}}) params [8, 0]
// CHECK: %[[X:.*]] = mtp.embed %[[T]]#0
// CHECK: %[[ALL:.*]] = mtp.linear %[[X]]
// CHECK: %[[ONE:.*]] = mtp.take_rows %[[ALL]], %[[T]]#3 {{.*}} -> tensor<1x16xf32>
// CHECK: %[[PICK:.*]] = mtp.sample %[[ONE]]
// CHECK: exec.invoke "prefill_rows"({{.*}}) params [8, 1]
// CHECK: %[[M1:.*]] = mtp.linear %[[X]], %{{.*}} -> tensor<8x8xf32>
// CHECK: exec.invoke "prefill_carry"(%{{.*}}, %[[M1]], %{{.*}}) params [8, 2]
// CHECK: exec.invoke "prefill_rows"({{.*}}) params [8, 2]
// CHECK: mtp.linear %[[M1]]
// CHECK: exec.invoke "prefill_commit"(%{{.*}}, %[[PICK]], %[[X]],

// The logits of all rows, for scoring: the target alone, on rows that are given.
// CHECK-LABEL: exec.program @prompt_logits "function" batch 0 k 0 chunk 0
// CHECK: %[[TOKENS:.*]] = exec.input "tokens" : tensor<32xi32>
// CHECK: %[[SLOTS:.*]] = exec.input "slots" : tensor<32xi32>
// CHECK: %[[AT:.*]] = exec.input "positions" : tensor<32xi32>
// CHECK: mtp.make_rows %[[SLOTS]], %[[AT]]
// CHECK: mtp.embed %[[TOKENS]]
// CHECK: %[[EVERY:.*]] = mtp.linear
// CHECK-NEXT: exec.output "logits" %[[EVERY]] : tensor<32x16xf32>
}
