// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

// CHECK: #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 9>
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 9>} {
mtp.state @length : i32
mtp.state @hidden[max_k + 1, 8] : f32
mtp.state @carry[8] : f32
mtp.cache @kv layers 2 entry 16 : f32

// A method in core ops, without draft, verify, accept and commit.
// CHECK-LABEL: mtp.round @core {
mtp.round @core {
  // CHECK: %[[SLOTS:.*]] = mtp.slots : tensor<?xi32>
  %slots = mtp.slots : tensor<?xi32>
  // CHECK: %[[MADE:.*]]:2 = mtp.per_slot %[[SLOTS]] {
  %grid, %last = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    // CHECK: mtp.k{{$}}
    %k = mtp.k
    // CHECK: mtp.nodes{{$}}
    %nodes = mtp.nodes
    %n = mtp.load @length[] : i32
    %g = tensor.generate {
    ^bb0(%j: index):
      tensor.yield %n : i32
    } : tensor<3xi32>
    %last = arith.index_cast %k : index to i32
    mtp.yield %g, %last : tensor<3xi32>, i32
  } : (tensor<?xi32>) -> (tensor<?x3xi32>, tensor<?xi32>)
  // CHECK: %[[TOKENS:.*]] = mtp.reshape %[[MADE]]#0 : tensor<?x3xi32> -> tensor<?xi32>
  %tokens = mtp.reshape %grid : tensor<?x3xi32> -> tensor<?xi32>
  // CHECK: mtp.reshape %[[TOKENS]] : tensor<?xi32> -> tensor<?x3xi32>
  %again = mtp.reshape %tokens : tensor<?xi32> -> tensor<?x3xi32>
  %table = mtp.weight "table" : tensor<16x8xf32>
  %columns = mtp.embed %tokens, %table : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // CHECK: mtp.reshape %{{.*}} : tensor<?x8xf32> -> tensor<?x3x8xf32>
  %own = mtp.reshape %columns : tensor<?x8xf32> -> tensor<?x3x8xf32>
  // CHECK: %[[H:.*]] = mtp.read_state @hidden of %[[SLOTS]] rows 3 : tensor<?xi32> -> tensor<?x8xf32>
  %h = mtp.read_state @hidden of %slots rows 3 : tensor<?xi32> -> tensor<?x8xf32>
  // CHECK: mtp.read_state @hidden of %[[SLOTS]] rows %{{.*}} : tensor<?xi32> -> tensor<?x8xf32>
  %count = mtp.k
  %some = mtp.read_state @hidden of %slots rows %count : tensor<?xi32> -> tensor<?x8xf32>
  // One row is the default.
  // CHECK: %[[C:.*]] = mtp.read_state @carry of %[[SLOTS]] : tensor<?xi32> -> tensor<?x8xf32>
  %c = mtp.read_state @carry of %slots rows 1 : tensor<?xi32> -> tensor<?x8xf32>
  // CHECK: %[[BOTH:.*]] = mtp.concat_rows %[[C]] rows 1, %[[H]] rows 3 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %both = mtp.concat_rows %c rows 1, %h rows 3 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: mtp.write_state %[[H]], @hidden of %[[SLOTS]] : tensor<?x8xf32>, tensor<?xi32>
  mtp.write_state %h, @hidden of %slots : tensor<?x8xf32>, tensor<?xi32>
  // CHECK: mtp.write_state %[[BOTH]][%[[MADE]]#1], @carry of %[[SLOTS]] : tensor<?x8xf32>[tensor<?xi32>], tensor<?xi32>
  mtp.write_state %both[%last], @carry of %slots : tensor<?x8xf32>[tensor<?xi32>], tensor<?xi32>
  // CHECK: mtp.write_state %[[BOTH]][%[[MADE]]#0], @hidden of %[[SLOTS]] : tensor<?x8xf32>[tensor<?x3xi32>], tensor<?xi32>
  mtp.write_state %both[%grid], @hidden of %slots : tensor<?x8xf32>[tensor<?x3xi32>], tensor<?xi32>
  // CHECK: mtp.cache_move %[[MADE]]#0 to %{{.*}} of %[[SLOTS]] in @kv : tensor<?x3xi32>, tensor<?xi32>
  mtp.cache_move %grid to %again of %slots in @kv : tensor<?x3xi32>, tensor<?xi32>
  // CHECK: %[[BITS:.*]] = mtp.per_slot
  %bits = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %one = arith.constant dense<1> : tensor<3xi64>
    mtp.yield %one : tensor<3xi64>
  } : (tensor<?xi32>) -> tensor<?x3xi64>
  // CHECK: %[[MASKS:.*]] = mtp.reshape %[[BITS]] : tensor<?x3xi64> -> tensor<?xi64>
  %masks = mtp.reshape %bits : tensor<?x3xi64> -> tensor<?xi64>
  // CHECK: mtp.make_tree_rows %[[TOKENS]], %[[TOKENS]] from %[[TOKENS]] at %[[TOKENS]] seeing %[[MASKS]] : tensor<?xi32>, tensor<?xi64>
  %tree = mtp.make_tree_rows %tokens, %tokens from %tokens at %tokens seeing %masks : tensor<?xi32>, tensor<?xi64>
  // CHECK: %{{.*}}, %[[PACKED:.*]], %[[PLACES:.*]] = mtp.pack %{{.*}}, %[[TOKENS]] : tensor<?xi32>
  %rows_p, %packed, %places = mtp.pack %tree, %tokens : tensor<?xi32>
  // CHECK: mtp.pack %{{.*}}, %[[TOKENS]] at_most 4 : tensor<?xi32> -> tensor<4xi32>{{$}}
  %rows_f, %few, %where = mtp.pack %tree, %tokens at_most 4 : tensor<?xi32> -> tensor<4xi32>
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = mtp.pack %[[ROWS_P:.*]], %[[PACKED]] prompts %[[ROWS_P]], %[[TOKENS]] : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %rows_b, %packed_b, %places_b, %theirs = mtp.pack %rows_p, %packed prompts %rows_p, %tokens : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  // CHECK: mtp.slots prompts : tensor<?xi32>
  %reading = mtp.slots prompts : tensor<?xi32>
  // CHECK: mtp.unpack %[[PACKED]], %[[PLACES]] : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %unpacked = mtp.unpack %packed, %places : tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  // CHECK: mtp.unpack %[[H]], %[[PLACES]] : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  %unpacked_h = mtp.unpack %h, %places : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  // CHECK: mtp.make_tree_rows %[[TOKENS]], %[[TOKENS]] from %[[TOKENS]] at %[[TOKENS]] seeing %[[MASKS]] refreshed : tensor<?xi32>, tensor<?xi64>
  %level = mtp.make_tree_rows %tokens, %tokens from %tokens at %tokens seeing %masks refreshed : tensor<?xi32>, tensor<?xi64>
  // CHECK: mtp.mask_tokens %[[H]], %[[TOKENS]] : tensor<?x8xf32>, tensor<?xi32>
  %rest = mtp.mask_tokens %h, %tokens : tensor<?x8xf32>, tensor<?xi32>
  // CHECK: mtp.await_host %[[GRID:.*]] : tensor<?x3xi32>
  mtp.await_host %grid : tensor<?x3xi32>
  // CHECK: mtp.output "logits" %[[H]] : tensor<?x8xf32>
  mtp.output "logits" %h : tensor<?x8xf32>
  // CHECK: mtp.output "doubt" %[[H]] for tokens : tensor<?x8xf32>
  mtp.output "doubt" %h for tokens : tensor<?x8xf32>
}

// CHECK-LABEL: mtp.prefill @prompt {
mtp.prefill @prompt {
  // CHECK: %{{.*}}, %{{.*}} = mtp.prompt_rows : tensor<?xi32>
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  // CHECK: mtp.row_slots %{{.*}} : tensor<?xi32>
  %of = mtp.row_slots %rows : tensor<?xi32>
  // CHECK: mtp.row_positions %{{.*}} : tensor<?xi32>
  %at = mtp.row_positions %rows : tensor<?xi32>
  // CHECK: %{{.*}}, %{{.*}} = mtp.prompt_rows ahead 2 : tensor<?xi32>
  %u, %later = mtp.prompt_rows ahead 2 : tensor<?xi32>
}
}
