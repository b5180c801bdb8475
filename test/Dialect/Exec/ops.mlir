// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

// CHECK: exec.kernel @add_0 #exec.add<width = 8, a_stride = 8>
exec.kernel @add_0 #exec.add<a_stride = 8, width = 8, b_stride = 0>
// CHECK: exec.kernel @mtp.sample #exec.builtin<"mtp.sample">
exec.kernel @mtp.sample #exec.builtin<"mtp.sample">
// CHECK: exec.weight @w0 #exec.panels<32> k 192 n 512 stack 1 [#exec.source<key = "lm_head.weight">] : <bf16>
exec.weight @w0 #exec.panels<32> k 192 n 512 stack 1 [#exec.source<key = "lm_head.weight">] : <bf16>
// CHECK: exec.weight @gate_up #exec.gated_panels<32> k 8 n 64 stack 4 [#exec.source<key = "e.{}.gate">, #exec.source<key = "e.{}.up", row_end = 32>] : <f32>
exec.weight @gate_up #exec.gated_panels<32> k 8 n 64 stack 4
  [#exec.source<key = "e.{}.gate">, #exec.source<key = "e.{}.up", row_begin = 0, row_end = 32>] : <f32>
// CHECK: exec.weight @int4 #exec.panels<32> k 192 n 512 stack 1 [#exec.source<key = "w">] : <int4, group = 64>
exec.weight @int4 #exec.panels<32> k 192 n 512 stack 1 [#exec.source<key = "w">] : <int4, group = 64>
// CHECK: exec.weight @table #exec.raw k 192 n 512 stack 1 [#exec.source<key = "e">] : <int8, group = 32>
exec.weight @table #exec.raw k 192 n 512 stack 1 [#exec.source<key = "e">] : <int8, group = 32>
// CHECK: exec.weight @narrow #exec.panels<16> k 192 n 24 stack 1 [#exec.source<key = "w">] : <bf16>
exec.weight @narrow #exec.panels<16> k 192 n 24 stack 1 [#exec.source<key = "w">] : <bf16>
// CHECK: exec.rope_table @rope <dim = 16, theta = 1.000000e+04> positions 67
exec.rope_table @rope <dim = 16, theta = 10000.0> positions 67
// CHECK: exec.constant @mask dense<[1, 3, 5]> : tensor<3xi64>
exec.constant @mask dense<[1, 3, 5]> : tensor<3xi64>
// CHECK: exec.state @length : memref<4xi32>
exec.state @length : memref<4xi32>
// CHECK: exec.state @hidden at 64 : memref<4x3x8xf32>
exec.state @hidden at 64 : memref<4x3x8xf32>
// CHECK: exec.state shared @active at 128 : memref<4xi32>
exec.state shared @active at 128 : memref<4xi32>
// CHECK: exec.state shared @prompt_tokens : memref<2x8xi32>
exec.state shared @prompt_tokens : memref<2x8xi32>
// CHECK: exec.state @history : memref<4x64xi32> init -1 rebuild tokens
exec.state @history : memref<4x64xi32> init -1 rebuild tokens
// CHECK: exec.state @best : memref<4x2xf32> init -1.500000e+00 rebuild rows 2
exec.state @best : memref<4x2xf32> init -1.5 rebuild rows 2
// CHECK: exec.state @bias : memref<4x64xf32> input
exec.state @bias : memref<4x64xf32> input
// CHECK: exec.state @thinks : memref<4xi32> rebuild save
exec.state @thinks : memref<4xi32> rebuild save
// CHECK: exec.state @fold : memref<4xi64> rebuild never
exec.state @fold : memref<4xi64> rebuild never
// CHECK: exec.cache @target layers 4 entry 80 page 16 : bf16
exec.cache @target layers 4 entry 80 page 16 : bf16
// CHECK: exec.cache @grouped layers 1 entry 80 heads 2 page 16 : bf16
exec.cache @grouped layers 1 entry 80 heads 2 page 16 : bf16

// CHECK-LABEL: exec.program @decode_k2 decode k 2 n 1 to 4 {
exec.program @decode_k2 decode k 2 n 1 to 4 {
  // CHECK: %[[LENGTH:.*]] = exec.ref @length : memref<4xi32>
  %length = exec.ref @length : memref<4xi32>
  // CHECK: exec.ref @target layer 3 : memref<?x16x80xbf16>
  %pages = exec.ref @target layer 3 : memref<?x16x80xbf16>
  // CHECK: exec.ref @w0 : memref<16x96x32x2xbf16>
  %w = exec.ref @w0 : memref<16x96x32x2xbf16>
  // CHECK: exec.ref @narrow : memref<2x96x16x2xbf16>
  %n = exec.ref @narrow : memref<2x96x16x2xbf16>
  // CHECK: exec.ref @int4 : memref<16x3456xi8>
  %q = exec.ref @int4 : memref<16x3456xi8>
  // CHECK: exec.ref @rope : memref<67x16xf32>
  %table = exec.ref @rope : memref<67x16xf32>
  // CHECK: exec.ref @mask : memref<3xi64>
  %mask = exec.ref @mask : memref<3xi64>
  // CHECK: %[[X:.*]] = exec.alloc at 4096 : memref<3x8xf32>
  %x = exec.alloc at 4096 : memref<3x8xf32>
  // CHECK: %[[Y:.*]] = exec.alloc : memref<3x8xf32>
  %y = exec.alloc : memref<3x8xf32>
  // CHECK: exec.dispatch @add_0(%[[X]], %[[X]], %[[Y]]) params [2] offsets [0, 8, 0] outputs 1 : memref<3x8xf32>, memref<3x8xf32>, memref<3x8xf32>
  exec.dispatch @add_0(%x, %x, %y) params [2] offsets [0, 8, 0] outputs 1
    : memref<3x8xf32>, memref<3x8xf32>, memref<3x8xf32>
  // CHECK: exec.output "logits" %[[Y]] : memref<3x8xf32>
  exec.output "logits" %y : memref<3x8xf32>
  // CHECK: exec.ref @length first n : memref<?xi32>
  %some = exec.ref @length first n : memref<?xi32>
  // CHECK: %[[A:.*]] = exec.alloc at 4096 + 128 * n rows 3 * n : memref<?x8xf32>
  %a = exec.alloc at 4096 + 128 * n rows 3 * n : memref<?x8xf32>
  // CHECK: %[[B:.*]] = exec.alloc rows 1 + 3 * n : memref<?x8xf32>
  %b = exec.alloc rows 1 + 3 * n : memref<?x8xf32>
  // CHECK: exec.dispatch @add_0(%[[A]], %[[A]], %[[B]]) params [3 * n] offsets [0, 0, 0] outputs 1 :
  exec.dispatch @add_0(%a, %a, %b) params [3 * n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
  // CHECK: %[[LIVE:.*]] = exec.alloc : memref<1xi32>
  %live = exec.alloc : memref<1xi32>
  // CHECK: exec.dispatch @add_0(%[[A]], %[[A]], %[[B]]) params [3 * n] offsets [0, 0, 0] outputs 1 live %[[LIVE]] :
  exec.dispatch @add_0(%a, %a, %b) params [3 * n] offsets [0, 0, 0] outputs 1
    live %live : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
  // CHECK: exec.output "rows" %[[B]] : memref<?x8xf32>
  exec.output "rows" %b : memref<?x8xf32>
  // CHECK: exec.schedule from 1 {{\[\[}}solo, all, all]]
  // CHECK: exec.schedule from 3 {{\[\[}}all], [all], [all]]
  exec.schedule from 1 [[solo, all, all]]
  exec.schedule from 3 [[all], [all], [all]]
}

// CHECK-LABEL: exec.program @decode_k2_prompts decode prompts 16 k 2 n 1 to 4 {
exec.program @decode_k2_prompts decode prompts 16 k 2 n 1 to 4 {
}

// CHECK-LABEL: exec.program @decode_k2_prompts_s2 decode sequences 2 prompts 16 k 2 n 1 to 2 {
exec.program @decode_k2_prompts_s2 decode sequences 2 prompts 16 k 2 n 1 to 2 {
}

// CHECK-LABEL: exec.program @decode_k2_below640 decode below 640 k 2 n 1 to 4 {
exec.program @decode_k2_below640 decode below 640 k 2 n 1 to 4 {
}

// CHECK-LABEL: exec.program @catch_up prefill sequences 4 catch_up 65 k 2 n 1 to 65 {
exec.program @catch_up prefill sequences 4 catch_up 65 k 2 n 1 to 65 {
}

// CHECK-LABEL: exec.program @prefill_c8 prefill k 0 n 8 to 8 {
exec.program @prefill_c8 prefill k 0 n 8 to 8 {
  // CHECK: exec.ref @prompt_tokens row 1 : memref<8xi32>
  %ahead = exec.ref @prompt_tokens row 1 : memref<8xi32>
  // The first row is not the whole state.
  // CHECK: exec.ref @prompt_tokens row 0 : memref<8xi32>
  %own = exec.ref @prompt_tokens row 0 : memref<8xi32>
  // CHECK: exec.ref @prompt_tokens : memref<2x8xi32>
  %all = exec.ref @prompt_tokens : memref<2x8xi32>
}

// CHECK-LABEL: exec.program @stops decode
exec.program @stops decode k 1 n 2 to 2 {
  %x = exec.input "x" : tensor<2x8xf32>
  %a = exec.add %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: exec.await_host
  exec.await_host
  %b = exec.add %a, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: exec.on_request
  exec.on_request
  %c = exec.add %b, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
}

// CHECK-LABEL: exec.program @sum function {
exec.program @sum function {
  // CHECK: %[[A:.*]] = exec.input "a" : tensor<3x8xf32>
  %a = exec.input "a" : tensor<3x8xf32>
  // CHECK: %[[B:.*]] = exec.alloc input "b" at 0 : memref<3x8xf32>
  %b = exec.alloc input "b" at 0 : memref<3x8xf32>
  // CHECK: %[[C:.*]] = exec.add %[[A]], %[[B]] : (tensor<3x8xf32>, memref<3x8xf32>) -> tensor<3x8xf32>
  %c = exec.add %a, %b : (tensor<3x8xf32>, memref<3x8xf32>) -> tensor<3x8xf32>
  // CHECK: exec.output "c" %[[C]] for tokens : tensor<3x8xf32>
  exec.output "c" %c for tokens : tensor<3x8xf32>
}
