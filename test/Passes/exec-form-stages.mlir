// RUN: mtp-opt %s --exec-form-stages --split-input-file | FileCheck %s
// RUN: mtp-opt %s --exec-form-stages=solo-elements=0 --split-input-file | FileCheck %s --check-prefix=SHARED

// Projections of one input are one stage, though another call stood between
// them; their sum is light, and needs all of both.
// CHECK-LABEL: exec.program @independent
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[A:.*]] = exec.invoke "linear"(%[[X]], {{.*}}n = 64{{.*}}} :
// CHECK: %[[B:.*]] = exec.invoke "linear"(%[[X]], {{.*}}n = 64{{.*}}} joined :
// CHECK: %[[SUM:.*]] = exec.invoke "add"(%[[A]], %[[A]]) {{.*}} solo :
// CHECK: exec.invoke "add"(%[[SUM]], %[[B]]) {{.*}} solo joined :
// CHECK: exec.output
exec.program @independent "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<64x8xf32>
  %a = exec.invoke "linear"(%x, %w) params [4] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  %aa = exec.invoke "add"(%a, %a) params [4] offsets [0, 0] config {width = 64}
    : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %b = exec.invoke "linear"(%x, %w) params [4] offsets [0, 0] config {k = 8, n = 64}
    : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  %sum = exec.invoke "add"(%aa, %b) params [4] offsets [0, 0] config {width = 64}
    : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  exec.output "sum" %sum : tensor<4x64xf32>
}

// -----

// A thread reads the rows that it wrote. A gather reads anybody's, and so it
// waits, as does who reads what it gathered.
// SHARED-LABEL: exec.program @rows
// SHARED: exec.invoke "add"{{.*}} params [4] {{.*}}width = 8{{[^a-z]*}} :
// SHARED: exec.invoke "add"{{.*}} params [4] {{.*}} joined :
// SHARED: exec.invoke "take_rows"{{.*}} params [2, 4] offsets [0, 0] config {width = 8 : i64} :
// SHARED: exec.invoke "add"{{.*}} params [2] {{.*}}width = 8{{[^a-z]*}} :
// Where one thread does them all, nobody waits.
// CHECK-LABEL: exec.program @rows
// CHECK: exec.invoke "add"{{.*}} solo :
// CHECK: exec.invoke "add"{{.*}} solo joined :
// CHECK: exec.invoke "take_rows"{{.*}} solo joined :
// CHECK: exec.invoke "add"{{.*}} solo joined :
exec.program @rows "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %i = exec.input "i" : tensor<2xi32>
  %a = exec.invoke "add"(%x, %x) params [4] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.invoke "add"(%a, %x) params [4] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = exec.invoke "take_rows"(%b, %i) params [2, 4] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %d = exec.invoke "add"(%c, %c) params [2] offsets [0, 0] config {width = 8}
    : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  exec.output "d" %d : tensor<2x8xf32>
}

// -----

// Half as many rows are other threads' rows, though both go row by row.
// SHARED-LABEL: exec.program @fewer
// SHARED: exec.invoke "add"{{.*}} params [4] offsets [0, 0] config {width = 8 : i64} :
// SHARED: exec.invoke "add"{{.*}} params [2] offsets [0, 0] config {width = 8 : i64} :
exec.program @fewer "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %a = exec.invoke "add"(%x, %x) params [4] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.invoke "add"(%a, %a) params [2] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  exec.output "b" %b : tensor<2x8xf32>
}

// -----

// A cache's reader waits for the writer before it, and the next writer for that
// reader; another layer has nothing to do with either.
// SHARED-LABEL: exec.program @cache
// SHARED: exec.invoke "kv_append"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[L0:.*]]) {{.*}}} :
// SHARED: exec.invoke "kv_append"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[L1:.*]]) {{.*}}} joined :
// SHARED: exec.invoke "attention"(%{{.*}}, %[[L0]]) {{.*}}} :
// SHARED: exec.invoke "kv_append"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[L0]]) {{.*}}} :
exec.cache @target layers 2 entry 16 page 16 : bf16
exec.state @page_table : memref<1x4xi32>
exec.program @cache "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %t = exec.ref @page_table : memref<1x4xi32>
  %0 = exec.ref @target : memref<?x16x16xbf16>
  %1 = exec.ref @target layer 1 : memref<?x16x16xbf16>
  exec.invoke "kv_append"(%x, %s, %p, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 16}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  %y = exec.invoke "attention"(%x, %s, %p, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0]
    config {q_heads = 1, kv_heads = 1, dk = 8, dv = 8}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> tensor<4x16xf32>
  exec.invoke "kv_append"(%x, %s, %p, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 16}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %t, %1) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 16}
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.output "y" %y : tensor<4x16xf32>
}

// -----

