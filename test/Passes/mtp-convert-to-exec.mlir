// RUN: mtp-opt %s --mtp-convert-to-exec --split-input-file | FileCheck %s
// RUN: mtp-opt %s --mtp-convert-to-exec=panel-width=16 --split-input-file | FileCheck %s --check-prefix=NARROW
// RUN: not mtp-opt %s --mtp-convert-to-exec=panel-width=24 2>&1 | FileCheck %s --check-prefix=WIDTH
// WIDTH: error: panel-width: expected panels of a power of two from 4 to 256 outputs, got 24

// A target's panels: products and their weights use them, other ops do not.
// NARROW-DAG: exec.weight @q #exec.panels<16> k 8 n 24 stack 1
// NARROW-DAG: exec.weight @n #exec.raw
// NARROW-LABEL: exec.program @views
// NARROW: exec.ref @q : memref<2x4x16x2xbf16>

// The parts of a fused projection are read in place: views, no copy. A view of
// a view refers to the original value.
// CHECK-DAG: exec.weight @q #exec.panels<32> k 8 n 24 stack 1 [#exec.source<key = "q", shape = [8, 8]>, #exec.source<key = "kv", shape = [16, 8]>] : <bf16>
// CHECK-DAG: exec.weight @n #exec.raw k 8 n 1 stack 1 [#exec.source<key = "n", shape = [8]>] : <f32>
// CHECK-LABEL: exec.program @views
// CHECK: %[[X:.*]] = exec.input "x" : tensor<4x8xf32>
// CHECK: %[[N:.*]] = exec.ref @n : memref<1x8xf32>
// CHECK: %[[W:.*]] = exec.ref @q : memref<1x4x32x2xbf16>
// CHECK: %[[Y:.*]] = exec.linear %[[X]], %[[W]] as <bf16> norm %[[N]] eps 9.99999997E-7 : {{.*}} -> tensor<4x24xf32>
// CHECK-NEXT: %[[A:.*]] = exec.columns %[[Y]][8 to 16]
// CHECK-NEXT: %[[B:.*]] = exec.columns %[[Y]][16 to 24]
// CHECK-NEXT: %[[S:.*]] = exec.add %[[A]], %[[B]] :
// CHECK-NEXT: %[[U:.*]] = exec.silu %[[B]] :
// CHECK: exec.output "u" %[[U]]
// CHECK: exec.output "s" %[[S]]
// An op that needs whole rows gets a copy.
// CHECK: %[[C:.*]] = exec.copy %[[A]] :
// CHECK: exec.output "c" %[[C]] : tensor<4x8xf32>
exec.program @views function {
  %x = exec.input "x" : tensor<4x8xf32>
  %n = mtp.weight "n" : tensor<8xbf16>
  %q = mtp.weight "q" : tensor<8x8xbf16>
  %kv = mtp.weight "kv" : tensor<16x8xbf16>
  %y = mtp.fused_linear %x norm %n eps 1.0e-6 weights(%q, %kv)
       : (tensor<4x8xf32>, tensor<8xbf16>, tensor<8x8xbf16>, tensor<16x8xbf16>) -> tensor<4x24xf32>
  %kvs = mtp.slice %y cols 8 to 24 : tensor<4x24xf32> -> tensor<4x16xf32>
  %a = mtp.slice %kvs cols 0 to 8 : tensor<4x16xf32> -> tensor<4x8xf32>
  %b = mtp.slice %kvs cols 8 to 16 : tensor<4x16xf32> -> tensor<4x8xf32>
  %s = mtp.add %a, %b : tensor<4x8xf32>
  %u = mtp.silu %b : tensor<4x8xf32>
  exec.output "u" %u : tensor<4x8xf32>
  exec.output "s" %s : tensor<4x8xf32>
  exec.output "c" %a : tensor<4x8xf32>
}

// -----

