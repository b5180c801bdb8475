// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// weight_c1
// expected-error @+1 {{'exec.weight' op expected panels of 32 outputs for elements of #exec.format<int8, group = 64>, got #exec.panels<16>}}
exec.weight @w #exec.panels<16> k 64 n 8 stack 1 [#exec.source<key = "w">] : <int8, group = 64>

// -----

// panels_c1
// expected-error @+1 {{expected panels of a power of two from 4 to 256 outputs, got 24}}
exec.weight @w #exec.panels<24> k 8 n 8 stack 1 [#exec.source<key = "w">] : <f32>

// -----

// panels_c1
// expected-error @+1 {{expected panels of 32 outputs in fragments, got 16}}
exec.weight @w #exec.panels<16, fragments = true> k 32 n 8 stack 1 [#exec.source<key = "w">] : <bf16>

// -----

// weight_c6
// expected-error @+1 {{'exec.weight' op expected elements of bf16, or integers in groups of 32, 64 or 128, and a k that is a multiple of 32 for layout #exec.panels<32, fragments = true>, got #exec.format<bf16> and 40}}
exec.weight @w #exec.panels<32, fragments = true> k 40 n 8 stack 1 [#exec.source<key = "w">] : <bf16>

// -----

// weight_c6
// expected-error @+1 {{'exec.weight' op expected elements of bf16, or integers in groups of 32, 64 or 128, and a k that is a multiple of 32 for layout #exec.gated_panels<32, fragments = true>, got #exec.format<f32> and 32}}
exec.weight @w #exec.gated_panels<32, fragments = true> k 32 n 8 stack 1 [#exec.source<key = "w">, #exec.source<key = "v">] : <f32>

// -----

// weight_c6
// expected-error @+1 {{'exec.weight' op expected elements of bf16, or integers in groups of 32, 64 or 128, and a k that is a multiple of 32 for layout #exec.panels<32, fragments = true>, got #exec.format<int4, group = 96> and 192}}
exec.weight @w #exec.panels<32, fragments = true> k 192 n 8 stack 1 [#exec.source<key = "w">] : <int4, group = 96>

// -----

// gated_panels_c1
// expected-error @+1 {{expected panels of a power of two from 4 to 256 outputs, got 512}}
exec.weight @w #exec.gated_panels<512> k 8 n 8 stack 1 [#exec.source<key = "w">] : <f32>

// -----

// weight_c3
// expected-error @+1 {{'exec.weight' op expected an even n for layout #exec.gated_panels<32>, got 7}}
exec.weight @w #exec.gated_panels<32> k 8 n 7 stack 1 [#exec.source<key = "w">, #exec.source<key = "v">] : <f32>

// -----

// weight_c2
// expected-error @+1 {{'exec.weight' op expected positive k, n and stack whose product is at most 2^50, got 8, 0 and 1}}
exec.weight @w #exec.panels<32> k 8 n 0 stack 1 [#exec.source<key = "w">] : <f32>

// -----

// weight_c2
// expected-error @+1 {{'exec.weight' op expected positive k, n and stack whose product is at most 2^50, got 4294967296, 4294967296 and 1}}
exec.weight @w #exec.panels<32> k 4294967296 n 4294967296 stack 1 [#exec.source<key = "w">] : <f32>

// -----

// weight_c3
// expected-error @+1 {{'exec.weight' op expected 2 sources for layout #exec.gated_panels<32>, got 1}}
exec.weight @w #exec.gated_panels<32> k 8 n 64 stack 1 [#exec.source<key = "w">] : <f32>

// -----

// weight_c3
// expected-error @+1 {{'exec.weight' op expected 1 sources for layout #exec.raw, got 0}}
exec.weight @w #exec.raw k 8 n 64 stack 1 [] : <f32>

// -----

// expected-error @+1 {{'exec.weight' op attribute 'sources' failed to satisfy constraint: an array of #exec.source}}
exec.weight @w #exec.raw k 8 n 64 stack 1 [{key = "w"}] : <f32>

// -----

// expected-error @+1 {{struct is missing required parameter: key}}
exec.weight @w #exec.raw k 8 n 64 stack 1 [#exec.source<row_begin = 0>] : <f32>

// -----

