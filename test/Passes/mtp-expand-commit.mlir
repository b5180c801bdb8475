// RUN: mtp-opt %s --mtp-expand-commit --split-input-file | FileCheck %s

// Only the states that the host reads exist: neither window nor hidden states
// are kept.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-DAG: mtp.state @length : i32
// CHECK-DAG: mtp.state @out_tokens[max_k + 1] : i32
// CHECK-DAG: mtp.state @out_count : i32
// CHECK-NOT: mtp.state
// CHECK-LABEL: mtp.round @bare k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[MADE:.*]]:3 = mtp.per_slot
// CHECK: mtp.per_slot %[[SLOTS]](%[[MADE]]#0, %[[MADE]]#1) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[COUNT:.*]]: i32, %[[PICKS:.*]]: tensor<3xi32>):
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: %[[GIVEN:.*]] = arith.addi %[[COUNT]], %[[ONE]]
// CHECK: %[[OLD:.*]] = mtp.load @length[]
// CHECK: %[[N:.*]] = arith.addi %[[OLD]], %[[GIVEN]]
// CHECK: mtp.store %[[N]], @length[]
// CHECK: mtp.store %[[GIVEN]], @out_count[]
// CHECK: %[[END:.*]] = arith.constant 3 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK: %[[TOKEN:.*]] = tensor.extract %[[PICKS]][
// CHECK: mtp.store %[[TOKEN]], @out_tokens[
// CHECK-NOT: mtp.store
// CHECK-NOT: mtp.write_state
mtp.round @bare k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<3xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>
}
}

// -----

// States that other expansions declared are written, too. A chain's hidden
// states are the first rows of the state, for any k.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
mtp.state @hidden[max_k + 1, 8] : f32
// CHECK-LABEL: mtp.round @chain k 1 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[MADE:.*]]:3 = mtp.per_slot
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[COUNT:.*]]: i32, %{{.*}}: tensor<2xi32>):
// CHECK: mtp.store %{{.*}}, @length[]
// CHECK: mtp.store %[[COUNT]], @accepted[]
// CHECK: mtp.store %[[TOKEN:.*]], @out_tokens[
// CHECK: mtp.store %[[TOKEN]], @window[
// CHECK: mtp.write_state %[[MADE]]#2, @hidden of %[[SLOTS]] :
mtp.round @chain k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<2xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>
}
// A prompt that ends in the chunk starts its slot: one token, and nothing was
// accepted. The hidden state of the chunk's last row is kept in any case.
// CHECK-LABEL: mtp.prefill @prompt k 0 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[MADE:.*]]:3 = mtp.per_slot
// CHECK: %[[TOKEN:.*]] = mtp.reshape %[[MADE]]#1
// CHECK: %[[LAST:.*]] = mtp.per_slot %[[SLOTS]](%[[TOKEN]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[PICK:.*]]: i32):
// CHECK: %[[START:.*]] = mtp.load @prompt_sequences[
// CHECK: %[[ROWS:.*]] = mtp.load @prompt_sequences[
// CHECK: %[[TOTAL:.*]] = mtp.load @prompt_sequences[
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[ROWS]]
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi eq, %[[END]], %[[TOTAL]]
// CHECK: scf.if %[[IS_WHOLE]] {
// CHECK: mtp.store %[[TOTAL]], @length[]
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: mtp.store %[[ONE]], @out_count[]
// CHECK: mtp.store %{{.*}}, @accepted[]
// CHECK: mtp.store %[[PICK]], @out_tokens[
// CHECK: mtp.store %[[PICK]], @window[
// CHECK: }
// CHECK: %[[FIRST:.*]] = mtp.load @prompt_sequences[
// CHECK: %[[BEHIND:.*]] = arith.addi %[[FIRST]], %[[ROWS]]
// CHECK: %[[ROW:.*]] = arith.addi %[[BEHIND]],
// CHECK: mtp.yield %[[ROW]] : i32
// CHECK: mtp.write_state %[[MADE]]#2[%[[LAST]]], @hidden of %[[SLOTS]] :
mtp.prefill @prompt k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<1xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<1xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>
}
}

// -----

