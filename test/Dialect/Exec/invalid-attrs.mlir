// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Attributes of kernels and weights; a case per constraint, named by it.

// format_c1: integers without a group
// expected-error @+1 {{expected a group of a multiple of 32 up to 128 for elements of int4, got 0}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <int4>

// -----

// format_c1: floats with a group
// expected-error @+1 {{expected no group for elements of bf16, got 64}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <bf16, group = 64>

// -----

// builtin_c1
// expected-error @+1 {{expected a function of the runtime, got 'mtp.nothing'}}
exec.kernel @k #exec.builtin<"mtp.nothing">

// -----

// kernel_c1: a width
// expected-error @+1 {{'exec.kernel' op of kind 'add': expected width of at least 1, got 0}}
exec.kernel @k #exec.add<width = 0>