// Equal weights are declared once for all programs, and so are tables. Another
// block of rows of the same tensor is another weight.
// CHECK-COUNT-1: exec.weight @w #exec.panels<32> k 8 n 16 stack 1 [#exec.source<key = "w", shape = [16, 8]>] : <f32>
// CHECK-COUNT-1: exec.rope_table @rope_table <dim = 8, theta = 1.000000e+04> positions 64
// CHECK-LABEL: exec.program @first
// CHECK: exec.ref @w :
// CHECK: exec.ref @rope_table : memref<64x8xf32>
// CHECK: exec.rope {{.*}} heads 2 <dim = 8> by
// CHECK-LABEL: exec.program @second
// CHECK: exec.ref @w :
// CHECK: exec.ref @[[PART:w_[0-9]+]] :
// CHECK: exec.ref @rope_table : memref<64x8xf32>
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @first function {
  %x = exec.input "x" : tensor<2x8xf32>
  %p = exec.input "p" : tensor<2xi32>
  %rows = mtp.make_rows %p, %p : tensor<2xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %y = mtp.linear %x, %w : tensor<2x8xf32>, tensor<16x8xf32> -> tensor<2x16xf32>
  %r = mtp.rope %y, %rows by <dim = 8, theta = 10000.0> heads 2 of 8 : tensor<2x16xf32>
  exec.output "r" %r : tensor<2x16xf32>
}
exec.program @second function {
  %x = exec.input "x" : tensor<4x8xf32>
  %p = exec.input "p" : tensor<4xi32>
  %rows = mtp.make_rows %p, %p : tensor<4xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %y = mtp.linear %x, %w : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %v = mtp.weight "w" rows 0 to 8 : tensor<8x8xf32>
  %z = mtp.linear %x, %v : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %r = mtp.rope %z, %rows by <dim = 8, theta = 10000.0> heads 1 of 8 : tensor<4x8xf32>
  exec.output "y" %y : tensor<4x16xf32>
  exec.output "r" %r : tensor<4x8xf32>
}
}

// -----

// A block per head, with the kept columns after each product.
// CHECK: exec.weight @kv_b #exec.panels<32> k 32 n 64 stack 4 [#exec.source<key = "kv_b", row_end = 32, row_stride = 64, transpose = true, shape = [256, 64]>] : <f32>
// CHECK-LABEL: exec.program @heads
// CHECK: %[[Q:.*]] = exec.input "q"
// CHECK: %[[Y:.*]] = exec.head_linear %[[Q]], %{{.*}} heads 4 cols 0 to 32 keep 32 to 48 as <f32> : {{.*}} -> tensor<2x320xf32>
// CHECK: exec.output "y" %[[Y]]
exec.program @heads function {
  %q = exec.input "q" : tensor<2x192xf32>
  %w = mtp.weight "kv_b" : tensor<256x64xf32>
  %y = mtp.head_linear %q, %w heads 4 cols 0 to 32 block 0 to 32 stride 64 transposed keep 32 to 48
       : tensor<2x192xf32>, tensor<256x64xf32> -> tensor<2x320xf32>
  exec.output "y" %y : tensor<2x320xf32>
}

// -----

// Blocks of a part of a tensor begin at the part.
// CHECK: exec.weight @kv_b #exec.panels<32> k 32 n 40 stack 4 [#exec.source<key = "kv_b", row_begin = 256, row_end = 288, row_stride = 64, col_begin = 8, col_end = 48, transpose = true, shape = [600, -1]>] : <f32>
// CHECK-LABEL: exec.program @part_heads
exec.program @part_heads function {
  %q = exec.input "q" : tensor<2x192xf32>
  %w = mtp.weight "kv_b" rows 256 to 512 of 600 cols 8 to 48 : tensor<256x40xf32>
  %y = mtp.head_linear %q, %w heads 4 cols 0 to 32 block 0 to 32 stride 64 transposed keep 32 to 48
       : tensor<2x192xf32>, tensor<256x40xf32> -> tensor<2x224xf32>
  exec.output "y" %y : tensor<2x224xf32>
}

// -----

