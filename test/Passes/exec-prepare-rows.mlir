// RUN: mtp-opt %s --exec-prepare-rows | FileCheck %s
// RUN: mtp-opt %s --exec-prepare-rows="rows=16 integer-rows=8" | FileCheck %s --check-prefix=LATE
// RUN: mtp-opt %s --exec-prepare-rows --exec-bufferize --exec-plan-memory | FileCheck %s --check-prefix=PLAN

exec.weight @norm #exec.raw k 64 n 1 stack 1 [#exec.source<key = "n">] : <f32>
exec.weight @other #exec.raw k 64 n 1 stack 1 [#exec.source<key = "o">] : <f32>
exec.weight @q #exec.panels<32, fragments = true> k 64 n 40 stack 1 [#exec.source<key = "q">] : <bf16>
exec.weight @up #exec.gated_panels<32, fragments = true> k 64 n 128 stack 1 [#exec.source<key = "gate">, #exec.source<key = "up">] : <bf16>
exec.weight @int4 #exec.panels<32, fragments = true> k 64 n 64 stack 1 [#exec.source<key = "i">] : <int4, group = 64>
exec.weight @int8 #exec.panels<32, fragments = true> k 64 n 64 stack 1 [#exec.source<key = "j">] : <int8, group = 64>
exec.weight @small #exec.panels<32, fragments = true> k 64 n 64 stack 1 [#exec.source<key = "s">] : <int4, group = 32>
exec.weight @plain #exec.panels<32> k 64 n 40 stack 1 [#exec.source<key = "p">] : <bf16>
exec.state @slots : memref<32xi32>
exec.state @rows : memref<32x64xf32>

// Products with up to four rows of bf16 prepare the rows themselves.
// CHECK-LABEL: exec.program @step decode k 0 n 1 to 4 {
// CHECK-NOT: prepare_rows
// CHECK-LABEL: exec.program @step_from5 decode k 0 n 5 to 32 {
// One norm of equal rows is prepared once for all users.
// CHECK: %[[X:.*]] = exec.read_state
// CHECK: %[[N:.*]] = exec.prepare_rows %[[X]] as <bf16> norm %{{.*}} eps 9.99999997E-7 offset 1
// CHECK-SAME: -> tensor<?x64xbf16, #exec.count<n>>
// CHECK-NEXT: exec.linear %[[N]], %{{.*}} as <bf16> prepared 64 :
// CHECK-SAME: (tensor<?x64xbf16, #exec.count<n>>, memref<2x2x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
// CHECK-NOT: prepare_rows
// CHECK: exec.linear %[[N]], %{{.*}} as <bf16> prepared 64 activation swiglu :
// Rows without the norm, or with another norm, are prepared separately.
// CHECK: %[[P:.*]] = exec.prepare_rows %[[X]] as <bf16> :
// CHECK-NEXT: exec.linear_argmax %[[P]], %{{.*}} n 40 as <bf16> prepared 64 :
// CHECK: %[[E:.*]] = exec.prepare_rows %[[X]] as <bf16> norm %{{.*}} eps 9.99999974E-6 :
// CHECK-NEXT: exec.linear %[[E]], %{{.*}} as <bf16> prepared 64 bias %{{.*}} residual
// CHECK: %[[O:.*]] = exec.prepare_rows %[[X]] as <bf16> norm %{{.*}} eps 9.99999997E-7 offset 1 :
// CHECK-NEXT: exec.linear %[[O]], %{{.*}} as <bf16> prepared 64 :
// A product without fragments prepares its rows itself.
// CHECK-NOT: prepare_rows
// CHECK: exec.linear %[[X]], %{{.*}} as <bf16> :
// LATE-LABEL: exec.program @step_from17 decode k 0 n 17 to 32 {

