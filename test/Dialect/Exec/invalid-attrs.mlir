// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Attributes of kernels and weights; a case per constraint, named by it.

// format_c1: integers without a group
// expected-error @+1 {{expected a group of 16 or a multiple of 32 up to 128 for elements of int4, got 0}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <int4>

// -----

// format_c1: a group that is too large
// expected-error @+1 {{expected a group of 16 or a multiple of 32 up to 128 for elements of int8, got 160}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <int8, group = 160>

// -----

// format_c1: a group that is no multiple of 32
// expected-error @+1 {{expected a group of 16 or a multiple of 32 up to 128 for elements of int8, got 48}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <int8, group = 48>

// -----

// format_c1: floats with a group
// expected-error @+1 {{expected no group, scales or offset for elements of bf16, got group 64}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <bf16, group = 64>

// -----

// format_c1: floats with scales
// expected-error @+1 {{expected no group, scales or offset for elements of bf16, got group 0}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <bf16, scales = f16>

// -----

// format_c2: scales of 6 bits without an offset
// expected-error @+1 {{expected a group and an offset that suit int4 with scales of f16x6, got group 32 without an offset}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <int4, group = 32, scales = f16x6>

// -----

// format_c2: a group that does not divide a block
// expected-error @+1 {{expected a group and an offset that suit int6 with scales of f16x8, got group 96 without an offset}}
exec.weight @w #exec.panels<32> k 96 n 32 stack 1 [#exec.source<key = "w">] : <int6, group = 96, scales = f16x8>

// -----

// Unknown elements of a format.
// expected-error @+2 {{failed to parse Exec_FormatAttr parameter 'elements'}}
// expected-error-re @+1 {{expected one of [f32, bf16, int8, int4{{[^]]*}}] for elements of a weight, got: f16}}
exec.weight @w #exec.panels<32> k 64 n 32 stack 1 [#exec.source<key = "w">] : <f16>

// -----

// format_c1: the format of a kernel
// expected-error @+2 {{failed to parse Exec_LinearKernel parameter 'format'}}
// expected-error @+1 {{expected a group of 16 or a multiple of 32 up to 128 for elements of int4, got 0}}
exec.kernel @k #exec.linear<k = 64, n = 32, format = <int4>>

// -----

// builtin_c1
// expected-error @+1 {{expected a function of the runtime, got 'mtp.nothing'}}
exec.kernel @k #exec.builtin<"mtp.nothing">

// -----

// An unknown kind.
// expected-error @+1 {{unknown attribute `matmul` in dialect `exec`}}
exec.kernel @k #exec.matmul<k = 8>

// -----

// An unknown parameter.
// expected-error @+1 {{duplicate or unknown struct parameter name: rows}}
exec.kernel @k #exec.add<width = 8, rows = 4>

// -----

// A missing parameter that is required.
// expected-error @+1 {{struct is missing required parameter: width}}
exec.kernel @k #exec.add<a_stride = 8>

// -----

// An attribute that is not a kernel.
// expected-error @+1 {{'exec.kernel' invalid kind of attribute specified}}
exec.kernel @k #exec.count<n>

// -----

// kernel_c1: a width
// expected-error @+1 {{'exec.kernel' op of kind 'add': expected width of at least 1, got 0}}
exec.kernel @k #exec.add<width = 0>

// -----

// kernel_c1: a stride
// expected-error @+1 {{'exec.kernel' op of kind 'add': expected a_stride of at least 0, got -8}}
exec.kernel @k #exec.add<width = 8, a_stride = -8>

// -----

// kernel_c1: a count of buffers
// expected-error @+1 {{'exec.kernel' op of kind 'control': expected updates of at least 0, got -1}}
exec.kernel @k #exec.control<reads = 1, updates = -1, outputs = 0>

// -----

// kernel_c1: gates and ups
// expected-error @+1 {{'exec.kernel' op of kind 'linear': expected an even n for swiglu, got 5}}
exec.kernel @k #exec.linear<k = 192, n = 5, format = <bf16>, activation = swiglu>

// -----

// kernel_c1: gates and ups with a bias
// expected-error @+1 {{'exec.kernel' op of kind 'linear': expected neither bias nor residual with swiglu}}
exec.kernel @k #exec.linear<k = 192, n = 64, format = <bf16>, bias = true, activation = swiglu>

// -----

// kernel_c1: gates and ups with a residual
// expected-error @+1 {{'exec.kernel' op of kind 'linear': expected neither bias nor residual with swiglu}}
exec.kernel @k #exec.linear<k = 192, n = 64, format = <bf16>, residual = true, activation = swiglu>

// -----

// kernel_c1: fragments of f32
// expected-error @+1 {{'exec.kernel' op of kind 'linear': expected a format of bf16, or a group of 32, 64 or 128, and k to be a multiple of 32 for fragments, got #exec.format<f32> and 64}}
exec.kernel @k #exec.linear<k = 64, n = 32, format = <f32>, fragments = true>

// -----

