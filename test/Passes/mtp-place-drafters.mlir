// RUN: mtp-opt %s --mtp-place-drafters --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mtp-opt %s --mtp-place-drafters --mtp-fuse-per-slot --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=JOINED

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @target layers 1 entry 16 : f32
mtp.cache @drafter layers 2 entry 16 : f32

// CHECK: mtp.state @drafter_places[max_k, 2] : i32

// Layers that rounds without drafts use stay unchanged.
// CHECK-LABEL: mtp.round @none
// CHECK-NOT: @drafter_places
// CHECK-LABEL: mtp.round @one
mtp.round @none k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @target[0] at 0 : tensor<?x16xf32>
}

// Places are computed next to positions, once for equal rows; rotations use the
// positions.
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[P:.*]]:2 = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[Q:.*]] = mtp.per_slot %[[SLOTS]](%[[P]]#1) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[X:.*]]: tensor<2xi32>):
// CHECK-DAG: %[[K:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[AT:.*]] = arith.index_cast %[[K]]
// CHECK: %[[SKIPPED:.*]] = mtp.load @drafter_places[%[[AT]], %{{.*}}] : i32
// CHECK: %[[FIRST:.*]] = mtp.load @drafter_places[%{{.*}}, %{{.*}}] : i32
// CHECK: %[[OWN:.*]] = tensor.extract %[[X]]
// CHECK: %[[PLACE:.*]] = arith.subi %[[OWN]], %[[SKIPPED]] : i32
// CHECK: %[[LIVES:.*]] = arith.cmpi sge, %[[PLACE]], %[[FIRST]] : i32
// CHECK: arith.select %[[LIVES]], %[[PLACE]], %{{.*}} : i32
// CHECK: %[[PLACES:.*]] = mtp.reshape %[[Q]]
// CHECK: %[[ROWS:.*]] = mtp.make_rows %[[OF:.*]], %{{.*}} : tensor<?xi32>
// CHECK: %[[PLACED:.*]] = mtp.make_rows %[[OF]], %[[PLACES]] : tensor<?xi32>
// CHECK: mtp.cache_append %{{.*}}, %[[ROWS]] into @target[0]
// CHECK: %[[TURNED:.*]] = mtp.rope %{{.*}}, %[[ROWS]] by
// CHECK: mtp.cache_append %[[TURNED]], %[[PLACED]] into @drafter[0]
// CHECK: mtp.cached_attention %{{.*}}, %[[PLACED]] in @drafter[0]

// JOINED-LABEL: mtp.round @one
// JOINED: mtp.per_slot
// JOINED: mtp.load @drafter_places
// JOINED-NOT: mtp.per_slot
// JOINED-LABEL: mtp.round @two
mtp.round @one k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %of, %at = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %s = tensor.splat %slot : tensor<2xi32>
    mtp.yield %s, %s : tensor<2xi32>, tensor<2xi32>
  } : (tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xi32>)
  %s = mtp.reshape %of : tensor<?x2xi32> -> tensor<?xi32>
  %p = mtp.reshape %at : tensor<?x2xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %s, %p : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %s, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @target[0] at 0 : tensor<?x16xf32>
  %r = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 2 of 8 : tensor<?x16xf32>
  mtp.cache_append %r, %rows into @drafter[0] at 0 : tensor<?x16xf32>
  %y = mtp.cached_attention %x, %rows in @drafter[0] heads 1 kv_heads 1
       keys 16 at 0 values 16 at 0 scale 0.25 : tensor<?x16xf32> -> tensor<?x16xf32>
}

