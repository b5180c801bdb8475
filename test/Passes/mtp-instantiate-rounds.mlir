// RUN: mtp-opt %s --mtp-instantiate-rounds --split-input-file | FileCheck %s

// A round of readable ops: an instance per k, the prefill that follows from the
// ops, and the target as a function.
// CHECK-NOT: mtp.custom_rule
// CHECK-NOT: mtp.round @generate {
// CHECK-LABEL: mtp.round @generate_k0 k 0 {
// CHECK-NOT: mtp.draft_chain
// CHECK: %[[L:.*]], %[[H:.*]], %[[ROWS:.*]] = mtp.verify {
// CHECK: } : () -> (tensor<?x16xf32>, tensor<?x8xf32>, !mtp.rows)
// CHECK: %[[COUNT:.*]], %[[PICKS:.*]] = mtp.accept %[[L]] of %[[ROWS]] exact {
// CHECK: mtp.commit %[[COUNT]], %[[PICKS]], %[[H]] :
// CHECK-LABEL: mtp.round @generate_k1 k 1 {
// CHECK: %[[D:.*]] = mtp.draft_chain {
// CHECK: %[[L:.*]], %{{.*}}, %[[ROWS:.*]] = mtp.verify %[[D]] {
// CHECK: mtp.accept %[[D]], %[[L]] of %[[ROWS]] exact {
// CHECK-LABEL: mtp.round @generate_k2 k 2 {
// CHECK: mtp.draft_chain
// CHECK-NOT: mtp.round

// The prefill: the drafter comes after the target, whose hidden states it
// reads.
// CHECK-LABEL: mtp.prefill @generate_prompt_k0 k 0 {
// CHECK-NOT: mtp.draft_chain
// CHECK: mtp.verify {
// CHECK: mtp.accept
// CHECK: mtp.commit
// CHECK-LABEL: mtp.prefill @generate_prompt_k2 k 2 {
// CHECK: %[[L:.*]], %[[H:.*]], %[[ROWS:.*]] = mtp.verify {
// CHECK: %[[COUNT:.*]], %[[PICKS:.*]] = mtp.accept %[[L]] of %[[ROWS]] exact {
// CHECK: mtp.draft_chain {
// CHECK: mtp.commit %[[COUNT]], %[[PICKS]], %[[H]] :
// CHECK-NOT: mtp.prefill

// At most 32 rows, in a chunk of 64.
// CHECK-LABEL: func.func @prompt_logits(
// CHECK-SAME: %[[T:.*]]: tensor<32xi32> {mtp.name = "tokens"}, %[[S:.*]]: tensor<32xi32> {mtp.name = "slots"}, %[[P:.*]]: tensor<32xi32> {mtp.name = "positions"}) -> (tensor<32x16xf32> {mtp.name = "logits"})
// CHECK: mtp.make_rows %[[S]], %[[P]] : tensor<32xi32>
// CHECK: %[[E:.*]] = mtp.embed %[[T]], %{{.*}} -> tensor<32x8xf32>
// CHECK: %[[L:.*]] = mtp.linear %[[E]], %{{.*}} -> tensor<32x16xf32>
// CHECK: return %[[L]]
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 64, page = 16>} {
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %h, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %h : tensor<?x16xf32>, tensor<?x8xf32>
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
}

// -----

