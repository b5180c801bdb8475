// RUN: mtp-opt %s --exec-bufferize --split-input-file --verify-diagnostics | FileCheck %s

// Equal kinds and configurations share a kernel across programs. Another width
// needs another kernel, and so does another stride: a view has the stride of
// its source, and the kernel begins at its first column. A builtin keeps its
// name.
// CHECK-DAG: exec.kernel @add_0 #exec.add<width = 8, a_stride = 8, b_stride = 16, y_stride = 8>
// CHECK-DAG: exec.kernel @add_1 #exec.add<width = 8, a_stride = 8, b_stride = 8, y_stride = 8>
// CHECK-DAG: exec.kernel @add_2 #exec.add<width = 16{{.*}}>
// CHECK-DAG: exec.kernel @mtp.sample #exec.builtin<"mtp.sample">
// CHECK-NOT: exec.kernel

// CHECK-LABEL: exec.program @first
// CHECK-NEXT: %[[X:.*]] = exec.alloc input "x" : memref<4x8xf32>
// CHECK-NEXT: %[[W:.*]] = exec.alloc input "w" : memref<4x16xf32>
// CHECK-NEXT: %[[Y:.*]] = exec.alloc : memref<4x8xf32>
// CHECK-NEXT: exec.dispatch @add_0(%[[X]], %[[W]], %[[Y]]) params [4] offsets [0, 8, 0] outputs 1
// CHECK-NEXT: %[[Z:.*]] = exec.alloc : memref<4x8xf32>
// CHECK-NEXT: exec.dispatch @add_1(%[[X]], %[[Y]], %[[Z]]) params [4] {{.*}} outputs 1 :
// CHECK-NEXT: exec.output "z" %[[Z]] : memref<4x8xf32>
exec.program @first function {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<4x16xf32>
  %columns = exec.columns %w[8 to 16] : tensor<4x16xf32>
  %y = exec.add %x, %columns : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = exec.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "z" %z : tensor<4x8xf32>
}

exec.state @sampling : memref<4x8xi32>
// CHECK-LABEL: exec.program @second
// CHECK: exec.dispatch @add_1(
// CHECK: exec.dispatch @add_2(
// CHECK: %[[S:.*]] = exec.ref @sampling
// CHECK: exec.dispatch @mtp.sample(%{{.*}}, %{{.*}}, %{{.*}}, %[[S]], %{{.*}}) params [1, 16, 1] {{.*}} outputs 1
exec.program @second function {
  %x = exec.input "x" : tensor<1x8xf32>
  %w = exec.input "w" : tensor<1x16xf32>
  %i = exec.input "i" : tensor<1xi32>
  %y = exec.add %x, %x : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %z = exec.add %w, %w : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %s = exec.ref @sampling : memref<4x8xi32>
  %t = exec.sample %z slots %i positions %i by %s
    : (tensor<1x16xf32>, tensor<1xi32>, tensor<1xi32>, memref<4x8xi32>) -> tensor<1xi32>
}

// -----

