// RUN: mtp-opt %s --mtp-sink-unpack --canonicalize --split-input-file | FileCheck %s

// Unpacked rows without readers are left to the removal of dead ops.

// Numbers of rows in groups are computed from packed rows, and their results
// are unpacked: a column for each row, its best columns, its distribution with
// the parameters of the row's own slot.
// CHECK-LABEL: exec.program @numbers
// CHECK: %[[PACKED:.*]], %{{.*}}, %[[PLACES:.*]] = mtp.pack
// CHECK-NOT: mtp.unpack %{{.*}} : tensor<6x16xf32>
// CHECK: %[[S:.*]] = mtp.log_sum_exp %[[L:.*]] : tensor<6x16xf32> -> tensor<6x1xf32>
// CHECK-NEXT: %[[SU:.*]] = mtp.unpack %[[S]], %[[PLACES]] : tensor<6x1xf32>
// CHECK-NEXT: mtp.reshape %[[SU]] : tensor<6x1xf32> -> tensor<2x3xf32>
// CHECK: %[[H:.*]] = mtp.entropy %[[L]] : tensor<6x16xf32>
// CHECK-NEXT: mtp.unpack %[[H]]
// CHECK: %[[B:.*]], %[[K:.*]] = mtp.top_k %[[L]] k 2 : tensor<6x16xf32> -> tensor<6x2xi32>, tensor<6x2xf32>
// CHECK-NEXT: %[[BU:.*]] = mtp.unpack %[[B]], %[[PLACES]] : tensor<6x2xi32>
// CHECK-NEXT: mtp.reshape %[[BU]] : tensor<6x2xi32> -> tensor<2x3x2xi32>
// CHECK-NEXT: mtp.unpack %[[K]]
// CHECK: mtp.top_k %[[L]] k 1 noise %[[PACKED]]
// CHECK: %[[OWN:.*]] = mtp.row_slots %[[PACKED]] : tensor<6xi32>
// CHECK-NEXT: %[[P:.*]] = mtp.probabilities %[[L]] of %[[OWN]] : tensor<6x16xf32>, tensor<6xi32>
// CHECK-NEXT: mtp.unpack %[[P]]
exec.program @numbers decode k 2 n 2 to 2 {
  %slots = mtp.slots : tensor<2xi32>
  %positions = exec.input "positions" : tensor<6xi32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %rows = mtp.make_rows %tokens, %positions : tensor<6xi32>
  %packed, %t, %places = mtp.pack %rows, %tokens : tensor<6xi32>
  %table = mtp.weight "table" : tensor<64x16xf32>
  %l = mtp.embed %t, %table : tensor<6xi32>, tensor<64x16xf32> -> tensor<6x16xf32>
  %own = mtp.unpack %l, %places : tensor<6x16xf32>, tensor<6xi32> -> tensor<6x16xf32>
  %groups = mtp.reshape %own : tensor<6x16xf32> -> tensor<2x3x16xf32>
  %s = mtp.log_sum_exp %groups : tensor<2x3x16xf32> -> tensor<2x3xf32>
  %h = mtp.entropy %own : tensor<6x16xf32> -> tensor<6x1xf32>
  %b, %k = mtp.top_k %groups k 2 : tensor<2x3x16xf32> -> tensor<2x3x2xi32>, tensor<2x3x2xf32>
  %c, %n = mtp.top_k %own k 1 noise %rows : tensor<6x16xf32> -> tensor<6x1xi32>, tensor<6x1xf32>
  %p = mtp.probabilities %groups of %slots : tensor<2x3x16xf32>, tensor<2xi32>
  exec.output "s" %s : tensor<2x3xf32>
  exec.output "h" %h : tensor<6x1xf32>
  exec.output "b" %b : tensor<2x3x2xi32>
  exec.output "k" %k : tensor<2x3x2xf32>
  exec.output "c" %c : tensor<6x1xi32>
  exec.output "n" %n : tensor<6x1xf32>
  exec.output "p" %p : tensor<2x3x16xf32>
}

// -----