// A tree: the path goes from accept to commit; at k = 0 there is none. The
// module says which tree.
// CHECK: module attributes {{{.*}}mtp.tree = array<i64: -1, 0, 0>}
// CHECK-LABEL: mtp.round @tree_k0 k 0 {
// CHECK-NOT: tree [
// CHECK: mtp.commit %{{.*}}, %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?x1xi32>, tensor<?x8xf32>
// CHECK-LABEL: mtp.round @tree_k1 k 1 {
// CHECK: %[[D:.*]] = mtp.per_slot
// CHECK: -> tensor<?x1xi32>
// CHECK: mtp.verify %[[D]] tree [-1, 0, 0] {
// CHECK: } : (tensor<?x1xi32>) ->
// CHECK: %[[COUNT:.*]], %[[PICKS:.*]], %[[PATH:.*]] = mtp.accept %[[D]], %{{.*}} exact tree [-1, 0, 0] {
// CHECK: mtp.commit %[[COUNT]], %[[PICKS]], %{{.*}} along %[[PATH]] :
// CHECK-LABEL: mtp.round @tree_k2 k 2 {
// CHECK: mtp.verify %{{.*}} tree [-1, 0, 0] {
// CHECK: } : (tensor<?x2xi32>) ->
// Nothing is drafted for a prompt, and no op depends on k.
// CHECK-LABEL: mtp.prefill @tree_prompt_k0 k 0 {
// CHECK-NOT: tree [
// CHECK-NOT: mtp.prefill
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @tree {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %k = mtp.k
    %d = tensor.generate %k {
    ^bb0(%j: index):
      tensor.yield %slot : i32
    } : tensor<?xi32>
    mtp.yield %d : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A slot's own tree: a column of parents for every draft and one more. At k =
// 0, and in a prefill, there is no tree.
// CHECK-LABEL: mtp.round @own_k0 k 0 {
// CHECK-NOT: parents
// CHECK-LABEL: mtp.round @own_k1 k 1 {
// CHECK-LABEL: mtp.round @own_k2 k 2 {
// CHECK: %[[MADE:.*]]:2 = mtp.per_slot
// CHECK: -> (tensor<?x2xi32>, tensor<?x3xi32>)
// CHECK: mtp.verify %[[MADE]]#0 parents %[[MADE]]#1 {
// CHECK: } : (tensor<?x2xi32>, tensor<?x3xi32>) ->
// CHECK: %[[COUNT:.*]], %[[PICKS:.*]], %[[PATH:.*]] = mtp.accept %[[MADE]]#0, %{{.*}} exact parents %[[MADE]]#1 {
// CHECK: mtp.commit %[[COUNT]], %[[PICKS]], %{{.*}} along %[[PATH]] :
// CHECK-LABEL: mtp.prefill @own_prompt_k0 k 0 {
// CHECK-NOT: parents
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @own {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %one = arith.constant 1 : index
    %k = mtp.k
    %nodes = arith.addi %k, %one : index
    %d = tensor.generate %k {
    ^bb0(%j: index):
      tensor.yield %slot : i32
    } : tensor<?xi32>
    %p = tensor.generate %nodes {
    ^bb0(%j: index):
      tensor.yield %slot : i32
    } : tensor<?xi32>
    mtp.yield %d, %p : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  %logits, %hidden = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact parents %parents {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, tensor<?x?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// Code that depends on k: a loop of the round is unrolled, a condition decided,
// and extents follow, including those of values that other bodies read. The
// module has a prefill, so none is made, and since it does not depend on k
// there is one instance. The rule in code is not known to be exact.
// CHECK: module attributes {{{.*}}mtp.custom_rule
// CHECK-LABEL: mtp.round @core_k0 k 0 {
// CHECK-NOT: mtp.embed
// CHECK: %[[A:.*]] = mtp.per_slot
// CHECK: %[[G:.*]] = mtp.per_slot %{{.*}}(%[[A]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[T:.*]]: i32):
// CHECK-NOT: scf.if
// CHECK: tensor.generate
// CHECK: tensor.yield %[[T]] : i32
// CHECK: } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x1xi32>
// CHECK: mtp.per_slot %{{.*}}(%[[G]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %{{.*}}: tensor<1xi32>):
// CHECK: arith.constant 1 : i32
// CHECK-LABEL: mtp.round @core_k1 k 1 {
// CHECK-COUNT-1: mtp.embed
// CHECK-NOT: mtp.embed
// CHECK: -> tensor<?x2xi32>
// CHECK-LABEL: mtp.round @core_k2 k 2 {
// CHECK-NOT: scf.for
// CHECK: %[[A:.*]] = mtp.per_slot
// CHECK: %[[L1:.*]] = mtp.embed %[[A]]
// CHECK: %[[T1:.*]] = mtp.argmax %[[L1]]
// CHECK: %[[L2:.*]] = mtp.embed %[[T1]]
// CHECK: %[[T2:.*]] = mtp.argmax %[[L2]]
// CHECK: mtp.per_slot %{{.*}}(%[[T2]]) {
// CHECK: -> tensor<?x3xi32>
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %{{.*}}: tensor<3xi32>):
// CHECK: arith.constant 3 : i32
// CHECK-LABEL: mtp.prefill @prompt_k0 k 0 {
// CHECK-NOT: mtp.prefill
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @core {
  %slots = mtp.slots : tensor<?xi32>
  %bigrams = mtp.weight "bigrams" : tensor<16x16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = mtp.k
  %anchor = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    mtp.yield %n : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  %last = scf.for %j = %c0 to %k step %c1 iter_args(%t = %anchor) -> tensor<?xi32> {
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %next = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    scf.yield %next : tensor<?xi32>
  }
  %grid = mtp.per_slot %slots(%last) {
  ^bb0(%index: index, %slot: i32, %t: i32):
    %one = arith.constant 1 : index
    %here = mtp.k
    %rows = arith.addi %here, %one : index
    %isLong = arith.cmpi sge, %here, %rows : index
    %value = scf.if %isLong -> i32 {
      scf.yield %slot : i32
    } else {
      scf.yield %t : i32
    }
    %g = tensor.generate %rows {
    ^bb0(%j: index):
      tensor.yield %value : i32
    } : tensor<?xi32>
    mtp.yield %g : tensor<?xi32>
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>
  mtp.per_slot %slots(%grid) {
  ^bb0(%index: index, %slot: i32, %g: tensor<?xi32>):
    %zero = arith.constant 0 : index
    %size = tensor.dim %g, %zero : tensor<?xi32>
    %n = arith.index_cast %size : index to i32
    %first = tensor.extract %g[%zero] : tensor<?xi32>
    %sum = arith.addi %n, %first : i32
    mtp.store %sum, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?x?xi32>) -> ()
}
mtp.prefill @prompt {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
}
}

// -----

// A prefill that depends on k has instances for no drafts and for all drafts.
// CHECK-LABEL: mtp.prefill @prompt_k0 k 0 {
// CHECK: %[[K:.*]] = arith.constant 0 : i32
// CHECK: mtp.store %[[K]], @length[]
// CHECK-LABEL: mtp.prefill @prompt_k2 k 2 {
// CHECK: %[[K:.*]] = arith.constant 2 : i32
// CHECK: mtp.store %[[K]], @length[]
// CHECK-NOT: mtp.prefill
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @core {
}
mtp.prefill @prompt {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %k = mtp.k
    %n = arith.index_cast %k : index to i32
    mtp.store %n, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// Ops with a k stay unchanged.
// CHECK-LABEL: mtp.round @done k 0 {
// CHECK-NOT: mtp.round
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @done k 0 {
}
}

// -----

// A rule is instantiated with its round. Without drafts, and in a prefill,
// there is no rule and there are no draft logits.
// CHECK-LABEL: mtp.round @rule_k0 k 0 {
// CHECK: mtp.accept %{{.*}} of %{{.*}} exact {
// CHECK-NOT: rule
// CHECK-LABEL: mtp.round @rule_k1 k 1 {
// CHECK: %[[D:.*]], %[[Q:.*]] = mtp.draft_chain
// CHECK: mtp.accept %[[D]], %{{.*}} with %[[Q]] of %{{.*}} custom {
// CHECK: } rule (slots, draft_logits, logits, picks) {
// CHECK: ^bb0(%{{.*}}: tensor<?xi32>, %{{.*}}: tensor<?x1x16xf32>, %{{.*}}: tensor<?x2x16xf32>, %[[P:.*]]: tensor<?x2xi32>):
// CHECK: %[[T:.*]] = mtp.per_slot
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %{{.*}}: tensor<2xi32>):
// CHECK: mtp.yield %{{.*}}, %[[T]] : tensor<?xi32>, tensor<?x2xi32>
// CHECK-LABEL: mtp.prefill @rule_prompt_k0 k 0 {
// CHECK: mtp.accept %{{.*}} of %{{.*}} exact {
// CHECK-NOT: rule
// CHECK-LABEL: mtp.prefill @rule_prompt_k1 k 1 {
// CHECK: mtp.accept %{{.*}} of %{{.*}} exact {
// CHECK: mtp.draft_chain
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 64, page = 16>} {
mtp.round @rule {
  %drafts, %from = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>, tensor<?x?x16xf32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "target" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>)
  %count, %tokens = mtp.accept %drafts, %logits with %from custom {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } rule (slots, draft_logits, logits, picks) {
  ^bb0(%slots: tensor<?xi32>, %q: tensor<?x?x16xf32>, %l: tensor<?x?x16xf32>, %p: tensor<?x?xi32>):
    %t = mtp.per_slot %slots(%p) {
    ^bb0(%index: index, %slot: i32, %own: tensor<?xi32>):
      %k = mtp.k
      %c1 = arith.constant 1 : index
      %n = arith.addi %k, %c1 : index
      %all = tensor.generate %n {
      ^bb0(%j: index):
        %token = tensor.extract %own[%j] : tensor<?xi32>
        tensor.yield %token : i32
      } : tensor<?xi32>
      mtp.yield %all : tensor<?xi32>
    } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
    mtp.yield %slots, %t : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>, tensor<?x?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x16xf32>
}
}