// Rows that grow with n are counts, in allocs and params. The schedule stays.
// CHECK-LABEL: exec.program @counts
// CHECK: %[[T:.*]] = exec.ref @active first n : memref<?xi32>
// CHECK: %[[X:.*]] = exec.alloc rows n : memref<?x8xf32>
// CHECK: exec.dispatch @embed_0(%{{.*}}, %[[T]], %[[X]]) params [n] offsets [0, 0, 0] outputs 1 : memref<64x8xf32>, memref<?xi32>, memref<?x8xf32>
// CHECK: %[[Y:.*]] = exec.alloc rows 2 * n : memref<?x8xf32>
// CHECK: exec.dispatch @read_state_0(%[[T]], %{{.*}}, %[[Y]]) params [n, 2] offsets [0, 0, 0] outputs 1
// CHECK: %[[Z:.*]] = exec.alloc rows 3 * n : memref<?x8xf32>
// CHECK: exec.dispatch @concat_rows_0(%[[X]], %[[Y]], %[[Z]]) params [n, 1, 2] offsets [0, 0, 0] outputs 1
// CHECK: exec.output "z" %[[Z]] : memref<?x8xf32>
// CHECK: exec.schedule from 1 {{\[\[}}all, all], [solo]]
exec.state shared @active : memref<4xi32>
exec.state @hidden : memref<4x2x8xf32>
exec.program @counts decode k 0 n 1 to 4 {
  %t = exec.ref @active first n : memref<?xi32>
  %h = exec.ref @hidden : memref<4x2x8xf32>
  %w = exec.alloc : memref<64x8xf32>
  %x = exec.embed %t in %w as <f32> : (memref<64x8xf32>, memref<?xi32>) -> tensor<?x8xf32, #exec.count<n>>
  %y = exec.read_state %h of %t : (memref<?xi32>, memref<4x2x8xf32>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %z = exec.concat_rows %x rows 1, %y rows 2 : (tensor<?x8xf32, #exec.count<n>>, tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<3 * n>>
  exec.output "z" %z : tensor<?x8xf32, #exec.count<3 * n>>
  exec.schedule from 1 [[all, all], [solo]]
}

// -----

// Calls on packed rows name the number of active rows: through views, with
// another operand whose rows are not packed, in products and in rows per pick,
// if each row depends on one row. Calls that go by slots, gather other rows, or
// pack again name no number, and neither do calls at which two numbers meet.
// CHECK-LABEL: exec.program @live
// CHECK: %[[COUNT:.*]] = exec.alloc : memref<1xi32>
// CHECK-NEXT: exec.dispatch @pack_rows_0(%{{.*}}, %{{.*}}, %[[P:.*]], %[[T:.*]], %[[PLACES:.*]], %[[COUNT]]) params [2 * n, 2 * n] offsets [0, 0, 0, 0, 0, 0] outputs 4 :
// CHECK: exec.dispatch @embed_{{.*}} outputs 1 live %[[COUNT]] :
// CHECK: exec.dispatch @linear_{{.*}} outputs 1 live %[[COUNT]] :
// CHECK: exec.dispatch @add_{{.*}} outputs 1 live %[[COUNT]] :
// CHECK: exec.dispatch @argmax_{{.*}} outputs 1 live %[[COUNT]] :
// CHECK: exec.dispatch @unpack_rows_{{.*}} outputs 1 :
// CHECK: exec.dispatch @gather_rows_{{.*}} outputs 1 :
// CHECK: exec.dispatch @gather_rows_{{.*}} outputs 1 live %[[COUNT]] :
// CHECK: exec.dispatch @write_state_{{.*}} outputs 0 :
// CHECK: %[[OTHER:.*]] = exec.alloc : memref<1xi32>
// CHECK-NEXT: exec.dispatch @pack_rows_{{.*}} outputs 4 :
// CHECK: exec.dispatch @embed_{{.*}} outputs 1 live %[[OTHER]] :
// CHECK: exec.dispatch @add_{{.*}} outputs 1 :
exec.state shared @active : memref<4xi32>
exec.state @hidden : memref<4x2x8xf32>
exec.program @live decode k 1 n 1 to 4 {
  %s = exec.ref @active first n : memref<?xi32>
  %h = exec.ref @hidden : memref<4x2x8xf32>
  %w = exec.alloc : memref<64x8xf32>
  %head = exec.alloc : memref<1x8x32xf32>
  %all = exec.read_state %h of %s : (memref<?xi32>, memref<4x2x8xf32>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %at = exec.argmax %all : (tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?xi32, #exec.count<2 * n>>
  %p, %t, %places, %count = exec.pack %at, (%at) : (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>) -> (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>, tensor<1xi32>)
  %x = exec.embed %t in %w as <f32> : (memref<64x8xf32>, tensor<?xi32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %y = exec.linear %x, %head as <f32> : (tensor<?x8xf32, #exec.count<2 * n>>, memref<1x8x32xf32>) -> tensor<?x32xf32, #exec.count<2 * n>>
  %c = exec.columns %y[8 to 16] : tensor<?x32xf32, #exec.count<2 * n>>
  %z = exec.add %all, %c : (tensor<?x8xf32, #exec.count<2 * n>>, tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %picks = exec.argmax %z : (tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?xi32, #exec.count<2 * n>>
  %own = exec.unpack_rows %picks, %places : (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>) -> tensor<?xi32, #exec.count<2 * n>>
  %some = exec.gather_rows %z, %own : (tensor<?x8xf32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %others = exec.gather_rows %all, %picks : (tensor<?x8xf32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  exec.write_state %z to %h of %s : (tensor<?x8xf32, #exec.count<2 * n>>, memref<?xi32>, memref<4x2x8xf32>) -> ()
  %p2, %t2, %places2, %count2 = exec.pack %p, (%t) : (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>) -> (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>, tensor<1xi32>)
  %x2 = exec.embed %t2 in %w as <f32> : (memref<64x8xf32>, tensor<?xi32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %both = exec.add %x, %x2 : (tensor<?x8xf32, #exec.count<2 * n>>, tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  exec.output "own" %own : tensor<?xi32, #exec.count<2 * n>>
}

// -----

// A pick reads the row at its place. Equal numbers of rows and picks do not
// make a row the pick's own. Elements of rows are read in the same way.
// CHECK-LABEL: exec.program @picks
// CHECK: exec.dispatch @log_softmax_{{.*}} outputs 1 live %{{.*}} :
// CHECK: exec.dispatch @gather_columns_{{.*}} outputs 1 :
// CHECK: exec.dispatch @sample_residual_{{.*}} outputs 1 :
exec.state shared @active : memref<4xi32>
exec.state @hidden : memref<4x8xf32>
exec.program @picks decode k 0 n 1 to 4 {
  %s = exec.ref @active first n : memref<?xi32>
  %h = exec.ref @hidden : memref<4x8xf32>
  %w = exec.alloc : memref<64x8xf32>
  %all = exec.read_state %h of %s : (memref<?xi32>, memref<4x8xf32>) -> tensor<?x8xf32, #exec.count<n>>
  %at = exec.argmax %all : (tensor<?x8xf32, #exec.count<n>>) -> tensor<?xi32, #exec.count<n>>
  %sums = exec.log_sum_exp %all : (tensor<?x8xf32, #exec.count<n>>) -> tensor<?x1xf32, #exec.count<n>>
  %u = exec.reshape %sums : tensor<?x1xf32, #exec.count<n>> -> tensor<?xf32, #exec.count<n>>
  %p, %t, %places, %count = exec.pack %at, (%at) : (tensor<?xi32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>) -> (tensor<?xi32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>, tensor<1xi32>)
  %x = exec.embed %t in %w as <f32> : (memref<64x8xf32>, tensor<?xi32, #exec.count<n>>) -> tensor<?x8xf32, #exec.count<n>>
  %y = exec.log_softmax %x : (tensor<?x8xf32, #exec.count<n>>) -> tensor<?x8xf32, #exec.count<n>>
  %columns = exec.reshape %at : tensor<?xi32, #exec.count<n>> -> tensor<?x1xi32, #exec.count<n>>
  %few = exec.gather_columns %y[%places], %columns : (tensor<?x8xf32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>, tensor<?x1xi32, #exec.count<n>>) -> tensor<?x1xf32, #exec.count<n>>
  exec.output "few" %few : tensor<?x1xf32, #exec.count<n>>
  %r = exec.sample_residual %y[%places] at %at by %u : (tensor<?x8xf32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>, tensor<?xi32, #exec.count<n>>, tensor<?xf32, #exec.count<n>>) -> tensor<?xi32, #exec.count<n>>
  exec.output "r" %r : tensor<?xi32, #exec.count<n>>
}

// -----

// A number counts the packed rows. A value with several rows for each of them,
// such as the pairs of rows and experts, has a multiple of active rows, and
// calls that go by these rows compute all of them, reshaped or not. Calls that
// go by the packed rows do not. Products of experts compute all rows: without
// active rows there is no plan.
// CHECK-LABEL: exec.program @several
// CHECK: exec.dispatch @pack_rows_{{.*}} outputs 4 :
// CHECK: exec.dispatch @embed_{{.*}} params [2 * n] {{.*}} outputs 1 live %{{.*}} :
// CHECK: exec.dispatch @moe_route_{{.*}} outputs 2 live %{{.*}} :
// CHECK: exec.dispatch @moe_plan_{{.*}} params [2 * n] {{.*}} live
// CHECK: exec.dispatch @moe_gate_up_{{.*}} params [2 * n] {{.*}} live
// CHECK: exec.dispatch @moe_down_{{.*}} params [2 * n] {{.*}} live
// CHECK: exec.dispatch @embed_{{.*}} params [4 * n] {{.*}} outputs 1 :
// CHECK: exec.dispatch @embed_{{.*}} params [4 * n] {{.*}} outputs 1 :
exec.state shared @active : memref<4xi32>
exec.state @hidden : memref<4x2x8xf32>
exec.program @several decode k 1 n 1 to 4 {
  %s = exec.ref @active first n : memref<?xi32>
  %h = exec.ref @hidden : memref<4x2x8xf32>
  %w = exec.alloc : memref<64x8xf32>
  %all = exec.read_state %h of %s : (memref<?xi32>, memref<4x2x8xf32>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %at = exec.argmax %all : (tensor<?x8xf32, #exec.count<2 * n>>) -> tensor<?xi32, #exec.count<2 * n>>
  %p, %t, %places, %count = exec.pack %at, (%at) : (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>) -> (tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>, tensor<?xi32, #exec.count<2 * n>>, tensor<1xi32>)
  %x = exec.embed %t in %w as <f32> : (memref<64x8xf32>, tensor<?xi32, #exec.count<2 * n>>) -> tensor<?x8xf32, #exec.count<2 * n>>
  %e, %weights = exec.moe_route %x softmax groups 1 keep 1 scale 1.0 : (tensor<?x8xf32, #exec.count<2 * n>>) -> (tensor<?x2xi32, #exec.count<2 * n>>, tensor<?x2xf32, #exec.count<2 * n>>)
  %starts, %order = exec.moe_plan %e at %p : (tensor<?xi32, #exec.count<2 * n>>, tensor<?x2xi32, #exec.count<2 * n>>) -> (tensor<9xi32>, tensor<?xi32, #exec.count<4 * n>>)
  %gu = exec.alloc : memref<16x8x32xf32>
  %dw = exec.alloc : memref<8x32x32xf32>
  %a = exec.moe_gate_up %x, %gu as <f32> rows (%starts, %order) : (tensor<?x8xf32, #exec.count<2 * n>>, memref<16x8x32xf32>, tensor<9xi32>, tensor<?xi32, #exec.count<4 * n>>) -> tensor<?x32xf32, #exec.count<4 * n>>
  %b = exec.moe_down %a, %dw as <f32> rows (%starts, %order) top_k 2 : (tensor<?x32xf32, #exec.count<4 * n>>, memref<8x32x32xf32>, tensor<9xi32>, tensor<?xi32, #exec.count<4 * n>>) -> tensor<?x8xf32, #exec.count<4 * n>>
  exec.output "b" %b : tensor<?x8xf32, #exec.count<4 * n>>
  %y = exec.embed %order in %w as <f32> : (memref<64x8xf32>, tensor<?xi32, #exec.count<4 * n>>) -> tensor<?x8xf32, #exec.count<4 * n>>
  %same = exec.reshape %order : tensor<?xi32, #exec.count<4 * n>> -> tensor<?xi32, #exec.count<4 * n>>
  %z = exec.embed %same in %w as <f32> : (memref<64x8xf32>, tensor<?xi32, #exec.count<4 * n>>) -> tensor<?x8xf32, #exec.count<4 * n>>
  exec.output "y" %y : tensor<?x8xf32, #exec.count<4 * n>>
  exec.output "z" %z : tensor<?x8xf32, #exec.count<4 * n>>
  exec.output "weights" %weights : tensor<?x2xf32, #exec.count<2 * n>>
}

// -----

exec.program @p function {
  %x = exec.input "x" : tensor<4x8xf32>
  // expected-error @+1 {{'mtp.add' op expected only exec ops in a program, is mtp-convert-to-exec missing before this pass?}}
  %y = mtp.add %x, %x : tensor<4x8xf32>
}

// -----

// Rules change logits in place.
// CHECK-LABEL: exec.program @ruled
// CHECK: %[[X:.*]] = exec.alloc input "x" : memref<4x64xf32>
// CHECK: exec.dispatch @process_logits_0(%[[X]], %[[S:.*]], %[[S]], %{{.*}}, %{{.*}}, %{{.*}}) params [4] offsets [0, 0, 0, 0, 0, 0] outputs 0
// CHECK: exec.dispatch @argmax_0(%[[X]], %{{.*}})
exec.state @rules : memref<2x256xi32>
exec.state @counts : memref<2x64xi32>
exec.program @ruled function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rules = exec.ref @rules : memref<2x256xi32>
  %counts = exec.ref @counts : memref<2x64xi32>
  %y = exec.process_logits %x slots %s positions %s by (%rules, %counts, %counts)
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>) -> tensor<4x64xf32>
  %p = exec.argmax %y : (tensor<4x64xf32>) -> tensor<4xi32>
  exec.output "p" %p : tensor<4xi32>
}

// -----

// The logits before the rules are gone.
exec.state @rules : memref<2x256xi32>
exec.state @counts : memref<2x64xi32>
exec.program @gone function {
  %x = exec.input "x" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rules = exec.ref @rules : memref<2x256xi32>
  %counts = exec.ref @counts : memref<2x64xi32>
  %y = exec.process_logits %x slots %s positions %s by (%rules, %counts, %counts)
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>) -> tensor<4x64xf32>
  // expected-error @+1 {{'exec.argmax' op expected no read of logits that exec.process_logits has changed}}
  %p = exec.argmax %x : (tensor<4x64xf32>) -> tensor<4xi32>
  exec.output "p" %p : tensor<4xi32>
}
