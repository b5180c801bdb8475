// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Constraints of kernel calls on the shapes of operands and results, and on
// views. There is a case per constraint, with its label.

// attention_c1
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.attention' op failed to verify that all of {q, slots, positions} have same rows}}
  %r = exec.attention %x in %layer slots %s2 positions %s pages %pages heads 4 kv_heads 2
    : (tensor<4x16xf32>, tensor<2xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x16xf32>
}

// -----

// attention_c1: rows of the result
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.attention' op failed to verify that all of {q, y} have same rows}}
  %r = exec.attention %x in %layer slots %s positions %s pages %pages heads 4 kv_heads 2
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<2x16xf32>
}

// -----

// attention_split_kv_c1
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.attention_split_kv' op failed to verify that all of {q, slots, positions} have same rows}}
  %r = exec.attention_split_kv %x in %layer slots %s positions %s2 pages %pages values 4 splits 2 tasks_per_tile 2 heads 4 kv_heads 2
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<2xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x16xf32>
}

// -----

// attention_split_kv_c1: rows of the result
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.attention_split_kv' op failed to verify that all of {q, left} have same rows}}
  %r = exec.attention_split_kv %x in %layer slots %s positions %s pages %pages values 4 splits 2 tasks_per_tile 2 heads 4 kv_heads 2
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<2x16xf32>
}

// -----

// attention_combine_c2
exec.program @p function {
  %a = exec.input "a" : tensor<4x512xf32>
  %left = exec.columns %a[0 to 256] : tensor<4x512xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.attention_combine' op failed to verify that left to be no view}}
  %r = exec.attention_combine %left positions %s splits 2 heads 4 kv_heads 2 split 512 as f32
    : (tensor<4xi32>, tensor<4x256xf32>) -> tensor<4x16xf32>
}

// -----

// rope_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.rope' op failed to verify that all of {x, y} have same shape}}
  %r = exec.rope %x heads 2 <dim = 8> by %t at %s
    : (tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
}

// -----

// rope_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{'exec.rope' op failed to verify that all of {x, angles} have same rows}}
  %r = exec.rope %x heads 2 <dim = 8> by %t at %s2
    : (tensor<4x16xf32>, tensor<64x8xf32>, tensor<2xi32>) -> tensor<4x16xf32>
}

// -----

// kv_append_c1
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.kv_append' op failed to verify that all of {x, slots, positions} have same rows}}
  exec.kv_append %x into %layer slots %s2 positions %s pages %pages
    : (tensor<4x16xf32>, tensor<2xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// -----

// rope_append_c2
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.rope_append' op failed to verify that all of {keys, values, angles, slots, positions} have same rows}}
  exec.rope_append keys %x, values %x heads 2 <dim = 8> by %t at %s2 keys_at 0 values_at 16 into %layer slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<64x8xf32>, tensor<2xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// -----

// rope_append_c3
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.rope_append' op failed to verify that queries to have the shape of rotated}}
  %r = exec.rope_append keys %x, values %x queries %x heads 2 <dim = 8> by %t at %s keys_at 0 values_at 16 into %layer slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x8xf32>
}

// -----

// moe_route_c1
exec.program @p function {
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.moe_route' op failed to verify that all of {logits, experts} have same rows}}
  %r, %q = exec.moe_route %h softmax : (tensor<4x8xf32>) -> (tensor<2x2xi32>, tensor<2x2xf32>)
}

// -----

// moe_gate_up_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %st = exec.input "st" : tensor<9xi32>
  %o7 = exec.input "o7" : tensor<7xi32>
  // expected-error @+1 {{'exec.moe_gate_up' op expected an order with a fixed number of rows for each of 'tensor<4x16xf32>', got 'tensor<7xi32>'}}
  %r = exec.moe_gate_up %x, %w as <f32> rows (%st, %o7)
    : (tensor<4x16xf32>, tensor<1x16x32xf32>, tensor<9xi32>, tensor<7xi32>) -> tensor<7x16xf32>
}

// -----