// What little there is to do for a divided call is divided as that is. A call
// that another thread's work waits for as well is not.
// CHECK-LABEL: exec.program @feeding
// CHECK: %[[L:.*]] = exec.invoke "add"{{.*}}width = 512 : i64} :
// CHECK: exec.invoke "concat"(%[[L]], {{.*}}} joined :
// CHECK: %[[M:.*]] = exec.invoke "add"{{.*}}width = 256 : i64} solo joined :
// CHECK: exec.invoke "take_rows"(%[[M]], {{.*}} solo joined :
// CHECK: exec.invoke "concat"(%[[M]], {{.*}}b_width = 4096 : i64} :
exec.program @feeding "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x512xf32>
  %b = exec.input "b" : tensor<4x4096xf32>
  %i = exec.input "i" : tensor<2xi32>
  %l = exec.invoke "add"(%x, %x) params [4] offsets [0, 0] config {width = 512}
    : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x512xf32>
  %h = exec.invoke "concat"(%l, %b) params [4] offsets [0, 0] config {a_width = 512, b_width = 4096}
    : (tensor<4x512xf32>, tensor<4x4096xf32>) -> tensor<4x4608xf32>
  %m = exec.invoke "add"(%x, %x) params [4] offsets [0, 0] config {width = 256}
    : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x256xf32>
  %t = exec.invoke "take_rows"(%m, %i) params [2, 4] offsets [0, 0] config {width = 256}
    : (tensor<4x256xf32>, tensor<2xi32>) -> tensor<2x256xf32>
  %g = exec.invoke "concat"(%m, %b) params [4] offsets [0, 0] config {a_width = 256, b_width = 4096}
    : (tensor<4x256xf32>, tensor<4x4096xf32>) -> tensor<4x4352xf32>
  exec.output "h" %h : tensor<4x4608xf32>
  exec.output "t" %t : tensor<2x256xf32>
  exec.output "g" %g : tensor<4x4352xf32>
}

// -----

// Two parts of one activation are as light as one call that reads all of it.
// CHECK-LABEL: exec.program @parts
// CHECK: exec.invoke "add"{{.*}} solo :
exec.program @parts "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x2560xf32>
  %y = exec.invoke "add"(%x, %x) params [4] offsets [0, 1280] config {width = 1280, a_stride = 2560, b_stride = 2560}
    : (tensor<4x2560xf32>, tensor<4x2560xf32>) -> tensor<4x1280xf32>
  exec.output "y" %y : tensor<4x1280xf32>
}

// -----

// Two appends to a layer are one stage if a thread's rows are the same entries
// in both. Rows at other positions, or with pages of another kind, may be
// entries that another thread writes.
// SHARED-LABEL: exec.program @appends
// SHARED: exec.invoke "kv_append"{{.*}}entry_offset = 0 : i64{{.*}}} :
// SHARED: exec.invoke "kv_append"{{.*}}entry_offset = 8 : i64{{.*}}} joined :
// SHARED: exec.invoke "kv_append"{{.*}}entry_offset = 1 : i64{{.*}}} :
// SHARED: exec.invoke "kv_append"{{.*}}entry_offset = 9 : i64{{.*}}} joined :
// SHARED: exec.invoke "kv_append"{{.*}}cache_heads = 2 : i64{{.*}}} :
exec.cache @target layers 1 entry 16 page 16 : bf16
exec.state @page_table : memref<1x4xi32>
exec.program @appends "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %q = exec.input "q" : tensor<4xi32>
  %t = exec.ref @page_table : memref<1x4xi32>
  %0 = exec.ref @target : memref<?x16x16xbf16>
  %1 = exec.ref @target : memref<?x16x16xbf16>
  exec.invoke "kv_append"(%x, %s, %p, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 8, entry_offset = 0}
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %p, %t, %1) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 8, entry_offset = 8}
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %q, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 8, entry_offset = 1}
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %q, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 8, entry_offset = 9}
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.invoke "kv_append"(%x, %s, %q, %t, %0) params [4, 4] offsets [0, 0, 0, 0, 0] config {width = 8, cache_heads = 2}
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
}

// -----

// A table that a call makes is read in rows that other threads wrote.
// SHARED-LABEL: exec.program @tables
// SHARED: exec.invoke "add"{{.*}} params [4] {{.*}}} :
// SHARED: exec.invoke "embed"{{.*}} params [4] {{.*}}} :
// SHARED: exec.invoke "add"{{.*}} params [4] {{.*}}} joined :
exec.program @tables "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<4x8xf32>
  %t = exec.input "t" : tensor<4xi32>
  %a = exec.invoke "add"(%x, %x) params [4] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = exec.invoke "embed"(%a, %t) params [4] offsets [0, 0] config {width = 8, vocab = 4}
    : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %y = exec.invoke "add"(%e, %e) params [4] offsets [0, 0] config {width = 8}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "y" %y : tensor<4x8xf32>
}

// -----

// What an allocation of the program's own holds is in program order, too.
// SHARED-LABEL: exec.program @buffers
// SHARED: exec.invoke "put_drafts"(%{{.*}}, %[[D:.*]]) {{.*}} config {kmax = 3 : i64} :
// SHARED: exec.invoke "put_drafts"(%{{.*}}, %[[D]]) {{.*}} config {kmax = 2 : i64} :
exec.program @buffers "function" batch 0 k 0 chunk 0 {
  %t = exec.input "t" : tensor<4xi32>
  %d = exec.alloc : memref<4x3xi32>
  exec.invoke "put_drafts"(%t, %d) params [4, 0] offsets [0, 0] config {kmax = 3}
    : (tensor<4xi32>, memref<4x3xi32>) -> ()
  exec.invoke "put_drafts"(%t, %d) params [4, 0] offsets [0, 0] config {kmax = 2}
    : (tensor<4xi32>, memref<4x3xi32>) -> ()
}