// -----

// Values captured by regions of the round are cloned with them, into the made
// prefill and into the target as a function. Their operands come before them,
// and each is cloned once per place. Values that no region captures stay.
// CHECK-LABEL: mtp.round @captured_k0 k 0 {
// CHECK: mtp.weight "mixed"
// CHECK-LABEL: mtp.prefill @captured_prompt_k0 k 0 {
// CHECK-NOT: mtp.weight "unused"
// CHECK-DAG: %[[MIXED:.*]] = mtp.weight "mixed"
// CHECK: mtp.verify {
// CHECK: mtp.linear %{{.*}}, %[[MIXED]]
// CHECK: mtp.accept
// CHECK: mtp.commit
// CHECK-LABEL: mtp.prefill @captured_prompt_k2 k 2 {
// CHECK: %[[MIXED:.*]] = mtp.weight "mixed"
// CHECK-NOT: mtp.weight "mixed"
// CHECK: mtp.verify {
// CHECK: mtp.linear %{{.*}}, %[[MIXED]]
// CHECK: mtp.accept
// CHECK: mtp.add %{{.*}}, %[[BIAS:.*]] :
// CHECK: mtp.draft_chain {
// CHECK: mtp.linear %{{.*}}, %[[MIXED]]
// CHECK-LABEL: func.func @prompt_logits(
// CHECK: %[[MIXED:.*]] = mtp.weight "mixed"
// CHECK: mtp.linear %{{.*}}, %[[MIXED]] {{.*}} -> tensor<8x8xf32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @captured {
  %unused = mtp.weight "unused" : tensor<8x8xf32>
  %mixed = mtp.weight "mixed" : tensor<8x8xf32>
  %slots = mtp.slots : tensor<?xi32>
  %table = mtp.weight "table" : tensor<16x16xf32>
  %bias = mtp.embed %slots, %table : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %g = mtp.linear %h, %mixed : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %z = mtp.linear %e, %mixed : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %z, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %b = mtp.add %l, %bias : tensor<?x16xf32>
    %s = mtp.sample %b, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// This also holds for a prefill that reads the prompt ahead, as only drafters
