// RUN: mtp-opt %s --mtp-convert-to-exec --split-input-file | FileCheck %s

// Slots and states of a round. Reshaping moves nothing.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state shared @active : memref<4xi32>
exec.state @hidden : memref<4x3x8xf32>
exec.state @carry_2 : memref<4x8xf32>
// CHECK-LABEL: exec.program @round decode
// CHECK: %[[SLOTS:.*]] = exec.ref @active : memref<2xi32>
// CHECK: %[[AT:.*]] = exec.input "at" : tensor<2x3xi32>
// CHECK: %[[HIDDEN:.*]] = exec.ref @hidden : memref<4x3x8xf32>
// CHECK: %[[H:.*]] = exec.read_state %[[HIDDEN]] of %[[SLOTS]] : {{.*}} -> tensor<6x8xf32>
// CHECK: %[[CARRY:.*]] = exec.ref @carry_2 : memref<4x8xf32>
// CHECK: %[[C:.*]] = exec.read_state %[[CARRY]] of %[[SLOTS]] : {{.*}} -> tensor<2x8xf32>
// CHECK: %[[BOTH:.*]] = exec.concat_rows %[[C]] rows 1, %[[H]] rows 3 : {{.*}} -> tensor<8x8xf32>
// CHECK: exec.write_state %[[C]] to %{{.*}} of %[[SLOTS]] : {{.*}}memref<4x8xf32>
// CHECK: exec.write_state %[[BOTH]][%[[AT]]] to %{{.*}} of %[[SLOTS]] : {{.*}}memref<4x3x8xf32>
// CHECK: %[[ROWS:.*]] = exec.reshape %[[AT]] : tensor<2x3xi32> -> tensor<6xi32>
// CHECK: exec.gather_rows %[[H]], %[[ROWS]]
exec.program @round decode k 2 n 2 to 2 {
  %slots = mtp.slots : tensor<2xi32>
  %at = exec.input "at" : tensor<2x3xi32>
  %h = mtp.read_state @hidden of %slots rows 3 : tensor<2xi32> -> tensor<6x8xf32>
  %c = mtp.read_state @carry_2 of %slots : tensor<2xi32> -> tensor<2x8xf32>
  %both = mtp.concat_rows %c rows 1, %h rows 3 : tensor<2x8xf32>, tensor<6x8xf32> -> tensor<8x8xf32>
  mtp.write_state %c, @carry_2 of %slots : tensor<2x8xf32>, tensor<2xi32>
  mtp.write_state %both[%at], @hidden of %slots : tensor<8x8xf32>[tensor<2x3xi32>], tensor<2xi32>
  %rows = mtp.reshape %at : tensor<2x3xi32> -> tensor<6xi32>
  %own = mtp.gather_rows %h, %rows : tensor<6x8xf32>, tensor<6xi32> -> tensor<6x8xf32>
  exec.output "own" %own : tensor<6x8xf32>
}
}

// -----

