// RUN: mtp-opt %s --exec-fuse-argmax --split-input-file 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.err

// A draft: its logits have no reader. The head keeps everything else that the
// product does.
// CHECK-LABEL: exec.program @draft
// CHECK: %[[X:.*]] = exec.columns %{{.*}}[8 to 16]
// CHECK: %[[B:.*]], %[[C:.*]] = exec.linear_argmax %[[X]], %{{.*}} n 70 as <int8, group = 64> norm %{{.*}} eps 9.99999974E-6 offset 1 :
// CHECK-SAME: -> (tensor<4x3xf32>, tensor<4x3xi32>)
// CHECK: %[[P:.*]] = exec.argmax_parts %[[B]], %[[C]] : (tensor<4x3xf32>, tensor<4x3xi32>) -> tensor<4xi32>
// CHECK-NOT: exec.{{linear|argmax}}
// CHECK: exec.output "picks" %[[P]]
exec.weight @head #exec.panels<32> k 8 n 70 stack 1 [#exec.source<key = "lm_head">] : <int8, group = 64>
exec.program @draft function {
  %x = exec.input "x" : tensor<4x16xf32>
  %norm = exec.input "norm" : tensor<8xf32>
  %w = exec.ref @head : memref<3x384xi8>
  %x_8 = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %l = exec.linear %x_8, %w as <int8, group = 64> norm %norm eps 1.0e-5 offset 1
    : (tensor<4x8xf32>, tensor<8xf32>, memref<3x384xi8>) -> tensor<4x70xf32>
  %p = exec.argmax %l : (tensor<4x70xf32>) -> tensor<4xi32>
  exec.output "picks" %p : tensor<4xi32>
}

// -----

// The best of each panel, at any panel width.
// CHECK-LABEL: exec.program @narrow
// CHECK: exec.linear_argmax {{.*}} -> (tensor<4x5xf32>, tensor<4x5xi32>)
exec.weight @head #exec.panels<16> k 8 n 70 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.program @narrow function {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.ref @head : memref<5x8x16xf32>
  %l = exec.linear %x, %w as <f32>
    : (tensor<4x8xf32>, memref<5x8x16xf32>) -> tensor<4x70xf32>
  %p = exec.argmax %l : (tensor<4x70xf32>) -> tensor<4xi32>
  exec.output "picks" %p : tensor<4xi32>
}

// -----

// The target: logits leave the program, and slots are known only after the
// projection.
// CHECK-LABEL: exec.program @target
// CHECK: %[[SLOT:.*]] = exec.gather_rows
// CHECK-NEXT: %[[B:.*]], %[[C:.*]], %[[L:.*]] = exec.linear_argmax %{{.*}}, %{{.*}} n 64 as <f32> bias %{{.*}} logits(%[[SLOT]], %[[S:.*]]) :
// CHECK-SAME: -> (tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x64xf32>)
// CHECK-NEXT: %[[P:.*]] = exec.sample %[[L]] best(%[[B]], %[[C]]) slots %[[SLOT]] positions %{{.*}} by %[[S]] :
// CHECK-NOT: exec.{{linear|sample}}
// CHECK: exec.output "logits" %[[L]] : tensor<1x64xf32>
// CHECK: exec.output "picks" %[[P]] : tensor<1xi32>
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.state @sampling : memref<2x8xi32>
exec.program @target prefill k 0 n 4 to 4 {
  %x = exec.input "x" : tensor<1x8xf32>
  %bias = exec.input "bias" : tensor<64xf32>
  %slots = exec.input "slots" : tensor<4xi32>
  %last = exec.input "last" : tensor<1xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l = exec.linear %x, %w as <f32> bias %bias
    : (tensor<1x8xf32>, memref<2x8x32xf32>, tensor<64xf32>) -> tensor<1x64xf32>
  %slot = exec.gather_rows %slots, %last : (tensor<4xi32>, tensor<1xi32>) -> tensor<1xi32>
  %p = exec.sample %l slots %slot positions %last by %s
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  exec.output "logits" %l : tensor<1x64xf32>
  exec.output "picks" %p : tensor<1xi32>
}

// -----