// source_c1
// expected-error @+1 {{expected a shape of one or two dimensions, got 3}}
exec.weight @w #exec.raw k 8 n 64 stack 1 [#exec.source<key = "w", shape = [1, 8, 64]>] : <f32>

// -----

// weight_c4
// expected-error @+1 {{'exec.weight' op expected no stack for a table of #exec.format<int8, group = 32>, got 2}}
exec.weight @w #exec.raw k 8 n 64 stack 2 [#exec.source<key = "w.{}">] : <int8, group = 32>

// -----

// weight_c5
exec.constant @rows dense<[1, 2]> : tensor<2xi32>
// expected-error @+1 {{'exec.weight' op expected picks of a weight in panels with one source and no stack}}
exec.weight @w #exec.panels<32> k 8 n 2 stack 2 [#exec.source<key = "w.{}">] picks @rows : <f32>

// -----

// weight_c5
exec.constant @rows dense<[1, 2]> : tensor<2xi32>
// expected-error @+1 {{'exec.weight' op expected picks of 3 elements of i32, got 'tensor<2xi32>'}}
exec.weight @w #exec.panels<32> k 8 n 3 stack 1 [#exec.source<key = "w">] picks @rows : <f32>

// -----

// weight_c5
// expected-error @+1 {{'exec.weight' op expected picks to name an exec.constant, got @rows}}
exec.weight @w #exec.panels<32> k 8 n 2 stack 1 [#exec.source<key = "w">] picks @rows : <f32>

// -----

// ref_c3
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <int4, group = 64>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected 'memref<1x1152xi8>' for 'w', got 'memref<1x1152xf32>'}}
  %w = exec.ref @w : memref<1x1152xf32>
}

// -----

// rope_table_c1
// expected-error @+1 {{'exec.rope_table' op expected positions in [1, 2^23], got 0}}
exec.rope_table @t <dim = 16, theta = 10000.0> positions 0

// -----

// rope_table_c1
// expected-error @+1 {{'exec.rope_table' op expected positions in [1, 2^23], got 4611686018427387904}}
exec.rope_table @t <dim = 16, theta = 10000.0> positions 4611686018427387904

// -----

// constant_c1
// expected-error @+1 {{'exec.constant' op expected elements whose bytes fit 63 bits, got 'tensor<4611686018427387904xi32>'}}
exec.constant @c dense<0> : tensor<4611686018427387904xi32>

// -----

// constant_c1
// expected-error @+1 {{'exec.constant' op expected dense elements of f32, i32 or i64, got 'tensor<2xf64>'}}
exec.constant @c dense<0.0> : tensor<2xf64>

// -----

// state_c1
// expected-error @+1 {{'exec.state' op expected a static memref of f32, i32 or i64 whose bytes fit 63 bits, got 'memref<?xi32>'}}
exec.state @s : memref<?xi32>

// -----

// state_c2
// expected-error @+1 {{'exec.state' op expected init of 'i32', got 1.000000e+00 : f32}}
"exec.state"() {sym_name = "s", type = memref<4xi32>, init = 1.0 : f32} : () -> ()

// -----

// state_c3
// expected-error @+1 {{'exec.state' op expected rebuild rows of at least 1, got 0}}
exec.state @s : memref<4xi32> rebuild rows 0

// -----

// state_c4
// expected-error @+1 {{'exec.state' op expected no rebuild of a shared state}}
exec.state shared @s : memref<4xi32> rebuild never

// -----

// state_c4
// expected-error @+1 {{'exec.state' op expected an input of each slot's own, got a shared one}}
exec.state shared @s : memref<4xi32> input

// -----

// cache_c1
// expected-error @+1 {{'exec.cache' op expected positive layers, entry, heads and page, got 1, 8, 1 and 0}}
exec.cache @c layers 1 entry 8 page 0 : f32

// -----

// cache_c1_heads
// expected-error @+1 {{'exec.cache' op expected positive layers, entry, heads and page, got 1, 8, -2 and 16}}
exec.cache @c layers 1 entry 8 heads -2 page 16 : f32

// -----

// cache_c3
// expected-error @+1 {{'exec.cache' op expected an entry of a multiple of 3 heads, got 8}}
exec.cache @c layers 1 entry 8 heads 3 page 16 : f32

// -----