// A tree: hidden states along the path. Its entries are moved into place in
// each cache that rows of a tree wrote, by any op, before the length changes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 16 : f32
mtp.cache @latent layers 1 entry 16 : f32
mtp.cache @own layers 1 entry 8 : f32
mtp.cache @other layers 1 entry 16 : f32
mtp.state @hidden[max_k + 1, 8] : f32
// CHECK-LABEL: mtp.round @tree k 2 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[MADE:.*]]:3 = mtp.per_slot
// CHECK: %[[H:.*]] = mtp.mla_attention
// CHECK: %[[MOVE:.*]]:3 = mtp.per_slot %[[SLOTS]](%[[MADE]]#2) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[PATH:.*]]: tensor<3xi32>):
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: %[[FIRST:.*]] = arith.muli
// From the node's entry,
// CHECK: %[[FROM:.*]] = tensor.generate
// CHECK: %[[NODE:.*]] = tensor.extract %[[PATH]][
// CHECK: %[[IS_NODE:.*]] = arith.cmpi sge, %[[NODE]],
// CHECK: %[[PLACE:.*]] = arith.addi %[[N]], %[[NODE]]
// CHECK: arith.select %[[IS_NODE]], %[[PLACE]], %[[NONE]]
// to the place in the path,
// CHECK: %[[TO:.*]] = tensor.generate
// CHECK: ^bb0(%[[I:.*]]: index):
// CHECK: %[[STEP:.*]] = arith.index_cast %[[I]]
// CHECK: arith.addi %[[N]], %[[STEP]]
// and the node's row among the rows of all slots.
// CHECK: %[[ROWS:.*]] = tensor.generate
// CHECK: %[[NODE:.*]] = tensor.extract %[[PATH]][
// CHECK: arith.addi %[[FIRST]], %[[NODE]]
// CHECK: mtp.yield %[[FROM]], %[[TO]], %[[ROWS]]
// CHECK: mtp.cache_move %[[MOVE]]#0 to %[[MOVE]]#1 of %[[SLOTS]] in @kv :
// CHECK-NEXT: mtp.cache_move %[[MOVE]]#0 to %[[MOVE]]#1 of %[[SLOTS]] in @latent :
// CHECK-NEXT: mtp.cache_move %[[MOVE]]#0 to %[[MOVE]]#1 of %[[SLOTS]] in @own :
// CHECK-NEXT: mtp.output "path" %[[MADE]]#2 :
// CHECK-NEXT: mtp.per_slot
// CHECK: mtp.store %{{.*}}, @length[]
// CHECK: mtp.write_state %[[H]][%[[MOVE]]#2], @hidden of %[[SLOTS]] : tensor<?x8xf32>[tensor<?x3xi32>], tensor<?xi32>
mtp.round @tree k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    mtp.yield %slot, %p, %p : i32, tensor<3xi32>, tensor<3xi32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>)
  %places = mtp.reshape %picks : tensor<?x3xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %places, %places : tensor<?xi32>
  %tree = mtp.tree_rows %rows [-1, 0, 0]
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %places, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %a = mtp.attention %x, %x, %x, %tree heads 1 kv_heads 1 scale 1.0 cache @kv[0]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %b = mtp.attention %a, %a, %a, %tree heads 1 kv_heads 1 scale 1.0 cache @kv[1]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %kv_b = mtp.weight "kv_b" : tensor<16x8xf32>
  %q = mtp.concat %b, %b : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x16xf32>
  %c = mtp.mla_attention %q, %b, %b, %kv_b, %tree heads 1 nope 8 rope 8 value 8 scale 1.0 cache @latent[0]
       : tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.cache_append %c, %tree into @own[0] at 0 : tensor<?x8xf32>
  %d = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @other[0]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  mtp.commit %count, %picks, %c along %path : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>, tensor<?x3xi32>
}
}

// -----

