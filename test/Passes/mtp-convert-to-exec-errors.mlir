// RUN: mtp-opt %s --mtp-convert-to-exec --split-input-file --verify-diagnostics

mtp.cache @kv layers 1 entry 32 : bf16
// expected-error @-1 {{'mtp.cache' op expected an mtp.envelope on the module: it gives the page size}}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 32 : bf16
exec.program @f function {
  %x = exec.input "x" : tensor<2x16xf32>
  %p = exec.input "p" : tensor<2xi32>
  %rows = mtp.make_rows %p, %p : tensor<2xi32>
  // expected-error @+1 {{'mtp.attention' op has no kernel on this target; programs may hold only ops that the cache phase leaves}}
  %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @kv[0]
       : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32> -> tensor<2x16xf32>
}
}

// -----

exec.program @f function {
  %x = exec.input "x" : tensor<2x8xf32>
  %w = exec.input "w" : tensor<4x8xf32>
  // expected-error @+1 {{'mtp.linear' op expected weights that mtp.weight defines: they are packed into the artifact}}
  %y = mtp.linear %x, %w : tensor<2x8xf32>, tensor<4x8xf32> -> tensor<2x4xf32>
  exec.output "y" %y : tensor<2x4xf32>
}

// -----

exec.program @f function {
  %w = mtp.weight "w" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.output' op expected an activation, got a weight; it has no kernel that reads it}}
  exec.output "w" %w : tensor<4x8xf32>
}

// -----

exec.program @f function {
  %x = exec.input "x" : tensor<2x8xf32>
  %p = exec.input "p" : tensor<2xi32>
  %rows = mtp.make_rows %p, %p : tensor<2xi32>
  // expected-error @+1 {{'mtp.rope' op expected an mtp.envelope on the module: it says for how many positions there are angles}}
  %y = mtp.rope %x, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<2x8xf32>
  exec.output "y" %y : tensor<2x8xf32>
}

// -----

exec.program @f function {
  %x = exec.input "x" : tensor<2x8xf32>
  %p = exec.input "p" : tensor<2xi32>
  %rows = mtp.make_rows %p, %p : tensor<2xi32>
  // expected-error @+1 {{'mtp.sample' op expected a round in the module: sampling parameters belong to its slots; use mtp.argmax in a function}}
  %y = mtp.sample %x, %rows : tensor<2x8xf32> -> tensor<2xi32>
  exec.output "y" %y : tensor<2xi32>
}

// -----

exec.program @f function {
  %x = exec.input "x" : tensor<8x8xf32>
  %p = exec.input "p" : tensor<2xi32>
  %rows = mtp.make_rows %p, %p : tensor<2xi32>
  // expected-error @+1 {{'mtp.mask_first' op expected 2 rows, as slots and positions have, got 'tensor<8x8xf32>'}}
  %y = mtp.mask_first %x, %rows : tensor<8x8xf32>
  exec.output "y" %y : tensor<8x8xf32>
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 16 : bf16
exec.program @p decode k 0 n 1 to 1 {
  %x = exec.input "x" : tensor<1x16xf32>
  %p = exec.input "p" : tensor<1xi32>
  %rows = mtp.make_rows %p, %p : tensor<1xi32>
  // expected-error @+1 {{expected a state @page_table, which a decode program reads, found none}}
  mtp.cache_append %x, %rows into @kv[0] at 0 : tensor<1x16xf32>
}
}

// -----

// An op that an expansion left behind is named.
exec.program @f function {
  %d = exec.input "d" : tensor<2x3xi32>
  %p = exec.input "p" : tensor<2x4xi32>
  // expected-error @+1 {{'mtp.accept_tokens' op has no kernel on this target; programs may hold only ops that the cache phase leaves}}
  %c, %n = mtp.accept_tokens %d, %p : tensor<2x3xi32>, tensor<2x4xi32> -> tensor<2xi32>, tensor<2xi32>
  exec.output "c" %c : tensor<2xi32>
}

// -----

exec.program @f function {
  %x = exec.input "x" : tensor<3x8xf32>
  %p = exec.input "p" : tensor<3xi32>
  %rows = mtp.make_rows %p, %p : tensor<3xi32>
  // expected-error @+1 {{'mtp.tree_rows' op has no kernel on this target; programs may hold only ops that the cache phase leaves}}
  %tree = mtp.tree_rows %rows [-1, 0, 0]
  %y = mtp.mask_first %x, %tree : tensor<3x8xf32>
  exec.output "y" %y : tensor<3x8xf32>
}

// -----

// Without the host's states there are no slots and no prompt.
exec.program @f decode k 0 n 2 to 2 {
  // expected-error @+1 {{expected a state @active, found none}}
  %slots = mtp.slots : tensor<2xi32>
  exec.output "slots" %slots : tensor<2xi32>
}

// -----

exec.program @f prefill k 0 n 8 to 8 {
  // expected-error @+1 {{expected a state @prompt_tokens, found none}}
  %t, %rows = mtp.prompt_rows : tensor<8xi32>
  exec.output "t" %t : tensor<8xi32>
}

// -----

// Keys and values that one append writes would have one scale.
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.cache' op expected appends and attention of i8 to use two pieces of an entry, each divided among the key heads}}
mtp.cache @kv layers 1 entry 32 : i8
exec.program @f function {
  %x = exec.input "x" : tensor<2x32xf32>
  %q = exec.input "q" : tensor<2x16xf32>
  %p = exec.input "p" : tensor<2xi32>
  %rows = mtp.make_rows %p, %p : tensor<2xi32>
  mtp.cache_append %x, %rows into @kv[0] at 0 : tensor<2x32xf32>
  %y = mtp.cached_attention %q, %rows in @kv[0] heads 1 kv_heads 1 keys 16 at 0 values 16 at 16 scale 1.0
       : tensor<2x16xf32> -> tensor<2x16xf32>
  exec.output "y" %y : tensor<2x16xf32>
}
}