// cache_c2
// expected-error @+1 {{'exec.cache' op expected elements of f32, bf16 or i8, got 'i16'}}
exec.cache @c layers 1 entry 8 page 16 : i16

// -----

// cache_c4
// expected-error @+1 {{'exec.cache' op expected parts of i8 of a multiple of four above 8 elements, got 8}}
exec.cache @c layers 1 entry 16 heads 2 page 16 : i8

// -----

// cache_c4
// expected-error @+1 {{'exec.cache' op expected parts of i8 of a multiple of four above 8 elements, got 22}}
exec.cache @c layers 1 entry 44 heads 2 page 16 : i8

// -----

// program_c1
// expected-error @+2 {{expected one of [decode, prefill, function] for the kind of a program, got: train}}
// expected-error @+1 {{failed to parse Exec_ProgramKindAttr}}
exec.program @p train {
}

// -----

// program_c2
// expected-error @+1 {{'exec.program' op expected k >= 0 and n from 1 on for kind decode, got k 1 and n 0 to 3}}
exec.program @p decode k 1 n 0 to 3 {
}

// -----

// program_c2
// expected-error @+1 {{'exec.program' op expected k >= 0 and n from 1 on for kind decode, got k -1 and n 1 to 3}}
exec.program @p decode k -1 n 1 to 3 {
}

// -----

// program_c2
// expected-error @+1 {{'exec.program' op expected k >= 0 and n from 1 on for kind prefill, got k 0 and n 4 to 3}}
exec.program @p prefill k 0 n 4 to 3 {
}

// -----

// program_c2
// expected-error @+1 {{'exec.program' op expected k 0 and n 0 for kind function, got k 0 and n 1 to 1}}
exec.program @p function k 0 n 1 to 1 {
}

// -----

// program_c4
// expected-error @+1 {{'exec.program' op expected sequences of a prefill or of prompts alone, got a decode program of 2}}
exec.program @p decode sequences 2 k 0 n 2 to 4 {
}

// -----

// program_c4
// expected-error @+1 {{'exec.program' op expected at least one prompt and a row of each, got 4 sequences and 3 rows}}
exec.program @p decode sequences 4 prompts 3 k 0 n 2 to 4 {
}

// -----

// program_c4
// expected-error @+1 {{'exec.program' op expected at least one sequence and a row of each, got 3 sequences and n from 2 on}}
exec.program @p prefill sequences 3 k 0 n 2 to 4 {
}

// -----

// program_c4
// expected-error @+1 {{'exec.program' op expected at least one sequence and a row of each, got 0 sequences and n from 2 on}}
exec.program @p prefill sequences 0 k 0 n 2 to 4 {
}

// -----

// program_c5
// expected-error @+1 {{'exec.program' op expected a decode program below positions, got a prefill program}}
exec.program @p prefill below 640 k 0 n 2 to 4 {
}

// -----

// program_c5
// expected-error @+1 {{'exec.program' op expected 1 to 2^31 - 1 positions, got 0}}
exec.program @p decode below 0 k 0 n 2 to 4 {
}

// -----

// program_c6
// expected-error @+1 {{'exec.program' op expected a decode program with rows of prompts, got a prefill program}}
exec.program @p prefill prompts 16 k 0 n 2 to 4 {
}

// -----

// program_c6
// expected-error @+1 {{'exec.program' op expected 1 to 2^31 - 1 rows of prompts, got 0}}
exec.program @p decode prompts 0 k 0 n 2 to 4 {
}

// -----

// program_c7
// expected-error @+1 {{'exec.program' op expected a prefill with k > 0 as a catch_up}}
exec.program @p decode catch_up 16 k 1 n 2 to 4 {
}

// -----

// program_c7
// expected-error @+1 {{'exec.program' op expected a prefill with k > 0 as a catch_up}}
exec.program @p prefill catch_up 16 k 0 n 2 to 4 {
}

// -----

// program_c4
// expected-error @+1 {{'exec.program' op expected at least one sequence and a row of each, got 0 sequences and n from 2 on}}
exec.program @p prefill sequences 0 catch_up 16 k 1 n 2 to 4 {
}

// -----

// program_c7
// expected-error @+1 {{'exec.program' op expected a catch_up of 1 to 2^31 - 1 positions, got 0}}
exec.program @p prefill catch_up 0 k 1 n 2 to 4 {
}