// kernel_c1: fragments of a group of 96
// expected-error @+1 {{'exec.kernel' op of kind 'linear_argmax': expected a format of bf16, or a group of 32, 64 or 128, and k to be a multiple of 32 for fragments, got #exec.format<int4, group = 96> and 192}}
exec.kernel @k #exec.linear_argmax<k = 192, n = 32, format = <int4, group = 96>, fragments = true>

// -----

// kernel_c1: fragments of 40 inputs
// expected-error @+1 {{'exec.kernel' op of kind 'moe_gate_up': expected a format of bf16, or a group of 32, 64 or 128, and k to be a multiple of 32 for fragments, got #exec.format<bf16> and 40}}
exec.kernel @k #exec.moe_gate_up<experts = 4, k = 40, inter = 32, format = <bf16>, top_k = 2, fragments = true>

// -----

// kernel_c1: fragments of a moe_down
// expected-error @+1 {{'exec.kernel' op of kind 'moe_down': expected a format of bf16, or a group of 32, 64 or 128, and k to be a multiple of 32 for fragments, got #exec.format<bf16> and 40}}
exec.kernel @k #exec.moe_down<experts = 4, k = 40, n = 32, format = <bf16>, top_k = 2, fragments = true>

// -----

// kernel_c1: heads of integers
// expected-error @+1 {{'exec.kernel' op of kind 'head_linear': expected a format of f32 or bf16, got #exec.format<int8, group = 64>}}
exec.kernel @k #exec.head_linear<heads = 2, k = 64, n = 32, format = <int8, group = 64>>

// -----

// kernel_c1: a rotation wider than the kept columns
// expected-error @+1 {{'exec.kernel' op of kind 'head_linear': expected the rotation's offset + dim to be at most keep_width 16, got 24}}
exec.kernel @k #exec.head_linear<heads = 2, k = 64, n = 32, format = <bf16>, keep_width = 16, rotation = <dim = 16, offset = 8>>

// -----

// kernel_c1: a weight that is not in fragments
// expected-error @+1 {{'exec.kernel' op of kind 'unpack': expected a weight of bf16 in fragments}}
exec.kernel @k #exec.unpack<k = 64, n = 32, format = <bf16>>

// -----

// kernel_c1: an odd n of gates
// expected-error @+1 {{'exec.kernel' op of kind 'unpack': expected an even n of a gated weight, got 33}}
exec.kernel @k #exec.unpack<k = 64, n = 33, format = <bf16>, fragments = true, gated = true>

// -----

// kernel_c1: a rotation wider than the head
// expected-error @+1 {{'exec.kernel' op of kind 'rope': expected the rotation's offset + dim to be at most copy_width 8, got 10}}
exec.kernel @k #exec.rope<heads = 2, rotation = <dim = 8, offset = 2>, head_stride = 8>

// -----

// kernel_c1: elements of a cache
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected a dtype of f32, bf16 or i8, got 'i16'}}
exec.kernel @k #exec.kv_append<width = 8, dtype = i16, page = 4>

// -----

// kernel_c1: room for the scales of integers
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected entry_width to give each head a multiple of four above 8 of i8, got 8}}
exec.kernel @k #exec.kv_append<width = 8, dtype = i8, page = 4>

// -----

// kernel_c1: columns in the place of scales
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected entry_offset + width to be at most the columns of 8, got 10}}
exec.kernel @k #exec.kv_append<width = 10, dtype = i8, page = 4, entry_width = 16>

// -----

// kernel_c1: key heads without scales
// expected-error @+1 {{'exec.kernel' op of kind 'rope_kv_append': expected cache_heads of i8 to be k_heads 2, got 1}}
exec.kernel @k #exec.rope_kv_append<k_heads = 2, rotation = <dim = 8>, v_width = 16, v_offset = 16, dtype = i8, page = 16, entry_width = 40>

// -----

// kernel_c1: columns without scales of their own
// expected-error @+1 {{'exec.kernel' op of kind 'attention': expected keys and values of i8 to be apart, one of them at 0, or values of an even number of columns of one key, got keys of 16 at 4 and values of 8 at 0}}
exec.kernel @k #exec.attention<q_heads = 1, kv_heads = 1, dk = 16, dv = 8, page = 16, entry_width = 40, k_offset = 4, dtype = i8, scale = 1.0 : f32>

// -----

// kernel_c1: heads of an entry
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected entry_width to be a multiple of cache_heads 3, got 8}}
exec.kernel @k #exec.kv_append<width = 8, dtype = f32, page = 4, cache_heads = 3>

// -----

// kernel_c1: columns beyond the end of an entry
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected entry_offset + width to be at most entry_width 16, got 20}}
exec.kernel @k #exec.kv_append<width = 8, dtype = f32, page = 4, entry_width = 16, entry_offset = 12>

// -----

// kernel_c1: columns that are not whole heads
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected width to be a multiple of cache_heads 2, got 3}}
exec.kernel @k #exec.kv_append<width = 3, dtype = f32, page = 4, entry_width = 16, cache_heads = 2>

// -----