// moe_down_c2
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x32xf32>
  %v = exec.columns %e8[0 to 16] : tensor<8x32xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %st = exec.input "st" : tensor<9xi32>
  %o8 = exec.input "o8" : tensor<8xi32>
  // expected-error @+1 {{'exec.moe_down' op failed to verify that x to be no view}}
  %r = exec.moe_down %v, %w as <f32> rows (%st, %o8) top_k 2
    : (tensor<8x16xf32>, tensor<1x16x32xf32>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x16xf32>
}

// -----

// moe_down_c3
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %st = exec.input "st" : tensor<9xi32>
  %o8 = exec.input "o8" : tensor<8xi32>
  // expected-error @+1 {{'exec.moe_down' op expected top_k to divide the rows of 'tensor<8x16xf32>', got 3}}
  %r = exec.moe_down %e8, %w as <f32> rows (%st, %o8) top_k 3
    : (tensor<8x16xf32>, tensor<1x16x32xf32>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x16xf32>
}

// -----

// moe_combine_c1
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x16xf32>
  %f2 = exec.input "f2" : tensor<4x2xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{'exec.moe_combine' op failed to verify that all of {positions, weights, y} have same rows}}
  %r = exec.moe_combine %e8 by %f2 at %s2
    : (tensor<2xi32>, tensor<4x2xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
}

// -----

// moe_combine_c3: weights
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x16xf32>
  %f4 = exec.input "f4" : tensor<4x4xf32>
  %v = exec.columns %f4[0 to 2] : tensor<4x4xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.moe_combine' op failed to verify that weights to be no view}}
  %r = exec.moe_combine %e8 by %v at %s
    : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
}

// -----

// moe_combine_c3: parts
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x32xf32>
  %v = exec.columns %e8[0 to 16] : tensor<8x32xf32>
  %f2 = exec.input "f2" : tensor<4x2xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.moe_combine' op failed to verify that parts to be no view}}
  %r = exec.moe_combine %v by %f2 at %s
    : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
}

// -----

// moe_combine_c3: residual
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x16xf32>
  %f2 = exec.input "f2" : tensor<4x2xf32>
  %s = exec.input "s" : tensor<4xi32>
  %h = exec.input "h" : tensor<4x32xf32>
  %v = exec.columns %h[0 to 16] : tensor<4x32xf32>
  // expected-error @+1 {{'exec.moe_combine' op failed to verify that residual to be no view}}
  %r = exec.moe_combine %e8 by %f2 at %s residual %v
    : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
}

// -----

// moe_combine_c3: shared
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x16xf32>
  %f2 = exec.input "f2" : tensor<4x2xf32>
  %s = exec.input "s" : tensor<4xi32>
  %h = exec.input "h" : tensor<4x32xf32>
  %v = exec.columns %h[0 to 16] : tensor<4x32xf32>
  // expected-error @+1 {{'exec.moe_combine' op failed to verify that shared to be no view}}
  %r = exec.moe_combine %e8 by %f2 at %s shared %v
    : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
}

// -----

// linear_argmax_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %n = exec.input "n" : tensor<16xf32>
  // expected-error @+1 {{'exec.linear_argmax' op failed to verify that eps to be given with norm alone}}
  %r, %q = exec.linear_argmax %x, %w n 32 as <f32> norm %n
    : (tensor<4x16xf32>, tensor<16xf32>, tensor<1x16x32xf32>) -> (tensor<4x1xf32>, tensor<4x1xi32>)
}

// -----

// head_linear_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  // expected-error @+1 {{'exec.head_linear' op failed to verify that all of {x, y} have same rows}}
  %r = exec.head_linear %x, %w heads 1 cols 0 to 16 as <f32>
    : (tensor<4x16xf32>, tensor<1x16x32xf32>) -> tensor<2x32xf32>
}

// -----

// head_linear_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.head_linear' op failed to verify that table, angles, rotation to be given together}}
  %r = "exec.head_linear"(%x, %w, %t, %s) <{heads = 1 : i64, col_begin = 0 : i64, col_end = 16 : i64, format = #exec.format<f32>, operandSegmentSizes = array<i32: 1, 1, 1, 1>}>
    : (tensor<4x16xf32>, tensor<1x16x32xf32>, tensor<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
}

// -----

// mask_first_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{'exec.mask_first' op failed to verify that all of {x, positions} have same rows}}
  %r = exec.mask_first %x at %s2 : (tensor<4x16xf32>, tensor<2xi32>) -> tensor<4x16xf32>
}