// A drafter's cache has entries only of the nodes that the drafter ran, at the
// places of its rows, and only these are moved. Entries of other nodes were
// never written. Rows that the next round runs again are not moved.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @own layers 1 entry 8 : f32
mtp.cache @again layers 1 entry 8 : f32
// CHECK-LABEL: mtp.round @drafter k 3 {
// CHECK: %[[MADE:.*]]:7 = mtp.per_slot
// CHECK-COUNT-3: mtp.make_tree_rows
// CHECK: %[[MOVE:.*]]:2 = mtp.per_slot %{{.*}}(%[[MADE]]#2, %[[MADE]]#4, %[[MADE]]#3, %[[MADE]]#3, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[PATH:.*]]: tensor<4xi32>, %[[PLACES:.*]]: tensor<2xi32>, %[[POSITIONS:.*]]: tensor<2xi32>, %[[ROOTS:.*]]: tensor<2xi32>, %[[PLACE:.*]]: tensor<1xi32>, %[[POSITION:.*]]: tensor<1xi32>, %[[ROOT:.*]]: tensor<1xi32>):
// CHECK: %[[FROM:.*]] = tensor.generate
// CHECK: %[[NODE:.*]] = tensor.extract %[[PATH]]
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// A node's row is found by its distance from its root.
// CHECK: %[[P0:.*]] = tensor.extract %[[PLACES]]
// CHECK: %[[R0:.*]] = tensor.extract %[[ROOTS]]
// CHECK: %[[OWN0:.*]] = arith.subi %[[P0]], %[[R0]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[NODE]], %[[OWN0]]
// CHECK: %[[LIVE:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}}
// CHECK: %[[IS0:.*]] = arith.andi %[[SAME]], %[[LIVE]]
// CHECK: %[[AT0:.*]] = tensor.extract %[[PLACES]]
// CHECK: arith.select %[[IS0]], %[[AT0]], %[[NONE]]
// CHECK: tensor.extract %[[ROOTS]]
// CHECK: tensor.extract %[[ROOT]]
// CHECK: tensor.extract %[[PLACE]]
// CHECK: %[[TO:.*]] = tensor.generate
// CHECK: tensor.extract %[[POSITIONS]]
// CHECK: tensor.extract %[[POSITION]]
// CHECK: mtp.yield %[[FROM]], %[[TO]] :
// CHECK-NEXT: } :
// CHECK-NEXT: mtp.cache_move %[[MOVE]]#0 to %[[MOVE]]#1 of %{{.*}} in @own :
// CHECK-NOT: mtp.cache_move
mtp.round @drafter k 3 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path, %at, %places, %bits, %bit = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<4xi32>
    %q = tensor.splat %slot : tensor<2xi32>
    %m = arith.constant dense<[3, 5]> : tensor<2xi64>
    %n = arith.constant 11 : i64
    mtp.yield %slot, %p, %p, %q, %q, %m, %n : i32, tensor<4xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, i64
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x4xi32>, tensor<?x4xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi64>, tensor<?xi64>)
  %s = mtp.reshape %at : tensor<?x2xi32> -> tensor<?xi32>
  %t = mtp.reshape %places : tensor<?x2xi32> -> tensor<?xi32>
  %m = mtp.reshape %bits : tensor<?x2xi64> -> tensor<?xi64>
  %first = mtp.make_tree_rows %s, %s from %s at %t seeing %m : tensor<?xi32>, tensor<?xi64>
  %second = mtp.make_tree_rows %slots, %slots from %slots at %slots seeing %bit : tensor<?xi32>, tensor<?xi64>
  %third = mtp.make_tree_rows %s, %s from %s at %t seeing %m refreshed : tensor<?xi32>, tensor<?xi64>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %s, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %y = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.cache_append %x, %first into @own[0] at 0 : tensor<?x8xf32>
  mtp.cache_append %y, %second into @own[0] at 0 : tensor<?x8xf32>
  mtp.cache_append %x, %third into @again[0] at 0 : tensor<?x8xf32>
  mtp.commit %count, %picks, %y along %path : tensor<?xi32>, tensor<?x4xi32>, tensor<?x8xf32>, tensor<?x4xi32>
}
}

// -----

// If a rule may put out other tokens than the target's picks, the host gives
// the anchor before a preemption.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @known[max_context + 1] : i32 init -1 rebuild tokens
// CHECK-LABEL: mtp.prefill @resumed k 0 {
// CHECK: mtp.per_slot %{{.*}}(%{{.*}}) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[PICK:.*]]: i32):
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: %[[WORD:.*]] = arith.index_cast %[[FOUR]] : i32 to index
// CHECK: %[[TOTAL:.*]] = mtp.load @prompt_sequences[%[[WORD]], %{{.*}}]
// CHECK: %[[AT:.*]] = arith.index_cast %[[TOTAL]] : i32 to index
// CHECK: %[[KNOWN:.*]] = mtp.load @known[%[[AT]]] : i32
// CHECK: %[[IS:.*]] = arith.cmpi sge, %[[KNOWN]], %{{.*}}
// CHECK: %[[TOKEN:.*]] = arith.select %[[IS]], %[[KNOWN]], %[[PICK]]
// CHECK: scf.if
// CHECK: mtp.store %[[TOKEN]], @out_tokens[
mtp.prefill @resumed k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<1xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<1xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>
}
}