// A layer of a deeper module has its own words. For a tree, roots and places
// change, and a row without a place sees nothing. Moves use places.
// CHECK-LABEL: mtp.round @two
// CHECK: %[[MADE:.*]]:2 = mtp.per_slot
// CHECK: %[[MOVED:.*]]:2 = mtp.per_slot %{{.*}}(%[[MADE]]#1, %[[MADE]]#1) {
// CHECK: mtp.load @drafter_places[
// CHECK: %[[N:.*]]:3 = mtp.per_slot %[[OF:.*]](%{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: arith.constant 1 : i32
// CHECK: mtp.load @drafter_places[
// CHECK: arith.cmpi sgt
// CHECK: arith.select
// CHECK: mtp.make_tree_rows %[[OF]], %[[OF]] from %[[N]]#0 at %[[N]]#1 seeing %[[N]]#2 refreshed
// CHECK: mtp.cache_move %[[MOVED]]#0 to %[[MOVED]]#1 of %{{.*}} in @drafter
// CHECK: mtp.cache_move %{{.*}} to %{{.*}} of %{{.*}} in @target :
mtp.round @two k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %m, %g = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %mask = arith.extui %slot : i32 to i64
    %grid = tensor.splat %slot : tensor<2xi32>
    mtp.yield %mask, %grid : i64, tensor<2xi32>
  } : (tensor<?xi32>) -> (tensor<?xi64>, tensor<?x2xi32>)
  %rows = mtp.make_tree_rows %slots, %slots from %slots at %slots seeing %m refreshed
          : tensor<?xi32>, tensor<?xi64>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @target[0] at 0 : tensor<?x16xf32>
  mtp.cache_append %x, %rows into @drafter[1] at 0 : tensor<?x16xf32>
  mtp.cache_move %g to %g of %slots in @drafter : tensor<?x2xi32>, tensor<?xi32>
  mtp.cache_move %g to %g of %slots in @target : tensor<?x2xi32>, tensor<?xi32>
}

// A prompt has no gap, and a catch-up may have one before its rows.
// CHECK-LABEL: mtp.prefill @prompt
// CHECK-NOT: @drafter_places
// CHECK-LABEL: mtp.prefill @behind
// CHECK: %{{.*}}, %[[ROWS:.*]] = mtp.prompt_rows ahead 1
// CHECK: %[[OF:.*]] = mtp.row_slots %[[ROWS]]
// CHECK: %[[AT:.*]] = mtp.row_positions %[[ROWS]]
// CHECK: %[[PLACES:.*]] = mtp.per_slot %[[OF]](%[[AT]])
// CHECK: %[[PLACED:.*]] = mtp.make_rows %[[OF]], %[[PLACES]]
// CHECK: mtp.cache_append %{{.*}}, %[[PLACED]] into @drafter[0]
mtp.prefill @prompt k 2 {
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @drafter[0] at 0 : tensor<?x16xf32>
}
mtp.prefill @behind k 2 catch_up 5 {
  %t, %rows = mtp.prompt_rows ahead 1 : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @drafter[0] at 0 : tensor<?x16xf32>
}
}

// -----

// A layer that the target uses is the target's, whatever else uses it.
// CHECK-LABEL: mtp.round @shared
// CHECK-NOT: @drafter_places
// CHECK: mtp.cache_append
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @target layers 1 entry 16 : f32
mtp.round @plain k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @target[0] at 0 : tensor<?x16xf32>
}
mtp.round @shared k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %rows into @target[0] at 0 : tensor<?x16xf32>
}
}

// -----

// Packed rows get places after packing; rows of a tree are packed once more.
// CHECK-LABEL: mtp.round @packed
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[LIVE:.*]], %{{.*}}, %{{.*}} = mtp.pack
// CHECK: %[[OF:.*]] = mtp.row_slots %[[LIVE]]
// CHECK: %[[AT:.*]] = mtp.row_positions %[[LIVE]]
// CHECK: mtp.per_slot %[[OF]](%[[AT]])
// CHECK: %[[A:.*]] = mtp.make_rows %[[OF]], %{{.*}}
// CHECK: %[[OLD:.*]] = mtp.make_tree_rows
// CHECK: %[[TREE:.*]] = mtp.make_tree_rows
// CHECK: mtp.pack %[[OLD]], %[[SLOTS]]
// CHECK: %[[B:.*]], %{{.*}}, %{{.*}} = mtp.pack %[[TREE]], %[[SLOTS]]
// CHECK: mtp.cache_append %{{.*}}, %[[A]] into @drafter[0]
// CHECK: mtp.cache_append %{{.*}}, %[[B]] into @drafter[1]
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @drafter layers 2 entry 16 : f32
mtp.round @packed k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %live, %t, %places = mtp.pack %rows, %slots : tensor<?xi32>
  %m = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %mask = arith.extui %slot : i32 to i64
    mtp.yield %mask : i64
  } : (tensor<?xi32>) -> tensor<?xi64>
  %tree = mtp.make_tree_rows %slots, %slots from %slots at %slots seeing %m
          : tensor<?xi32>, tensor<?xi64>
  %both, %u, %where = mtp.pack %tree, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %y = mtp.embed %u, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %live into @drafter[0] at 0 : tensor<?x16xf32>
  mtp.cache_append %y, %both into @drafter[1] at 0 : tensor<?x16xf32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @drafter layers 1 entry 16 : f32