// -----

// program_c3, schedule_c1
exec.program @p decode k 0 n 2 to 4 {
  // expected-error @+1 {{'exec.schedule' op expected a schedule from 2 on, got 1}}
  exec.schedule from 1 []
}

// -----

// program_c3, schedule_c1
exec.program @p decode k 0 n 2 to 4 {
  exec.schedule from 2 []
  // expected-error @+1 {{'exec.schedule' op expected a schedule from 3 or more on, got 2}}
  exec.schedule from 2 []
}

// -----

// program_c3, schedule_c1
exec.program @p decode k 0 n 2 to 4 {
  exec.schedule from 2 []
  // expected-error @+1 {{'exec.schedule' op expected a schedule from 3 or more on, got 5}}
  exec.schedule from 5 []
}

// -----

// program_c3, schedule_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x8xf32>
  %y = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{'exec.schedule' op expected a step for each of 1 calls, got 2}}
  exec.schedule from 0 [[all, solo]]
}

// -----

// program_c3, schedule_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x8xf32>
  %y = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{'exec.schedule' op expected steps that are solo, joined, both or none, and a first one that is not joined, got 2 as step 0}}
  "exec.schedule"() <{begin = 0 : i64, steps = array<i8: 2>}> : () -> ()
}

// -----

// count_c1
// expected-error @+1 {{expected a count of a first extent that alone is dynamic, growing from 0 on, got n}}
%x = builtin.unrealized_conversion_cast to tensor<4x8xf32, #exec.count<n>>

// -----

// count_c1
// expected-error @+1 {{expected a count of a first extent that alone is dynamic, growing from 0 on, got n}}
%x = builtin.unrealized_conversion_cast to tensor<?x?xf32, #exec.count<n>>

// -----

// count_c1
// expected-error @+1 {{expected a count of a first extent that alone is dynamic, growing from 0 on, got 8}}
%x = builtin.unrealized_conversion_cast to tensor<?x8xf32, #exec.count<8>>

// -----

// count_c1
// expected-error @+1 {{expected a count of a first extent that alone is dynamic, growing from 0 on, got -1 + 2 * n}}
%x = builtin.unrealized_conversion_cast to tensor<?x8xf32, #exec.count<-1 + 2 * n>>

// -----

// A dynamic number of rows without a count is an error.
exec.program @p function {
  %x = builtin.unrealized_conversion_cast to tensor<?x8xf32>
  // expected-error @+1 {{'exec.add' op operand #0 must be rows of f32, but got 'tensor<?x8xf32>'}}
  %y = exec.add %x, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
}

// -----

// Different counts are different numbers of rows.
exec.program @p decode k 0 n 1 to 4 {
  %x = builtin.unrealized_conversion_cast to tensor<?x8xf32, #exec.count<2 * n>>
  // expected-error @+1 {{'exec.add' op failed to verify that all of {a, b, y} have same shape}}
  %y = exec.add %x, %x : (tensor<?x8xf32, #exec.count<2 * n>>, tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<n>>
}

// -----

// ref_c1
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a state, weight, table, constant or cache named 'nothing', found none}}
  %0 = exec.ref @nothing : memref<4xi32>
}

// -----

// ref_c1: a kernel is not a buffer
exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a state, weight, table, constant or cache named 'add', found none}}
  %0 = exec.ref @add : memref<4xi32>
}

// -----

// ref_c2
exec.cache @c layers 2 entry 8 page 16 : f32
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a layer below 2 of 'c', got 2}}
  %0 = exec.ref @c layer 2 : memref<?x16x8xf32>
}

// -----

// ref_c2
exec.state @s : memref<4xi32>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a layer below 1 of 's', got 1}}
  %0 = exec.ref @s layer 1 : memref<4xi32>
}

// -----

// ref_c3
exec.state @s : memref<4xi32>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected 'memref<4xi32>' for 's', got 'memref<5xi32>'}}
  %0 = exec.ref @s : memref<5xi32>
}

// -----

// ref_c3
exec.cache @c layers 2 entry 8 page 16 : bf16
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected 'memref<?x16x8xbf16>' for 'c', got 'memref<?x16x8xf32>'}}
  %0 = exec.ref @c : memref<?x16x8xf32>
}

// -----