// -----

// mask_first_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.mask_first' op failed to verify that all of {x, y} have same shape}}
  %r = exec.mask_first %x at %s : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4x8xf32>
}

// -----

// rms_norm_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %n = exec.input "n" : tensor<16xf32>
  // expected-error @+1 {{'exec.rms_norm' op failed to verify that all of {x, y} have same shape}}
  %r = exec.rms_norm %x by %n eps 1.0e-6 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
}

// -----

// silu_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.silu' op failed to verify that all of {x, y} have same shape}}
  %r = exec.silu %x : (tensor<4x16xf32>) -> tensor<4x8xf32>
}

// -----

// geglu_tanh_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.geglu_tanh' op failed to verify that all of {a, b, y} have same shape}}
  %r = exec.geglu_tanh %x, %h : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
}

// -----

// swiglu_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.swiglu' op failed to verify that all of {a, b, y} have same shape}}
  %r = exec.swiglu %x, %h : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
}

// -----

// concat_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<2x8xf32>
  // expected-error @+1 {{'exec.concat' op failed to verify that all of {a, b, y} have same rows}}
  %r = exec.concat %x, %h : (tensor<4x16xf32>, tensor<2x8xf32>) -> tensor<4x24xf32>
}

// -----

// gather_rows_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{'exec.gather_rows' op failed to verify that x to be no view}}
  %r = exec.gather_rows %v, %s2 : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
}

// -----

// argmax_parts_c1
exec.program @p function {
  %b = exec.input "b" : tensor<4x2xf32>
  %c = exec.input "c" : tensor<4x2xi32>
  // expected-error @+1 {{'exec.argmax_parts' op failed to verify that all of {best, picks} have same rows}}
  %r = exec.argmax_parts %b, %c : (tensor<4x2xf32>, tensor<4x2xi32>) -> tensor<2xi32>
}

// -----

// argmax_parts_c2
exec.program @p function {
  %b = exec.input "b" : tensor<4x2xf32>
  %c = exec.input "c" : tensor<4x3xi32>
  // expected-error @+1 {{'exec.argmax_parts' op failed to verify that all of {best, columns} have same shape}}
  %r = exec.argmax_parts %b, %c : (tensor<4x2xf32>, tensor<4x3xi32>) -> tensor<4xi32>
}

// -----

// sample_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %b = exec.input "b" : tensor<4x1xf32>
  %s = exec.input "s" : tensor<4xi32>
  %sampling = exec.input "sampling" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.sample' op failed to verify that best, columns to be given together}}
  %r = "exec.sample"(%b, %x, %s, %s, %sampling) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 1, 1, 1, 0>}>
    : (tensor<4x1xf32>, tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>) -> tensor<4xi32>
}

// -----

// process_logits_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{'exec.process_logits' op failed to verify that all of {logits, slots, positions} have same rows}}
  %r = exec.process_logits %x slots %s2 positions %s by (%w, %n, %n)
    : (tensor<4x16xf32>, tensor<2xi32>, tensor<4xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<4x16xf32>
}

// -----

// process_logits_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  // expected-error @+1 {{'exec.process_logits' op failed to verify that all of {logits, y} have same shape}}
  %r = exec.process_logits %x slots %s positions %s by (%w, %n, %n)
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<4x8xf32>
}

// -----

// process_logits_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  // expected-error @+1 {{'exec.process_logits' op failed to verify that path, length to be given together}}
  %r = "exec.process_logits"(%x, %s, %s, %n, %w, %n, %n) <{operandSegmentSizes = array<i32: 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0>}>
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x16xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<4x16xf32>
}

// -----

// process_logits_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{'exec.process_logits' op failed to verify that logits to be no view}}
  %r = exec.process_logits %v slots %s positions %s by (%w, %n, %n)
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>) -> tensor<4x8xf32>
}

// -----

