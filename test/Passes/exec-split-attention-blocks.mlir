// RUN: mtp-opt %s --exec-split-attention="workers=16 blocks=true" | FileCheck %s
// RUN: mtp-opt %s --exec-split-attention="workers=16 blocks=true short-positions=64" | FileCheck %s --check-prefix=SHORT
// RUN: mtp-opt %s --exec-split-attention="workers=6 blocks=true" | FileCheck %s --check-prefix=FEW

// Fewer positions beyond a split, and fewer blocks to keep busy.
// SHORT-LABEL: exec.program @shared decode k 1 n 1 to 7 {
// SHORT: exec.attention_split_kv {{.*}} splits 20 tasks_per_tile 20
// SHORT-LABEL: exec.program @shared_below192 decode below 192 k 1 n 1 to 7 {
// SHORT-NOT: attention_split_kv
// SHORT-LABEL: exec.program @shared_from8 decode k 1 n 8 to 100 {
// FEW-LABEL: exec.program @shared decode k 1 n 1 to 2 {
// FEW-LABEL: exec.program @shared_from3 decode k 1 n 3 to 100 {
// FEW-NOT: attention_split_kv
// FEW-LABEL: exec.program @rounds decode

// Blocks of a GPU: two for a row of eight heads on two key heads, and two for
// up to four rows of a slot. Every split is one block's.

exec.cache @kv layers 1 entry 54 page 16 : f32
exec.state @slots : memref<200xi32>
exec.state @slots5 : memref<500xi32>
exec.state @table : memref<200x160xi32>
exec.state @queries1 : memref<200x80xf32>
exec.state @queries4 : memref<200x4x80xf32>
exec.state @queries5 : memref<200x5x80xf32>

// Eight slots have sixteen blocks, with one row or four.
// CHECK-LABEL: exec.program @shared decode k 1 n 1 to 7 {
// CHECK: exec.attention_split_kv {{.*}} splits 20 tasks_per_tile 20 {{.*}} -> tensor<?x6400xf32, #exec.count<4 * n>>
// CHECK: exec.attention_combine {{.*}} splits 20 {{.*}}split 128
// CHECK: exec.attention_split_kv {{.*}} splits 20 tasks_per_tile 20 {{.*}} -> tensor<?x6400xf32, #exec.count<n>>
// CHECK: exec.attention_combine {{.*}} splits 20 {{.*}}split 128
// A second program is for rows of little more than one split.
// CHECK-LABEL: exec.program @shared_below320 decode below 320 k 1 n 1 to 7 {
// CHECK-NOT: attention_split_kv
// CHECK: exec.attention %{{.*}} #exec.count<4 * n>>
// CHECK: exec.attention %{{.*}} #exec.count<n>>
// CHECK-LABEL: exec.program @shared_from8 decode k 1 n 8 to 100 {
// CHECK-NOT: attention_split_kv
// CHECK-NOT: shared_from8_below
exec.program @shared decode k 1 n 1 to 100 {
  %r1 = exec.ref @slots first n : memref<?xi32>
  %r4 = exec.ref @slots5 first 4 * n : memref<?xi32>
  %q1 = exec.ref @queries1 : memref<200x80xf32>
  %q4 = exec.ref @queries4 : memref<200x4x80xf32>
  %x1 = exec.read_state %q1 of %r1 : (memref<?xi32>, memref<200x80xf32>) -> tensor<?x80xf32, #exec.count<n>>
  %x4 = exec.read_state %q4 of %r1 : (memref<?xi32>, memref<200x4x80xf32>) -> tensor<?x80xf32, #exec.count<4 * n>>
  %t = exec.ref @table : memref<200x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y4 = exec.attention %x4 in %l slots %r4 positions %r4 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<4 * n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<4 * n>>
  %y1 = exec.attention %x1 in %l slots %r1 positions %r1 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<n>>
  exec.output "y4" %y4 : tensor<?x136xf32, #exec.count<4 * n>>
  exec.output "y1" %y1 : tensor<?x136xf32, #exec.count<n>>
}

// Five rows of a slot are two groups, so four slots have sixteen blocks.
// CHECK-LABEL: exec.program @rounds decode k 2 n 1 to 3 {
// CHECK: exec.attention_split_kv {{.*}} -> tensor<?x6400xf32, #exec.count<5 * n>>
// CHECK: exec.attention_split_kv {{.*}} -> tensor<?x6400xf32, #exec.count<n>>
// CHECK-LABEL: exec.program @rounds_below320 decode below 320 k 2 n 1 to 3 {
// CHECK-NOT: attention_split_kv
// CHECK-LABEL: exec.program @rounds_from4 decode k 2 n 4 to 7 {
// CHECK-NOT: attention_split_kv
// CHECK: exec.attention %{{.*}} #exec.count<5 * n>>
// CHECK: exec.attention_split_kv {{.*}} -> tensor<?x6400xf32, #exec.count<n>>
// CHECK-LABEL: exec.program @rounds_from4_below320 decode below 320 k 2 n 4 to 7 {
// CHECK-NOT: attention_split_kv
// CHECK-LABEL: exec.program @rounds_from8 decode k 2 n 8 to 100 {
// CHECK-NOT: attention_split_kv
exec.program @rounds decode k 2 n 1 to 100 {
  %r1 = exec.ref @slots first n : memref<?xi32>
  %r5 = exec.ref @slots5 first 5 * n : memref<?xi32>
  %q1 = exec.ref @queries1 : memref<200x80xf32>
  %q5 = exec.ref @queries5 : memref<200x5x80xf32>
  %x1 = exec.read_state %q1 of %r1 : (memref<?xi32>, memref<200x80xf32>) -> tensor<?x80xf32, #exec.count<n>>
  %x5 = exec.read_state %q5 of %r1 : (memref<?xi32>, memref<200x5x80xf32>) -> tensor<?x80xf32, #exec.count<5 * n>>
  %t = exec.ref @table : memref<200x160xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y5 = exec.attention %x5 in %l slots %r5 positions %r5 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<5 * n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<5 * n>>
  %y1 = exec.attention %x1 in %l slots %r1 positions %r1 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<n>>, memref<?xi32>, memref<?xi32>, memref<200x160xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<n>>
  exec.output "y5" %y5 : tensor<?x136xf32, #exec.count<5 * n>>
  exec.output "y1" %y1 : tensor<?x136xf32, #exec.count<n>>
}

// Rows of 320 positions are as fast without splits, and have none.
exec.state @small : memref<200x20xi32>
// CHECK-LABEL: exec.program @small_rounds
// CHECK: exec.attention
// CHECK-NOT: part
exec.program @small_rounds decode k 3 n 1 to 100 {
  %r1 = exec.ref @slots first n : memref<?xi32>
  %q1 = exec.ref @queries1 : memref<200x80xf32>
  %x1 = exec.read_state %q1 of %r1 : (memref<?xi32>, memref<200x80xf32>) -> tensor<?x80xf32, #exec.count<n>>
  %t = exec.ref @small : memref<200x20xi32>
  %l = exec.ref @kv : memref<?x16x54xf32>
  %y1 = exec.attention %x1 in %l slots %r1 positions %r1 pages %t heads 8 kv_heads 2 split 512
    : (tensor<?x80xf32, #exec.count<n>>, memref<?xi32>, memref<?xi32>, memref<200x20xi32>, memref<?x16x54xf32>) -> tensor<?x136xf32, #exec.count<n>>
  exec.output "y1" %y1 : tensor<?x136xf32, #exec.count<n>>
}