// One op's result is the next one's operand: nothing as wide as the vocabulary
// is unpacked, in mixed batches, too. Elements and a pick are read from the
// packed rows.
// CHECK-LABEL: exec.program @chain
// CHECK: %{{.*}}, %{{.*}}, %[[PLACES:.*]], %{{.*}} = mtp.pack %[[ROWS:.*]], %{{.*}} prompts %[[MORE:.*]], %[[TEXT:.*]] :
// CHECK: %[[Y:.*]] = mtp.log_softmax %[[L:.*]] : tensor<8x16xf32>
// CHECK: mtp.gather %[[Y]][%{{.*}}] at %[[PLACES]] : tensor<8x16xf32>, tensor<2x3xi32>, tensor<6xi32> -> tensor<2x3xf32>
// CHECK: mtp.gather %[[Y]][%{{.*}}] at %[[PLACES]] : tensor<8x16xf32>, tensor<6x2xi32>, tensor<6xi32> -> tensor<6x2xf32>
// CHECK: %[[P:.*]] = mtp.probabilities %[[L]]
// CHECK: %[[GRID:.*]] = mtp.reshape %[[PLACES]] : tensor<6xi32> -> tensor<2x3xi32>
// CHECK: mtp.sample_residual %[[P]][%[[GRID]]] at %{{.*}} by %{{.*}} : (tensor<8x16xf32>, tensor<2x3xi32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
// CHECK-NOT: mtp.unpack
exec.program @chain decode k 2 n 2 to 2 {
  %slots = mtp.slots : tensor<2xi32>
  %positions = exec.input "positions" : tensor<6xi32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %rows = mtp.make_rows %tokens, %positions : tensor<6xi32>
  %text, %more = mtp.prompt_rows : tensor<2xi32>
  %packed, %t, %places, %theirs = mtp.pack %rows, %tokens prompts %more, %text
      : tensor<6xi32>, tensor<2xi32> -> tensor<8xi32>
  %table = mtp.weight "table" : tensor<64x16xf32>
  %l = mtp.embed %t, %table : tensor<8xi32>, tensor<64x16xf32> -> tensor<8x16xf32>
  %own = mtp.unpack %l, %places : tensor<8x16xf32>, tensor<6xi32> -> tensor<6x16xf32>
  %groups = mtp.reshape %own : tensor<6x16xf32> -> tensor<2x3x16xf32>
  %y = mtp.log_softmax %groups : tensor<2x3x16xf32>
  %d = exec.input "d" : tensor<2x3xi32>
  %g = mtp.gather %y[%d] : tensor<2x3x16xf32>, tensor<2x3xi32> -> tensor<2x3xf32>
  exec.output "g" %g : tensor<2x3xf32>
  %z = mtp.reshape %y : tensor<2x3x16xf32> -> tensor<6x16xf32>
  %some = exec.input "some" : tensor<6x2xi32>
  %e = mtp.gather %z[%some] : tensor<6x16xf32>, tensor<6x2xi32> -> tensor<6x2xf32>
  exec.output "e" %e : tensor<6x2xf32>
  %p = mtp.probabilities %groups of %slots : tensor<2x3x16xf32>, tensor<2xi32>
  %u = exec.input "u" : tensor<2xf32>
  %r = mtp.sample_residual %p at %slots by %u : (tensor<2x3x16xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  exec.output "r" %r : tensor<2xi32>
}

// -----

// Ops with other slots, other rows for noise or numbers for it get the window's
// rows.
// CHECK-LABEL: exec.program @stays
// CHECK: %[[OWN:.*]] = mtp.unpack
// CHECK: mtp.probabilities %[[OWN]] of
// CHECK: mtp.top_k %[[OWN]] k 1 noise
// CHECK: mtp.top_k %[[OWN]] k 1 noise
exec.program @stays decode k 2 n 2 to 2 {
  %slots = mtp.slots : tensor<2xi32>
  %other = exec.input "other" : tensor<6xi32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<6xi32>
  %others = mtp.make_rows %other, %tokens : tensor<6xi32>
  %packed, %t, %places = mtp.pack %rows, %tokens : tensor<6xi32>
  %table = mtp.weight "table" : tensor<64x16xf32>
  %l = mtp.embed %t, %table : tensor<6xi32>, tensor<64x16xf32> -> tensor<6x16xf32>
  %own = mtp.unpack %l, %places : tensor<6x16xf32>, tensor<6xi32> -> tensor<6x16xf32>
  %p = mtp.probabilities %own of %other : tensor<6x16xf32>, tensor<6xi32>
  %b, %k = mtp.top_k %own k 1 noise %others : tensor<6x16xf32> -> tensor<6x1xi32>, tensor<6x1xf32>
  %c, %n = mtp.top_k %own k 1 noise %rows number %tokens : tensor<6x16xf32>, tensor<6xi32> -> tensor<6x1xi32>, tensor<6x1xf32>
  exec.output "p" %p : tensor<6x16xf32>
  exec.output "b" %b : tensor<6x1xi32>
  exec.output "c" %c : tensor<6x1xi32>
}