// process_logits_c5
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  // expected-error @+1 {{'exec.process_logits' op expected results like logits, best and columns, got 'tensor<4x16xf32>', 'tensor<4x16xf32>'}}
  %r:2 = exec.process_logits %x slots %s positions %s by (%w, %n, %n)
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)
}

// -----

// process_logits_c6
exec.program @p function {
  %x = exec.input "x" : tensor<4x48xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x48xi32>
  %m = exec.ref @m : memref<2x4x1xi32>
  // expected-error @+1 {{'exec.process_logits' op expected masks of 1 or more nodes with 2 words each, got 'memref<2x4x1xi32>'}}
  %r = exec.process_logits %x slots %s positions %s by (%w, %n, %n) masks %m
    : (tensor<4x48xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x256xi32>, tensor<2x48xi32>, tensor<2x48xi32>, memref<2x4x1xi32>) -> tensor<4x48xf32>
}

// -----

// process_logits_c6
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  %path = exec.input "path" : tensor<2x8xi32>
  %length = exec.input "length" : tensor<2xi32>
  %m = exec.ref @m : memref<2x3x1xi32>
  // expected-error @+1 {{'exec.process_logits' op expected masks of 4 or more nodes with 1 words each, got 'memref<2x3x1xi32>'}}
  %r = exec.process_logits %x slots %s positions %s path (%path, %length) by (%w, %n, %n) masks %m
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>, tensor<2xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>, memref<2x3x1xi32>) -> tensor<4x16xf32>
}

// -----

// process_logits_c7
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %w = exec.input "w" : tensor<2x256xi32>
  %n = exec.input "n" : tensor<2x16xi32>
  %m = exec.ref @m : memref<2x1x1xi32>
  %t = exec.ref @t : memref<16x1xi32>
  // expected-error @+1 {{'exec.process_logits' op expected masks or tokens, got both}}
  %r = exec.process_logits %x slots %s positions %s by (%w, %n, %n) masks %m tokens %t
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x256xi32>, tensor<2x16xi32>, tensor<2x16xi32>, memref<2x1x1xi32>, memref<16x1xi32>) -> tensor<4x16xf32>
}

// -----

// mask_tokens_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{'exec.mask_tokens' op failed to verify that all of {x, tokens} have same rows}}
  %r = exec.mask_tokens %x, %s2 : (tensor<4x16xf32>, tensor<2xi32>) -> tensor<4x16xf32>
}

// -----

// mask_tokens_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.mask_tokens' op failed to verify that all of {x, y} have same shape}}
  %r = exec.mask_tokens %x, %s : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4x8xf32>
}

// -----

// mask_tokens_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{'exec.mask_tokens' op failed to verify that x to be no view}}
  %r = exec.mask_tokens %v, %s : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
}

// -----

// read_state_c1: more rows than the state has
exec.state @hidden : memref<4x5x16xf32>
exec.program @p function {
  %s2 = exec.input "s2" : tensor<2xi32>
  %state = exec.ref @hidden : memref<4x5x16xf32>
  // expected-error @+1 {{'exec.read_state' op expected at most 5 rows of 16 columns for each of 2 slots, got 12 rows of 'tensor<12x16xf32>'}}
  %r = exec.read_state %state of %s2 : (tensor<2xi32>, memref<4x5x16xf32>) -> tensor<12x16xf32>
}

// -----

// read_state_c1: columns
exec.state @hidden : memref<4x5x16xf32>
exec.program @p function {
  %s2 = exec.input "s2" : tensor<2xi32>
  %state = exec.ref @hidden : memref<4x5x16xf32>
  // expected-error @+1 {{'exec.read_state' op expected at most 5 rows of 16 columns for each of 2 slots, got 6 rows of 'tensor<6x8xf32>'}}
  %r = exec.read_state %state of %s2 : (tensor<2xi32>, memref<4x5x16xf32>) -> tensor<6x8xf32>
}

// -----