// -----

// With more nodes than depth: the path's rows are k + 1 of each slot's five.
// CHECK-LABEL: mtp.round @deep k 2 nodes 5 {
// CHECK: %[[M:.*]]:3 = mtp.per_slot
// CHECK: %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK: arith.muli %{{.*}}, %[[FIVE]] : i32
// CHECK: mtp.yield %{{.*}} : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>
// CHECK: mtp.output "path" %{{.*}} : tensor<?x3xi32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 5>} {
mtp.round @deep k 2 nodes 5 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %path, %own = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    %o = tensor.splat %slot : tensor<5xi32>
    mtp.yield %slot, %p, %o : i32, tensor<3xi32>, tensor<5xi32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x5xi32>)
  %flat = mtp.reshape %own : tensor<?x5xi32> -> tensor<?xi32>
  %w = mtp.weight "embed" : tensor<16x8xf32>
  %e = mtp.embed %flat, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.commit %count, %path, %e along %path : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>, tensor<?x3xi32>
}
}

// -----

// For catch-ups, hidden states of committed rows are kept by position modulo 5;
// for a prompt, those of its last two rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @recent_hidden[5, 8] : f32 rebuild rows 2
// CHECK-LABEL: mtp.round @keeps k 1 {
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[MADE:.*]]:3 = mtp.per_slot
// CHECK: %[[INDEX:.*]] = mtp.per_slot %[[SLOTS]](%[[MADE]]#0) {
// CHECK: mtp.load @length[]
// CHECK: arith.remui
// CHECK: arith.constant -1 : i32
// CHECK: mtp.yield %{{.*}} : tensor<5xi32>
// CHECK: mtp.write_state %[[MADE]]#2[%[[INDEX]]], @recent_hidden of %[[SLOTS]] :
// CHECK: mtp.store %{{.*}}, @length[]
mtp.round @keeps k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<2xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>
}

// CHECK-LABEL: mtp.prefill @prompt k 2 {
// CHECK: mtp.write_state %{{.*}}, @recent_hidden of
mtp.prefill @prompt k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<1xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<1xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>
}

// Without drafting there is no catch-up.
// CHECK-LABEL: mtp.prefill @plain k 0 {
// CHECK-NOT: @recent_hidden
// CHECK: mtp.prefill @behind
mtp.prefill @plain k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<1xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<1xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>
}

// A row's hidden state is found by its position in its sequence.
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %{{.*}}, %[[ROWS:.*]] = mtp.prompt_rows :
// CHECK: %[[OF:.*]] = mtp.row_slots %[[ROWS]]
// CHECK: %[[PLACE:.*]] = mtp.per_slot %[[OF]] {
// CHECK-COUNT-2: arith.remui
// CHECK-NOT: arith.remui
// CHECK: %[[KEPT:.*]] = mtp.read_state @recent_hidden of %[[SLOTS]] rows 5
// CHECK: mtp.gather_rows %[[KEPT]], %[[PLACE]]
// CHECK-NOT: mtp.recent_hidden
mtp.prefill @behind k 2 catch_up 5 {
  %h = mtp.recent_hidden : tensor<?x8xf32>
  %w = mtp.weight "head" : tensor<16x8xf32>
  %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
}
}

// -----

// A slot with penalties counts the tokens that it emits.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @logit_rules[256] : i32
mtp.state @token_counts[32] : i32
mtp.state @logit_bias[64] : i32
// CHECK-LABEL: mtp.round @counted k 1 {
// CHECK: mtp.store %{{.*}}, @out_tokens[
// CHECK: %[[FLAGS:.*]] = mtp.load @logit_rules[
// CHECK: %[[HAS:.*]] = arith.remui %[[FLAGS]]
// CHECK: scf.if
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[OLD:.*]] = mtp.load @token_counts[%[[AT:.*]]]
// CHECK: %[[NEW:.*]] = arith.addi %[[OLD]], %{{.*}}
// CHECK: mtp.store %[[NEW]], @token_counts[
mtp.round @counted k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<2xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %f : i32, tensor<2xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>)
  mtp.commit %count, %picks, %h : tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>
}
}