// ref_c3
exec.weight @w #exec.raw k 8 n 4 stack 1 [#exec.source<key = "w">] : <bf16>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected 'memref<4x8xbf16>' for 'w', got 'memref<4x8xf32>'}}
  %0 = exec.ref @w : memref<4x8xf32>
}

// -----

// ref_c4: two panels of 8 inputs, one of them of 1 output
exec.weight @w #exec.panels<32> k 8 n 33 stack 1 [#exec.source<key = "w">] : <f32>
exec.program @p function {
  %0 = exec.ref @w : memref<2x8x32xf32>
  // expected-error @+1 {{'exec.ref' op expected a buffer of 2048 bytes for 'w', got 'memref<3x8x32xf32>'}}
  %1 = exec.ref @w : memref<3x8x32xf32>
}

// -----

// ref_c4: bf16 holds inputs in pairs, and each half of swiglu is padded
exec.weight @w #exec.gated_panels<32> k 7 n 66 stack 3 [#exec.source<key = "a.{}">, #exec.source<key = "b.{}">] : <bf16>
exec.program @p function {
  %0 = exec.ref @w : memref<12x4x32x2xbf16>
  // expected-error @+1 {{'exec.ref' op expected a buffer of 6144 bytes for 'w', got 'memref<9x4x32x2xbf16>'}}
  %1 = exec.ref @w : memref<9x4x32x2xbf16>
}

// -----

// ref_c4
exec.weight @w #exec.raw k 64 n 5 stack 1 [#exec.source<key = "w">] : <int8, group = 64>
exec.program @p function {
  %0 = exec.ref @w : memref<5x68xi8>
  // expected-error @+1 {{'exec.ref' op expected a buffer of 340 bytes for 'w', got 'memref<5x64xi8>'}}
  %1 = exec.ref @w : memref<5x64xi8>
}

// -----

// ref_c5
exec.state @s : memref<2x8xi32>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a row of a state, got row 2 of 'memref<2x8xi32>'}}
  %0 = exec.ref @s row 2 : memref<8xi32>
}

// -----

// ref_c5
exec.state @s : memref<2x8xi32>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a row of a state, got row -1 of 'memref<2x8xi32>'}}
  %0 = exec.ref @s row -1 : memref<8xi32>
}

// -----

// ref_c5
exec.state @s : memref<8xi32>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a row of a state, got row 0 of 'memref<8xi32>'}}
  %0 = exec.ref @s row 0 : memref<i32>
}

// -----

// ref_c5
exec.constant @s dense<[[1, 3], [5, 7]]> : tensor<2x2xi64>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected a row of a state, got row 1 of 'memref<2x2xi64>'}}
  %0 = exec.ref @s row 1 : memref<2xi64>
}

// -----

// ref_c5
exec.state @s : memref<2x8xi32>
exec.program @p function {
  // expected-error @+1 {{'exec.ref' op expected 'memref<8xi32>' for 's', got 'memref<2x8xi32>'}}
  %0 = exec.ref @s row 1 : memref<2x8xi32>
}

// -----

// ref_c5
exec.state shared @active : memref<4xi32>
exec.program @p decode k 0 n 1 to 5 {
  // expected-error @+1 {{'exec.ref' op expected 'memref<4xi32>' for 'active', got 'memref<?xi32>', the first n}}
  %0 = exec.ref @active first n : memref<?xi32>
}

// -----

// ref_c5
exec.state shared @active : memref<4xi32>
exec.program @p decode k 0 n 1 to 4 {
  // expected-error @+1 {{'exec.ref' op expected 'memref<4xi32>' for 'active', got 'memref<?xi32>'}}
  %0 = exec.ref @active : memref<?xi32>
}

// -----

// A program reads no values from outside.
// expected-error @+1 {{'exec.ref' op expects parent op 'exec.program'}}
%s = exec.ref @s : memref<4xi32>
exec.state @s : memref<4xi32>

// -----

%s = builtin.unrealized_conversion_cast to memref<4xi32>
// expected-note @+1 {{required by region isolation constraints}}
exec.program @p function {
  // expected-error @+1 {{'exec.output' op using value defined outside the region}}
  exec.output "s" %s : memref<4xi32>
}

// -----