// The memory plan counts the prepared rows: 32 rows of 64 in bf16.
// PLAN-LABEL: exec.program @step_from5
// PLAN: exec.alloc {{.*}} : memref<?x64xbf16>
exec.program @step decode k 0 n 1 to 32 {
  %s = exec.ref @slots first n : memref<?xi32>
  %r = exec.ref @rows : memref<32x64xf32>
  %n = exec.ref @norm : memref<1x64xf32>
  %again = exec.ref @norm : memref<1x64xf32>
  %q = exec.ref @q : memref<2x2x32x32xbf16>
  %u = exec.ref @up : memref<4x2x32x32xbf16>
  %w = exec.ref @plain : memref<2x32x32x2xbf16>
  %b = exec.input "b" : tensor<40xf32>
  %x = exec.read_state %r of %s : (memref<?xi32>, memref<32x64xf32>) -> tensor<?x64xf32, #exec.count<n>>
  %y = exec.linear %x, %q as <bf16> norm %n eps 1.0e-6 offset 1
    : (tensor<?x64xf32, #exec.count<n>>, memref<1x64xf32>, memref<2x2x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
  %z = exec.linear %x, %u as <bf16> norm %again eps 1.0e-6 offset 1 activation swiglu
    : (tensor<?x64xf32, #exec.count<n>>, memref<1x64xf32>, memref<4x2x32x32xbf16>) -> tensor<?x64xf32, #exec.count<n>>
  %best:2 = exec.linear_argmax %x, %q n 40 as <bf16>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x2x32x32xbf16>) -> (tensor<?x2xf32, #exec.count<n>>, tensor<?x2xi32, #exec.count<n>>)
  %v = exec.linear %x, %q as <bf16> norm %n eps 1.0e-5 bias %b residual %y
    : (tensor<?x64xf32, #exec.count<n>>, memref<1x64xf32>, memref<2x2x32x32xbf16>, tensor<40xf32>, tensor<?x40xf32, #exec.count<n>>) -> tensor<?x40xf32, #exec.count<n>>
  %other = exec.ref @other : memref<1x64xf32>
  %o = exec.linear %x, %q as <bf16> norm %other eps 1.0e-6 offset 1
    : (tensor<?x64xf32, #exec.count<n>>, memref<1x64xf32>, memref<2x2x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
  %p = exec.linear %x, %w as <bf16>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x32x32x2xbf16>) -> tensor<?x40xf32, #exec.count<n>>
  exec.output "v" %v : tensor<?x40xf32, #exec.count<n>>
  exec.output "z" %z : tensor<?x64xf32, #exec.count<n>>
  exec.output "o" %o : tensor<?x40xf32, #exec.count<n>>
  exec.output "p" %p : tensor<?x40xf32, #exec.count<n>>
  exec.output "best" %best#0 : tensor<?x2xf32, #exec.count<n>>
}

// Columns of a row are prepared in place, once for int4 and int8. Products with
// groups of 32 prepare their rows themselves.
// CHECK-LABEL: exec.program @integers decode k 1 n 1 to 16 {
// CHECK: %[[I:.*]] = exec.prepare_rows %{{.*}} as <int8, group = 64> : (tensor<?x64xf32, #exec.count<2 * n>>) -> tensor<?x72xi8, #exec.count<2 * n>>
// CHECK-NEXT: exec.linear %[[I]], %{{.*}} as <int4, group = 64> prepared 64 :
// CHECK-NEXT: exec.linear %[[I]], %{{.*}} as <int8, group = 64> prepared 64 :
// CHECK: exec.linear %{{.*}}, %{{.*}} as <int4, group = 32> :
// LATE-LABEL: exec.program @integers decode k 1 n 1 to 4 {
// LATE-LABEL: exec.program @integers_from5 decode k 1 n 5 to 16 {
exec.program @integers decode k 1 n 1 to 16 {
  %s = exec.ref @slots first 2 * n : memref<?xi32>
  %r = exec.ref @rows : memref<32x64xf32>
  %i4 = exec.ref @int4 : memref<2x9x32x4xi8>
  %i8 = exec.ref @int8 : memref<2x17x32x4xi8>
  %x = exec.read_state %r of %s : (memref<?xi32>, memref<32x64xf32>) -> tensor<?x64xf32, #exec.count<2 * n>>
  %wide = exec.concat %x, %x : (tensor<?x64xf32, #exec.count<2 * n>>, tensor<?x64xf32, #exec.count<2 * n>>) -> tensor<?x128xf32, #exec.count<2 * n>>
  %c = exec.columns %wide[64 to 128] : tensor<?x128xf32, #exec.count<2 * n>>
  %y = exec.linear %c, %i4 as <int4, group = 64>
    : (tensor<?x64xf32, #exec.count<2 * n>>, memref<2x9x32x4xi8>) -> tensor<?x64xf32, #exec.count<2 * n>>
  %z = exec.linear %c, %i8 as <int8, group = 64>
    : (tensor<?x64xf32, #exec.count<2 * n>>, memref<2x17x32x4xi8>) -> tensor<?x64xf32, #exec.count<2 * n>>
  %i32 = exec.ref @small : memref<2x10x32x4xi8>
  %u = exec.linear %c, %i32 as <int4, group = 32>
    : (tensor<?x64xf32, #exec.count<2 * n>>, memref<2x10x32x4xi8>) -> tensor<?x64xf32, #exec.count<2 * n>>
  exec.output "y" %y : tensor<?x64xf32, #exec.count<2 * n>>
  exec.output "z" %z : tensor<?x64xf32, #exec.count<2 * n>>
  exec.output "u" %u : tensor<?x64xf32, #exec.count<2 * n>>
}

// Prefills are not split: a chunk of few rows is rare.
// CHECK-LABEL: exec.program @prompt prefill k 0 n 1 to 32 {
// CHECK: exec.prepare_rows
// CHECK-NOT: exec.program
exec.program @prompt prefill k 0 n 1 to 32 {
  %s = exec.ref @slots first n : memref<?xi32>
  %r = exec.ref @rows : memref<32x64xf32>
  %q = exec.ref @q : memref<2x2x32x32xbf16>
  %x = exec.read_state %r of %s : (memref<?xi32>, memref<32x64xf32>) -> tensor<?x64xf32, #exec.count<n>>
  %y = exec.linear %x, %q as <bf16>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x2x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
  exec.output "y" %y : tensor<?x40xf32, #exec.count<n>>
}

// Rows beyond the range of a call's parameter are not prepared.
// CHECK-LABEL: exec.program @huge decode k 0 n 1 to 70000 {
// CHECK-NOT: prepare_rows
// CHECK: exec.linear
exec.weight @wide #exec.panels<32, fragments = true> k 16384 n 40 stack 1 [#exec.source<key = "w">] : <bf16>
exec.state @wide_rows : memref<32x16384xf32>
exec.state @many : memref<70000xi32>
exec.program @huge decode k 0 n 1 to 70000 {
  %s = exec.ref @many first n : memref<?xi32>
  %r = exec.ref @wide_rows : memref<32x16384xf32>
  %q = exec.ref @wide : memref<2x512x32x32xbf16>
  %x = exec.read_state %r of %s : (memref<?xi32>, memref<32x16384xf32>) -> tensor<?x16384xf32, #exec.count<n>>
  %y = exec.linear %x, %q as <bf16>
    : (tensor<?x16384xf32, #exec.count<n>>, memref<2x512x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
  exec.output "y" %y : tensor<?x40xf32, #exec.count<n>>
}