// do.
// CHECK-LABEL: mtp.prefill @ahead_k0 k 0 {
// CHECK: mtp.prompt_rows ahead 1
// CHECK-LABEL: mtp.prefill @ahead_k2 k 2 {
// CHECK: mtp.prompt_rows ahead 1
// CHECK-NOT: mtp.prefill
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @core {
}
mtp.prefill @ahead {
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
}
}

// -----

// Kernels over groups of logits have one result per group.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @groups_k2 k 2 {
// CHECK: ^bb0(%[[S:.*]]: tensor<?xi32>, %[[D:.*]]: tensor<?x2xi32>, %[[L:.*]]: tensor<?x3x16xf32>):
// CHECK: mtp.log_sum_exp %[[L]] : tensor<?x3x16xf32> -> tensor<?x3xf32>
// CHECK: mtp.entropy %[[L]] : tensor<?x3x16xf32> -> tensor<?x3xf32>
// CHECK: mtp.top_k %[[L]] k 4 : tensor<?x3x16xf32> -> tensor<?x3x4xi32>, tensor<?x3x4xf32>
// CHECK: mtp.probabilities %[[L]] of %[[S]] : tensor<?x3x16xf32>, tensor<?xi32>
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %{{.*}}: tensor<2xi32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<3x4xi32>, %{{.*}}: tensor<3x16xf32>):
mtp.round @groups {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>)
  %count, %tokens = mtp.accept %drafts, %logits custom {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, drafts, logits) {
  ^bb0(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %l: tensor<?x?x16xf32>):
    %s = mtp.log_sum_exp %l : tensor<?x?x16xf32> -> tensor<?x?xf32>
    %h = mtp.entropy %l : tensor<?x?x16xf32> -> tensor<?x?xf32>
    %b, %m = mtp.top_k %l k 4 : tensor<?x?x16xf32> -> tensor<?x?x4xi32>, tensor<?x?x4xf32>
    %p = mtp.probabilities %l of %slots : tensor<?x?x16xf32>, tensor<?xi32>
    %n, %u = mtp.per_slot %slots(%d, %s, %h, %b, %p) {
    ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %sum: tensor<?xf32>, %entropy: tensor<?xf32>, %best: tensor<?x4xi32>, %share: tensor<?x16xf32>):
      %c0 = arith.constant 0 : index
      %first = tensor.extract %draft[%c0] : tensor<?xi32>
      %a = tensor.extract %sum[%c0] : tensor<?xf32>
      %e = tensor.extract %entropy[%c0] : tensor<?xf32>
      %x = tensor.extract %share[%c0, %c0] : tensor<?x16xf32>
      %t = tensor.extract %best[%c0, %c0] : tensor<?x4xi32>
      %ae = arith.addf %a, %e : f32
      %all = arith.addf %ae, %x : f32
      %both = arith.addi %first, %t : i32
      mtp.yield %both, %all : i32, f32
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?x4xi32>, tensor<?x?x16xf32>) -> (tensor<?xi32>, tensor<?xf32>)
    %own = mtp.sample_residual %p at %n by %u : (tensor<?x?x16xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
    mtp.yield %n, %own : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x16xf32>
}
}