// Experts: choice, order by expert, two products, the sum.
// CHECK-DAG: exec.weight @"e.{}.g" #exec.gated_panels<32> k 16 n 64 stack 8 [#exec.source<key = "e.{}.g", shape = [32, 16]>, #exec.source<key = "e.{}.u", shape = [32, 16]>] : <bf16>
// CHECK-DAG: exec.weight @"e.{}.d" #exec.panels<32> k 32 n 16 stack 8 [#exec.source<key = "e.{}.d", shape = [16, 32]>] : <bf16>
// CHECK-LABEL: exec.program @experts
// CHECK: %[[POS:.*]] = exec.input "p"
// CHECK: %[[E:.*]], %[[W:.*]] = exec.moe_route %{{.*}} softmax : {{.*}} -> (tensor<4x2xi32>, tensor<4x2xf32>)
// CHECK: %[[ST:.*]], %[[ORD:.*]] = exec.moe_plan %[[E]] at %[[POS]] : {{.*}} -> (tensor<9xi32>, tensor<8xi32>)
// CHECK: %[[ACT:.*]] = exec.moe_gate_up %[[X:.*]], %{{.*}} as <bf16> rows(%[[ST]], %[[ORD]]) : {{.*}} -> tensor<8x32xf32>
// CHECK: %[[DOWN:.*]] = exec.moe_down %[[ACT]], %{{.*}} as <bf16> rows(%[[ST]], %[[ORD]]) top_k 2 : {{.*}} -> tensor<8x16xf32>
// CHECK: exec.moe_combine %[[DOWN]] by %[[W]] at %[[POS]] residual %[[X]] :
exec.program @experts function {
  %x = exec.input "x" : tensor<4x16xf32>
  %l = exec.input "l" : tensor<4x8xf32>
  %p = exec.input "p" : tensor<4xi32>
  %rows = mtp.make_rows %p, %p : tensor<4xi32>
  %i, %s = mtp.moe_route %l softmax top_k 2 : tensor<4x8xf32> -> tensor<4x2xi32>, tensor<4x2xf32>
  %g = mtp.weight "e.{}.g" stack 8 : tensor<8x32x16xbf16>
  %u = mtp.weight "e.{}.u" stack 8 : tensor<8x32x16xbf16>
  %d = mtp.weight "e.{}.d" stack 8 : tensor<8x16x32xbf16>
  %y = mtp.moe_experts %x, %i, %s, %rows experts(%g, %u, %d) residual %x
       : (tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, !mtp.rows, tensor<8x32x16xbf16>,
          tensor<8x32x16xbf16>, tensor<8x16x32xbf16>, tensor<4x16xf32>) -> tensor<4x16xf32>
  exec.output "y" %y : tensor<4x16xf32>
}

// -----

// Norms of heads are groups. A result without a reader is not computed, but its
// entries are appended. Entries are divided among the key heads.
// CHECK: exec.cache @kv layers 1 entry 32 heads 2 page 16 : bf16
// CHECK-LABEL: exec.program @cache
// CHECK: %[[N:.*]] = exec.rms_norm %{{.*}} by %{{.*}} groups 2 eps 9.99999997E-7 :
// CHECK: %[[PAGES:.*]] = exec.ref @constant : memref<1x4xi32>
// CHECK: %[[LAYER:.*]] = exec.ref @kv : memref<?x16x32xbf16>
// CHECK: exec.kv_append %[[N]] at 16 into %[[LAYER]] divided by 2 slots %[[S:.*]] positions %[[P:.*]] pages %[[PAGES]] :
// CHECK: exec.attention %[[N]] in %{{.*}} divided by 2 slots %[[S]] positions %[[P]] pages %{{.*}} heads 2 kv_heads 2 values_at 16 :
// CHECK-NOT: exec.attention
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 32 : bf16
exec.program @cache function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %rows = mtp.make_rows %s, %p : tensor<4xi32>
  %w = mtp.weight "norm" : tensor<8xf32>
  %n = mtp.rms_norm %x, %w groups 2 eps 1.0e-6 : tensor<4x16xf32>, tensor<8xf32>
  mtp.cache_append %n, %rows into @kv[0] at 16 : tensor<4x16xf32>
  %y = mtp.cached_attention %n, %rows in @kv[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  %z = mtp.cached_attention %n, %rows in @kv[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 2.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y" %y : tensor<4x16xf32>
}
}

// -----

// Each head's share of an entry of integers has two scales, behind its columns
// in whole words. The columns of keys and values are as without scales.
// CHECK-DAG: exec.cache @kv layers 1 entry 56 heads 2 page 16 : i8
// CHECK-DAG: exec.cache @latent layers 1 entry 28 page 16 : i8
// CHECK-LABEL: exec.program @integers
// CHECK: exec.kv_append %{{.*}} into %{{.*}} divided by 2 {{.*}} memref<?x16x56xi8>
// CHECK: exec.kv_append %{{.*}} at 16 into %{{.*}} divided by 2 {{.*}} memref<?x16x56xi8>
// CHECK: exec.attention {{.*}} divided by 2 {{.*}} values_at 16 {{.*}} memref<?x16x56xi8>
// CHECK: exec.kv_append %{{.*}} at 16 into {{.*}} memref<?x16x28xi8>
// CHECK: exec.attention {{.*}} heads 2 kv_heads 1 {{.*}} memref<?x16x28xi8>
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @kv layers 1 entry 34 : i8
mtp.cache @latent layers 1 entry 20 : i8
exec.program @integers function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.input "v" : tensor<4x18xf32>
  %l = exec.input "l" : tensor<4x4xf32>
  %q = exec.input "q" : tensor<4x40xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %rows = mtp.make_rows %s, %p : tensor<4xi32>
  mtp.cache_append %x, %rows into @kv[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %v, %rows into @kv[0] at 16 : tensor<4x18xf32>
  %y = mtp.cached_attention %x, %rows in @kv[0] heads 2 kv_heads 2 keys 8 at 0 values 9 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x18xf32>
  exec.output "y" %y : tensor<4x18xf32>
  mtp.cache_append %x, %rows into @latent[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %l, %rows into @latent[0] at 16 : tensor<4x4xf32>
  %z = mtp.cached_attention %q, %rows in @latent[0] heads 2 kv_heads 1 keys 20 at 0 values 16 at 0 scale 1.0
       : tensor<4x40xf32> -> tensor<4x32xf32>
  exec.output "z" %z : tensor<4x32xf32>
}
}

