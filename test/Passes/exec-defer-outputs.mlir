// RUN: mtp-opt %s --exec-defer-outputs --split-input-file | FileCheck %s

// Calls that only an output needs move to the end, with their views. Calls that
// another call or an output of the round needs stay.
// CHECK-LABEL: exec.program @decode
// CHECK: %[[A:.*]] = exec.add %{{.*}}, %{{.*}} : (tensor<4x8xf32>
// CHECK-NEXT: %[[L:.*]] = exec.linear %[[A]]
// CHECK-NEXT: exec.on_request
// CHECK-NEXT: %[[B:.*]] = exec.add %[[A]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = exec.columns %[[B]]
// CHECK-NEXT: %[[D:.*]] = exec.add %[[C]], %[[C]]
// CHECK-NEXT: exec.output "logits" %[[L]]
// CHECK-NEXT: exec.output "seen" %[[D]] for tokens
// CHECK-NEXT: exec.output "both" %[[A]] for tokens
exec.program @decode decode k 1 n 2 to 2 {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<64x8xf32>
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.add %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = exec.columns %b[0 to 4] : tensor<4x8xf32>
  %d = exec.add %c, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %l = exec.linear %a, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  exec.output "logits" %l : tensor<4x64xf32>
  exec.output "seen" %d for tokens : tensor<4x4xf32>
  exec.output "both" %a for tokens : tensor<4x8xf32>
}

// -----

// Nothing in a function is deferred.
// CHECK-LABEL: exec.program @sum
// CHECK-NOT: exec.on_request
exec.program @sum function {
  %x = exec.input "x" : tensor<4x8xf32>
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "a" %a : tensor<4x8xf32>
}

// -----

// A read of a state that a later call writes cannot be deferred; a read of a
// state without a writer can.
exec.state @written : memref<4x8xf32>
exec.state @kept : memref<4x8xf32>
// CHECK-LABEL: exec.program @states
// CHECK-DAG: %[[WRITTEN:.*]] = exec.ref @written
// CHECK-DAG: %[[KEPT:.*]] = exec.ref @kept
// CHECK: exec.read_state %[[WRITTEN]]
// CHECK: exec.write_state
// CHECK: exec.on_request
// CHECK-NEXT: exec.read_state %[[KEPT]]
// CHECK-NEXT: exec.output "early"
exec.program @states decode k 1 n 2 to 2 {
  %slots = exec.input "slots" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x8xf32>
  %written = exec.ref @written : memref<4x8xf32>
  %kept = exec.ref @kept : memref<4x8xf32>
  %a = exec.read_state %written of %slots : (tensor<2xi32>, memref<4x8xf32>) -> tensor<2x8xf32>
  %b = exec.read_state %kept of %slots : (tensor<2xi32>, memref<4x8xf32>) -> tensor<2x8xf32>
  exec.write_state %x to %written of %slots : (tensor<2x8xf32>, tensor<2xi32>, memref<4x8xf32>) -> ()
  exec.output "early" %a for slots : tensor<2x8xf32>
  exec.output "late" %b for slots : tensor<2x8xf32>
}

// -----

// The host may write a state while a round waits for it, so a read before that
// stays. Weights are never written.
exec.state @asked : memref<4x8xf32>
// CHECK-LABEL: exec.program @waits
// CHECK: %[[EARLY:.*]] = exec.read_state
// CHECK: exec.await_host
// CHECK: exec.on_request
// CHECK-NEXT: %[[LATE:.*]] = exec.read_state
// CHECK-NEXT: exec.add %[[EARLY]], %[[LATE]]
// CHECK-NEXT: exec.output "both"
exec.program @waits decode k 1 n 2 to 2 {
  %slots = exec.input "slots" : tensor<2xi32>
  %asked = exec.ref @asked : memref<4x8xf32>
  %a = exec.read_state %asked of %slots : (tensor<2xi32>, memref<4x8xf32>) -> tensor<2x8xf32>
  exec.await_host
  %b = exec.read_state %asked of %slots : (tensor<2xi32>, memref<4x8xf32>) -> tensor<2x8xf32>
  %c = exec.add %a, %b : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  exec.output "both" %c for slots : tensor<2x8xf32>
}
