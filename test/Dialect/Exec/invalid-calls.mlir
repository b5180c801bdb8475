// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Constraints of kernel calls; there is a case per constraint, with its label.

// columns_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{expected columns of 'tensor<4x16xf32>', got 8 to 17}}
  %r = exec.columns %x[8 to 17] : tensor<4x16xf32>
}

// -----

// columns_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{expected columns of what is no view itself}}
  %r = exec.columns %v[0 to 4] : tensor<4x8xf32>
}

// -----

// reshape_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.reshape' op expected equal numbers of elements, got 'tensor<4x16xf32>' and 'tensor<2x3x16xf32>'}}
  %r = exec.reshape %x : tensor<4x16xf32> -> tensor<2x3x16xf32>
}

// -----

// reshape_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x1xf32>
  // expected-error @+1 {{'exec.reshape' op expected numbers of one type, got 'tensor<4x1xf32>' and 'tensor<4xi32>'}}
  %r = exec.reshape %x : tensor<4x1xf32> -> tensor<4xi32>
}

// -----

// reshape_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{'exec.reshape' op expected what is no view of columns}}
  %r = exec.reshape %v : tensor<4x8xf32> -> tensor<2x2x8xf32>
}

// -----

// rotation_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{expected an even number of columns from 2 on, and an offset from 0 on, got 3 and 0}}
  %r = exec.rope %x heads 2 <dim = 3> by %t at %s
    : (tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
}

// -----

// linear_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  // expected-error @+1 {{'exec.linear' op failed to verify that all of {x, y} have same rows}}
  %r = exec.linear %x, %w as <f32> : (tensor<4x16xf32>, tensor<1x16x32xf32>) -> tensor<2x32xf32>
}

// -----

// linear_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{failed to verify that residual to have the shape of y}}
  %r = exec.linear %x, %w as <f32> residual %h
    : (tensor<4x16xf32>, tensor<1x16x32xf32>, tensor<4x8xf32>) -> tensor<4x32xf32>
}

// -----

// format_c1: the format of a call
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %wb = exec.input "wb" : tensor<1x640xi8>
  // expected-error @+1 {{expected a group of 16 or a multiple of 32 up to 128 for elements of int8, got 0}}
  %r = exec.linear %x, %wb as <int8> : (tensor<4x16xf32>, tensor<1x640xi8>) -> tensor<4x32xf32>
}

// -----

// linear_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %n = exec.input "n" : tensor<16xf32>
  // expected-error @+1 {{failed to verify that eps to be given with norm alone}}
  %r = exec.linear %x, %w as <f32> norm %n
    : (tensor<4x16xf32>, tensor<16xf32>, tensor<1x16x32xf32>) -> tensor<4x32xf32>
}

// -----

// linear_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x64xbf16>
  %w = exec.input "w" : tensor<2x2x32x32xbf16>
  // expected-error @+1 {{expected rows of f32, or 'prepared', got 'tensor<4x64xbf16>'}}
  %r = exec.linear %x, %w as <bf16>
    : (tensor<4x64xbf16>, tensor<2x2x32x32xbf16>) -> tensor<4x64xf32>
}

// -----

// linear_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x64xi8>
  %w = exec.input "w" : tensor<2x17x32x4xi8>
  // expected-error @+1 {{expected 72 prepared columns of 'i8' and no norm, got 'tensor<4x64xi8>'}}
  %r = exec.linear %x, %w as <int8, group = 64> prepared 64
    : (tensor<4x64xi8>, tensor<2x17x32x4xi8>) -> tensor<4x64xf32>
}

// -----

// linear_argmax_c5
exec.program @p function {
  %x = exec.input "x" : tensor<4x64xf32>
  %w = exec.input "w" : tensor<2x2x32x32xbf16>
  // expected-error @+1 {{expected 64 prepared columns of 'bf16' and no norm, got 'tensor<4x64xf32>'}}
  %b, %c = exec.linear_argmax %x, %w n 64 as <bf16> prepared 64
    : (tensor<4x64xf32>, tensor<2x2x32x32xbf16>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
}

// -----

// prepare_rows_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x64xf32>
  // expected-error @+1 {{failed to verify that all of {x, y} have same rows}}
  %y = exec.prepare_rows %x as <bf16> : (tensor<4x64xf32>) -> tensor<3x64xbf16>
}

