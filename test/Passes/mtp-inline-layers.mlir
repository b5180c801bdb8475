// RUN: mtp-opt %s --split-input-file --mtp-inline-layers | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @target layers 2 entry 16 : bf16
mtp.cache @drafter layers 1 entry 16 : bf16

// CHECK-NOT: func.func private
func.func private @attend(%x: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  %w = mtp.weight "q_proj.weight" : tensor<8x8xf32>
  %q = mtp.linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
  %y = mtp.attention %q, %x, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @layer(%x: tensor<?x8xf32>, %rows: !mtp.rows) -> tensor<?x8xf32> {
  // No cache here: the caller's is used.
  %y = mtp.apply @attend(%x, %rows) weights "self_attn." : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func private @base(%t: tensor<?xi32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  %w = mtp.weight "/embed.weight" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %0 = mtp.apply @layer(%e, %rows) weights "model.layers.0." cache @target[0] : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
  %1 = mtp.apply @layer(%0, %rows) weights "model.layers.1." cache @target[1] : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
  %l = mtp.linear %1, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %1 : tensor<?x16xf32>, tensor<?x8xf32>
}
func.func private @module(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  %w = mtp.weight "/embed.weight" : tensor<16x8xf32>
  // func.call passes the context on unchanged.
  %y = func.call @attend(%h, %rows) : (tensor<?x8xf32>, !mtp.rows) -> tensor<?x8xf32>
  %l = mtp.linear %y, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return %l, %y : tensor<?x16xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: mtp.round @generate
mtp.round @generate {
  // CHECK: mtp.draft_chain {
  // CHECK: ^bb0(%[[T:.*]]: tensor<?xi32>, %[[H:.*]]: tensor<?x8xf32>, %[[ROWS:.*]]: !mtp.rows):
  // CHECK: mtp.weight "embed.weight"
  // CHECK: mtp.weight "mtp.0.q_proj.weight"
  // CHECK: mtp.attention %{{.*}}, %[[H]], %[[H]], %[[ROWS]] heads 1 kv_heads 1 scale {{.*}} cache @drafter[0]
  // CHECK-NOT: mtp.apply
  // CHECK: mtp.yield
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %l, %g = mtp.apply @module(%t, %h, %rows) weights "mtp.0." cache @drafter[0]
             : (tensor<?xi32>, tensor<?x8xf32>, !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>)
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  // CHECK: mtp.verify
  // CHECK: mtp.weight "embed.weight"
  // CHECK: mtp.weight "model.layers.0.self_attn.q_proj.weight"
  // CHECK: mtp.attention {{.*}} cache @target[0]
  // CHECK: mtp.weight "model.layers.1.self_attn.q_proj.weight"
  // CHECK: %[[Y:.*]] = mtp.attention {{.*}} cache @target[1]
  // CHECK: mtp.yield %{{.*}}, %[[Y]]
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @base(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x16xf32>, tensor<?x8xf32>)
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A body calls functions of ops that it may contain itself.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
func.func private @behind(%n: i32) -> i32 {
  %m = func.call @read_length() : () -> i32
  %s = arith.addi %n, %m : i32
  return %s : i32
}
func.func private @read_length() -> i32 {
  %m = mtp.load @length[] : i32
  return %m : i32
}
// CHECK-NOT: func.func
// CHECK-LABEL: mtp.round @body
// CHECK: mtp.per_slot
// CHECK: ^bb0(%{{.*}}: index, %[[SLOT:.*]]: i32):
// CHECK: %[[M:.*]] = mtp.load @length[] : i32
// CHECK: %[[S:.*]] = arith.addi %[[SLOT]], %[[M]]
// CHECK: mtp.yield %[[S]]
// CHECK-NOT: func.func
mtp.round @body {
  %slots = mtp.slots : tensor<?xi32>
  %x = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %s = func.call @behind(%slot) : (i32) -> i32
    mtp.yield %s : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  mtp.output "picks" %x : tensor<?xi32>
}
}

// -----

// Widths that a function leaves open follow from the operands, through calls
// and loops.
// CHECK-LABEL: func.func @widths
// CHECK: %[[S:.*]] = mtp.silu %{{.*}} : tensor<?x8xf32>
// CHECK: %[[N:.*]] = mtp.rms_norm %[[S]], %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
// CHECK: %[[L:.*]] = mtp.linear %[[N]], %{{.*}} : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
// CHECK: %[[A:.*]] = scf.for {{.*}} iter_args(%[[B:.*]] = %[[L]]) -> (tensor<?x16xf32>) {
// CHECK: mtp.silu %[[B]] : tensor<?x16xf32>
// CHECK: %[[C:.*]] = mtp.concat %[[A]], %[[N]] : tensor<?x16xf32>, tensor<?x8xf32> -> tensor<?x24xf32>
// CHECK: %[[T:.*]] = mtp.silu %{{.*}} : tensor<?x24xf32>
// CHECK-NOT: cast
// CHECK: return %[[C]], %[[T]] : tensor<?x24xf32>, tensor<?x24xf32>
func.func private @gate(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = mtp.silu %x : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func private @block(%x: tensor<?x?xf32>, %norm: tensor<?xf32>, %w: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = func.call @gate(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %n = mtp.rms_norm %s, %norm eps 1.0e-6 : tensor<?x?xf32>, tensor<?xf32>
  %l = mtp.linear %n, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %a = scf.for %i = %c0 to %c2 step %c1 iter_args(%b = %l) -> (tensor<?x?xf32>) {
    %g = func.call @gate(%b) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    scf.yield %g : tensor<?x?xf32>
  }
  %c = mtp.concat %a, %n : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}
func.func @widths(%x: tensor<?x8xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %norm = mtp.weight "norm" : tensor<8xf32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %y = mtp.apply @block(%x, %norm, %w) : (tensor<?x8xf32>, tensor<8xf32>, tensor<16x8xf32>) -> tensor<?x24xf32>
  %z = mtp.apply @gate(%y) : (tensor<?x24xf32>) -> tensor<?x24xf32>
  return %y, %z : tensor<?x24xf32>, tensor<?x24xf32>
}