// -----

// Entries are divided among key heads if every append writes all keys or all
// values and all attention reads the same heads and columns. Otherwise they
// stay whole: if keys and values are written as one, if heads or columns
// differ, if there is one key head, if keys or values begin at a column that
// cannot be divided or an entry has such an end, if a column is in a key and in
// another head's value, and if there is no reader.
// CHECK-DAG: exec.cache @apart layers 1 entry 32 heads 2 page 16 : bf16
// CHECK-DAG: exec.cache @same layers 1 entry 16 heads 2 page 16 : bf16
// CHECK-DAG: exec.cache @as_one layers 1 entry 32 page 16 : bf16
// CHECK-DAG: exec.cache @heads_differ layers 1 entry 32 page 16 : bf16
// CHECK-DAG: exec.cache @columns_differ layers 1 entry 32 page 16 : bf16
// CHECK-DAG: exec.cache @latent layers 1 entry 32 page 16 : bf16
// CHECK-DAG: exec.cache @odd_keys layers 1 entry 34 page 16 : bf16
// CHECK-DAG: exec.cache @odd_values layers 1 entry 34 page 16 : bf16
// CHECK-DAG: exec.cache @odd_entry layers 1 entry 33 page 16 : bf16
// CHECK-DAG: exec.cache @across layers 1 entry 32 page 16 : bf16
// CHECK-DAG: exec.cache @unread layers 1 entry 32 page 16 : bf16
// CHECK: exec.attention {{.*}} divided by 2 slots
// CHECK: exec.attention {{.*}} divided by 2 slots
// CHECK-NOT: divided by
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @apart layers 1 entry 32 : bf16
mtp.cache @same layers 1 entry 16 : bf16
mtp.cache @as_one layers 1 entry 32 : bf16
mtp.cache @heads_differ layers 1 entry 32 : bf16
mtp.cache @columns_differ layers 1 entry 32 : bf16
mtp.cache @latent layers 1 entry 32 : bf16
mtp.cache @odd_keys layers 1 entry 34 : bf16
mtp.cache @odd_values layers 1 entry 34 : bf16
mtp.cache @odd_entry layers 1 entry 33 : bf16
mtp.cache @across layers 1 entry 32 : bf16
mtp.cache @unread layers 1 entry 32 : bf16
exec.program @divided function {
  %x = exec.input "x" : tensor<4x16xf32>
  %e = exec.input "e" : tensor<4x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %rows = mtp.make_rows %s, %p : tensor<4xi32>
  mtp.cache_append %x, %rows into @apart[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @apart[0] at 16 : tensor<4x16xf32>
  %y1 = mtp.cached_attention %x, %rows in @apart[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y1" %y1 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @same[0] at 0 : tensor<4x16xf32>
  %y2 = mtp.cached_attention %x, %rows in @same[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 0 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y2" %y2 : tensor<4x16xf32>
  mtp.cache_append %e, %rows into @as_one[0] at 0 : tensor<4x32xf32>
  %y3 = mtp.cached_attention %x, %rows in @as_one[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y3" %y3 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @heads_differ[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @heads_differ[0] at 16 : tensor<4x16xf32>
  %y11 = mtp.cached_attention %x, %rows in @heads_differ[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y11" %y11 : tensor<4x16xf32>
  %y12 = mtp.cached_attention %e, %rows in @heads_differ[0] heads 2 kv_heads 1 keys 16 at 0 values 16 at 16 scale 1.0
       : tensor<4x32xf32> -> tensor<4x32xf32>
  exec.output "y12" %y12 : tensor<4x32xf32>
  mtp.cache_append %x, %rows into @columns_differ[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @columns_differ[0] at 16 : tensor<4x16xf32>
  %y13 = mtp.cached_attention %x, %rows in @columns_differ[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y13" %y13 : tensor<4x16xf32>
  %y14 = mtp.cached_attention %x, %rows in @columns_differ[0] heads 2 kv_heads 2 keys 8 at 16 values 8 at 0 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y14" %y14 : tensor<4x16xf32>
  mtp.cache_append %e, %rows into @latent[0] at 0 : tensor<4x32xf32>
  %y6 = mtp.cached_attention %e, %rows in @latent[0] heads 2 kv_heads 1 keys 16 at 0 values 8 at 0 scale 1.0
       : tensor<4x32xf32> -> tensor<4x16xf32>
  exec.output "y6" %y6 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @odd_keys[0] at 1 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @odd_keys[0] at 18 : tensor<4x16xf32>
  %y15 = mtp.cached_attention %x, %rows in @odd_keys[0] heads 2 kv_heads 2 keys 8 at 1 values 8 at 18 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y15" %y15 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @odd_values[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @odd_values[0] at 17 : tensor<4x16xf32>
  %y16 = mtp.cached_attention %x, %rows in @odd_values[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 17 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y16" %y16 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @odd_entry[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @odd_entry[0] at 16 : tensor<4x16xf32>
  %y17 = mtp.cached_attention %x, %rows in @odd_entry[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 16 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y17" %y17 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @across[0] at 0 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @across[0] at 8 : tensor<4x16xf32>
  %y8 = mtp.cached_attention %x, %rows in @across[0] heads 2 kv_heads 2 keys 8 at 0 values 8 at 8 scale 1.0
       : tensor<4x16xf32> -> tensor<4x16xf32>
  exec.output "y8" %y8 : tensor<4x16xf32>
  mtp.cache_append %x, %rows into @unread[0] at 0 : tensor<4x16xf32>
}
}

// -----

// Picks over a vocabulary: an argmax is looked up, and an excluded token is
// searched among the columns; a token beyond the last one has no column.
// CHECK: exec.constant @constant dense<{{\[\[}}1], [3]]> : tensor<2x1xi32>
// CHECK: exec.constant @constant_0 dense<{{\[\[}}-1], [0], [-1], [1], [-1]]> : tensor<5x1xi32>
mtp.vocabulary @few dense<[1, 3]> : tensor<2xi32>
// CHECK-NOT: mtp.vocabulary
// CHECK-LABEL: exec.program @few_columns
// CHECK: %[[X:.*]] = exec.input "x" : tensor<4x2xf32>
// CHECK: %[[A:.*]] = exec.argmax %[[X]] :
// CHECK: %[[T:.*]] = exec.ref @constant : memref<2x1xi32>
// CHECK: %[[P:.*]] = exec.gather_rows %[[T]], %[[A]] : (memref<2x1xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK: %[[I:.*]] = exec.ref @constant_0 : memref<5x1xi32>
// CHECK: %[[C:.*]] = exec.gather_rows %[[I]], %[[P]] : (memref<5x1xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK: exec.mask_tokens %[[X]], %[[C]] : (tensor<4x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
exec.program @few_columns function {
  %x = exec.input "x" : tensor<4x2xf32>
  %p = mtp.argmax %x tokens @few : tensor<4x2xf32> -> tensor<4xi32>
  %y = mtp.mask_tokens %x, %p tokens @few : tensor<4x2xf32>, tensor<4xi32>
  exec.output "p" %p : tensor<4xi32>
  exec.output "y" %y : tensor<4x2xf32>
}

// -----

// Logits in groups of a slot's rows are the logits.
// CHECK-LABEL: exec.program @grouped
// CHECK: %[[X:.*]] = exec.input "x" : tensor<6x8xf32>
// CHECK: %[[G:.*]] = exec.reshape %[[X]] : tensor<6x8xf32> -> tensor<2x3x8xf32>
// CHECK: exec.output "g" %[[G]]
// Columns are not whole rows: they are copied first.
// CHECK: %[[C:.*]] = exec.columns %[[X]][2 to 4]
// CHECK: %[[W:.*]] = exec.copy %[[C]] :
// CHECK: exec.reshape %[[W]] : tensor<6x2xf32> -> tensor<2x3x2xf32>
exec.program @grouped function {
  %x = exec.input "x" : tensor<6x8xf32>
  %g = mtp.reshape %x : tensor<6x8xf32> -> tensor<2x3x8xf32>
  exec.output "g" %g : tensor<2x3x8xf32>
  %c = mtp.slice %x cols 2 to 4 : tensor<6x8xf32> -> tensor<6x2xf32>
  %h = mtp.reshape %c : tensor<6x2xf32> -> tensor<2x3x2xf32>
  exec.output "h" %h : tensor<2x3x2xf32>
}