// A product that reads a state stays in place: the state changes before the
// pick.
// CHECK-LABEL: exec.program @state
// CHECK: exec.linear_argmax
// CHECK-NEXT: exec.write_state
// CHECK-NEXT: exec.argmax_parts
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.state @hidden : memref<2x8xf32>
exec.program @state function {
  %slots = exec.input "slots" : tensor<2xi32>
  %o = exec.input "o" : tensor<2x8xf32>
  %h = exec.ref @hidden : memref<2x8xf32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %l = exec.linear %h, %w as <f32>
    : (memref<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  exec.write_state %o to %h of %slots : (tensor<2x8xf32>, tensor<2xi32>, memref<2x8xf32>) -> ()
  %p = exec.argmax %l : (tensor<2x64xf32>) -> tensor<2xi32>
  exec.output "picks" %p : tensor<2xi32>
}

// -----

// A draft from a part of the vocabulary: the pick gets the map.
// CHECK-LABEL: exec.program @mapped
// CHECK: %[[V:.*]] = exec.ref @vocabulary
// CHECK: %[[B:.*]], %[[C:.*]], %[[L:.*]] = exec.linear_argmax %{{.*}}, %{{.*}} n 64 as <f32> logits(%[[SLOT:.*]], %[[S:.*]]) :
// CHECK-NEXT: exec.sample %[[L]] best(%[[B]], %[[C]]) tokens %[[V]] slots %[[SLOT]] positions %{{.*}} by %[[S]] :
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.constant @vocabulary dense<3> : tensor<64x1xi32>
exec.state @sampling : memref<2x8xi32>
exec.program @mapped function {
  %x = exec.input "x" : tensor<1x8xf32>
  %slots = exec.input "slots" : tensor<1xi32>
  %positions = exec.input "positions" : tensor<1xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %v = exec.ref @vocabulary : memref<64x1xi32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l = exec.linear %x, %w as <f32>
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p = exec.sample %l tokens %v slots %slots positions %positions by %s
    : (tensor<1x64xf32>, memref<64x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  exec.output "picks" %p : tensor<1xi32>
}

// -----

// Threads share a row: two calls, a task per stretch and a task per row.
// CHECK-LABEL: exec.program @long
// CHECK: %[[B:.*]], %[[C:.*]], %[[L:.*]] = exec.linear_argmax
// CHECK-SAME: -> (tensor<2x513xf32>, tensor<2x513xi32>, tensor<2x16416xf32>)
// CHECK-NEXT: %[[F:.*]] = exec.sample scan %[[L]] best(%[[B]], %[[C]]) slots %[[SLOT:.*]] positions %[[POS:.*]] by %[[S:.*]] :
// CHECK-SAME: -> tensor<2x1236xi32>
// CHECK-NEXT: %[[P:.*]] = exec.sample %[[L]] best(%[[B]], %[[C]]) slots %[[SLOT]] positions %[[POS]] by %[[S]] found %[[F]] :
// CHECK-SAME: -> tensor<2xi32>
// CHECK: exec.output "picks" %[[P]]
exec.weight @head #exec.panels<32> k 8 n 16416 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.state @sampling : memref<2x8xi32>
exec.program @long function {
  %x = exec.input "x" : tensor<2x8xf32>
  %slots = exec.input "slots" : tensor<2xi32>
  %positions = exec.input "positions" : tensor<2xi32>
  %w = exec.ref @head : memref<513x8x32xf32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<513x8x32xf32>) -> tensor<2x16416xf32>
  %p = exec.sample %l slots %slots positions %positions by %s
    : (tensor<2x16416xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  exec.output "picks" %p : tensor<2xi32>
}

// -----

// With a map, for a vocabulary of one stretch and one of two.
// CHECK-LABEL: exec.program @long_mapped
// CHECK: exec.sample %{{.*}} best({{.*}}) tokens %[[V1:.*]] slots
// CHECK: %[[F:.*]] = exec.sample scan %{{.*}} best({{.*}}) tokens %[[V2:.*]] slots
// CHECK-NEXT: exec.sample %{{.*}} best({{.*}}) tokens %[[V2]] slots {{.*}} found %[[F]] :
exec.weight @one #exec.panels<32> k 8 n 16384 stack 1 [#exec.source<key = "one">] : <f32>
exec.weight @two #exec.panels<32> k 8 n 16385 stack 1 [#exec.source<key = "two">] : <f32>
exec.constant @v1 dense<3> : tensor<16384x1xi32>
exec.constant @v2 dense<3> : tensor<16385x1xi32>
exec.state @sampling : memref<2x8xi32>
exec.program @long_mapped function {
  %x = exec.input "x" : tensor<1x8xf32>
  %slots = exec.input "slots" : tensor<1xi32>
  %positions = exec.input "positions" : tensor<1xi32>
  %w1 = exec.ref @one : memref<512x8x32xf32>
  %w2 = exec.ref @two : memref<513x8x32xf32>
  %v1 = exec.ref @v1 : memref<16384x1xi32>
  %v2 = exec.ref @v2 : memref<16385x1xi32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %l1 = exec.linear %x, %w1 as <f32>
    : (tensor<1x8xf32>, memref<512x8x32xf32>) -> tensor<1x16384xf32>
  %p1 = exec.sample %l1 tokens %v1 slots %slots positions %positions by %s
    : (tensor<1x16384xf32>, memref<16384x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  %l2 = exec.linear %x, %w2 as <f32>
    : (tensor<1x8xf32>, memref<513x8x32xf32>) -> tensor<1x16385xf32>
  %p2 = exec.sample %l2 tokens %v2 slots %slots positions %positions by %s
    : (tensor<1x16385xf32>, memref<16385x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<2x8xi32>) -> tensor<1xi32>
  exec.output "one" %p1 : tensor<1xi32>
  exec.output "two" %p2 : tensor<1xi32>
}

// -----

// Cases that stay unchanged, one per reason.
// CHECK-LABEL: exec.program @stays
// CHECK-NOT: linear_argmax
// CHECK-NOT: {{_parts|best\(}}
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.weight @gated #exec.gated_panels<32> k 8 n 64 stack 1 [#exec.source<key = "gate">, #exec.source<key = "up">] : <f32>
exec.state @sampling : memref<2x8xi32>
exec.state @hidden : memref<2x8xf32>
exec.program @stays function {
  %x = exec.input "x" : tensor<2x8xf32>
  %r = exec.input "r" : tensor<2x64xf32>
  %i = exec.input "i" : tensor<2xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %g = exec.ref @gated : memref<2x8x32xf32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %h = exec.ref @hidden : memref<2x8xf32>
  // An arg-max whose logits leave the program.
  %out = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p0 = exec.argmax %out : (tensor<2x64xf32>) -> tensor<2xi32>
  exec.output "logits" %out : tensor<2x64xf32>
  // Another kernel reads the logits, of an arg-max and of a sample.
  %two = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p1 = exec.argmax %two : (tensor<2x64xf32>) -> tensor<2xi32>
  %p2 = exec.sample %two slots %i positions %i by %s
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  // A residual; a gate.
  %sum = exec.linear %x, %w as <f32> residual %r
    : (tensor<2x8xf32>, memref<2x8x32xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %p3 = exec.argmax %sum : (tensor<2x64xf32>) -> tensor<2xi32>
  %act = exec.linear %x, %g as <f32> activation swiglu
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x32xf32>
  %p4 = exec.argmax %act : (tensor<2x32xf32>) -> tensor<2xi32>
  // Some of the columns: the first ones, the last ones.
  %part = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %part_0 = exec.columns %part[0 to 32] : tensor<2x64xf32>
  %p5 = exec.argmax %part_0 : (tensor<2x32xf32>) -> tensor<2xi32>
  %rest = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %rest_32 = exec.columns %rest[32 to 64] : tensor<2x64xf32>
  %p6 = exec.argmax %rest_32 : (tensor<2x32xf32>) -> tensor<2xi32>
  // Fewer rows.
  %few = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %one = exec.input "one" : tensor<1xi32>
  %row = exec.gather_rows %few, %one : (tensor<2x64xf32>, tensor<1xi32>) -> tensor<1x64xf32>
  %p8 = exec.argmax %row : (tensor<1x64xf32>) -> tensor<1xi32>
  // A sample of a part of the vocabulary.
  %most = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %most_0 = exec.columns %most[0 to 60] : tensor<2x64xf32>
  %some = exec.copy %most_0 : (tensor<2x60xf32>) -> tensor<2x60xf32>
  %p9 = exec.sample %some slots %i positions %i by %s
    : (tensor<2x60xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  // The projection reads a state, which may change before the pick.
  %now = exec.linear %h, %w as <f32>
    : (memref<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  %p10 = exec.sample %now slots %i positions %i by %s
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  // Logits that leave the program before the pick; logits of no projection.
  %early = exec.linear %x, %w as <f32>
    : (tensor<2x8xf32>, memref<2x8x32xf32>) -> tensor<2x64xf32>
  exec.output "early" %early : tensor<2x64xf32>
  %p11 = exec.sample %early slots %i positions %i by %s
    : (tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>, memref<2x8xi32>) -> tensor<2xi32>
  %p12 = exec.argmax %r : (tensor<2x64xf32>) -> tensor<2xi32>
  exec.output "p0" %p0 : tensor<2xi32>
}

// -----

// An op that changes a head's logits prevents fusing the pick, and is named
// once per location. Siblings get no remark: they need all logits.
// REMARK: :[[#]]:[[#]]: remark: the logits of this head are written in full and read again by a pick, since the pick does not read them as they are
// REMARK-NEXT: exec.linear
// REMARK: note: they are changed here
// REMARK-NEXT: exec.add
// REMARK: remark: the logits of this head are written in full and read again by a pick, since its product is not all that they are
// REMARK-NEXT: residual
// REMARK-NOT: remark
// CHECK-LABEL: exec.program @changed
// CHECK: %[[L:.*]] = exec.linear {{.*}} role head
// CHECK: %[[SUM:.*]] = exec.add %[[L]]
// CHECK: exec.argmax %[[SUM]]
// CHECK: exec.linear {{.*}} residual
// CHECK: exec.argmax
// CHECK: %[[S:.*]] = exec.linear
// CHECK: exec.argmax %[[S]]
// CHECK: %[[REST:.*]] = exec.mask_tokens %[[S]]
// CHECK: exec.argmax %[[REST]]
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.program @changed function {
  %x = exec.input "x" : tensor<4x8xf32>
  %r = exec.input "r" : tensor<4x64xf32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %l = exec.linear %x, %w as <f32> role head
    : (tensor<4x8xf32>, memref<2x8x32xf32>) -> tensor<4x64xf32>
  %sum = exec.add %l, %r : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %p = exec.argmax %sum : (tensor<4x64xf32>) -> tensor<4xi32>
  %again = exec.argmax %sum : (tensor<4x64xf32>) -> tensor<4xi32>
  %l2 = exec.linear %x, %w as <f32> residual %r role head
    : (tensor<4x8xf32>, memref<2x8x32xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %p2 = exec.argmax %l2 : (tensor<4x64xf32>) -> tensor<4xi32>
  %l3 = exec.linear %x, %w as <f32> role head
    : (tensor<4x8xf32>, memref<2x8x32xf32>) -> tensor<4x64xf32>
  %p3 = exec.argmax %l3 : (tensor<4x64xf32>) -> tensor<4xi32>
  %rest = exec.mask_tokens %l3, %p3 : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %p4 = exec.argmax %rest : (tensor<4x64xf32>) -> tensor<4xi32>
  exec.output "picks" %p : tensor<4xi32>
  exec.output "others" %again : tensor<4xi32>
  exec.output "more" %p2 : tensor<4xi32>
  exec.output "most" %p4 : tensor<4xi32>
}

// -----

// Rules between a head and a sample stay there, and update the best logits.
// CHECK-LABEL: exec.program @ruled
// CHECK: %[[B:.*]], %[[C:.*]], %[[L:.*]] = exec.linear_argmax
// CHECK-NEXT: %[[Y:.*]], %[[R:.*]]:2 = exec.process_logits draft %[[L]] best(%[[B]], %[[C]]) slots %[[S:.*]] positions %[[P:.*]] by(
// CHECK-NEXT: exec.sample %[[Y]] best(%[[R]]#0, %[[R]]#1) slots %[[S]] positions %[[P]]
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.state @sampling : memref<2x8xi32>
exec.state @rules : memref<2x256xi32>
exec.state @counts : memref<2x64xi32>
exec.program @ruled prefill k 0 n 4 to 4 {
  %x = exec.input "x" : tensor<4x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.ref @head : memref<2x8x32xf32>
  %sampling = exec.ref @sampling : memref<2x8xi32>
  %rules = exec.ref @rules : memref<2x256xi32>
  %counts = exec.ref @counts : memref<2x64xi32>
  %l = exec.linear %x, %w as <f32>
    : (tensor<4x8xf32>, memref<2x8x32xf32>) -> tensor<4x64xf32>
  %y = exec.process_logits draft %l slots %s positions %s by (%rules, %counts, %counts)
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>) -> tensor<4x64xf32>
  %p = exec.sample %y slots %s positions %s by %sampling
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>) -> tensor<4xi32>
  exec.output "picks" %p : tensor<4xi32>
}