// -----

// prepare_rows_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x64xf32>
  %n = exec.input "n" : tensor<64xf32>
  // expected-error @+1 {{failed to verify that eps to be given with norm alone}}
  %y = exec.prepare_rows %x as <bf16> norm %n : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xbf16>
}

// -----

// prepare_rows_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x160xf32>
  // expected-error @+1 {{expected y of 'tensor<4x216xi8>', got 'tensor<4x192xi8>'}}
  %y = exec.prepare_rows %x as <int8, group = 64> : (tensor<4x160xf32>) -> tensor<4x192xi8>
}

// -----

// gemm_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xbf16>
  %w = exec.input "w" : tensor<32x16xbf16>
  // expected-error @+1 {{'exec.gemm' op failed to verify that all of {x, y} have same rows}}
  %y, %s = exec.gemm %x, %w
    : (tensor<4x16xbf16>, tensor<32x16xbf16>) -> (tensor<2x32xf32>, tensor<64xi8>)
}

// -----

// gemm_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xbf16>
  %w = exec.input "w" : tensor<32x8xbf16>
  // expected-error @+1 {{'exec.gemm' op expected a weight of 32 outputs and 16 inputs, got 'tensor<32x8xbf16>'}}
  %y, %s = exec.gemm %x, %w
    : (tensor<4x16xbf16>, tensor<32x8xbf16>) -> (tensor<4x32xf32>, tensor<64xi8>)
}

// -----

// unpack_c1
exec.program @p function {
  %w = exec.input "w" : tensor<2x16x32x2xbf16>
  // expected-error @+1 {{'exec.unpack' op expected fragments of 'tensor<64x32xbf16>', got 'tensor<2x16x32x2xbf16>'}}
  %m = exec.unpack %w : (tensor<2x16x32x2xbf16>) -> tensor<64x32xbf16>
}

// -----

// unpack_c1
exec.program @p function {
  %w = exec.input "w" : tensor<2x6x32x32xbf16>
  // expected-error @+1 {{'exec.unpack' op expected fragments of 'tensor<72x192xbf16>', got 'tensor<2x6x32x32xbf16>'}}
  %m = exec.unpack %w : (tensor<2x6x32x32xbf16>) -> tensor<72x192xbf16>
}

// -----

// round_rows_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.round_rows' op failed to verify that all of {x, y} have same shape}}
  %y = exec.round_rows %x : (tensor<4x16xf32>) -> tensor<4x8xbf16>
}

// -----

// round_rows_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %n = exec.input "n" : tensor<16xf32>
  // expected-error @+1 {{failed to verify that eps to be given with norm alone}}
  %y = exec.round_rows %x norm %n : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xbf16>
}

// -----

// add_bias_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %b = exec.input "b" : tensor<16xf32>
  // expected-error @+1 {{'exec.add_bias' op failed to verify that all of {x, y} have same shape}}
  %y = exec.add_bias %x, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x8xf32>
}

// -----

// linear_argmax_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  // expected-error @+1 {{failed to verify that all of {x, best, columns} have same rows}}
  %r, %q = exec.linear_argmax %x, %w n 32 as <f32>
    : (tensor<4x16xf32>, tensor<1x16x32xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
}

// -----

// linear_argmax_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  // expected-error @+1 {{failed to verify that all of {best, columns} have same shape}}
  %r, %q = exec.linear_argmax %x, %w n 32 as <f32>
    : (tensor<4x16xf32>, tensor<1x16x32xf32>) -> (tensor<4x1xf32>, tensor<4x2xi32>)
}

// -----

// linear_argmax_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %sampling = exec.input "sampling" : tensor<2x8xi32>
  // expected-error @+1 {{failed to verify that slots, sampling, logits to be given together}}
  %r, %q = exec.linear_argmax %x, %w n 32 as <f32> logits (%s, %sampling)
    : (tensor<4x16xf32>, tensor<1x16x32xf32>, tensor<4xi32>, tensor<2x8xi32>) -> (tensor<4x1xf32>, tensor<4x1xi32>)
}

