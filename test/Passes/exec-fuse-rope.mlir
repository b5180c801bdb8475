// RUN: mtp-opt %s --exec-fuse-rope | FileCheck %s

exec.rope_table @table <dim = 8, theta = 10000.0> positions 64
exec.cache @kv layers 2 entry 32 page 16 : bf16
exec.state @page_table : memref<1x4xi32>

// One call rotates queries and keys and writes the entries, in place of the
// last append.
// CHECK-LABEL: exec.program @all
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK-NOT: exec.rope
// CHECK-NOT: exec.kv_append
// CHECK-DAG: %[[XQ:.*]] = exec.columns %[[X]][0 to 32]
// CHECK-DAG: %[[XK:.*]] = exec.columns %[[X]][32 to 48]
// CHECK-DAG: %[[XV:.*]] = exec.columns %[[X]][48 to 64]
// CHECK: %[[Q:.*]] = exec.rope_append keys %[[XK]], values %[[XV]] queries %[[XQ]] heads 2 <dim = 8> by %[[TABLE:.*]] at %[[P:.*]] keys_at 0 values_at 16 into %[[LAYER:.*]] slots %[[S:.*]] positions %[[P]] pages %[[PAGES:[a-z0-9]+]] :
// CHECK: exec.attention %[[Q]] in %[[LAYER]] slots %[[S]] positions %[[P]] pages %[[PAGES]] heads
exec.program @all function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Without attention there are no queries. Columns besides the rotated ones and
// the layout are kept, and norms stay before the call.
// CHECK-LABEL: exec.program @keys
// CHECK: %[[N:.*]] = exec.rms_norm
// CHECK: exec.rope_append keys %[[N]], values %{{.*}} heads 2 <dim = 4, offset = 2, layout = interleaved> by
// CHECK-NOT: exec.{{rope|kv_append}}
exec.program @keys function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %w = exec.input "w" : tensor<8xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %n = exec.rms_norm %x_32 by %w groups 2 eps 1.0e-6
    : (tensor<4x16xf32>, tensor<8xf32>) -> tensor<4x16xf32>
  %k = exec.rope %n heads 2 <dim = 4, offset = 2, layout = interleaved> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
}

// A latent and the rotated key after it were concatenated; the queries have
// other heads.
// CHECK-LABEL: exec.program @latent
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK-NOT: exec.concat
// CHECK-DAG: %[[K:.*]] = exec.columns %[[X]][40 to 48]
// CHECK-DAG: %[[C:.*]] = exec.columns %[[X]][8 to 32]
// CHECK: exec.rope_append keys %[[K]], values %[[C]] heads 1 <dim = 8> by {{.*}} keys_at 24 values_at 0 into
// CHECK: exec.attention %[[Q]] in
exec.program @latent function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.rope %x heads 4 <dim = 8, offset = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %x_40 = exec.columns %x[40 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_40 heads 1 <dim = 8> by %table at %p
    : (tensor<4x8xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %x_8 = exec.columns %x[8 to 32] : tensor<4x64xf32>
  %e = exec.concat %x_8, %k : (tensor<4x24xf32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  exec.kv_append %e into %layer slots %s positions %p pages %pages
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A tree's rows are rotated by other positions than the places of their
// entries.
// CHECK-LABEL: exec.program @tree
// CHECK: %[[P:.*]] = exec.input "p"
// CHECK: %[[R:.*]] = exec.input "r"
// CHECK: exec.rope_append {{.*}} queries {{.*}} at %[[R]] keys_at {{.*}} positions %[[P]] pages
exec.program @tree function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %r = exec.input "r" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %r
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %r
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %m = exec.input "m" : tensor<4xi64>
  %y = exec.attention %q in %layer slots %s positions %p pages %pages tree %m heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>, tensor<4xi64>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Queries rotated by other positions keep their own rotation.
// CHECK-LABEL: exec.program @other_positions
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.rope_append keys %
// CHECK: exec.attention %[[Q]] in
exec.program @other_positions function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %s
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Queries rotated in other pairs keep their own rotation.
// CHECK-LABEL: exec.program @other_layout
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.rope_append keys %
// CHECK: exec.attention %[[Q]] in
exec.program @other_layout function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8, layout = interleaved> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Queries rotated in other columns keep their own rotation.
// CHECK-LABEL: exec.program @other_dim
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.rope_append keys %
// CHECK: exec.attention %[[Q]] in
exec.program @other_dim function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 4> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// So do queries that are read before the entries are written.
// CHECK-LABEL: exec.program @early
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.add %[[Q]], %[[Q]]
// CHECK: exec.rope_append keys %
exec.program @early function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %early = exec.add %q, %q : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
  exec.output "early" %early : tensor<4x32xf32>
}

// Rotated keys with another reader stay.
// CHECK-LABEL: exec.program @read_keys
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @read_keys function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
  exec.output "k" %k : tensor<4x16xf32>
}

// Entries are equal only if rows, layer and pages are equal.
// CHECK-LABEL: exec.program @other_rows
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @other_rows function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %p positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// The next call on the layer does not complete the keys of another layer.
// CHECK-LABEL: exec.program @other_layer
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @other_layer function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %other = exec.ref @kv layer 1 : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %other slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A reader between two appends sees only the first.
// CHECK-LABEL: exec.program @between
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @between function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %before = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
  exec.output "before" %before : tensor<4x32xf32>
}