// -----

// The contents of an mtp.draft are dropped at k = 0 and replace it at other k.
// Extents follow from k: of a splat, of tensors that a loop carries from one
// initial value, of groups that were left open, and of accept's picks. Nested
// loops are unrolled.
// CHECK-LABEL: mtp.round @core_k0 k 0 {
// CHECK-NOT: mtp.refresh
// CHECK-NOT: mtp.argmax
// CHECK: mtp.verify {
// CHECK: mtp.reshape %{{.*}} : tensor<?x16xf32> -> tensor<?x1x16xf32>
// CHECK: mtp.accept
// CHECK: -> (tensor<?xi32>, tensor<?x1xi32>)
// CHECK-LABEL: mtp.round @core_k2 k 2 {
// CHECK: %[[T:.*]], %{{.*}}, %{{.*}}, %{{.*}} = mtp.refresh
// CHECK: mtp.read_state @kept of %{{.*}} rows 2
// CHECK-COUNT-4: mtp.argmax
// CHECK-NOT: mtp.argmax
// CHECK: %[[D:.*]] = mtp.per_slot
// CHECK: } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x2xi32>
// CHECK: mtp.verify %[[D]] {
// CHECK: mtp.reshape %{{.*}} : tensor<?x16xf32> -> tensor<?x3x16xf32>
// CHECK: mtp.accept
// CHECK: -> (tensor<?xi32>, tensor<?x3xi32>)
// The prefill of a drafter with rows from mtp.refresh.
// CHECK-LABEL: mtp.prefill @core_prompt_k0 k 0 {
// CHECK-NOT: mtp.prompt_rows
// CHECK-LABEL: mtp.prefill @core_prompt_k2 k 2 {
// CHECK: mtp.verify
// CHECK: %[[T:.*]], %[[ROWS:.*]] = mtp.prompt_rows :
// CHECK: %[[X:.*]] = mtp.embed %[[T]]
// CHECK: mtp.attention %[[X]], %[[X]], %[[X]], %[[ROWS]]
// CHECK: mtp.cache_append %[[X]], %[[ROWS]] into @made[0]
// CHECK: mtp.commit
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
mtp.cache @made layers 1 entry 8 : bf16
mtp.state @kept[max_k + 1, 8] : f32
mtp.round @core {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    %k = mtp.k
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t, %rows, %anchor, %next = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %y = mtp.attention %e, %e, %e, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    mtp.cache_append %e, %rows into @made[0] at 0 : tensor<?x8xf32>
    %kept = mtp.read_state @kept of %slots rows %k : tensor<?xi32> -> tensor<?x8xf32>
    mtp.write_state %kept, @kept of %slots : tensor<?x8xf32>, tensor<?xi32>
    %last = scf.for %i = %c0 to %k step %c1 iter_args(%a = %next) -> (tensor<?xi32>) {
      %inner = scf.for %j = %c0 to %k step %c1 iter_args(%b = %a) -> (tensor<?xi32>) {
        %table = mtp.weight "drafter" : tensor<16x16xf32>
        %l = mtp.embed %b, %table : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
        %p = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
        scf.yield %p : tensor<?xi32>
      }
      scf.yield %inner : tensor<?xi32>
    }
    %all = mtp.per_slot %slots(%last) {
    ^bb0(%index: index, %slot: i32, %d: i32):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %same = tensor.splat %d[%k] : tensor<?xi32>
      %x, %z = scf.for %j = %c0 to %k step %c1 iter_args(%x = %same, %z = %same) -> (tensor<?xi32>, tensor<?xi32>) {
        %x2 = tensor.insert %slot into %x[%j] : tensor<?xi32>
        %v = tensor.extract %x[%j] : tensor<?xi32>
        %z2 = tensor.insert %v into %z[%j] : tensor<?xi32>
        scf.yield %x2, %z2 : tensor<?xi32>, tensor<?xi32>
      }
      mtp.yield %z : tensor<?xi32>
    } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %all : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %own = mtp.reshape %logits : tensor<?x16xf32> -> tensor<?x?x16xf32>
  mtp.output "own" %own : tensor<?x?x16xf32>
  %changed = mtp.reshape %own : tensor<?x?x16xf32> -> tensor<?x16xf32>
  %count, %picks = mtp.accept %drafts, %changed exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A tree with more nodes than its depth: a round of k has the nodes that are
// not deeper, and a path has k + 1 numbers.
// CHECK-LABEL: mtp.round @wide_k0 k 0 {
// CHECK-LABEL: mtp.round @wide_k1 k 1 nodes 4 {
// CHECK: -> tensor<?x3xi32>
// CHECK: mtp.verify %{{.*}} tree [-1, 0, 0, 0, 1, 1] {
// CHECK: } : (tensor<?x3xi32>) ->
// CHECK: -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x2xi32>)
// CHECK-LABEL: mtp.round @wide_k2 k 2 nodes 6 {
// CHECK: } : (tensor<?x5xi32>) ->
// CHECK: -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>)
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 6>} {
mtp.round @wide {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %one = arith.constant 1 : index
    %nodes = mtp.nodes
    %count = arith.subi %nodes, %one : index
    %d = tensor.generate %count {
    ^bb0(%j: index):
      %i = arith.index_cast %j : index to i32
      %token = arith.addi %i, %slot : i32
      tensor.yield %token : i32
    } : tensor<?xi32>
    mtp.yield %d : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 0, 1, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 0, 1, 1] {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// Without drafts, and in a prefill, there is nothing to show to the host. The
// anchor of a prefill after a preemption is the host's.
// CHECK: mtp.state @known
// CHECK-LABEL: mtp.round @stops_k0 k 0 {
// CHECK-NOT: mtp.await_host
// CHECK-LABEL: mtp.round @stops_k1 k 1 {
// CHECK: %[[D:.*]] = mtp.draft_chain
// CHECK: mtp.await_host %[[D]] : tensor<?x1xi32>
// CHECK: mtp.verify %[[D]]
// CHECK-LABEL: mtp.prefill @stops_prompt_k0
// CHECK-NOT: mtp.await_host
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @stops {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
  mtp.await_host %drafts : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l, %l : tensor<?x16xf32>, tensor<?x16xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x16xf32>
}
}

// -----

// With mixed batches: for every k another round and the prefill that belongs to
// it, which drafts if a prefill does.
// CHECK: mtp.round @generate_k0 k 0 {
// CHECK: mtp.round @generate_k1 k 1 {
// CHECK: mtp.round @generate_k0_prompts k 0 prompts 6 {
// CHECK: mtp.verify
// CHECK: mtp.round @generate_k1_prompts k 1 prompts 6 {
// CHECK: mtp.draft_chain
// CHECK: mtp.verify
// CHECK: mtp.prefill @generate_prompt_k0 k 0 {
// CHECK: mtp.prefill @generate_prompt_k1 k 1 {
// CHECK: mtp.prefill @generate_prompt_k1_beside_k0 k 1 beside @generate_k0_prompts {
// CHECK: mtp.draft_chain
// CHECK: mtp.prefill @generate_prompt_k1_beside_k1 k 1 beside @generate_k1_prompts {
// CHECK: mtp.draft_chain
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %m = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %m = mtp.mask_first %x, %rows : tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A prefill with another computation on a prompt has passes of its own.
// CHECK: mtp.round @generate_k0 k 0 {
// CHECK-NOT: prompts
// CHECK-NOT: beside
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
mtp.round @generate {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %x, %e : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
mtp.prefill @prompt {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "other" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %x, %e : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}

// -----

// Ops that go row by row can run on the logits of last rows only.
// CHECK: mtp.round @generate_k0_prompts k 0 prompts 6 {
// CHECK: mtp.prefill @generate_prompt_k0_beside_k0 k 0 beside @generate_k0_prompts {
// CHECK: mtp.linear
// CHECK: mtp.add
// CHECK: mtp.accept
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
mtp.round @generate {
  %raw, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x16xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %x, %x : tensor<?x16xf32>, tensor<?x16xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x16xf32>)
  %w = mtp.weight "mix" : tensor<16x16xf32>
  %mixed = mtp.linear %raw, %w : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %logits = mtp.add %raw, %mixed : tensor<?x16xf32>
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x16xf32>
}
}

