// RUN: mtp-opt %s --exec-fuse-argmax --split-input-file | FileCheck %s

// A draft: nobody sees its logits. Keys that linear_argmax does not have are
// gone, and so is the norm's own nothing: its weight stays an argument.
// CHECK-LABEL: exec.program @draft
// CHECK: %[[L:.*]]:2 = exec.invoke "linear_argmax"(%[[X:.*]], %[[NORM:.*]], %[[W:.*]]) params [4] offsets [8, 0, 0]
// CHECK-SAME: config {dtype = "int8", eps = 9.99999974E-6 : f32, group = 64 : i64, k = 8 : i64, n = 70 : i64, norm = true, x_stride = 16 : i64}
// CHECK-SAME: -> (tensor<4x3xf32>, tensor<4x3xi32>)
// CHECK: %[[P:.*]] = exec.invoke "argmax_parts"(%[[L]]#0, %[[L]]#1) params [4] offsets [0, 0] config {parts = 3 : i64} : (tensor<4x3xf32>, tensor<4x3xi32>) -> tensor<4xi32>
// CHECK-NOT: exec.invoke
// CHECK: exec.output "picks" %[[P]]
exec.weight @head "linear" k 8 n 70 stack 1 [{key = "lm_head"}] : i8 group 64
exec.program @draft "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x16xf32>
  %norm = exec.input "norm" : tensor<8xf32>
  %w = exec.ref @head : memref<3x384xi8>
  %l = exec.invoke "linear"(%x, %norm, %w) params [4] offsets [8, 0, 0]
    config {k = 8, n = 70, dtype = "int8", group = 64, norm = true, eps = 1.0e-5 : f32, activation = "none", residual = false, residual_stride = 0, x_stride = 16, y_stride = 70}
    : (tensor<4x16xf32>, tensor<8xf32>, memref<3x384xi8>) -> tensor<4x70xf32>
  %p = exec.invoke "argmax"(%l) params [4] offsets [0] config {width = 70, x_stride = 70} : (tensor<4x70xf32>) -> tensor<4xi32>
  exec.output "picks" %p : tensor<4xi32>
}

// -----

// The target: logits leave the program, slots are known only after the
// projection.
// CHECK-LABEL: exec.program @target
// CHECK: %[[SLOT:.*]] = exec.invoke "take_rows"
// CHECK-NEXT: %[[L:.*]]:3 = exec.invoke "linear_argmax"(%[[X:.*]], %[[W:.*]], %[[BIAS:.*]], %[[SLOT]], %[[S:.*]]) params [1] offsets [0, 0, 0, 0, 0]
// CHECK-SAME: config {bias = true, dtype = "f32", k = 8 : i64, logits = true, n = 64 : i64}
// CHECK-SAME: -> (tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x64xf32>)
// CHECK-NEXT: %[[P:.*]] = exec.invoke "mtp.sample_parts"(%[[L]]#0, %[[L]]#1, %[[L]]#2, %[[SLOT]], %[[POS:.*]], %[[S]]) params [1, 64, 2] offsets [0, 0, 0, 0, 0, 0] config {}
// CHECK-NOT: exec.invoke
// CHECK: exec.output "logits" %[[L]]#2 : tensor<1x64xf32>
// CHECK: exec.output "picks" %[[P]] : tensor<1xi32>
exec.weight @head "linear" k 8 n 64 stack 1 [{key = "lm_head"}] : f32
exec.state @sampling : memref<2x8xi32>
exec.program @target "prefill" batch 1 k 0 chunk 4 {
  %x = exec.input "x" : tensor<1x8xf32>
  %bias = exec.input "bias" : tensor<64xf32>
  %slots = exec.input "slots" : tensor<4xi32>
  %last = exec.input "last" : tensor<1xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l = exec.invoke "linear"(%x, %w, %bias) params [1] offsets [0, 0, 0] config {k = 8, n = 64, dtype = "f32", bias = true, y_stride = 64}
    : (tensor<1x8xf32>, memref<2x8x32xf32>, tensor<64xf32>) -> tensor<1x64xf32>
  %slot = exec.invoke "take_rows"(%slots, %last) params [1, 4] offsets [0, 0] config {width = 1} : (tensor<4xi32>, tensor<1xi32>) -> tensor<1xi32>
  %p = exec.invoke "mtp.sample"(%l, %slot, %last, %s) params [1, 64, 1] offsets [0, 0, 0, 0] config {}
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  exec.output "logits" %l : tensor<1x64xf32>
  exec.output "picks" %p : tensor<1xi32>
}

// -----