// The pages of a row may change between two appends.
exec.kernel @turn_page #exec.control<reads = 1, updates = 1, outputs = 0> {
^bb0(%task: index, %new: memref<?xi32>, %table: memref<1x4xi32>):
  %c0 = arith.constant 0 : index
  %page = memref.load %new[%task] : memref<?xi32>
  memref.store %page, %table[%c0, %c0] : memref<1x4xi32>
}
// CHECK-LABEL: exec.program @moved
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @moved function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %new = exec.input "new" : tensor<1xi32>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.control @turn_page for 1 of %new updates(%pages)
    : (tensor<1xi32>, memref<1x4xi32>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Values over keys: the last one written stays.
// CHECK-LABEL: exec.program @overlap
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @overlap function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 8 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Only a part of the rotated heads is written.
// CHECK-LABEL: exec.program @some_heads
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @some_heads function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  %k_8 = exec.columns %k[8 to 16] : tensor<4x16xf32>
  exec.kv_append %k_8 into %layer slots %s positions %p pages %pages
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A latent and its key with another reader are still concatenated.
// CHECK-LABEL: exec.program @read_entry
// CHECK-NOT: rope_append
// CHECK: exec.rope %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @read_entry function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_40 = exec.columns %x[40 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_40 heads 1 <dim = 8> by %table at %p
    : (tensor<4x8xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %x_8 = exec.columns %x[8 to 32] : tensor<4x64xf32>
  %e = exec.concat %x_8, %k : (tensor<4x24xf32>, tensor<4x8xf32>) -> tensor<4x32xf32>
  exec.kv_append %e into %layer slots %s positions %p pages %pages
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  exec.output "e" %e : tensor<4x32xf32>
}

// Without rotations there is nothing to fuse.
// CHECK-LABEL: exec.program @plain
// CHECK-NOT: rope_append
// CHECK: exec.kv_append %
// CHECK: exec.kv_append %
// CHECK-NOT: rope_append
// CHECK: exec.output
exec.program @plain function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  exec.kv_append %x_32 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %y = exec.attention %x_0 in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// A product that keeps the rotated columns rotates them.
// CHECK-LABEL: exec.program @kept
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK-NOT: exec.rope
// CHECK: %[[C:.*]] = exec.columns %[[X]][32 to 96]
// CHECK: exec.head_linear %[[C]], %{{.*}} heads 4 cols 0 to 8 keep 8 to 16 as <f32> rotated <dim = 8, offset = 8> by(%{{.*}}, %{{.*}}) : (tensor<4x64xf32>, tensor<4x8x32xf32>, memref<64x8xf32>, tensor<4xi32>)
exec.program @kept function {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_32 = exec.columns %x[32 to 96] : tensor<4x96xf32>
  %q = exec.rope %x_32 heads 4 <dim = 8, offset = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.head_linear %q, %w heads 4 cols 0 to 8 keep 8 to 16 as <f32>
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// It does not if rotated columns are multiplied,
// CHECK-LABEL: exec.program @multiplied
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.head_linear %[[Q]], %
exec.program @multiplied function {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_32 = exec.columns %x[32 to 96] : tensor<4x96xf32>
  %q = exec.rope %x_32 heads 4 <dim = 8, offset = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.head_linear %q, %w heads 4 cols 4 to 12 keep 8 to 16 as <f32>
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// if it keeps only a part of them,
// CHECK-LABEL: exec.program @part_kept
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.head_linear %[[Q]], %
exec.program @part_kept function {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_32 = exec.columns %x[32 to 96] : tensor<4x96xf32>
  %q = exec.rope %x_32 heads 4 <dim = 8, offset = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.head_linear %q, %w heads 4 cols 0 to 8 keep 8 to 14 as <f32>
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x152xf32>
  exec.output "y" %y : tensor<4x152xf32>
}

// if its heads differ,
// CHECK-LABEL: exec.program @other_heads
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.head_linear %[[Q]], %
exec.program @other_heads function {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_32 = exec.columns %x[32 to 96] : tensor<4x96xf32>
  %q = exec.rope %x_32 heads 8 <dim = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.head_linear %q, %w heads 4 cols 0 to 8 keep 8 to 16 as <f32>
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
}

// or if they have another reader.
// CHECK-LABEL: exec.program @read_kept
// CHECK: %[[Q:.*]] = exec.rope %
// CHECK: exec.head_linear %[[Q]], %
exec.program @read_kept function {
  %x = exec.input "x" : tensor<4x96xf32>
  %w = exec.input "w" : tensor<4x8x32xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_32 = exec.columns %x[32 to 96] : tensor<4x96xf32>
  %q = exec.rope %x_32 heads 4 <dim = 8, offset = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %y = exec.head_linear %q, %w heads 4 cols 0 to 8 keep 8 to 16 as <f32>
    : (tensor<4x64xf32>, tensor<4x8x32xf32>) -> tensor<4x160xf32>
  exec.output "y" %y : tensor<4x160xf32>
  exec.output "q" %q : tensor<4x64xf32>
}

// The division of entries among heads is kept.
// CHECK-LABEL: exec.program @divided
// CHECK-NOT: exec.kv_append
// CHECK: exec.rope_append {{.*}} queries {{.*}} divided by 2 slots
// CHECK-NOT: exec.kv_append
exec.program @divided function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer divided by 2 slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer divided by 2 slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Heads that divide the entry differently in two appends, or differently from
// the rotation, are not fused.
// CHECK-LABEL: exec.program @divided_unlike
// CHECK-COUNT-2: exec.kv_append %
exec.program @divided_unlike function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer divided by 2 slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// CHECK-LABEL: exec.program @divided_by_others
// CHECK-COUNT-2: exec.kv_append %
exec.program @divided_by_others function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %x_0 = exec.columns %x[0 to 32] : tensor<4x64xf32>
  %q = exec.rope %x_0 heads 4 <dim = 8> by %table at %p
    : (tensor<4x32xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %x_32 = exec.columns %x[32 to 48] : tensor<4x64xf32>
  %k = exec.rope %x_32 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  exec.kv_append %k into %layer divided by 4 slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %x_48 = exec.columns %x[48 to 64] : tensor<4x64xf32>
  exec.kv_append %x_48 at 16 into %layer divided by 4 slots %s positions %p pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}

// Heads divide the whole concatenation, not its parts.
// CHECK-LABEL: exec.program @divided_whole
// CHECK: exec.concat
// CHECK: exec.kv_append %
exec.program @divided_whole function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %table = exec.ref @table : memref<64x8xf32>
  %pages = exec.ref @page_table : memref<1x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %q = exec.rope %x heads 4 <dim = 8, offset = 8> by %table at %p
    : (tensor<4x64xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  %x_40 = exec.columns %x[40 to 56] : tensor<4x64xf32>
  %k = exec.rope %x_40 heads 2 <dim = 8> by %table at %p
    : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  %x_8 = exec.columns %x[8 to 24] : tensor<4x64xf32>
  %e = exec.concat %x_8, %k : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x32xf32>
  exec.kv_append %e into %layer divided by 2 slots %s positions %p pages %pages
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> ()
  %y = exec.attention %q in %layer slots %s positions %p pages %pages heads 4 kv_heads 2
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  exec.output "y" %y : tensor<4x32xf32>
}
