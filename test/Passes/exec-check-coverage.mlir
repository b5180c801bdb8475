// RUN: mtp-opt %s --exec-check-coverage --split-input-file --verify-diagnostics | FileCheck %s

// A program is for a range of n. Programs of one kind and k cover ranges
// without a gap, in any order.
// CHECK-LABEL: exec.program @prefill_mtp_from9
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 8, max_context = 64, prefill_chunk = 32, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 8 {}
exec.program @decode_k1_from5 decode k 1 n 5 to 8 {}
exec.program @decode_k1 decode k 1 n 1 to 4 {}
exec.program @prefill prefill k 0 n 1 to 32 {}
exec.program @prefill_mtp prefill k 1 n 1 to 8 {}
exec.program @prefill_mtp_from9 prefill k 1 n 9 to 32 {}
}

// -----

// Programs for more sequences are separate, at any position.
// CHECK-LABEL: exec.program @prefill_s2_from5
module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 2 {}
exec.program @prefill prefill k 0 n 1 to 8 {}
exec.program @prefill_s2 prefill sequences 2 k 0 n 2 to 3 {}
exec.program @prefill_s2_from5 prefill sequences 2 k 0 n 5 to 8 {}
}

// -----

module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @prefill_s2 prefill sequences 2 k 0 n 2 to 8 {}
// expected-error @+1 {{expected one prefill program for n 3 and k 0, got a second}}
exec.program @prefill_s2_again prefill sequences 2 k 0 n 3 to 4 {}
}

// -----

// expected-error @+1 {{expected a prefill program for n 1 and k 0, got none}}
module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 2 {}
exec.program @prefill_s2 prefill sequences 2 k 0 n 2 to 8 {}
}

// -----

// If a drafter reads the prompt ahead, a prefill serves all drafts or none. The
// number of modules does not matter.
// CHECK-LABEL: exec.program @prefill_all
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 1 {}
exec.program @decode_k1 decode k 1 n 1 to 1 {}
exec.program @decode_k2 decode k 2 n 1 to 1 {}
exec.program @prefill prefill k 0 n 1 to 8 {}
exec.program @prefill_all prefill k 2 n 1 to 8 {}
}

// -----

// Without such a drafter one prefill serves both.
// CHECK-LABEL: exec.program @prefill_of_both
module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 1 {}
exec.program @decode_k1 decode k 1 n 1 to 1 {}
exec.program @prefill_of_both prefill k 0 n 1 to 8 {}
}

// -----

// expected-error @+1 {{expected a prefill program for n 1 and k 0, got none}}
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 1 {}
exec.program @decode_k1 decode k 1 n 1 to 1 {}
exec.program @prefill_all prefill k 1 n 1 to 8 {}
}

// -----

// A module with functions only has no points to cover.
exec.program @f function {}

// -----

// expected-error @+1 {{expected a decode program for n 2 and k 1, got none}}
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 2 {}
exec.program @decode_k1 decode k 1 n 1 to 1 {}
exec.program @prefill prefill k 0 n 1 to 8 {}
exec.program @prefill_mtp prefill k 1 n 1 to 8 {}
}

// -----

// A hole between two ranges.
// expected-error @+1 {{expected a decode program for n 3 and k 0, got none}}
module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 8, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 2 {}
exec.program @decode_k0_from4 decode k 0 n 4 to 8 {}
exec.program @prefill prefill k 0 n 1 to 8 {}
}

// -----

// expected-error @+1 {{expected a prefill program for n 8 and k 1, got none}}
module attributes {exec.model = {modules = 1, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 1 {}
exec.program @decode_k1 decode k 1 n 1 to 1 {}
exec.program @prefill prefill k 0 n 1 to 8 {}
exec.program @prefill_mtp prefill k 1 n 1 to 7 {}
}

// -----

// expected-error @+1 {{expected decode programs for n up to 2 and k 0, got one for n 3}}
module attributes {exec.model = {modules = 0, vocab = 16}, mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @decode_k0 decode k 0 n 1 to 3 {}
exec.program @prefill prefill k 0 n 1 to 8 {}
}

// -----

exec.program @one decode k 0 n 1 to 4 {}
// expected-error @+1 {{'exec.program' op expected one decode program for n 4 and k 0, got a second}}
exec.program @two decode k 0 n 4 to 6 {}

// -----

exec.program @one decode k 0 n 3 to 3 {}
exec.program @two decode k 0 n 5 to 8 {}
// expected-error @+1 {{'exec.program' op expected one decode program for n 5 and k 0, got a second}}
exec.program @three decode k 0 n 4 to 5 {}

// -----

// expected-error @+1 {{'exec.kernel' op expected a dispatch of every kernel, got none}}
exec.kernel @add #exec.add<width = 8>

// -----

exec.program @p function {
  %x = exec.input "x" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.add' op expected no call in value form, is exec-bufferize missing before this pass?}}
  %y = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
}
