// RUN: mtp-opt %s --mtp-convert-to-exec --split-input-file | FileCheck %s

// A range of rows in each of four blocks: the heads of queries, each followed
// by its gates. Adjacent columns of one value are joined without a copy.
// CHECK: exec.weight @q #exec.panels<32> k 8 n 16 stack 1 [#exec.source<key = "q", row_end = 2, shape = [16, 8]>, #exec.source<key = "q", row_begin = 4, row_end = 6, shape = [16, 8]>, #exec.source<key = "q", row_begin = 8, row_end = 10, shape = [16, 8]>, #exec.source<key = "q", row_begin = 12, row_end = 14, shape = [16, 8]>, #exec.source<key = "q", row_begin = 2, row_end = 4, shape = [16, 8]>, {{.*}}, #exec.source<key = "q", row_begin = 14, row_end = 16, shape = [16, 8]>] : <bf16>
// CHECK-LABEL: exec.program @blocks
// CHECK: %[[Y:.*]] = exec.linear
// CHECK-NOT: exec.concat
// CHECK: %[[A:.*]] = exec.columns %[[Y]][4 to 12]
// CHECK: exec.silu %[[A]]
// Columns that are not adjacent are copied.
// CHECK: exec.concat
exec.program @blocks function {
  %x = exec.input "x" : tensor<4x8xf32>
  %q = mtp.weight "q" rows 0 to 2 of 16 : tensor<8x8xbf16>
  %g = mtp.weight "q" rows 2 to 4 of 16 : tensor<8x8xbf16>
  %y = mtp.fused_linear %x weights(%q, %g) : (tensor<4x8xf32>, tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<4x16xf32>
  %a = mtp.slice %y cols 4 to 8 : tensor<4x16xf32> -> tensor<4x4xf32>
  %b = mtp.slice %y cols 8 to 12 : tensor<4x16xf32> -> tensor<4x4xf32>
  %ab = mtp.concat %a, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
  %s = mtp.silu %ab : tensor<4x8xf32>
  exec.output "s" %s : tensor<4x8xf32>
  %ba = mtp.concat %b, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
  %t = mtp.silu %ba : tensor<4x8xf32>
  exec.output "t" %t : tensor<4x8xf32>
}

// -----

// Matrices of one tensor, one after the other.
// CHECK-DAG: exec.weight @gu #exec.gated_panels<32> k 16 n 64 stack 8 [#exec.source<key = "gu", row_end = 32, row_stride = 64, shape = [512, 16]>, #exec.source<key = "gu", row_begin = 32, row_end = 64, row_stride = 64, shape = [512, 16]>] : <bf16>
// CHECK-DAG: exec.weight @d #exec.panels<32> k 32 n 16 stack 8 [#exec.source<key = "d", row_end = 16, row_stride = 16, shape = [128, 32]>] : <bf16>
exec.program @experts function {
  %x = exec.input "x" : tensor<4x16xf32>
  %l = exec.input "l" : tensor<4x8xf32>
  %p = exec.input "p" : tensor<4xi32>
  %rows = mtp.make_rows %p, %p : tensor<4xi32>
  %i, %s = mtp.moe_route %l softmax top_k 2 : tensor<4x8xf32> -> tensor<4x2xi32>, tensor<4x2xf32>
  %g = mtp.weight "gu" rows 0 to 32 of 64 stack 8 : tensor<8x32x16xbf16>
  %u = mtp.weight "gu" rows 32 to 64 of 64 stack 8 : tensor<8x32x16xbf16>
  %d = mtp.weight "d" stack 8 : tensor<8x16x32xbf16>
  %y = mtp.moe_experts %x, %i, %s, %rows experts(%g, %u, %d) residual %x
       : (tensor<4x16xf32>, tensor<4x2xi32>, tensor<4x2xf32>, !mtp.rows, tensor<8x32x16xbf16>,
          tensor<8x32x16xbf16>, tensor<8x16x32xbf16>, tensor<4x16xf32>) -> tensor<4x16xf32>
  exec.output "y" %y : tensor<4x16xf32>
}

