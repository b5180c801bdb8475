// RUN: mtp-opt %s --split-input-file --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --split-input-file --exec-bufferize | FileCheck %s --check-prefix=BUFFERS
// RUN: mtp-opt %s --split-input-file --exec-form-stages=solo-elements=0 | FileCheck %s --check-prefix=STAGES

// CHECK-LABEL: exec.kernel @advance #exec.control<reads = 2, updates = 1, outputs = 1> {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: memref<?xi32>, %{{.*}}: memref<?x3xi32>, %{{.*}}: memref<4xi32>, %{{.*}}: memref<?x3xi32>):
exec.kernel @advance #exec.control<reads = 2, updates = 1, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %x: memref<?x3xi32>, %l: memref<4xi32>, %y: memref<?x3xi32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // CHECK: memref.alloca() : memref<3xi32>
  %own = memref.alloca() : memref<3xi32>
  scf.for %j = %c0 to %c3 step %c1 {
    %v = memref.load %x[%i, %j] : memref<?x3xi32>
    memref.store %v, %own[%j] : memref<3xi32>
    memref.store %v, %y[%i, %j] : memref<?x3xi32>
  }
  %n = memref.load %own[%c0] : memref<3xi32>
  memref.store %n, %l[%c0] : memref<4xi32>
}
exec.kernel @count #exec.control<reads = 2, updates = 0, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %l: memref<4xi32>, %y: memref<?xi32>):
}
// CHECK: exec.state @length : memref<4xi32>
exec.state @length : memref<4xi32>

// Calls for the same slots need no barrier between them: each thread updates
// the rows that it read. A projection reads the rows of other threads.
// STAGES-LABEL: exec.program @calls
// STAGES: exec.control @advance{{.*}} updates(%{{[0-9a-z]+}}) : 
// STAGES: exec.control @count{{.*}} : 
// STAGES: exec.control @advance{{.*}} : 
// STAGES: exec.control @advance for 2 of %{{.*}}(%{{.*}}) updates(%{{[0-9a-z]+}}) : 
// STAGES: exec.schedule from 0 {{\[\[}}all, all, all], [all]]
// BUFFERS-LABEL: exec.program @calls
// BUFFERS: %[[S:.*]] = exec.alloc input "slots" : memref<2xi32>
// BUFFERS: %[[X:.*]] = exec.alloc input "x" : memref<2x3xi32>
// BUFFERS: %[[L:.*]] = exec.ref @length
// BUFFERS: %[[Y:.*]] = exec.alloc : memref<2x3xi32>
// BUFFERS-NEXT: exec.dispatch @advance(%[[S]], %[[X]], %[[L]], %[[Y]]) params [2] offsets [0, 0, 0, 0] outputs 1 :
// BUFFERS: %[[C:.*]] = exec.alloc : memref<2xi32>
// BUFFERS-NEXT: exec.dispatch @count(%[[S]], %[[L]], %[[C]]) params [2] offsets [0, 0, 0] outputs 1 :
// CHECK-LABEL: exec.program @calls
exec.program @calls function {
  %s = exec.input "slots" : tensor<2xi32>
  %t = exec.input "others" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x3xi32>
  %l = exec.ref @length : memref<4xi32>
  // CHECK: exec.control @advance for 2 of %{{.*}}(%{{.*}}) updates(%{{.*}}) : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2x3xi32>
  %y = exec.control @advance for 2 of %s(%x) updates(%l)
    : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2x3xi32>
  // CHECK: exec.control @count for 2 of %{{.*}} reads(%{{.*}}) : (tensor<2xi32>, memref<4xi32>) -> tensor<2xi32>
  %c = exec.control @count for 2 of %s reads(%l) : (tensor<2xi32>, memref<4xi32>) -> tensor<2xi32>
  // CHECK: exec.control @advance for 2 of %{{.*}}(%{{.*}}) updates(%{{.*}}) :
  %z = exec.control @advance for 2 of %s(%y) updates(%l)
    : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2x3xi32>
  %w = exec.control @advance for 2 of %t(%z) updates(%l)
    : (tensor<2xi32>, tensor<2x3xi32>, memref<4xi32>) -> tensor<2x3xi32>
  exec.output "w" %w : tensor<2x3xi32>
  exec.output "c" %c : tensor<2xi32>
}

