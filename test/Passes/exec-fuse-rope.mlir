// RUN: mtp-opt %s --exec-fuse-rope | FileCheck %s

exec.rope_table @table <dim = 8, theta = 10000.0> positions 64
exec.cache @kv layers 2 entry 32 page 16 : bf16
exec.state @page_table : memref<1x4xi32>

// One call rotates queries and keys and writes the entries; it stands where the
// last append stood.
// CHECK-LABEL: exec.program @all
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK-NOT: "rope"
// CHECK-NOT: "kv_append"
// CHECK: %[[Q:.*]] = exec.invoke "rope_qkv_append"(%[[X]], %[[X]], %[[X]], %[[TABLE:.*]], %[[P:.*]], %[[S:.*]], %[[P]], %[[PAGES:.*]], %[[LAYER:.*]]) params [4, 4] offsets [0, 32, 48, 0, 0, 0, 0, 0, 0] config {dim = 8 : i64, dtype = "bf16", entry_width = 32 : i64, head_stride = 8 : i64, k_heads = 2 : i64, k_offset = 0 : i64, k_stride = 64 : i64, layout = "half", offset = 0 : i64, page = 16 : i64, q_heads = 4 : i64, q_stride = 64 : i64, v_offset = 16 : i64, v_stride = 64 : i64, v_width = 16 : i64, y_stride = 32 : i64}
// CHECK: exec.invoke "attention"(%[[Q]], %[[S]], %[[P]], %[[PAGES]], %[[LAYER]])
exec.program @all "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Where nobody attends, there are no queries; columns beside the rotated ones
// and the layout are kept, and norms stay in front.
// CHECK-LABEL: exec.program @keys
// CHECK: %[[N:.*]] = exec.invoke "rms_norm"
// CHECK-NEXT: exec.invoke "rope_kv_append"(%[[N]], %{{.*}}) params [4, 4] offsets [0, 48, 0, 0, 0, 0, 0, 0] config {dim = 4 : i64, {{.*}}head_stride = 8 : i64, {{.*}}k_stride = 16 : i64, layout = "interleaved", offset = 2 : i64,
// CHECK-NOT: exec.invoke
exec.program @keys "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %w = exec.input "w" : tensor<8xf32>
  %n = exec.invoke "rms_norm"(%x, %w) params [4] offsets [32, 0] config {width = 8, groups = 2, eps = 1.0e-6 : f32, x_stride = 64}
    : (tensor<4x64xf32>, tensor<8xf32>) -> tensor<4x16xf32>
  %k = exec.invoke "rope"(%n, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 2, dim = 4, offset = 2, head_stride = 8, layout = "interleaved"}
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// A latent and the rotated key behind it were put side by side; the queries
// have other heads.
// CHECK-LABEL: exec.program @latent
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK-NOT: exec.invoke "concat"
// CHECK: exec.invoke "rope_kv_append"(%[[X]], %[[X]], {{.*}}) params [4, 4] offsets [40, 8, 0, 0, 0, 0, 0, 0] config {{.*}}entry_width = 32 : i64, head_stride = 8 : i64, k_heads = 1 : i64, k_offset = 24 : i64, k_stride = 64 : i64, {{.*}}v_offset = 0 : i64, v_stride = 64 : i64, v_width = 24 : i64}
// CHECK: exec.invoke "attention"(%[[Q]],
exec.program @latent "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, head_stride = 16, offset = 8}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [40, 0, 0]
    config {heads = 1, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %e = exec.invoke "concat"(%x, %k) params [4] offsets [8, 0] config {a_width = 24, b_width = 8, a_stride = 64}
    : (tensor<4x64xf32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  exec.invoke "kv_append"(%e, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 32, page = 16, dtype = "bf16"}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A tree's rows are rotated by other positions than they are written to.
// CHECK-LABEL: exec.program @tree
// CHECK: %[[P:.*]] = exec.input "p"
// CHECK: %[[R:.*]] = exec.input "r"
// CHECK: exec.invoke "rope_qkv_append"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[R]], %{{.*}}, %[[P]],
exec.program @tree "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %r = exec.input "r" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %r) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %r) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %m = exec.input "m" : tensor<2xi64>
  %y = exec.invoke "attention_tree"(%q, %s, %p, %pages, %layer, %m) params [4, 4, 2] offsets [0, 0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>, tensor<2xi64>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Queries that are turned by other positions are turned by themselves.
// CHECK-LABEL: exec.program @other_positions
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "rope_kv_append"(
// CHECK: exec.invoke "attention"(%[[Q]],
exec.program @other_positions "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %s) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Queries that are turned in other pairs are turned by themselves.
// CHECK-LABEL: exec.program @other_layout
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "rope_kv_append"(
// CHECK: exec.invoke "attention"(%[[Q]],
exec.program @other_layout "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64, layout = "interleaved"}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Queries that are turned in other columns are turned by themselves.
// CHECK-LABEL: exec.program @other_dim
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "rope_kv_append"(
// CHECK: exec.invoke "attention"(%[[Q]],
exec.program @other_dim "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 4, head_stride = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// And so are those that somebody reads before the entries are written.
// CHECK-LABEL: exec.program @early
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "add"(%[[Q]], %[[Q]])
// CHECK: exec.invoke "rope_kv_append"(
exec.program @early "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %early = exec.invoke "add"(%q, %q) params [4] offsets [0, 0] config {width = 32}
    : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
  exec.output "early" %early : tensor<4x32xf32>
}

// Rotated keys that anything else reads are made.
// CHECK-LABEL: exec.program @read_keys
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @read_keys "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
  exec.output "k" %k : tensor<4x16xf32>
}

// An entry is one only where rows, layer and pages are the same.
// CHECK-LABEL: exec.program @other_rows
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @other_rows "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %p, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// The next call on the layer writes nothing beside the keys of another.
// CHECK-LABEL: exec.program @other_layer
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @other_layer "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %other = exec.ref @kv layer 1 : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %other) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Who reads the layer between two appends sees the first alone.
// CHECK-LABEL: exec.program @between
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @between "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %before = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
  exec.output "before" %before : tensor<4x32xf32>
}

// The pages of a row may change between two appends.
// CHECK-LABEL: exec.program @moved
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @moved "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %new = exec.input "new" : tensor<1xi32>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "put_drafts"(%new, %pages) params [1, 0] offsets [0, 0] config {kmax = 4}
    : (tensor<1xi32>, memref<1x4xi32>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Values over keys: the last one written stays.
// CHECK-LABEL: exec.program @overlap
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @overlap "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 8, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Heads of which columns are left out are no keys.
// CHECK-LABEL: exec.program @partial
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @partial "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 4, head_stride = 8, copy_width = 6, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Part of the rotated heads is written.
// CHECK-LABEL: exec.program @some_heads
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @some_heads "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [8, 0, 0, 0, 0]
    config {width = 8, x_stride = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Fewer rows are written than rotated.
// CHECK-LABEL: exec.program @fewer_rows
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @fewer_rows "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [2, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [2, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A latent and its key that anything else reads are put side by side.
// CHECK-LABEL: exec.program @read_entry
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "rope"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @read_entry "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [40, 0, 0]
    config {heads = 1, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %e = exec.invoke "concat"(%x, %k) params [4] offsets [8, 0] config {a_width = 24, b_width = 8, a_stride = 64}
    : (tensor<4x64xf32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  exec.invoke "kv_append"(%e, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 32, page = 16, dtype = "bf16"}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.output "e" %e : tensor<4x32xf32>
}

// Without rotations there is nothing to fuse.
// CHECK-LABEL: exec.program @plain
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.invoke "kv_append"(
// CHECK: exec.invoke "kv_append"(
// CHECK-NOT: {{rope_q?kv_append}}
// CHECK: exec.output
exec.program @plain "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [32, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 0, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A product that keeps the rotated columns rotates them.
// CHECK-LABEL: exec.program @kept
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK-NOT: "rope"
// CHECK: exec.invoke "head_linear"(%[[X]], %{{.*}}, %{{.*}}, %{{.*}}) params [4] offsets [32, 0, 0, 0] config {dim = 8 : i64, dtype = "f32", heads = 4 : i64, k = 8 : i64, keep_offset = 8 : i64, keep_width = 8 : i64, layout = "half", n = 32 : i64, offset = 0 : i64, rotate = true, x_head_stride = 16 : i64, x_stride = 96 : i64} : (tensor<4x96xf32>, tensor<4x8x32xf32>, memref<64x8xf32>, tensor<4xi32>)
exec.program @kept "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 4, dim = 8, head_stride = 16, offset = 8, x_stride = 96}
    : (tensor<4x96xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.invoke "head_linear"(%q, %w) params [4] offsets [0, 0]
    config {heads = 4, k = 8, n = 32, dtype = "f32", x_head_stride = 16, keep_offset = 8, keep_width = 8}
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// It does not where rotated columns are multiplied,
// CHECK-LABEL: exec.program @multiplied
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "head_linear"(%[[Q]], %{{.*}}) 
exec.program @multiplied "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 4, dim = 8, head_stride = 16, offset = 8, x_stride = 96}
    : (tensor<4x96xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.invoke "head_linear"(%q, %w) params [4] offsets [0, 0]
    config {heads = 4, k = 8, n = 32, dtype = "f32", x_head_stride = 16, keep_offset = 8, keep_width = 8, x_offset = 4}
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// where it keeps a part of them,
// CHECK-LABEL: exec.program @part_kept
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "head_linear"(%[[Q]], %{{.*}}) 
exec.program @part_kept "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 4, dim = 8, head_stride = 16, offset = 8, x_stride = 96}
    : (tensor<4x96xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.invoke "head_linear"(%q, %w) params [4] offsets [0, 0]
    config {heads = 4, k = 8, n = 32, dtype = "f32", x_head_stride = 16, keep_offset = 8, keep_width = 6}
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// where its heads are others,
// CHECK-LABEL: exec.program @other_heads
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "head_linear"(%[[Q]], %{{.*}}) 
exec.program @other_heads "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 8, dim = 8, head_stride = 8, x_stride = 96}
    : (tensor<4x96xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.invoke "head_linear"(%q, %w) params [4] offsets [0, 0]
    config {heads = 4, k = 8, n = 32, dtype = "f32", x_head_stride = 16, keep_offset = 8, keep_width = 8}
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// or where somebody else reads them.
// CHECK-LABEL: exec.program @read_kept
// CHECK: %[[Q:.*]] = exec.invoke "rope"(
// CHECK: exec.invoke "head_linear"(%[[Q]], %{{.*}}) 
exec.program @read_kept "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 4, dim = 8, head_stride = 16, offset = 8, x_stride = 96}
    : (tensor<4x96xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.invoke "head_linear"(%q, %w) params [4] offsets [0, 0]
    config {heads = 4, k = 8, n = 32, dtype = "f32", x_head_stride = 16, keep_offset = 8, keep_width = 8}
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
  exec.output "q" %q : tensor<4x64xf32>
}

// How entries are divided among heads stays.
// CHECK-LABEL: exec.program @divided
// CHECK-NOT: "kv_append"
// CHECK: exec.invoke "rope_qkv_append"({{.*}}) {{.*}} config {cache_heads = 2 : i64, dim = 8 : i64,
// CHECK-NOT: "kv_append"
exec.program @divided "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, cache_heads = 2, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, cache_heads = 2, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Heads that divide the entry differently in two appends, or not as the rotation
// has them, are not put together.
// CHECK-LABEL: exec.program @divided_unlike
// CHECK-COUNT-2: exec.invoke "kv_append"
exec.program @divided_unlike "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, cache_heads = 2, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, cache_heads = 1, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// CHECK-LABEL: exec.program @divided_by_others
// CHECK-COUNT-2: exec.invoke "kv_append"
exec.program @divided_by_others "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [32, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%k, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, cache_heads = 4, dtype = "bf16"}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %pages, %layer) params [4, 4] offsets [48, 0, 0, 0, 0]
    config {width = 16, page = 16, entry_width = 32, cache_heads = 4, dtype = "bf16", entry_offset = 16, x_stride = 64}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Heads divide the whole of what was put side by side, not its parts.
// CHECK-LABEL: exec.program @divided_whole
// CHECK: exec.invoke "concat"
// CHECK: exec.invoke "kv_append"
exec.program @divided_whole "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.invoke "rope"(%x, %table, %p) params [4] offsets [0, 0, 0]
    config {heads = 4, dim = 8, head_stride = 16, offset = 8}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %k = exec.invoke "rope"(%x, %table, %p) params [4] offsets [40, 0, 0]
    config {heads = 2, dim = 8, x_stride = 64}
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  %e = exec.invoke "concat"(%x, %k) params [4] offsets [8, 0] config {a_width = 16, b_width = 16, a_stride = 64}
    : (tensor<4x64xf32>, tensor<4x16xf32>) -> tensor<4x32xf32>
  exec.invoke "kv_append"(%e, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {width = 32, page = 16, cache_heads = 2, dtype = "bf16"}
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.invoke "attention"(%q, %s, %p, %pages, %layer) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 4, kv_heads = 2, dk = 8, dv = 8}
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}