// input_c1
exec.program @p function {
  // expected-error @+1 {{'exec.input' op expected a static tensor of f32, bf16, i8, i32 or i64, got 'index'}}
  %x = exec.input "x" : index
}

// -----

// input_c1
exec.program @p function {
  // expected-error @+1 {{'exec.input' op expected a static tensor of f32, bf16, i8, i32 or i64, got '!mtp.rows'}}
  %x = exec.input "x" : !mtp.rows
}

// -----

// input_c1
exec.program @p function {
  // expected-error @+1 {{'exec.input' op expected a static tensor of f32, bf16, i8, i32 or i64, got 'tensor<2xf64>'}}
  %x = exec.input "x" : tensor<2xf64>
}

// -----

// output_c1
exec.cache @c layers 2 entry 8 page 16 : f32
exec.program @p function {
  %c = exec.ref @c : memref<?x16x8xf32>
  // expected-error @+1 {{'exec.output' op expected a static tensor or buffer of f32, bf16, i8, i32 or i64, got 'memref<?x16x8xf32>'}}
  exec.output "c" %c : memref<?x16x8xf32>
}

// -----

// alloc_c1
exec.program @p function {
  // expected-error @+1 {{'exec.alloc' op expected a static buffer, or one with rows, whose bytes fit 63 bits, got 'memref<?x8xf32>'}}
  %0 = exec.alloc : memref<?x8xf32>
}

// -----

// alloc_c1
exec.program @p decode k 0 n 1 to 4 {
  // expected-error @+1 {{'exec.alloc' op expected a static buffer, or one with rows, whose bytes fit 63 bits, got 'memref<4x8xf32>' with rows n}}
  %0 = exec.alloc rows n : memref<4x8xf32>
}

// -----

// alloc_c1
exec.program @p decode k 0 n 1 to 4 {
  // expected-error @+1 {{'exec.alloc' op expected a static buffer, or one with rows, whose bytes fit 63 bits, got 'memref<?x8xf32>' with rows -2 + n}}
  %0 = exec.alloc rows -2 + n : memref<?x8xf32>
}

// -----

// alloc_c1
exec.program @p function {
  // expected-error @+1 {{'exec.alloc' op expected a static buffer, or one with rows, whose bytes fit 63 bits}}
  %0 = exec.alloc : memref<4294967296x2147483648xf32>
}

// -----

// dispatch_c1
exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  %0 = exec.alloc : memref<8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected one offset per buffer, got 2 for 3}}
  exec.dispatch @add(%0, %0, %0) params [1] offsets [0, 0] outputs 1
    : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// -----

// dispatch_c2
exec.program @p function {
  %0 = exec.alloc : memref<8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected an exec.kernel named 'add', found none}}
  exec.dispatch @add(%0, %0, %0) params [1] offsets [0, 0, 0] outputs 1
    : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// -----

// dispatch_c2
exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  %0 = exec.alloc : memref<8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected the buffers, params and outputs of kind 'add', got 3 buffers, 1 params and 2 outputs}}
  exec.dispatch @add(%0, %0, %0) params [1] offsets [0, 0, 0] outputs 2
    : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// -----

// dispatch_c3
exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  %0 = exec.alloc : memref<8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected an offset below 8 into 'memref<8xf32>', got 8}}
  exec.dispatch @add(%0, %0, %0) params [1] offsets [0, 8, 0] outputs 1
    : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// -----

// dispatch_c4: params
exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  %0 = exec.alloc : memref<8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected param 0 in [1, 1073741824] at every n, got -4}}
  exec.dispatch @add(%0, %0, %0) params [-4] offsets [0, 0, 0] outputs 1
    : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// -----

// dispatch_c4: params at the least n
exec.kernel @add #exec.add<width = 8>
exec.program @p decode k 0 n 1 to 4 {
  %0 = exec.alloc rows n : memref<?x8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected param 0 in [1, 1073741824] at every n, got -1 + n}}
  exec.dispatch @add(%0, %0, %0) params [-1 + n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
}

// -----

// dispatch_c4: bytes
exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  %0 = exec.alloc : memref<2x8xf32>
  %1 = exec.alloc : memref<1x8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected at least 64 bytes of buffer 2 from offset 0 on at n 0, got 32}}
  exec.dispatch @add(%0, %0, %1) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<1x8xf32>
}

