// RUN: mtp-opt %s --exec-check-coverage --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: exec.program @prefill_c32_mtp
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 32, page = 16>} {
exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0 {}
exec.program @decode_b1_k1 "decode" batch 1 k 1 chunk 0 {}
exec.program @prefill_c8 "prefill" batch 1 k 0 chunk 8 {}
exec.program @prefill_c32 "prefill" batch 1 k 0 chunk 32 {}
exec.program @prefill_c8_mtp "prefill" batch 1 k 1 chunk 8 {}
exec.program @prefill_c32_mtp "prefill" batch 1 k 1 chunk 32 {}
}

// -----

// Where a drafter reads the prompt ahead, a prefill serves all drafts or none; how
// many modules there are does not matter.
// CHECK-LABEL: exec.program @prefill_c8_all
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0 {}
exec.program @decode_b1_k1 "decode" batch 1 k 1 chunk 0 {}
exec.program @decode_b1_k2 "decode" batch 1 k 2 chunk 0 {}
exec.program @prefill_c8 "prefill" batch 1 k 0 chunk 8 {}
exec.program @prefill_c8_all "prefill" batch 1 k 2 chunk 8 {}
}

// -----

// Where nobody does, one prefill serves both.
// CHECK-LABEL: exec.program @prefill_of_both
module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0 {}
exec.program @decode_b1_k1 "decode" batch 1 k 1 chunk 0 {}
exec.program @prefill_of_both "prefill" batch 1 k 0 chunk 8 {}
}

// -----

// expected-error @+1 {{expected a prefill program for chunk 8 and k 0, got none}}
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0 {}
exec.program @decode_b1_k1 "decode" batch 1 k 1 chunk 0 {}
exec.program @prefill_c8_all "prefill" batch 1 k 1 chunk 8 {}
}

// -----

// Functions alone cover nothing.
exec.program @f "function" batch 0 k 0 chunk 0 {}

// -----

// expected-error @+1 {{expected a decode program for batch 2 and k 1, got none}}
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0 {}
exec.program @decode_b1_k1 "decode" batch 1 k 1 chunk 0 {}
exec.program @decode_b2_k0 "decode" batch 2 k 0 chunk 0 {}
exec.program @prefill_c8 "prefill" batch 1 k 0 chunk 8 {}
exec.program @prefill_c8_mtp "prefill" batch 1 k 1 chunk 8 {}
}

// -----

// expected-error @+1 {{expected a prefill program for chunk 8 and k 1, got none}}
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_b1_k0 "decode" batch 1 k 0 chunk 0 {}
exec.program @decode_b1_k1 "decode" batch 1 k 1 chunk 0 {}
exec.program @prefill_c8 "prefill" batch 1 k 0 chunk 8 {}
}

// -----

exec.program @one "decode" batch 1 k 0 chunk 0 {}
// expected-error @+1 {{'exec.program' op expected one decode program for batch 1, k 0 and chunk 0, got a second}}
exec.program @two "decode" batch 1 k 0 chunk 0 {}

// -----

// expected-error @+1 {{'exec.kernel' op expected a dispatch of every kernel, got none}}
exec.kernel @add "add" {width = 8}

// -----

exec.program @p "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.add' op expected no call in value form, is exec-bufferize missing before this pass?}}
  %y = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
}