// Numbers of rows are packed with their tokens; for a tree also the places of
// the window and of each row's entry, and the mask.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: exec.program @pack function
// CHECK: %[[T:.*]] = exec.input "t" : tensor<6xi32>
// CHECK: %[[S:.*]] = exec.input "s" : tensor<6xi32>
// CHECK: %[[P:.*]] = exec.input "p" : tensor<6xi32>
// CHECK: %[[SEEN:.*]] = exec.input "seen" : tensor<6xi64>
// CHECK: %[[AT:.*]], %[[NUMBERS:.*]]:2, %[[PLACES:.*]], %{{.*}} = exec.pack %[[P]], (%[[T]], %[[S]]) :
// CHECK: %[[E:.*]] = exec.embed %[[NUMBERS]]#0 in
// CHECK: %[[M:.*]] = exec.mask_first %[[E]] at %[[AT]]
// CHECK: exec.unpack_rows %[[M]], %[[PLACES]]
// CHECK: %{{.*}}, %[[TREE:.*]]:5, %[[NODES:.*]], %{{.*}} = exec.pack %[[P]], (%[[T]], %[[S]], %[[S]], %[[T]], %[[SEEN]]) :
// CHECK: exec.unpack_rows %[[TREE]]#0, %[[NODES]] : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
exec.program @pack function {
  %t = exec.input "t" : tensor<6xi32>
  %s = exec.input "s" : tensor<6xi32>
  %p = exec.input "p" : tensor<6xi32>
  %seen = exec.input "seen" : tensor<6xi64>
  %made = mtp.make_rows %s, %p : tensor<6xi32>
  %rows, %tokens, %places = mtp.pack %made, %t : tensor<6xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %e = mtp.embed %tokens, %w : tensor<6xi32>, tensor<16x8xf32> -> tensor<6x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<6x8xf32>
  %own = mtp.unpack %m, %places : tensor<6x8xf32>, tensor<6xi32> -> tensor<6x8xf32>
  exec.output "own" %own : tensor<6x8xf32>
  %tree = mtp.make_tree_rows %s, %p from %s at %t seeing %seen : tensor<6xi32>, tensor<6xi64>
  %nodes, %of, %at = mtp.pack %tree, %t : tensor<6xi32>
  %again = mtp.unpack %of, %at : tensor<6xi32>, tensor<6xi32> -> tensor<6xi32>
  exec.output "again" %again : tensor<6xi32>
}
}

// -----

// The rows of a prefill come from states that the host writes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state shared @prompt_tokens : memref<3x8xi32>
exec.state shared @prompt_positions : memref<3x8xi32>
exec.state shared @prompt_slots : memref<8xi32>
exec.state shared @prompt_sequences : memref<5x4xi32>
// CHECK-LABEL: exec.program @prompt prefill
// CHECK: %[[T:.*]] = exec.ref @prompt_tokens row 2 : memref<8xi32>
// CHECK: %[[P:.*]] = exec.ref @prompt_positions row 2 : memref<8xi32>
// CHECK: %[[S:.*]] = exec.ref @prompt_slots : memref<8xi32>
// CHECK: %[[E:.*]] = exec.embed %[[T]] in %{{.*}}
// CHECK: %[[M:.*]] = exec.mask_first %[[E]] at %[[P]]
// CHECK: %[[SEQUENCES:.*]] = exec.ref @prompt_sequences row 0 : memref<1xi32>
// CHECK: exec.gather_rows %[[M]], %[[SEQUENCES]]
exec.program @prompt prefill k 2 n 8 to 8 {
  %t, %rows = mtp.prompt_rows ahead 2 : tensor<8xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %e = mtp.embed %t, %w : tensor<8xi32>, tensor<16x8xf32> -> tensor<8x8xf32>
  %m = mtp.mask_first %e, %rows : tensor<8x8xf32>
  %slots = mtp.slots : tensor<1xi32>
  %own = mtp.gather_rows %m, %slots : tensor<8x8xf32>, tensor<1xi32> -> tensor<1x8xf32>
  exec.output "own" %own : tensor<1x8xf32>
}
}

// -----

// Entries move in every layer separately. A token is excluded from the choice.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 2 entry 32 : bf16
exec.state shared @active : memref<4xi32>
exec.state @page_table : memref<4x5xi32>
// CHECK-LABEL: exec.program @move decode
// CHECK: %[[SLOTS:.*]] = exec.ref @active
// CHECK: %[[FROM:.*]] = exec.input "from"
// CHECK: %[[TO:.*]] = exec.input "to"
// CHECK: %[[PAGES:.*]] = exec.ref @page_table : memref<4x5xi32>
// CHECK: %[[FIRST:.*]] = exec.ref @kv : memref<?x16x32xbf16>
// CHECK: exec.move_entries %[[FROM]] to %[[TO]] in %[[FIRST]] slots %[[SLOTS]] pages %[[PAGES]]
// CHECK: %[[SECOND:.*]] = exec.ref @kv layer 1 : memref<?x16x32xbf16>
// CHECK: exec.move_entries %[[FROM]] to %[[TO]] in %[[SECOND]] slots %[[SLOTS]] pages %[[PAGES]]
// CHECK: exec.mask_tokens %{{.*}}, %[[SLOTS]] : {{.*}} -> tensor<2x16xf32>
exec.program @move decode k 2 n 2 to 2 {
  %slots = mtp.slots : tensor<2xi32>
  %from = exec.input "from" : tensor<2x3xi32>
  %to = exec.input "to" : tensor<2x3xi32>
  mtp.cache_move %from to %to of %slots in @kv : tensor<2x3xi32>, tensor<2xi32>
  %l = exec.input "l" : tensor<2x16xf32>
  %rest = mtp.mask_tokens %l, %slots : tensor<2x16xf32>, tensor<2xi32>
  exec.output "rest" %rest : tensor<2x16xf32>
}
}

