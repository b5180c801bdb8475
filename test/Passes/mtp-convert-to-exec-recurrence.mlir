// RUN: mtp-opt %s --mtp-convert-to-exec --split-input-file --verify-diagnostics | FileCheck %s

// Each layer has its own states: the rows that the convolution sees, before the
// kept rows and including them; the recurrent state; and the updates of the
// kept rows. The weight has the columns of the oldest row first.
// CHECK: exec.state @memory.0.rows : memref<3x6x12xf32> rebuild run
// CHECK: exec.state @memory.0.memory : memref<3x8x2xf32> rebuild run
// CHECK: exec.state @memory.0.kept : memref<3x3x14xf32> rebuild run
// CHECK: exec.state @memory.1.rows
// CHECK-NOT: mtp.recurrence
// CHECK-DAG: exec.weight @conv #exec.raw k 12 n 4 stack 1 [#exec.source<key = "conv", transpose = true, shape = [12, 4]>] : <f32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 3, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.recurrence @memory layers 2 heads 2 keys 4 values 2 key_heads 1 window 4
exec.state @length : memref<3xi32>

// The rows of a function are a prompt's: one is folded, and one kept.
// CHECK-DAG: exec.constant @constant dense<1> : tensor<5xi32>
// CHECK-LABEL: exec.program @layer
// CHECK: %[[SLOTS:.*]] = exec.input "slots"
// CHECK: %[[AT:.*]] = exec.input "positions"
// CHECK: %[[ONE:.*]] = exec.ref @constant
// CHECK: %[[ROWS:.*]] = exec.ref @memory.1.rows
// CHECK: %[[W:.*]] = exec.ref @conv
// CHECK: %[[C:.*]] = exec.causal_conv %{{.*}} by %[[W]] window 4 in %[[ROWS]] slots %[[SLOTS]] at %[[AT]] pending %[[ONE]] keeps %[[ONE]]
// CHECK: %[[Q:.*]] = exec.columns %[[C]][0 to 4]
// CHECK: %[[M:.*]] = exec.ref @memory.1.memory
// CHECK: %[[K:.*]] = exec.ref @memory.1.kept
// CHECK: exec.delta_rule %[[Q]], %{{.*}}, %{{.*}} decay %{{.*}} beta %{{.*}} scale 2.500000e-01 key_heads 1 in %[[M]] keeping %[[K]] slots %[[SLOTS]] at %[[AT]]
exec.program @layer function {
  %x = exec.input "x" : tensor<5x12xf32>
  %g = exec.input "g" : tensor<5x2xf32>
  %slots = exec.input "slots" : tensor<5xi32>
  %positions = exec.input "positions" : tensor<5xi32>
  %rows = mtp.make_rows %slots, %positions : tensor<5xi32>
  %w = mtp.weight "conv" : tensor<12x4xbf16>
  %c = mtp.causal_conv %x, %w, %rows in @memory[1] : tensor<5x12xf32>, tensor<12x4xbf16>
  %q = mtp.slice %c cols 0 to 4 : tensor<5x12xf32> -> tensor<5x4xf32>
  %k = mtp.slice %c cols 4 to 8 : tensor<5x12xf32> -> tensor<5x4xf32>
  %v = mtp.slice %c cols 8 to 12 : tensor<5x12xf32> -> tensor<5x4xf32>
  %y = mtp.delta_rule %q, %k, %v decay %g beta %g, %rows in @memory[1] scale 0.25 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x2xf32>
  exec.output "y" %y : tensor<5x4xf32>
}

// Packed rows keep their two numbers.
// CHECK-LABEL: exec.program @packed
// CHECK: %[[P:.*]] = exec.input "pending"
// CHECK: %[[N:.*]] = exec.input "keeps"
// CHECK: %[[PACKED:.*]], %[[NUMBERS:.*]]:4, %{{.*}}, %{{.*}} = exec.pack %{{.*}}, (%{{.*}}, %{{.*}}, %[[P]], %[[N]])
// CHECK: exec.causal_conv %{{.*}} slots %[[NUMBERS]]#1 at %[[PACKED]] pending %[[NUMBERS]]#2 keeps %[[NUMBERS]]#3
exec.program @packed function {
  %x = exec.input "x" : tensor<5x12xf32>
  %slots = exec.input "slots" : tensor<5xi32>
  %positions = exec.input "positions" : tensor<5xi32>
  %pending = exec.input "pending" : tensor<5xi32>
  %keeps = exec.input "keeps" : tensor<5xi32>
  %made = mtp.make_rows %slots, %positions : tensor<5xi32>
  %runs = mtp.run_rows %made pending %pending keeps %keeps : tensor<5xi32>
  %rows, %tokens, %places = mtp.pack %runs, %slots : tensor<5xi32>
  %w = mtp.weight "conv" : tensor<12x4xbf16>
  %c = mtp.causal_conv %x, %w, %rows in @memory[0] : tensor<5x12xf32>, tensor<12x4xbf16>
  exec.output "c" %c : tensor<5x12xf32>
}
}

// -----

// A decay for each of a head's keys, stored for each kept row.
// CHECK: exec.state @memory.0.memory : memref<3x8x2xf32> rebuild run
// CHECK: exec.state @memory.0.kept : memref<3x3x20xf32> rebuild run
// CHECK-LABEL: exec.program @channels
// CHECK: exec.delta_rule {{.*}} key_heads 1 {{.*}}tensor<5x8xf32>, tensor<5x2xf32>, memref<3x8x2xf32>, memref<3x3x20xf32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 3, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.recurrence @memory layers 1 heads 2 keys 4 values 2 key_heads 1 window 4 decays_per_key
exec.state @length : memref<3xi32>
exec.program @channels function {
  %q = exec.input "q" : tensor<5x4xf32>
  %g = exec.input "g" : tensor<5x8xf32>
  %b = exec.input "b" : tensor<5x2xf32>
  %slots = exec.input "slots" : tensor<5xi32>
  %rows = mtp.make_rows %slots, %slots : tensor<5xi32>
  %y = mtp.delta_rule %q, %q, %q decay %g beta %b, %rows in @memory[0] scale 0.25 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x8xf32>, tensor<5x2xf32>
  exec.output "y" %y : tensor<5x4xf32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 3, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.recurrence @memory layers 1 heads 2 keys 4 values 2 key_heads 1 window 4
exec.state @active : memref<3xi32>
exec.program @decode decode k 0 n 1 to 3 {
  %slots = mtp.slots : tensor<?xi32, #exec.count<1 * n>>
  %w = mtp.weight "e" : tensor<8x12xf32>
  %x = mtp.embed %slots, %w : tensor<?xi32, #exec.count<1 * n>>, tensor<8x12xf32> -> tensor<?x12xf32, #exec.count<1 * n>>
  %cw = mtp.weight "conv" : tensor<12x4xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32, #exec.count<1 * n>>
  // expected-error @+1 {{'mtp.causal_conv' op expected rows of mtp.verify, or of mtp.run_rows, which say which of a slot's last rows stay: a drafter has no recurrent layers}}
  %c = mtp.causal_conv %x, %cw, %rows in @memory[0] : tensor<?x12xf32, #exec.count<1 * n>>, tensor<12x4xf32>
}
}

// -----

// expected-error @+1 {{'mtp.recurrence' op expected an mtp.envelope on the module: it says how many slots there are}}
mtp.recurrence @memory layers 1 heads 2 keys 4 values 2 key_heads 1 window 4