// -----

// head_linear_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  // expected-error @+1 {{expected columns of heads of 'tensor<4x16xf32>' and 'tensor<4x32xf32>', got heads 1, cols 0 to 17 and keep 0 to 0}}
  %r = exec.head_linear %x, %w heads 1 cols 0 to 17 as <f32>
    : (tensor<4x16xf32>, tensor<1x16x32xf32>) -> tensor<4x32xf32>
}

// -----

// argmax_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{failed to verify that all of {x, picks} have same rows}}
  %r = exec.argmax %x : (tensor<4x16xf32>) -> tensor<2xi32>
}

// -----

// argmax_parts_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %c8 = exec.input "c8" : tensor<4x8xi32>
  // expected-error @+1 {{failed to verify that best to be no view}}
  %r = exec.argmax_parts %v, %c8 : (tensor<4x8xf32>, tensor<4x8xi32>) -> tensor<4xi32>
}

// -----

// sample_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %s = exec.input "s" : tensor<4xi32>
  %sampling = exec.input "sampling" : tensor<2x8xi32>
  // expected-error @+1 {{failed to verify that all of {logits, slots, positions} have same rows}}
  %r = exec.sample %x slots %s2 positions %s by %sampling
    : (tensor<4x16xf32>, tensor<2xi32>, tensor<4xi32>, tensor<2x8xi32>) -> tensor<4xi32>
}

// -----

// sample_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %sampling = exec.input "sampling" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.sample' op expected scan or found, and either beside best}}
  %r = exec.sample scan %x slots %s positions %s by %sampling
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>) -> tensor<4xi32>
}

// -----

// sample_c4
exec.program @p function {
  %s = exec.input "s" : tensor<4xi32>
  %sampling = exec.input "sampling" : tensor<2x8xi32>
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{failed to verify that logits to be no view}}
  %r = exec.sample %v slots %s positions %s by %sampling
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>) -> tensor<4xi32>
}

// -----

// embed_c1
exec.program @p function {
  %s = exec.input "s" : tensor<4xi32>
  %e = exec.input "e" : tensor<64x16xbf16>
  // expected-error @+1 {{failed to verify that all of {tokens, y} have same rows}}
  %r = exec.embed %s in %e as <bf16> : (tensor<64x16xbf16>, tensor<4xi32>) -> tensor<2x16xf32>
}

// -----

// mask_first_c3
exec.program @p function {
  %s = exec.input "s" : tensor<4xi32>
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{failed to verify that x to be no view}}
  %r = exec.mask_first %v at %s : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
}

// -----

// rms_norm_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %n = exec.input "n" : tensor<16xf32>
  // expected-error @+1 {{expected groups that divide 16 columns, got 3}}
  %r = exec.rms_norm %x by %n groups 3 eps 1.0e-6
    : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
}

// -----

// add_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{failed to verify that all of {a, b, y} have same shape}}
  %r = exec.add %x, %h : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
}

// -----

// concat_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{expected 24 columns of the result, got 'tensor<4x32xf32>'}}
  %r = exec.concat %x, %h : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x32xf32>
}

// -----

// copy_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{failed to verify that all of {x, y} have same shape}}
  %r = exec.copy %x : (tensor<4x16xf32>) -> tensor<4x8xf32>
}

// -----

// gather_rows_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{failed to verify that all of {index, result} have same rows}}
  %r = exec.gather_rows %x, %s2 : (tensor<4x16xf32>, tensor<2xi32>) -> tensor<4x16xf32>
}

// -----

// rope_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  // expected-error @+1 {{expected heads that divide 'tensor<4x16xf32>' and have the columns of #exec.rotation<dim = 8>, got 4}}
  %r = exec.rope %x heads 4 <dim = 8> by %t at %s
    : (tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
}

// -----

// kv_append_c2
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{expected columns of an entry of 32, got 24 to 40}}
  exec.kv_append %x at 24 into %layer slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// -----