// -----

// Rows of a tree rotate by their positions, and are appended at their places.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 32 : bf16
// CHECK-LABEL: exec.program @tree
// CHECK: %[[S:.*]] = exec.input "s"
// CHECK: %[[P:.*]] = exec.input "p"
// CHECK: %[[R:.*]] = exec.input "r"
// CHECK: %[[A:.*]] = exec.input "a"
// CHECK: %[[MASKS:.*]] = exec.input "m"
// CHECK: exec.rope %{{.*}} at %[[P]]
// CHECK: exec.kv_append %{{.*}} slots %[[S]] positions %[[A]]
// CHECK: exec.attention %{{.*}} slots %[[S]] positions %[[R]] {{.*}} tree %[[MASKS]] {{.*}} window 8 :
exec.program @tree function {
  %x = exec.input "x" : tensor<3x16xf32>
  %s = exec.input "s" : tensor<3xi32>
  %p = exec.input "p" : tensor<3xi32>
  %r = exec.input "r" : tensor<3xi32>
  %a = exec.input "a" : tensor<3xi32>
  %m = exec.input "m" : tensor<3xi64>
  %rows = mtp.make_tree_rows %s, %p from %r at %a seeing %m : tensor<3xi32>, tensor<3xi64>
  %q = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 2 of 8 : tensor<3x16xf32>
  mtp.cache_append %q, %rows into @kv[0] at 0 : tensor<3x16xf32>
  %y = mtp.cached_attention %q, %rows in @kv[0] heads 1 kv_heads 1 keys 16 at 0 values 16 at 16 scale 1.0 window 8
       : tensor<3x16xf32> -> tensor<3x16xf32>
  exec.output "y" %y : tensor<3x16xf32>
}
}

// -----

// The slots of rows are their operands, or a chunk's; each row reads its slot's
// state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state shared @prompt_tokens : memref<1x8xi32>
exec.state shared @prompt_positions : memref<1x8xi32>
exec.state shared @prompt_slots : memref<8xi32>
exec.state @bias : memref<4x8xf32> input
// CHECK-LABEL: exec.program @round decode
// CHECK: %[[OF:.*]] = exec.input "of" : tensor<4xi32>
// CHECK: exec.read_state %{{.*}} of %[[OF]] : {{.*}} -> tensor<4x8xf32>
exec.program @round decode k 1 n 2 to 2 {
  %of = exec.input "of" : tensor<4xi32>
  %at = exec.input "at" : tensor<4xi32>
  %rows = mtp.make_rows %of, %at : tensor<4xi32>
  %slots = mtp.row_slots %rows : tensor<4xi32>
  %b = mtp.read_state @bias of %slots : tensor<4xi32> -> tensor<4x8xf32>
  exec.output "own" %b : tensor<4x8xf32>
}
// CHECK-LABEL: exec.program @prompt prefill
// CHECK: %[[S:.*]] = exec.ref @prompt_slots : memref<8xi32>
// CHECK: exec.read_state %{{.*}} of %[[S]] : {{.*}} -> tensor<8x8xf32>
exec.program @prompt prefill k 0 n 8 to 8 {
  %t, %rows = mtp.prompt_rows : tensor<8xi32>
  %slots = mtp.row_slots %rows : tensor<8xi32>
  %b = mtp.read_state @bias of %slots : tensor<8xi32> -> tensor<8x8xf32>
  exec.output "own" %b : tensor<8x8xf32>
}
}
