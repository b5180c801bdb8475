// RUN: mtp-opt %s --exec-split-attention=workers=8 | FileCheck %s
// RUN: mtp-opt %s --exec-split-attention | FileCheck %s --check-prefix=ALONE

// One worker has nothing to share.
// ALONE-NOT: attention_split_kv
// ALONE-NOT: _from
// ALONE-NOT: below

exec.cache @kv layers 1 entry 54 page 16 : f32
exec.state @page_table : memref<1x160xi32>
exec.state @short_table : memref<1x40xi32>
exec.state @one_part : memref<1x32xi32>

// One row of eight heads is two tasks, so four workers share each. 2560
// positions are five splits. A partial result has the maxima and the sums of
// each tile, a vector each, and the values of each head, in whole vectors.
// CHECK-LABEL: exec.program @step
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[S:.*]] = exec.input "s"
// CHECK: %[[P:.*]] = exec.input "p"
// CHECK: %[[Q:.*]] = exec.columns %[[X]][5 to 85]
// CHECK: %[[LEFT:.*]] = exec.attention_split_kv %[[Q]] in %[[L:.*]] slots %[[S]] positions %[[P]] pages %[[T:.*]] values 17 splits 5 tasks_per_tile 4 heads 8 kv_heads 2 keys_at 20 values_at 10 scale 2.500000e-01 split 512 :
// CHECK-SAME: -> tensor<1x1600xf32>
// CHECK: %[[Y:.*]] = exec.attention_combine %[[LEFT]] positions %[[P]] splits 5 heads 8 kv_heads 2 split 512 as f32 :
// CHECK-SAME: -> tensor<1x136xf32>
// CHECK: exec.output "y" %[[Y]]
exec.program @step function {
  %x = exec.input "x" : tensor<1x85xf32>
  %s = exec.input "s" : tensor<1xi32>
  %p = exec.input "p" : tensor<1xi32>
  %t = exec.ref @page_table : memref<1x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %x_5 = exec.columns %x[5 to 85] : tensor<1x85xf32>
  %y = exec.attention %x_5 in %l slots %s positions %p pages %t heads 8 kv_heads 2
      keys_at 20 values_at 10 scale 0.25 split 512
    : (tensor<1x80xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<1x136xf32>
  exec.output "y" %y : tensor<1x136xf32>
}

// A row of two heads is one task. Nine rows are two groups, among which the
// kernel divides the eight workers.
// CHECK-LABEL: exec.program @few_parts
// CHECK: exec.attention_split_kv {{.*}} values 17 splits 2 tasks_per_tile 8 heads 2 kv_heads 1 split 512 window 600 : (tensor<9x20xf32>
// CHECK: exec.attention_combine {{.*}} split 512 window 600 as f32
exec.program @few_parts function {
  %x = exec.input "x" : tensor<9x20xf32>
  %s = exec.input "s" : tensor<9xi32>
  %t = exec.ref @short_table : memref<1x40xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y = exec.attention %x in %l slots %s positions %s pages %t heads 2 kv_heads 1 split 512 window 600
    : (tensor<9x20xf32>, tensor<9xi32>, tensor<9xi32>, memref<1x40xi32>, memref<?x16x54xf32>) -> tensor<9x34xf32>
  exec.output "y" %y : tensor<9x34xf32>
}

// CHECK-LABEL: exec.program @stays
// CHECK-NOT: attention_split_kv
exec.program @stays function {
  %x = exec.input "x" : tensor<32x80xf32>
  %s = exec.input "s" : tensor<32xi32>
  %m = exec.input "m" : tensor<2xi64>
  %x1 = exec.input "x1" : tensor<1x80xf32>
  %s1 = exec.input "s1" : tensor<1xi32>
  %x2 = exec.input "x2" : tensor<2x80xf32>
  %s2 = exec.input "s2" : tensor<2xi32>
  %few = exec.ref @one_part : memref<1x32xi32>
  %t = exec.ref @page_table : memref<1x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  // Thirty-two rows are enough tasks.
  %rows = exec.attention %x in %l slots %s positions %s pages %t heads 8 kv_heads 2 split 512
    : (tensor<32x80xf32>, tensor<32xi32>, tensor<32xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<32x136xf32>
  exec.output "rows" %rows : tensor<32x136xf32>
  // All positions are in one split; the only split.
  %one = exec.attention %x1 in %l slots %s1 positions %s1 pages %t heads 8 kv_heads 2
    : (tensor<1x80xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x160xi32>, memref<?x16x54xf32>) -> tensor<1x136xf32>
  exec.output "one" %one : tensor<1x136xf32>
  %short = exec.attention %x1 in %l slots %s1 positions %s1 pages %few heads 8 kv_heads 2 split 512
    : (tensor<1x80xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x32xi32>, memref<?x16x54xf32>) -> tensor<1x136xf32>
  exec.output "short" %short : tensor<1x136xf32>
  // Rows of a tree.
  %tree = exec.attention %x2 in %l slots %s2 positions %s2 pages %t tree %m heads 8 kv_heads 2 split 512
    : (tensor<2x80xf32>, tensor<2xi32>, tensor<2xi32>, memref<1x160xi32>, memref<?x16x54xf32>, tensor<2xi64>) -> tensor<2x136xf32>
  exec.output "tree" %tree : tensor<2x136xf32>
}

// Whether a call is split depends on n, and a program is split at the n at
// which that changes. The number of workers per row does not change the
// program.
// CHECK-LABEL: exec.program @rows decode k 0 n 1 to 12 {
// CHECK: exec.attention_split_kv {{.*}} tasks_per_tile 4 {{.*}} -> tensor<?x1600xf32, #exec.count<2 * n>>
// CHECK: exec.attention_combine {{.*}} -> tensor<?x136xf32, #exec.count<2 * n>>
// CHECK-LABEL: exec.program @rows_from13 decode k 0 n 13 to 100 {
// CHECK: exec.attention %
exec.state @slots : memref<200xi32>
exec.state @slots7 : memref<700xi32>
exec.state @table : memref<200x160xi32>
exec.state @queries1 : memref<200x80xf32>
exec.state @queries : memref<200x2x80xf32>
exec.state @queries6 : memref<200x6x80xf32>
exec.state @queries7 : memref<200x7x80xf32>
exec.program @rows decode k 0 n 1 to 100 {
  %s = exec.ref @slots first n : memref<?xi32>
  %r = exec.ref @slots first 2 * n : memref<?xi32>
  %q = exec.ref @queries : memref<200x2x80xf32>
  %x = exec.read_state %q of %s : (memref<?xi32>, memref<200x2x80xf32>) -> tensor<?x80xf32, #exec.count<2 * n>>
  %t = exec.ref @table : memref<200x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y = exec.attention %x in %l slots %r positions %r pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<2 * n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<2 * n>>
  exec.output "y" %y : tensor<?x136xf32, #exec.count<2 * n>>
}

// Seven rows per slot are enough tasks from n = 4 on. Six rows per slot are
// fewer tasks but nearly the same number of rows, so they go along. One row per
// slot is enough from n = 25 on.
// CHECK-LABEL: exec.program @rounds decode k 1 n 1 to 3 {
// CHECK: exec.attention_split_kv {{.*}} tensor<?x1600xf32, #exec.count<6 * n>>
// CHECK: exec.attention_split_kv {{.*}} tensor<?x1600xf32, #exec.count<7 * n>>
// CHECK: exec.attention_split_kv {{.*}} tensor<?x1600xf32, #exec.count<n>>
// CHECK-LABEL: exec.program @rounds_from4 decode k 1 n 4 to 24 {
// CHECK-NOT: attention_split_kv
// CHECK: exec.attention %{{.*}} #exec.count<6 * n>>
// CHECK: exec.attention %{{.*}} #exec.count<7 * n>>
// CHECK: exec.attention_split_kv {{.*}} tensor<?x1600xf32, #exec.count<n>>
// CHECK-LABEL: exec.program @rounds_from25 decode k 1 n 25 to 100 {
// CHECK-NOT: attention_split_kv
exec.program @rounds decode k 1 n 1 to 100 {
  %r1 = exec.ref @slots first n : memref<?xi32>
  %r6 = exec.ref @slots7 first 6 * n : memref<?xi32>
  %r7 = exec.ref @slots7 first 7 * n : memref<?xi32>
  %q1 = exec.ref @queries1 : memref<200x80xf32>
  %q6 = exec.ref @queries6 : memref<200x6x80xf32>
  %q7 = exec.ref @queries7 : memref<200x7x80xf32>
  %x1 = exec.read_state %q1 of %r1 : (memref<?xi32>, memref<200x80xf32>) -> tensor<?x80xf32, #exec.count<n>>
  %x6 = exec.read_state %q6 of %r1 : (memref<?xi32>, memref<200x6x80xf32>) -> tensor<?x80xf32, #exec.count<6 * n>>
  %x7 = exec.read_state %q7 of %r1 : (memref<?xi32>, memref<200x7x80xf32>) -> tensor<?x80xf32, #exec.count<7 * n>>
  %t = exec.ref @table : memref<200x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y6 = exec.attention %x6 in %l slots %r6 positions %r6 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<6 * n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<6 * n>>
  %y7 = exec.attention %x7 in %l slots %r7 positions %r7 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<7 * n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<7 * n>>
  %y1 = exec.attention %x1 in %l slots %r1 positions %r1 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<n>>
  exec.output "y6" %y6 : tensor<?x136xf32, #exec.count<6 * n>>
  exec.output "y7" %y7 : tensor<?x136xf32, #exec.count<7 * n>>
  exec.output "y1" %y1 : tensor<?x136xf32, #exec.count<n>>
}