// A product that reads a state stays where it is: the state changes before the
// pick.
// CHECK-LABEL: exec.program @state
// CHECK: exec.invoke "linear_argmax"
// CHECK-NEXT: exec.invoke "prefill_carry"
// CHECK-NEXT: exec.invoke "argmax_parts"
exec.weight @head "linear" k 8 n 64 stack 1 [{key = "lm_head"}] : f32
exec.state @hidden : memref<2x8xf32>
exec.program @state "function" batch 0 k 0 chunk 0 {
  %info = exec.input "info" : tensor<4xi32>
  %o = exec.input "o" : tensor<4x8xf32>
  %h = exec.ref @hidden : memref<2x8xf32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %l = exec.invoke "linear"(%h, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (memref<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  exec.invoke "prefill_carry"(%info, %o, %h) params [4, 2] offsets [0, 0, 0] config {width = 8} : (tensor<4xi32>, tensor<4x8xf32>, memref<2x8xf32>) -> ()
  %p = exec.invoke "argmax"(%l) params [2] offsets [0] config {width = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  exec.output "picks" %p : tensor<2xi32>
}

// -----

// A draft from a part of the vocabulary: the map goes on to the pick.
// CHECK-LABEL: exec.program @mapped
// CHECK: %[[V:.*]] = exec.ref @vocabulary
// CHECK: %[[L:.*]]:3 = exec.invoke "linear_argmax"(%{{.*}}, %{{.*}}, %[[SLOT:.*]], %[[S:.*]]) params [1] {{.*}}logits = true, n = 64
// CHECK-NEXT: exec.invoke "mtp.sample_parts_mapped"(%[[L]]#0, %[[L]]#1, %[[L]]#2, %[[V]], %[[SLOT]], %[[POS:.*]], %[[S]]) params [1, 64, 2] offsets [0, 0, 0, 0, 0, 0, 0] config {}
exec.weight @head "linear" k 8 n 64 stack 1 [{key = "lm_head"}] : f32
exec.constant @vocabulary dense<3> : tensor<64x1xi32>
exec.state @sampling : memref<2x8xi32>
exec.program @mapped "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<1x8xf32>
  %slots = exec.input "slots" : tensor<1xi32>
  %positions = exec.input "positions" : tensor<1xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %v = exec.ref @vocabulary : memref<64x1xi32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l = exec.invoke "linear"(%x, %w) params [1] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p = exec.invoke "mtp.sample_mapped"(%l, %v, %slots, %positions, %s) params [1, 64, 1] offsets [0, 0, 0, 0, 0] config {}
    : (tensor<1x64xf32>, memref<64x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  exec.output "picks" %p : tensor<1xi32>
}

// -----

// A row that threads share: two calls, a task a stretch and a task a row.
// CHECK-LABEL: exec.program @long
// CHECK: %[[L:.*]]:3 = exec.invoke "linear_argmax"
// CHECK-NEXT: %[[B:.*]] = exec.invoke "mtp.sample_scan"(%[[L]]#0, %[[L]]#1, %[[L]]#2, %[[SLOT:.*]], %[[POS:.*]], %[[S:.*]]) params [2, 16416, 513] offsets [0, 0, 0, 0, 0, 0] config {}
// CHECK-SAME: -> tensor<2x1236xi32>
// CHECK-NEXT: %[[P:.*]] = exec.invoke "mtp.sample_join"(%[[L]]#0, %[[L]]#1, %[[L]]#2, %[[SLOT]], %[[POS]], %[[S]], %[[B]]) params [2, 16416, 513] offsets [0, 0, 0, 0, 0, 0, 0] config {}
// CHECK-SAME: -> tensor<2xi32>
// CHECK: exec.output "picks" %[[P]]
exec.weight @head "linear" k 8 n 16416 stack 1 [{key = "lm_head"}] : f32
exec.state @sampling : memref<2x8xi32>
exec.program @long "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<2x8xf32>
  %slots = exec.input "slots" : tensor<2xi32>
  %positions = exec.input "positions" : tensor<2xi32>
  %w = exec.ref @head : memref<513x8x32xf32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 16416}
    : (tensor<2x8xf32>, memref<513x8x32xf32>) -> tensor<2x16416xf32>
  %p = exec.invoke "mtp.sample"(%l, %slots, %positions, %s) params [2, 16416, 1] offsets [0, 0, 0, 0] config {}
    : (tensor<2x16416xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  exec.output "picks" %p : tensor<2xi32>
}

// -----

// The same with a map, of a vocabulary that is one stretch and one that is two.
// CHECK-LABEL: exec.program @long_mapped
// CHECK: exec.invoke "mtp.sample_parts_mapped"
// CHECK: %[[B:.*]] = exec.invoke "mtp.sample_scan_mapped"({{.*}}) params [1, 16385, 513]
// CHECK-NEXT: exec.invoke "mtp.sample_join_mapped"({{.*}}, %[[B]]) params [1, 16385, 513]
exec.weight @one "linear" k 8 n 16384 stack 1 [{key = "one"}] : f32
exec.weight @two "linear" k 8 n 16385 stack 1 [{key = "two"}] : f32
exec.constant @v1 dense<3> : tensor<16384x1xi32>
exec.constant @v2 dense<3> : tensor<16385x1xi32>
exec.state @sampling : memref<2x8xi32>
exec.program @long_mapped "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<1x8xf32>
  %slots = exec.input "slots" : tensor<1xi32>
  %positions = exec.input "positions" : tensor<1xi32>
  %w1 = exec.ref @one : memref<512x8x32xf32>
  %w2 = exec.ref @two : memref<513x8x32xf32>
  %v1 = exec.ref @v1 : memref<16384x1xi32>
  %v2 = exec.ref @v2 : memref<16385x1xi32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l1 = exec.invoke "linear"(%x, %w1) params [1] offsets [0, 0] config {k = 8, n = 16384}
    : (tensor<1x8xf32>, memref<512x8x32xf32>) -> tensor<1x16384xf32>
  %p1 = exec.invoke "mtp.sample_mapped"(%l1, %v1, %slots, %positions, %s) params [1, 16384, 1] offsets [0, 0, 0, 0, 0] config {}
    : (tensor<1x16384xf32>, memref<16384x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  %l2 = exec.invoke "linear"(%x, %w2) params [1] offsets [0, 0] config {k = 8, n = 16385}
    : (tensor<1x8xf32>, memref<513x8x32xf32>) -> tensor<1x16385xf32>
  %p2 = exec.invoke "mtp.sample_mapped"(%l2, %v2, %slots, %positions, %s) params [1, 16385, 1] offsets [0, 0, 0, 0, 0] config {}
    : (tensor<1x16385xf32>, memref<16385x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  exec.output "one" %p1 : tensor<1xi32>
  exec.output "two" %p2 : tensor<1xi32>
}

// -----

// What stays, one reason each.
// CHECK-LABEL: exec.program @stays
// CHECK-NOT: linear_argmax
// CHECK-NOT: _parts
exec.weight @head "linear" k 8 n 64 stack 1 [{key = "lm_head"}] : f32
exec.weight @gated "swiglu" k 8 n 64 stack 1 [{key = "gate"}, {key = "up"}] : f32
exec.state @sampling : memref<2x8xi32>
exec.state @hidden : memref<2x8xf32>
exec.program @stays "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<2x8xf32>
  %r = exec.input "r" : tensor<2x64xf32>
  %i = exec.input "i" : tensor<2xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %g = exec.ref @gated : memref<2x8x32xf32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %h = exec.ref @hidden : memref<2x8xf32>
  // An arg-max whose logits leave the program.
  %out = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p0 = exec.invoke "argmax"(%out) params [2] offsets [0] config {width = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  exec.output "logits" %out : tensor<2x64xf32>
  // Another kernel reads the logits, of an arg-max and of a sample.
  %two = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p1 = exec.invoke "argmax"(%two) params [2] offsets [0] config {width = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  %p2 = exec.invoke "mtp.sample"(%two, %i, %i, %s) params [2, 64, 1] offsets [0, 0, 0, 0] config {}
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  // A residual; a gate.
  %sum = exec.invoke "linear"(%x, %w, %r) params [2] offsets [0, 0, 0] config {k = 8, n = 64, residual = true}
    : (tensor<2x8xf32>, memref<2x8x32xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %p3 = exec.invoke "argmax"(%sum) params [2] offsets [0] config {width = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  %act = exec.invoke "linear"(%x, %g) params [2] offsets [0, 0] config {k = 8, n = 64, activation = "swiglu"}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x32xf32>
  %p4 = exec.invoke "argmax"(%act) params [2] offsets [0] config {width = 32} : (tensor<2x32xf32>) -> tensor<2xi32>
  // Some of the columns: the first ones, the last ones.
  %part = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p5 = exec.invoke "argmax"(%part) params [2] offsets [0] config {width = 32, x_stride = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  %rest = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p6 = exec.invoke "argmax"(%rest) params [2] offsets [32] config {width = 32, x_stride = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  // Rows that are further apart; fewer rows.
  %wide = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64, y_stride = 80}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x80xf32>
  %p7 = exec.invoke "argmax"(%wide) params [2] offsets [0] config {width = 64, x_stride = 80} : (tensor<2x80xf32>) -> tensor<2xi32>
  %few = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p8 = exec.invoke "argmax"(%few) params [1] offsets [0] config {width = 64} : (tensor<2x64xf32>) -> tensor<1xi32>
  // A sample of a part of the vocabulary.
  %most = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p9 = exec.invoke "mtp.sample"(%most, %i, %i, %s) params [2, 60, 1] offsets [0, 0, 0, 0] config {}
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  // The projection reads a state, which may change before the pick.
  %now = exec.invoke "linear"(%h, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (memref<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p10 = exec.invoke "mtp.sample"(%now, %i, %i, %s) params [2, 64, 1] offsets [0, 0, 0, 0] config {}
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  // Logits that leave the program before the pick; logits of no projection.
  %early = exec.invoke "linear"(%x, %w) params [2] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  exec.output "early" %early : tensor<2x64xf32>
  %p11 = exec.invoke "mtp.sample"(%early, %i, %i, %s) params [2, 64, 1] offsets [0, 0, 0, 0] config {}
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  %p12 = exec.invoke "argmax"(%r) params [2] offsets [0] config {width = 64} : (tensor<2x64xf32>) -> tensor<2xi32>
  exec.output "p0" %p0 : tensor<2xi32>
}
