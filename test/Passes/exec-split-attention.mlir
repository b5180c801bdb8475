// RUN: mtp-opt %s --exec-split-attention=workers=8 | FileCheck %s
// RUN: mtp-opt %s --exec-split-attention | FileCheck %s --check-prefix=ALONE

// For one worker there is nothing to share.
// ALONE-NOT: attention_parts

exec.cache @kv layers 1 entry 54 page 16 : f32
exec.state @page_table : memref<1x160xi32>

// One row of eight heads is two tasks, so four workers share each. 2560
// positions are five parts. Of a part there are the maxima and the sums of each
// tile, a vector each, and the values of each head, in whole vectors.
// CHECK-LABEL: exec.program @step
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[S:.*]] = exec.input "s"
// CHECK: %[[P:.*]] = exec.input "p"
// CHECK: %[[LEFT:.*]] = exec.invoke "attention_parts"(%[[X]], %[[S]], %[[P]], %{{.*}}, %{{.*}}) params [1, 160] offsets [5, 0, 3, 0, 0]
// CHECK-SAME: config {dk = 10 : i64, dtype = "f32", dv = 17 : i64, entry_width = 54 : i64, kv_heads = 2 : i64, page = 16 : i64, part = 512 : i64, part_stride = 320 : i64, parts = 5 : i64, q_heads = 8 : i64, splits = 4 : i64}
// CHECK-SAME: -> tensor<1x1600xf32>
// CHECK: %[[Y:.*]] = exec.invoke "attention_join"(%[[P]], %[[LEFT]]) params [1] offsets [3, 0]
// CHECK-SAME: config {dtype = "f32", dv = 17 : i64, kv_heads = 2 : i64, part = 512 : i64, part_stride = 320 : i64, parts = 5 : i64, q_heads = 8 : i64, y_stride = 140 : i64}
// CHECK-SAME: -> tensor<1x140xf32>
// CHECK: exec.output "y" %[[Y]]
exec.program @step "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<1x85xf32>
  %s = exec.input "s" : tensor<1xi32>
  %p = exec.input "p" : tensor<4xi32>
  %t = exec.ref @page_table : memref<1x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y = exec.invoke "attention"(%x, %s, %p, %t, %l) params [1, 160] offsets [5, 0, 3, 0, 0]
    config {q_heads = 8, kv_heads = 2, dk = 10, dv = 17, page = 16, entry_width = 54, dtype = "f32", part = 512, y_stride = 140}
    : (tensor<1x85xf32>, tensor<1xi32>, tensor<4xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<1x140xf32>
  exec.output "y" %y : tensor<1x140xf32>
}

// No more workers share a row than it has parts. Nine rows are two groups.
// CHECK-LABEL: exec.program @few_parts
// CHECK: "attention_parts"{{.*}} params [9, 40] {{.*}}parts = 2 : i64, q_heads = 2 : i64, splits = 2 : i64, window = 600 : i64
// CHECK: "attention_join"{{.*}} params [9] {{.*}}window = 600 : i64
exec.program @few_parts "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<9x20xf32>
  %s = exec.input "s" : tensor<9xi32>
  %t = exec.ref @page_table : memref<1x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y = exec.invoke "attention"(%x, %s, %s, %t, %l) params [9, 40] offsets [0, 0, 0, 0, 0]
    config {q_heads = 2, kv_heads = 1, dk = 10, dv = 17, page = 16, entry_width = 54, dtype = "f32", part = 512, window = 600}
    : (tensor<9x20xf32>, tensor<9xi32>, tensor<9xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<9x34xf32>
  exec.output "y" %y : tensor<9x34xf32>
}

// CHECK-LABEL: exec.program @stays
// CHECK-NOT: attention_parts
exec.program @stays "function" batch 0 k 0 chunk 0 {
  %x = exec.input "x" : tensor<32x80xf32>
  %s = exec.input "s" : tensor<32xi32>
  %m = exec.input "m" : tensor<2xi64>
  %t = exec.ref @page_table : memref<1x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  // Thirty-two rows are tasks enough.
  %rows = exec.invoke "attention"(%x, %s, %s, %t, %l) params [32, 160] offsets [0, 0, 0, 0, 0]
    config {q_heads = 8, kv_heads = 2, dk = 10, dv = 17, page = 16, entry_width = 54, dtype = "f32", part = 512}
    : (tensor<32x80xf32>, tensor<32xi32>, tensor<32xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<32x136xf32>
  exec.output "rows" %rows : tensor<32x136xf32>
  // Positions are all one part; the only part.
  %one = exec.invoke "attention"(%x, %s, %s, %t, %l) params [1, 160] offsets [0, 0, 0, 0, 0]
    config {q_heads = 8, kv_heads = 2, dk = 10, dv = 17, page = 16, entry_width = 54, dtype = "f32"}
    : (tensor<32x80xf32>, tensor<32xi32>, tensor<32xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<1x136xf32>
  exec.output "one" %one : tensor<1x136xf32>
  %short = exec.invoke "attention"(%x, %s, %s, %t, %l) params [1, 32] offsets [0, 0, 0, 0, 0]
    config {q_heads = 8, kv_heads = 2, dk = 10, dv = 17, page = 16, entry_width = 54, dtype = "f32", part = 512}
    : (tensor<32x80xf32>, tensor<32xi32>, tensor<32xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<1x136xf32>
  exec.output "short" %short : tensor<1x136xf32>
  // Rows of a tree.
  %tree = exec.invoke "attention_tree"(%x, %s, %s, %t, %l, %m) params [2, 160, 2] offsets [0, 0, 0, 0, 0, 0]
    config {q_heads = 8, kv_heads = 2, dk = 10, dv = 17, page = 16, entry_width = 54, dtype = "f32", part = 512}
    : (tensor<32x80xf32>, tensor<32xi32>, tensor<32xi32>, memref<1x160xi32>, memref<?x16x54xf32>, tensor<2xi64>) -> tensor<2x136xf32>
  exec.output "tree" %tree : tensor<2x136xf32>
}
