// RUN: mtp-opt %s --exec-call-library="rows=32 workspace=1024" | FileCheck %s
// RUN: mtp-opt %s --exec-call-library="rows=33" | FileCheck %s --check-prefix=NONE
// RUN: mtp-opt %s --exec-call-library="rows=0" | FileCheck %s --check-prefix=NONE
// RUN: not mtp-opt %s --exec-call-library="workspace=8" 2>&1 | FileCheck %s --check-prefix=SMALL

// A chunk of 40 rows has two whole pages of 16.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2,
    max_context = 64, prefill_chunk = 40, page = 16>} {
exec.weight @qkv #exec.panels<32, fragments = true> k 64 n 40 stack 1 [#exec.source<key = "q">] : <bf16>
exec.weight @up #exec.gated_panels<32, fragments = true> k 64 n 128 stack 1 [#exec.source<key = "gate">, #exec.source<key = "up">] : <bf16>
exec.weight @norm #exec.raw k 64 n 1 stack 1 [#exec.source<key = "n">] : <f32>
exec.weight @bias #exec.raw k 40 n 1 stack 1 [#exec.source<key = "b">] : <f32>
exec.weight @odd #exec.panels<32, fragments = true> k 64 n 36 stack 1 [#exec.source<key = "o">] : <bf16>
exec.weight @f32 #exec.panels<32> k 64 n 64 stack 1 [#exec.source<key = "f">] : <f32>
exec.state @tokens : memref<40xi32>

// NONE-NOT: _library
// SMALL: expected 16 or more for the option workspace, got 8

// CHECK-LABEL: exec.program @prefill prefill
// CHECK-NOT: exec.gemm
// CHECK-LABEL: exec.program @prefill_library prefill k 0 n 32
exec.program @prefill prefill k 0 n 1 to 40 {
  %t = exec.ref @tokens first n : memref<?xi32>
  %table = exec.input "table" : tensor<100x64xf32>
  %x = exec.embed %t in %table as <f32> : (tensor<100x64xf32>, memref<?xi32>) -> tensor<?x64xf32, #exec.count<n>>
  %last = exec.input "last" : tensor<1x64xf32>
  %wq = exec.ref @qkv : memref<2x2x32x32xbf16>
  %wu = exec.ref @up : memref<4x2x32x32xbf16>
  %wo = exec.ref @odd : memref<2x2x32x32xbf16>
  %wf = exec.ref @f32 : memref<2x64x32xf32>
  %n = exec.ref @norm : memref<1x64xf32>
  %b = exec.ref @bias : memref<1x40xf32>
  %narrow = exec.input "narrow" : tensor<100x40xf32>
  %r = exec.embed %t in %narrow as <f32> : (tensor<100x40xf32>, memref<?xi32>) -> tensor<?x40xf32, #exec.count<n>>
  // Norm and rounding before, bias and residual after.
  // CHECK: %[[ROWS:.*]] = exec.round_rows %[[X:.*]] norm %[[N:.*]] eps {{.*}} offset 1 : {{.*}} -> tensor<?x64xbf16, #exec.count<n>>
  // CHECK: %[[W:.*]] = exec.unpack %{{.*}} : (memref<2x2x32x32xbf16>) -> tensor<40x64xbf16>
  // CHECK: %[[G:.*]], %{{.*}} = exec.gemm %[[ROWS]], %[[W]] : {{.*}} -> (tensor<?x40xf32, #exec.count<n>>, tensor<1024xi8>)
  // CHECK: %[[B:.*]] = exec.add_bias %[[G]], %{{.*}}
  // CHECK: %[[Y:.*]] = exec.add %[[B]], %{{.*}}
  %y = exec.linear %x, %wq as <bf16> norm %n eps 1.0e-6 offset 1 bias %b residual %r
    : (tensor<?x64xf32, #exec.count<n>>, memref<1x64xf32>, memref<2x2x32x32xbf16>, memref<1x40xf32>, tensor<?x40xf32, #exec.count<n>>) -> tensor<?x40xf32, #exec.count<n>>
  // Gates first, then ups.
  // CHECK: %[[ROWS:.*]] = exec.round_rows %[[X]] : {{.*}} -> tensor<?x64xbf16, #exec.count<n>>
  // CHECK: %[[W:.*]] = exec.unpack %{{.*}} gated : (memref<4x2x32x32xbf16>) -> tensor<128x64xbf16>
  // CHECK: %[[G:.*]], %{{.*}} = exec.gemm %[[ROWS]], %[[W]]
  // CHECK: %[[GATE:.*]] = exec.columns %[[G]][0 to 64]
  // CHECK: %[[UP:.*]] = exec.columns %[[G]][64 to 128]
  // CHECK: exec.swiglu %[[GATE]], %[[UP]]
  %z = exec.linear %x, %wu as <bf16> activation swiglu
    : (tensor<?x64xf32, #exec.count<n>>, memref<4x2x32x32xbf16>) -> tensor<?x64xf32, #exec.count<n>>
  // CHECK: exec.geglu_tanh
  %t2 = exec.linear %x, %wu as <bf16> activation geglu_tanh
    : (tensor<?x64xf32, #exec.count<n>>, memref<4x2x32x32xbf16>) -> tensor<?x64xf32, #exec.count<n>>
  // Not rewritten: outputs that vectors do not divide, other elements, other
  // rows.
  // CHECK-COUNT-3: exec.linear
  // CHECK-NOT: exec.gemm
  %odd = exec.linear %x, %wo as <bf16>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x2x32x32xbf16>) -> tensor<?x36xf32, #exec.count<n>>
  %f = exec.linear %x, %wf as <f32>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x64x32xf32>) -> tensor<?x64xf32, #exec.count<n>>
  %head = exec.linear %last, %wq as <bf16>
    : (tensor<1x64xf32>, memref<2x2x32x32xbf16>) -> tensor<1x40xf32>
  exec.output "y" %y : tensor<?x40xf32, #exec.count<n>>
  exec.output "z" %z : tensor<?x64xf32, #exec.count<n>>
  exec.output "odd" %odd : tensor<?x36xf32, #exec.count<n>>
  exec.output "f" %f : tensor<?x64xf32, #exec.count<n>>
  exec.output "head" %head : tensor<1x40xf32>
}

// Chunks of several prompts, and rounds, have no such program.
// CHECK: exec.program @prefill_s2
// CHECK-NOT: exec.gemm
exec.program @prefill_s2 prefill sequences 2 k 0 n 2 to 40 {
  %t = exec.ref @tokens first n : memref<?xi32>
  %table = exec.input "table" : tensor<100x64xf32>
  %x = exec.embed %t in %table as <f32> : (tensor<100x64xf32>, memref<?xi32>) -> tensor<?x64xf32, #exec.count<n>>
  %wq = exec.ref @qkv : memref<2x2x32x32xbf16>
  %y = exec.linear %x, %wq as <bf16>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x2x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
}
exec.program @decode_k0 decode k 0 n 1 to 40 {
  %t = exec.ref @tokens first n : memref<?xi32>
  %table = exec.input "table" : tensor<100x64xf32>
  %x = exec.embed %t in %table as <f32> : (tensor<100x64xf32>, memref<?xi32>) -> tensor<?x64xf32, #exec.count<n>>
  %wq = exec.ref @qkv : memref<2x2x32x32xbf16>
  %y = exec.linear %x, %wq as <bf16>
    : (tensor<?x64xf32, #exec.count<n>>, memref<2x2x32x32xbf16>) -> tensor<?x40xf32, #exec.count<n>>
}
}