// -----

// Ops that combine them with the hidden states of all rows cannot.
// CHECK: mtp.round @generate_k0 k 0 {
// CHECK-NOT: prompts
// CHECK-NOT: beside
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 6>} {
mtp.round @generate {
  %raw, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x16xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %x, %x : tensor<?x16xf32>, tensor<?x16xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x16xf32>)
  %logits = mtp.add %raw, %hidden : tensor<?x16xf32>
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x16xf32>
}
}

// -----

// A catch-up runs the drafter over verified rows, on kept hidden states: of 4
// tokens, of those that the last round may have accepted, and of one before
// them.
// CHECK: mtp.state @recent_hidden[6, 8] : f32{{$}}
// CHECK: mtp.prefill @generate_prompt_k1 k 1 {
// CHECK: mtp.prefill @generate_prompt_k1_catch_up k 1 catch_up 6 {
// CHECK-NEXT: mtp.recent_hidden : tensor<?x8xf32>
// CHECK-NEXT: mtp.draft_chain {
// CHECK: } : tensor<?x?xi32>
// CHECK-NEXT: }
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %m = mtp.mask_first %h, %rows : tensor<?x8xf32>
    %l = mtp.linear %m, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %m : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// The rows of an mtp.refresh in core ops make entries as well; its drafts are