// kernel_c1: columns that begin within a head
// expected-error @+1 {{'exec.kernel' op of kind 'kv_append': expected entry_offset to be a multiple of cache_heads 2, got 3}}
exec.kernel @k #exec.kv_append<width = 4, dtype = f32, page = 4, entry_width = 16, entry_offset = 3, cache_heads = 2>

// -----

// kernel_c1: heads of keys and of entries
// expected-error @+1 {{'exec.kernel' op of kind 'rope_kv_append': expected cache_heads to be 1 or k_heads 2, got 4}}
exec.kernel @k #exec.rope_kv_append<k_heads = 2, rotation = <dim = 8>, v_width = 16, v_offset = 16, dtype = bf16, page = 16, cache_heads = 4>

// -----

// kernel_c1: values beyond the end of an entry
// expected-error @+1 {{'exec.kernel' op of kind 'rope_qkv_append': expected v_offset + v_width to be at most entry_width 32, got 40}}
exec.kernel @k #exec.rope_qkv_append<q_heads = 4, k_heads = 2, rotation = <dim = 8>, v_width = 16, v_offset = 24, dtype = bf16, page = 16>

// -----

// kernel_c1: keys narrower than their rotation
// expected-error @+1 {{'exec.kernel' op of kind 'rope_kv_append': expected the rotation's offset + dim to be at most head_stride 4, got 8}}
exec.kernel @k #exec.rope_kv_append<k_heads = 2, rotation = <dim = 8>, head_stride = 4, v_width = 16, v_offset = 8, dtype = bf16, page = 16>

// -----

// kernel_c1: elements of entries that move
// expected-error @+1 {{'exec.kernel' op of kind 'kv_move': expected a dtype of f32, bf16 or i8, got 'i32'}}
exec.kernel @k #exec.kv_move<entry_width = 32, dtype = i32, page = 16>

// -----

// kernel_c1: heads that do not share keys evenly
// expected-error @+1 {{'exec.kernel' op of kind 'attention': expected q_heads to be a multiple of kv_heads 2, got 3}}
exec.kernel @k #exec.attention<q_heads = 3, kv_heads = 2, dk = 8, dv = 8, page = 16, entry_width = 32, v_offset = 16, dtype = bf16, scale = 1.0 : f32>

// -----

// kernel_c1: parts
// expected-error @+1 {{'exec.kernel' op of kind 'attention': expected split to be a multiple of 64, got 96}}
exec.kernel @k #exec.attention<q_heads = 4, kv_heads = 2, dk = 8, dv = 8, page = 16, entry_width = 32, v_offset = 16, dtype = bf16, scale = 1.0 : f32, split = 96>

// -----

// kernel_c1: values of attention
// expected-error @+1 {{'exec.kernel' op of kind 'attention_tree': expected v_offset + kv_heads * dv to be at most entry_width 32, got 40}}
exec.kernel @k #exec.attention_tree<q_heads = 4, kv_heads = 2, dk = 8, dv = 8, page = 16, entry_width = 32, v_offset = 24, dtype = bf16, scale = 1.0 : f32>

// -----

// kernel_c1: keys of attention
// expected-error @+1 {{'exec.kernel' op of kind 'attention_split_kv': expected k_offset + kv_heads * dk to be at most entry_width 32, got 36}}
exec.kernel @k #exec.attention_split_kv<q_heads = 4, kv_heads = 2, dk = 8, dv = 8, page = 16, entry_width = 32, v_offset = 16, dtype = bf16, scale = 1.0 : f32, k_offset = 20, split = 64, splits = 2, split_stride = 96, tasks_per_tile = 1>

// -----

// kernel_c1: parts of attention_combine
// expected-error @+1 {{'exec.kernel' op of kind 'attention_combine': expected split to be a multiple of 64, got 32}}
exec.kernel @k #exec.attention_combine<q_heads = 4, kv_heads = 2, dv = 8, dtype = f32, split = 32, splits = 2, split_stride = 96>

// -----

// kernel_c1: a top_k above the number of experts
// expected-error @+1 {{'exec.kernel' op of kind 'moe_route': expected top_k to be at most the 4 experts, got 5}}
exec.kernel @k #exec.moe_route<experts = 4, top_k = 5, scoring = softmax>

// -----

// kernel_c1: uneven groups of experts
// expected-error @+1 {{'exec.kernel' op of kind 'moe_route': expected n_group to divide the 8 experts, got 3}}
exec.kernel @k #exec.moe_route<experts = 8, top_k = 2, scoring = sigmoid, n_group = 3>

// -----

// kernel_c1: more kept groups than groups
// expected-error @+1 {{'exec.kernel' op of kind 'moe_route': expected topk_group in [1, 2], got 3}}
exec.kernel @k #exec.moe_route<experts = 8, top_k = 2, scoring = sigmoid, n_group = 2, topk_group = 3>

// -----

// kernel_c1: a top_k above the number of kept experts
// expected-error @+1 {{'exec.kernel' op of kind 'moe_route': expected top_k to be at most the 4 experts of the kept groups, got 5}}
exec.kernel @k #exec.moe_route<experts = 8, top_k = 5, scoring = sigmoid, n_group = 2, topk_group = 1>