// -----

// `slots` may be a whole state; the call is for its first slots.
// CHECK-LABEL: exec.program @some
exec.kernel @count #exec.control<reads = 1, updates = 0, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %y: memref<?xi32>):
}
exec.state shared @active : memref<4xi32>
exec.program @some function {
  %a = exec.ref @active : memref<4xi32>
  // CHECK: exec.control @count for 3 of %{{.*}} : (memref<4xi32>) -> tensor<3xi32>
  %c = exec.control @count for 3 of %a : (memref<4xi32>) -> tensor<3xi32>
  exec.output "c" %c : tensor<3xi32>
}

// -----

// A task may read packed rows of other tasks, so these are complete before.
// CHECK-LABEL: exec.kernel @others
exec.kernel @others #exec.control<reads = 3, updates = 0, outputs = 1> {
^bb0(%i: index, %s: memref<?xi32>, %p: memref<?xi32>, %x: memref<?x8xf32>, %y: memref<?xf32>):
  %c0 = arith.constant 0 : index
  %at = memref.load %p[%i] : memref<?xi32>
  %row = arith.index_cast %at : i32 to index
  // CHECK: %[[NEAR:.*]] = exec.clamp_task %{{.*}} : index
  %near = exec.clamp_task %row : index
  // CHECK: memref.load %{{.*}}[%[[NEAR]], %{{.*}}]
  %v = memref.load %x[%near, %c0] : memref<?x8xf32>
  memref.store %v, %y[%i] : memref<?xf32>
}
// STAGES-LABEL: exec.program @packed
// STAGES: exec.silu
// STAGES: exec.gather_columns
// STAGES: exec.control @others
// STAGES: exec.schedule from 0 {{\[\[}}all], [all, all]]
exec.program @packed function {
  %s = exec.input "slots" : tensor<2xi32>
  %p = exec.input "places" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x8xf32>
  %c = exec.input "columns" : tensor<2x1xi32>
  %u = exec.silu %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %g = exec.gather_columns %u[%p], %c : (tensor<2x8xf32>, tensor<2xi32>, tensor<2x1xi32>) -> tensor<2x1xf32>
  %y = exec.control @others for 2 of %s(%p) packed(%u) : (tensor<2xi32>, tensor<2xi32>, tensor<2x8xf32>) -> tensor<2xf32>
  exec.output "g" %g : tensor<2x1xf32>
  exec.output "y" %y : tensor<2xf32>
}

// Packed operands may have more rows than there are tasks.
// BUFFERS-LABEL: exec.program @more
// BUFFERS: exec.dispatch @others(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) params [2] offsets [0, 0, 0, 0] outputs 1 : memref<2xi32>, memref<2xi32>, memref<3x8xf32>, memref<2xf32>
// CHECK-LABEL: exec.program @more
exec.program @more function {
  %s = exec.input "slots" : tensor<2xi32>
  %p = exec.input "places" : tensor<2xi32>
  %x = exec.input "x" : tensor<3x8xf32>
  // CHECK: exec.control @others for 2 of %{{.*}}(%{{.*}}) packed(%{{.*}}) : (tensor<2xi32>, tensor<2xi32>, tensor<3x8xf32>) -> tensor<2xf32>
  %y = exec.control @others for 2 of %s(%p) packed(%x) : (tensor<2xi32>, tensor<2xi32>, tensor<3x8xf32>) -> tensor<2xf32>
  exec.output "y" %y : tensor<2xf32>
}