// dropped.
// CHECK: mtp.state @recent_hidden[6, 8] : f32{{$}}
// CHECK: mtp.prefill @generate_prompt_k1_catch_up k 1 catch_up 6 {
// CHECK-NEXT: %[[H:.*]] = mtp.recent_hidden : tensor<?x8xf32>
// CHECK-NEXT: %{{.*}}, %[[ROWS:.*]] = mtp.prompt_rows ahead 1
// CHECK-NEXT: mtp.cache_append %[[H]], %[[ROWS]] into @kv[0] at 0
// CHECK-NEXT: }
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
mtp.cache @kv layers 1 entry 8 : f32
mtp.round @generate {
  %drafts = mtp.draft {
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
    mtp.cache_append %h, %rows into @kv[0] at 0 : tensor<?x8xf32>
    %own = mtp.gather_rows %h, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
    %d = mtp.argmax %own : tensor<?x8xf32> -> tensor<?xi32>
    %slots = mtp.slots : tensor<?xi32>
    %grid = mtp.per_slot %slots(%d) {
    ^bb0(%index: index, %slot: i32, %own_d: i32):
      %k = mtp.k
      %all = tensor.splat %own_d[%k] : tensor<?xi32>
      mtp.yield %all : tensor<?xi32>
    } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %grid : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A drafter that reads only tokens needs no hidden states, and may miss a whole
// slot's length.
// CHECK-NOT: recent_hidden
// CHECK: mtp.prefill @generate_prompt_k1_catch_up k 1 catch_up 64 {
// CHECK-NEXT: mtp.draft_chain {
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "table" : tensor<16x16xf32>
    %l = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
    mtp.yield %l : tensor<?x16xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A round of k runs only the modules that it needs; a prompt runs all. The
// second module takes the first one's results.
// CHECK-LABEL: mtp.round @several_k1 k 1 {
// CHECK: mtp.refresh :
// CHECK-NOT: mtp.refresh_module
// CHECK-LABEL: mtp.round @several_k2 k 2 {
// CHECK: %[[G:.*]] = mtp.add
// CHECK: mtp.refresh_module 2 of %[[G]] with
// CHECK-LABEL: mtp.prefill @several_prompt_k0 k 0 {
// CHECK-NOT: mtp.refresh_module
// CHECK-LABEL: mtp.prefill @several_prompt_k2 k 2 {
// CHECK: %{{.*}}, %[[ROWS:.*]] = mtp.prompt_rows ahead 1
// CHECK: %[[Y:.*]] = mtp.attention %{{.*}}, %[[ROWS]] {{.*}} cache @kv[0]
// CHECK: %[[G:.*]] = mtp.add %[[Y]]
// CHECK: %{{.*}}, %[[TWO:.*]], %[[H:.*]], %{{.*}}, %{{.*}} = mtp.refresh_module 2 of %[[G]] :
// CHECK: mtp.attention %[[H]], %[[H]], %[[H]], %[[TWO]] {{.*}} cache @kv[1]
// CHECK-NOT: mtp.attention
// CHECK: mtp.commit
// The catch-up reads two places ahead.
// CHECK: mtp.prefill @several_prompt_k2_catch_up k 2 catch_up 8 {
// CHECK: mtp.refresh_module 2
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4>} {
mtp.cache @kv layers 2 entry 16 : f32
mtp.round @several {
  %drafts = mtp.draft {
    %t, %rows, %anchor, %next, %h = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x8xf32>
    %y = mtp.attention %h, %h, %h, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
         : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
    %g = mtp.add %y, %h : tensor<?x8xf32>
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %deep = arith.cmpi ugt, %k, %c1 : index
    %last = scf.if %deep -> (tensor<?x8xf32>) {
      %slots = mtp.slots : tensor<?xi32>
      %m = mtp.per_slot %slots {
      ^bb0(%index: index, %slot: i32):
        %c3 = arith.constant 3 : i64
        mtp.yield %c3 : i64
      } : (tensor<?xi32>) -> tensor<?xi64>
      %tree = mtp.make_tree_rows %next, %next from %next at %next seeing %m refreshed : tensor<?xi32>, tensor<?xi64>
      %t2, %rows2, %h2, %anchor2, %last2 = mtp.refresh_module 2 of %g with %next at %tree
          : (tensor<?x8xf32>, tensor<?xi32>, !mtp.rows) -> (tensor<?xi32>, !mtp.rows, tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>)
      %y2 = mtp.attention %h2, %h2, %h2, %rows2 heads 1 kv_heads 1 scale 1.0 cache @kv[1]
           : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
      %own2 = mtp.gather_rows %y2, %last2 : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
      scf.yield %own2 : tensor<?x8xf32>
    } else {
      %own = mtp.gather_rows %g, %anchor : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
      scf.yield %own : tensor<?x8xf32>
    }
    %d = mtp.argmax %last : tensor<?x8xf32> -> tensor<?xi32>
    %slots = mtp.slots : tensor<?xi32>
    %grid = mtp.per_slot %slots(%d) {
    ^bb0(%index: index, %slot: i32, %own_d: i32):
      %k = mtp.k
      %all = tensor.splat %own_d[%k] : tensor<?xi32>
      mtp.yield %all : tensor<?xi32>
    } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %grid : tensor<?x?xi32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %e = mtp.weight "embed" : tensor<16x8xf32>
    %x = mtp.embed %t, %e : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %w = mtp.weight "head" : tensor<16x8xf32>
    %l = mtp.linear %x, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %x : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.argmax %l : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