func.func private @rows(%slots: tensor<?xi32>) -> !mtp.rows
mtp.round @called k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = func.call @rows(%slots) : (tensor<?xi32>) -> !mtp.rows
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  // expected-error @+1 {{'mtp.cache_append' op expected rows that mtp.make_rows or mtp.tree_rows made, for a drafter's cache}}
  mtp.cache_append %x, %rows into @drafter[0] at 0 : tensor<?x16xf32>
}
}

// -----

// If the numbers of packed rows are already read, these reads are reused, so
// that the bodies of these rows can be joined.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @drafter layers 1 entry 16 : f32
// CHECK-LABEL: mtp.round @told
// CHECK: %[[PACKED:.*]], %{{.*}}, %{{.*}} = mtp.pack
// CHECK-NEXT: %[[OF:.*]] = mtp.row_slots %[[PACKED]]
// CHECK-NEXT: %[[AT:.*]] = mtp.row_positions %[[PACKED]]
// CHECK-NEXT: %[[PLACES:.*]] = mtp.per_slot %[[OF]](%[[AT]]) {
// CHECK: mtp.make_rows %[[OF]], %[[PLACES]]
// CHECK-NOT: mtp.row_slots
// CHECK: mtp.per_slot %[[OF]](%[[AT]]) {
// JOINED-LABEL: mtp.round @told
// JOINED: mtp.pack
// JOINED: mtp.per_slot
// JOINED: mtp.load @drafter_places
// JOINED-NOT: mtp.per_slot
mtp.round @told k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %packed, %t, %p = mtp.pack %rows, %slots : tensor<?xi32>
  %of = mtp.row_slots %packed : tensor<?xi32>
  %at = mtp.row_positions %packed : tensor<?xi32>
  %next = mtp.per_slot %of(%at) {
  ^bb0(%index: index, %slot: i32, %n: i32):
    %one = arith.constant 1 : i32
    %m = arith.addi %n, %one : i32
    mtp.yield %m : i32
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %packed into @drafter[0] at 0 : tensor<?x16xf32>
  mtp.output "next" %next : tensor<?xi32>
}
}

// -----

// Numbers that move up across a use are not placed twice.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @drafter layers 1 entry 16 : f32
// CHECK-LABEL: mtp.round @told_behind
// CHECK: %[[PACKED:.*]], %{{.*}}, %{{.*}} = mtp.pack
// CHECK: %[[OF:.*]] = mtp.row_slots %[[PACKED]]
// CHECK: %[[AT:.*]] = mtp.row_positions %[[PACKED]]
// CHECK: %[[PLACES:.*]] = mtp.per_slot %[[OF]](%[[AT]]) {
// CHECK: %[[PLACED:.*]] = mtp.make_rows %[[OF]], %[[PLACES]]
// CHECK-NOT: mtp.per_slot
// CHECK: mtp.cache_append %{{.*}}, %[[PLACED]] into @drafter
// CHECK: mtp.output "at" %[[AT]]
// JOINED-LABEL: mtp.round @told_behind
mtp.round @told_behind k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %packed, %t, %p = mtp.pack %rows, %slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x16xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  mtp.cache_append %x, %packed into @drafter[0] at 0 : tensor<?x16xf32>
  %at = mtp.row_positions %packed : tensor<?xi32>
  mtp.output "at" %at : tensor<?xi32>
}
}