// -----

// dispatch_c4: bytes at the largest n
exec.kernel @add #exec.add<width = 8>
exec.program @p decode k 0 n 1 to 4 {
  %0 = exec.alloc rows 2 * n : memref<?x8xf32>
  %1 = exec.alloc rows 1 + n : memref<?x8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected at least 256 bytes of buffer 2 from offset 0 on at n 4, got 160}}
  exec.dispatch @add(%0, %0, %1) params [2 * n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
}

// -----

// dispatch_c4: bytes after an offset
exec.kernel @add #exec.add<width = 8>
exec.program @p decode k 0 n 1 to 4 {
  %0 = exec.alloc rows n : memref<?x8xf32>
  // expected-error @+1 {{'exec.dispatch' op expected at least 32 bytes of buffer 1 from offset 4 on at n 1, got 28}}
  exec.dispatch @add(%0, %0, %0) params [n] offsets [0, 1, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
}

// -----

// dispatch_c5
exec.kernel @append #exec.kv_append<width = 8, dtype = f32, page = 4, entry_width = 8, slots = 2>
exec.cache @kv layers 1 entry 16 heads 2 page 8 : bf16
exec.state @page_table : memref<2x3xi32>
exec.program @p function {
  %x = exec.alloc : memref<1x8xf32>
  %i = exec.alloc : memref<1xi32>
  %t = exec.ref @page_table : memref<2x3xi32>
  %kv = exec.ref @kv layer 0 : memref<?x8x16xbf16>
  // expected-error @+1 {{'exec.dispatch' op expected a cache of page 4, entry 8, heads 1, f32 for kernel 'append', got page 8, entry 16, heads 2, bf16 of 'kv'}}
  exec.dispatch @append(%x, %i, %i, %t, %kv) params [1, 3] offsets [0, 0, 0, 0, 0] outputs 0
    : memref<1x8xf32>, memref<1xi32>, memref<1xi32>, memref<2x3xi32>, memref<?x8x16xbf16>
}

// -----

// dispatch_c5
exec.kernel @append #exec.kv_append<width = 8, dtype = f32, page = 4, entry_width = 8, slots = 2>
exec.state @page_table : memref<2x3xi32>
exec.program @p function {
  %x = exec.alloc : memref<1x8xf32>
  %i = exec.alloc : memref<1xi32>
  %t = exec.ref @page_table : memref<2x3xi32>
  // expected-error @+1 {{'exec.dispatch' op expected buffer 4 of kind 'kv_append' to be a cache, got 'memref<1x8xf32>'}}
  exec.dispatch @append(%x, %i, %i, %t, %x) params [1, 3] offsets [0, 0, 0, 0, 0] outputs 0
    : memref<1x8xf32>, memref<1xi32>, memref<1xi32>, memref<2x3xi32>, memref<1x8xf32>
}

// -----

// kernel_c2
// expected-error @+1 {{'exec.kernel' op expected a body for the kind control, and for no other}}
exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 0>

// -----

// kernel_c2
// expected-error @+1 {{'exec.kernel' op expected a body for the kind control, and for no other}}
exec.kernel @k #exec.add<width = 4> {
^bb0(%i: index):
}

// -----

// kernel_c3
// expected-error @+1 {{'exec.kernel' op expected a body that takes an index and 2 buffers, got ('index', 'memref<?xi32>')}}
exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 1> {
^bb0(%i: index, %x: memref<?xi32>):
}

// -----

// kernel_c3
// expected-error @+1 {{'exec.kernel' op expected buffers of i32, i64 or f32 of which the first extent alone is dynamic, in every output and in no update, got 'memref<4xi32>' as buffer 1}}
exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 1> {
^bb0(%i: index, %x: memref<?xi32>, %y: memref<4xi32>):
}

// -----

// kernel_c4
exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 1> {
^bb0(%i: index, %x: memref<?xi32>, %y: memref<?xi32>):
  // expected-error @+1 {{'memref.alloc' op expected arith, math, scf.for, scf.if, static allocas at the top level, loads and stores in the body of a kernel}}
  %a = memref.alloc() : memref<4xi32>
}

// -----