// write_state_c1
exec.state @hidden : memref<4x5x16xf32>
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s3 = exec.input "s3" : tensor<3xi32>
  %state = exec.ref @hidden : memref<4x5x16xf32>
  // expected-error @+1 {{'exec.write_state' op expected at most 5 rows of 16 columns for each of 3 slots, got 4 rows of 'tensor<4x16xf32>'}}
  exec.write_state %x to %state of %s3 : (tensor<4x16xf32>, tensor<3xi32>, memref<4x5x16xf32>) -> ()
}

// -----

// write_state_c2
exec.state @hidden : memref<4x5x16xf32>
exec.program @p function {
  %h = exec.input "h" : tensor<4x32xf32>
  %v = exec.columns %h[0 to 16] : tensor<4x32xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %state = exec.ref @hidden : memref<4x5x16xf32>
  // expected-error @+1 {{'exec.write_state' op failed to verify that x to be no view}}
  exec.write_state %v to %state of %s2 : (tensor<4x16xf32>, tensor<2xi32>, memref<4x5x16xf32>) -> ()
}

// -----

// concat_rows_c1: slots
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<3x16xf32>
  // expected-error @+1 {{'exec.concat_rows' op expected 2 and 1 rows for each slot, and all in the result, got 'tensor<4x16xf32>' and 'tensor<3x16xf32>' for 'tensor<7x16xf32>'}}
  %r = exec.concat_rows %x rows 2, %h rows 1 : (tensor<4x16xf32>, tensor<3x16xf32>) -> tensor<7x16xf32>
}

// -----

// concat_rows_c1: columns
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.concat_rows' op expected 1 and 1 rows for each slot, and all in the result, got 'tensor<4x16xf32>' and 'tensor<4x8xf32>' for 'tensor<8x16xf32>'}}
  %r = exec.concat_rows %x rows 1, %h rows 1 : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<8x16xf32>
}

// -----

// concat_rows_c2: heads
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.concat_rows' op failed to verify that heads to be no view}}
  %r = exec.concat_rows %v rows 1, %h rows 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
}

// -----

// concat_rows_c2: tails
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{'exec.concat_rows' op failed to verify that tails to be no view}}
  %r = exec.concat_rows %h rows 1, %v rows 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
}

// -----

// move_entries_c1: slots
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %from = exec.input "from" : tensor<2x4xi32>
  %to = exec.input "to" : tensor<2x4xi32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.move_entries' op failed to verify that all of {slots, from} have same rows}}
  exec.move_entries %from to %to in %layer slots %s pages %pages
    : (tensor<4xi32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// -----

// move_entries_c1: positions
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %from = exec.input "from" : tensor<2x4xi32>
  %to = exec.input "to" : tensor<2x3xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{'exec.move_entries' op failed to verify that all of {from, to} have same shape}}
  exec.move_entries %from to %to in %layer slots %s2 pages %pages
    : (tensor<2xi32>, tensor<2x4xi32>, tensor<2x3xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// -----

// pack_c1
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %t = exec.input "t" : tensor<4xi32>
  // expected-error @+1 {{'exec.pack' op expected numbers of 6 and, packed, of 6 rows, got 'tensor<4xi32>' and 'tensor<6xi32>'}}
  %r:4 = exec.pack %p, (%t) : (tensor<6xi32>, tensor<4xi32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_c1
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  // expected-error @+1 {{'exec.pack' op expected numbers of 6 and, packed, of 4 rows, got 'tensor<6xi32>' and 'tensor<6xi32>'}}
  %r:4 = exec.pack %p, (%p) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<4xi32>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_c1
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  // expected-error @+1 {{'exec.pack' op failed to verify that all of {positions, places} have same rows}}
  %r:3 = exec.pack %p, () : (tensor<6xi32>) -> (tensor<6xi32>, tensor<4xi32>, tensor<1xi32>)
}

// -----

// pack_c2
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %m = exec.input "m" : tensor<6xi64>
  // expected-error @+1 {{'exec.pack' op expected each of 'tensor<6xi64>', 'tensor<6xi32>' to be packed, i32 before i64, got 'tensor<6xi64>', 'tensor<6xi32>'}}
  %r:5 = exec.pack %p, (%m, %p) : (tensor<6xi32>, tensor<6xi64>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi64>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_c2
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  // expected-error @+1 {{'exec.pack' op expected each of 'tensor<6xi32>' to be packed, i32 before i64, got 'tensor<6xi64>'}}
  %r:4 = exec.pack %p, (%p) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi64>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_c3
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  // expected-error @+1 {{'exec.pack' op expected one number of rows, got 'tensor<2xi32>'}}
  %r:3 = exec.pack %p, () : (tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<2xi32>)
}

// -----

// pack_prompts_c1
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %q = exec.input "q" : tensor<4xi32>
  %m = exec.input "m" : tensor<6xi64>
  // expected-error @+1 {{'exec.pack_prompts' op expected numbers of 6 and 4 rows, and packed more than the latter, got 'tensor<6xi32>', 'tensor<4xi32>' and 'tensor<4xi32>'}}
  %r:4 = exec.pack_prompts (%p) and (%q) : (tensor<6xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<6xi32>, tensor<4xi32>, tensor<1xi32>)
}