// rope_append_c1
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{failed to verify that queries, rotated to be given together}}
  %r = exec.rope_append keys %x, values %x heads 2 <dim = 8> by %t at %s keys_at 0 values_at 16 into %layer slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x16xf32>
}

// -----

// rope_append_c4
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{expected columns of an entry of 32, got 17 to 33}}
  exec.rope_append keys %x, values %x heads 2 <dim = 8> by %t at %s keys_at 0 values_at 17 into %layer slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// -----

// attention_c2
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{expected heads that divide the columns of 'tensor<4x16xf32>' and 'tensor<4x16xf32>', got 4 of queries, 3 of keys}}
  %r = exec.attention %x in %layer slots %s positions %s pages %pages heads 4 kv_heads 3
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x16xf32>
}

// -----

// attention_c3
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %m = exec.input "m" : tensor<2xi64>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{expected a mask for each row of 'tensor<4x16xf32>', got 'tensor<2xi64>'}}
  %r = exec.attention %x in %layer slots %s positions %s pages %pages tree %m heads 4 kv_heads 2
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>, tensor<2xi64>) -> tensor<4x16xf32>
}

// -----

// attention_split_kv_c2
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.input "pages" : tensor<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  // expected-error @+1 {{expected heads that divide the columns of}}
  %r = exec.attention_split_kv %x in %layer slots %s positions %s pages %pages values 4 splits 3 tasks_per_tile 2 heads 4 kv_heads 2
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x16xf32>
}

// -----

// attention_combine_c1
exec.program @p function {
  %left = exec.input "left" : tensor<4x256xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{failed to verify that all of {positions, left, y} have same rows}}
  %r = exec.attention_combine %left positions %s2 splits 2 heads 4 kv_heads 2 split 512 as f32
    : (tensor<2xi32>, tensor<4x256xf32>) -> tensor<4x16xf32>
}

// -----

// moe_route_c2
exec.program @p function {
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{failed to verify that all of {experts, weights} have same shape}}
  %r, %q = exec.moe_route %h softmax : (tensor<4x8xf32>) -> (tensor<4x2xi32>, tensor<4x1xf32>)
}

// -----

// moe_plan_c1
exec.program @p function {
  %i2 = exec.input "i2" : tensor<4x2xi32>
  %s2 = exec.input "s2" : tensor<2xi32>
  // expected-error @+1 {{failed to verify that all of {positions, experts} have same rows}}
  %r, %q = exec.moe_plan %i2 at %s2
    : (tensor<2xi32>, tensor<4x2xi32>) -> (tensor<9xi32>, tensor<8xi32>)
}

// -----

// moe_gate_up_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %st = exec.input "st" : tensor<9xi32>
  %o8 = exec.input "o8" : tensor<8xi32>
  // expected-error @+1 {{failed to verify that all of {order, y} have same rows}}
  %r = exec.moe_gate_up %x, %w as <f32> rows (%st, %o8)
    : (tensor<4x16xf32>, tensor<1x16x32xf32>, tensor<9xi32>, tensor<8xi32>) -> tensor<4x16xf32>
}

// -----

// moe_down_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<1x16x32xf32>
  %st = exec.input "st" : tensor<9xi32>
  %o8 = exec.input "o8" : tensor<8xi32>
  // expected-error @+1 {{failed to verify that all of {x, order, y} have same rows}}
  %r = exec.moe_down %x, %w as <f32> rows (%st, %o8) top_k 2
    : (tensor<4x16xf32>, tensor<1x16x32xf32>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x16xf32>
}

// -----

// moe_combine_c2
exec.program @p function {
  %e8 = exec.input "e8" : tensor<8x16xf32>
  %f2 = exec.input "f2" : tensor<4x2xf32>
  %s = exec.input "s" : tensor<4xi32>
  %h = exec.input "h" : tensor<4x8xf32>
  // expected-error @+1 {{failed to verify that residual to have the shape of y}}
  %r = exec.moe_combine %e8 by %f2 at %s residual %h
    : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
}

// -----

// output_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{'exec.output' op expected a value that is no view}}
  exec.output "v" %v : tensor<4x8xf32>
}