// kernel_c4
exec.kernel @k #exec.control<reads = 1, updates = 0, outputs = 1> {
^bb0(%i: index, %x: memref<?xi32>, %y: memref<?xi32>):
  %v = memref.load %y[%i] : memref<?xi32>
  // expected-error @+1 {{'memref.store' op expected a store to an update or an output, got buffer 0 of 1 that are read}}
  memref.store %v, %x[%i] : memref<?xi32>
}

// -----

// control_c1
exec.kernel @c #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
exec.state @length : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  // expected-error @+1 {{'exec.control' op expected an exec.kernel with a body named 'none'}}
  %y = exec.control @none for 2 of %s(%x) updates(%l) : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2xi32>
}

// -----

// control_c2
exec.kernel @c #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
exec.state @length : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  // expected-error @+1 {{'exec.control' op expected a row for each of 3 slots, got 'tensor<2xi32>'}}
  %y = exec.control @c for 3 of %s(%x) updates(%l) : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2xi32>
}

// -----

// control_c2
exec.kernel @c #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
exec.state @length : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  // expected-error @+1 {{'exec.control' op expected at least one slot, got 0}}
  %y = exec.control @c for 0 of %s(%x) updates(%l) : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2xi32>
}

// -----

// control_c3
exec.kernel @c #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
exec.state @length : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  // expected-error @+1 {{'exec.control' op expected the buffers of #exec.control<reads = 2, updates = 1, outputs = 1>, got #exec.control<reads = 3, updates = 0, outputs = 1>}}
  %y = exec.control @c for 2 of %s(%x) reads(%l) : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2xi32>
}

// -----

// control_c3
exec.kernel @c #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
exec.state @length : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  // expected-error @+1 {{'exec.control' op expected 'memref<?xi32>' with rows for 2 tasks as buffer 3 of 'c', got 'tensor<2xf32>'}}
  %y = exec.control @c for 2 of %s(%x) updates(%l) : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2xf32>
}

// -----

// control_c4
exec.kernel @c #exec.control<reads = 2, updates = 0, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?xi32>, %y: memref<?xi32>):
  %other = arith.constant 1 : index
  %near = exec.clamp_task %other : index
  %v = memref.load %x[%near] : memref<?xi32>
  memref.store %v, %y[%i] : memref<?xi32>
}
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  // expected-error @+1 {{'exec.control' op expected buffer 1 of 'c', of which a task reads any row, to be packed}}
  %y = exec.control @c for 2 of %s(%s) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
}

// -----

// clamp_task_c1
exec.program @p function {
  %i = arith.constant 1 : index
  // expected-error @+1 {{'exec.clamp_task' op expected in the body of a kernel, got one in a program}}
  %near = exec.clamp_task %i : index
}

// -----

// dispatch_c6
exec.kernel @c #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
exec.state @length : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  %a = exec.alloc : memref<2xi32>
  %b = exec.alloc : memref<1x3xi32>
  // expected-error @+1 {{'exec.dispatch' op expected 'memref<?x3xi32>' with rows for 2 tasks as buffer 1 of 'c', got 'memref<1x3xi32>'}}
  exec.dispatch @c(%a, %b, %l, %a) params [2] offsets [0, 0, 0, 0] outputs 1
    : memref<2xi32>, memref<1x3xi32>, memref<4xi32>, memref<2xi32>
}

// -----

// await_host_c1
exec.program @p decode k 1 n 1 to 1 {
  %x = exec.alloc : memref<1x8xf32>
  // expected-error @+1 {{'exec.await_host' op expected once in a decode program, between two calls}}
  exec.await_host
}

// -----

// on_request_c1
exec.program @p prefill k 0 n 2 to 2 {
  %x = exec.input "x" : tensor<2x8xf32>
  // expected-error @+1 {{'exec.on_request' op expected once in a decode or prefill program, between two calls, after exec.await_host}}
  exec.on_request
  %a = exec.add %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
}

// -----

// on_request_c1: exec.await_host must come before it.
exec.program @p decode k 1 n 2 to 2 {
  %x = exec.input "x" : tensor<2x8xf32>
  %a = exec.add %x, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-error @+1 {{'exec.on_request' op expected once in a decode or prefill program, between two calls, after exec.await_host}}
  exec.on_request
  %b = exec.add %a, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  exec.await_host
  %c = exec.add %b, %x : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
}