// -----

// pack_prompts_c1
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %q = exec.input "q" : tensor<4xi32>
  %m = exec.input "m" : tensor<6xi64>
  // expected-error @+1 {{'exec.pack_prompts' op expected numbers of 6 and 6 rows, and packed more than the latter, got 'tensor<6xi32>', 'tensor<4xi32>' and 'tensor<12xi32>'}}
  %r:4 = exec.pack_prompts (%p) and (%q) : (tensor<6xi32>, tensor<4xi32>) -> (tensor<12xi32>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_prompts_c2
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %q = exec.input "q" : tensor<4xi32>
  %m = exec.input "m" : tensor<6xi64>
  // expected-error @+1 {{'exec.pack_prompts' op expected each of 'tensor<6xi64>' to be packed with one of prompts, i32 before i64, got 'tensor<6xi64>' and 'tensor<12xi64>'}}
  %r:4 = exec.pack_prompts (%m) and (%m) : (tensor<6xi64>, tensor<6xi64>) -> (tensor<12xi64>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_prompts_c2
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %q = exec.input "q" : tensor<4xi32>
  %m = exec.input "m" : tensor<6xi64>
  // expected-error @+1 {{'exec.pack_prompts' op expected each of 'tensor<6xi32>', 'tensor<6xi64>' to be packed with one of prompts, i32 before i64, got 'tensor<6xi32>', 'tensor<6xi32>' and 'tensor<12xi32>', 'tensor<12xi64>'}}
  %r:5 = exec.pack_prompts (%p, %m) and (%p, %p) : (tensor<6xi32>, tensor<6xi64>, tensor<6xi32>, tensor<6xi32>) -> (tensor<12xi32>, tensor<12xi64>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
}

// -----

// pack_prompts_c3
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  %q = exec.input "q" : tensor<4xi32>
  %m = exec.input "m" : tensor<6xi64>
  // expected-error @+1 {{'exec.pack_prompts' op expected one number of rows, got 'tensor<2xi32>'}}
  %r:4 = exec.pack_prompts (%p) and (%q) : (tensor<6xi32>, tensor<4xi32>) -> (tensor<10xi32>, tensor<6xi32>, tensor<4xi32>, tensor<2xi32>)
}

// -----

// unpack_rows_c1
exec.program @p function {
  %p = exec.input "p" : tensor<6xi32>
  // expected-error @+1 {{'exec.unpack_rows' op failed to verify that all of {places, result} have same rows}}
  %r = exec.unpack_rows %p, %p : (tensor<6xi32>, tensor<6xi32>) -> tensor<4xi32>
}

// -----

// unpack_rows_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<6xi32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{'exec.unpack_rows' op failed to verify that x to be no view}}
  %r = exec.unpack_rows %v, %p : (tensor<4x8xf32>, tensor<6xi32>) -> tensor<6x8xf32>
}

// -----

// unpack_rows_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<6xi32>
  // expected-error @+1 {{'exec.unpack_rows' op expected rows as those of 'tensor<4x16xf32>', got 'tensor<6x8xf32>'}}
  %r = exec.unpack_rows %x, %p : (tensor<4x16xf32>, tensor<6xi32>) -> tensor<6x8xf32>
}
