// RUN: mtp-opt %s --split-input-file --mtp-outline-control | FileCheck %s

// Two programs, one body: one kernel. States that a body stores to are updated,
// states that it only loads are read; a shared state has no extent of slots. An
// index that may be out of range is clamped, others are not.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: exec.kernel @control_0 #exec.control<reads = 4, updates = 1, outputs = 2> {
// CHECK-NEXT: ^bb0(%[[TASK:.*]]: index, %[[SLOTS:.*]]: memref<?xi32>, %[[DRAFTS:.*]]: memref<?x2xi32>, %[[LENGTH:.*]]: memref<4xi32>, %[[ACTIVE:.*]]: memref<4xi32>, %[[WINDOW:.*]]: memref<4x3xi32>, %[[TOKENS:.*]]: memref<?x3xi32>, %[[COUNT:.*]]: memref<?xi64>):
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[ANY:.*]] = memref.load %[[SLOTS]][%[[TASK]]]
// CHECK: %[[CAST:.*]] = arith.index_cast %[[ANY]]
// CHECK: %[[LOW:.*]] = arith.minsi %[[CAST]], %[[C3]]
// CHECK: %[[SLOT:.*]] = arith.maxsi %[[LOW]], %[[C0]]
// CHECK: %[[N:.*]] = memref.load %[[LENGTH]][%[[SLOT]]]
// CHECK: %[[NI:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK: %[[NLOW:.*]] = arith.minsi %[[NI]], %[[C3]]
// CHECK: %[[AT:.*]] = arith.maxsi %[[NLOW]], %[[C0]]
// CHECK: memref.load %[[ACTIVE]][%[[AT]]]
// CHECK: scf.for %[[J:.*]] = %[[C0]] to %[[C2]]
// CHECK-NEXT: %[[D:.*]] = memref.load %[[DRAFTS]][%[[TASK]], %[[J]]]
// CHECK-NEXT: memref.store %[[D]], %[[WINDOW]][%[[SLOT]], %[[J]]]
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[C3]]
// CHECK: memref.store %{{.*}}, %[[TOKENS]][%[[TASK]], %[[I]]]
// CHECK: memref.store %{{.*}}, %[[COUNT]][%[[TASK]]] : memref<?xi64>
// CHECK-NOT: exec.kernel

// CHECK: exec.state @length : memref<4xi32>
mtp.state @length : i32
// CHECK: exec.state @window : memref<4x3xi32> init -1 rebuild never
mtp.state @window[max_k + 1] : i32 init -1 rebuild never
// CHECK: exec.state shared @active : memref<4xi32>
mtp.state shared @active[max_batch] : i32

// CHECK-LABEL: exec.program @two
exec.program @two function {
  // CHECK: %[[S:.*]] = exec.input "slots"
  %slots = exec.input "slots" : tensor<2xi32>
  // CHECK: %[[D:.*]] = exec.input "drafts"
  %drafts = exec.input "drafts" : tensor<2x2xi32>
  // CHECK-DAG: %[[L:.*]] = exec.ref @length
  // CHECK-DAG: %[[A:.*]] = exec.ref @active
  // CHECK-DAG: %[[W:.*]] = exec.ref @window
  // CHECK: %[[R:.*]]:2 = exec.control @control_0 for 2 of %[[S]](%[[D]]) reads(%[[L]], %[[A]]) updates(%[[W]]) : (tensor<2xi32>, tensor<2x2xi32>, memref<4xi32>, memref<4xi32>, memref<4x3xi32>) -> (tensor<2x3xi32>, tensor<2xi64>)
  %t, %c = mtp.per_slot %slots(%drafts) {
  ^bb0(%index: index, %slot: i32, %d: tensor<2xi32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i = mtp.load @length[] : i32
    %n = arith.index_cast %i : i32 to index
    %a = mtp.load @active[%n] : i32
    scf.for %j = %c0 to %c2 step %c1 {
      %v = tensor.extract %d[%j] : tensor<2xi32>
      mtp.store %v, @window[%j] : i32
    }
    %tokens = tensor.splat %a : tensor<3xi32>
    %count = arith.extsi %i : i32 to i64
    mtp.yield %tokens, %count : tensor<3xi32>, i64
  } : (tensor<2xi32>, tensor<2x2xi32>) -> (tensor<2x3xi32>, tensor<2xi64>)
  // CHECK: exec.output "t" %[[R]]#0
  exec.output "t" %t : tensor<2x3xi32>
  exec.output "c" %c : tensor<2xi64>
}

// CHECK-LABEL: exec.program @three
exec.program @three function {
  %slots = exec.input "slots" : tensor<3xi32>
  %drafts = exec.input "drafts" : tensor<3x2xi32>
  // CHECK: exec.control @control_0 for 3 of
  %t, %c = mtp.per_slot %slots(%drafts) {
  ^bb0(%index: index, %slot: i32, %d: tensor<2xi32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i = mtp.load @length[] : i32
    %n = arith.index_cast %i : i32 to index
    %a = mtp.load @active[%n] : i32
    scf.for %j = %c0 to %c2 step %c1 {
      %v = tensor.extract %d[%j] : tensor<2xi32>
      mtp.store %v, @window[%j] : i32
    }
    %tokens = tensor.splat %a : tensor<3xi32>
    %count = arith.extsi %i : i32 to i64
    mtp.yield %tokens, %count : tensor<3xi32>, i64
  } : (tensor<3xi32>, tensor<3x2xi32>) -> (tensor<3x3xi32>, tensor<3xi64>)
  exec.output "t" %t : tensor<3x3xi32>
  exec.output "c" %c : tensor<3xi64>
}
}

// -----

// Divisors, shifts and flags: an op without a defined result gets one, unless a
// constant shows that it is defined.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: exec.kernel @control_0
exec.program @p function {
  %slots = exec.input "slots" : tensor<2xi32>
  %x = exec.input "x" : tensor<2xi32>
  %y = exec.input "y" : tensor<2xi32>
  %r:4 = mtp.per_slot %slots(%x, %y) {
  ^bb0(%index: index, %slot: i32, %a: i32, %b: i32):
    // CHECK-DAG: %[[X:.*]] = memref.load %arg2
    // CHECK-DAG: %[[Y:.*]] = memref.load %arg3
    // CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[Y]], %c0_i32
    // CHECK: %[[SAFE:.*]] = arith.select %[[ZERO]], %c1_i32, %[[Y]]
    // CHECK: arith.divui %[[X]], %[[SAFE]] : i32
    %c7 = arith.constant 7 : i32
    %1 = arith.divui %a, %b exact : i32
    // CHECK: arith.divsi %[[X]], %c7_i32 : i32
    %2 = arith.divsi %a, %c7 : i32
    // CHECK: %[[AMOUNT:.*]] = arith.andi %[[Y]], %c31_i32
    // CHECK: arith.shli %[[X]], %[[AMOUNT]] : i32
    %3 = arith.shli %a, %b overflow<nsw> : i32
    // CHECK: arith.addi %[[X]], %[[Y]] : i32
    %4 = arith.addi %a, %b overflow<nuw> : i32
    mtp.yield %1, %2, %3, %4 : i32, i32, i32, i32
  } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
  exec.output "1" %r#0 : tensor<2xi32>
  exec.output "2" %r#1 : tensor<2xi32>
  exec.output "3" %r#2 : tensor<2xi32>
  exec.output "4" %r#3 : tensor<2xi32>
}
}

// -----

// A module without slots stays unchanged.
// CHECK-LABEL: exec.program @nothing
exec.program @nothing function {
  // CHECK-NEXT: exec.input
  %x = exec.input "x" : tensor<2xi32>
  exec.output "x" %x : tensor<2xi32>
}

// -----

// A loop may carry a tensor from an outer loop, and twice from one initial
// value.
// CHECK: exec.kernel @nested_0
// CHECK-NOT: tensor
// CHECK: memref.store
// CHECK: exec.program @nested
module {
exec.program @nested function {
  %s = exec.input "s" : tensor<2xi32>
  %x = mtp.per_slot %s {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zeros = arith.constant dense<0> : tensor<2xi32>
    %r, %z = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %zeros, %y = %zeros) -> (tensor<2xi32>, tensor<2xi32>) {
      %q = scf.for %v = %c0 to %c2 step %c1 iter_args(%b = %a) -> (tensor<2xi32>) {
        %e = tensor.extract %b[%i] : tensor<2xi32>
        %w = arith.addi %e, %slot : i32
        %b2 = tensor.insert %w into %b[%v] : tensor<2xi32>
        scf.yield %b2 : tensor<2xi32>
      }
      %kept = tensor.extract %a[%c0] : tensor<2xi32>
      %more = tensor.insert %kept into %y[%i] : tensor<2xi32>
      scf.yield %q, %more : tensor<2xi32>, tensor<2xi32>
    }
    %one = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %r) -> (tensor<2xi32>) {
      %q = scf.for %v = %c0 to %c2 step %c1 iter_args(%b = %a) -> (tensor<2xi32>) {
        %b2 = tensor.insert %slot into %b[%v] : tensor<2xi32>
        scf.yield %b2 : tensor<2xi32>
      }
      scf.yield %q : tensor<2xi32>
    }
    %out = arith.addi %one, %z : tensor<2xi32>
    mtp.yield %out : tensor<2xi32>
  } : (tensor<2xi32>) -> tensor<2x2xi32> loc("nested")
  exec.output "x" %x : tensor<2x2xi32>
}
}

// -----

// A loop whose iterations may run in any order becomes one for lanes; its
// results are combined in iteration order.
// CHECK-LABEL: exec.kernel @control_0
// CHECK: %[[R:.*]]:2 = scf.for %[[P:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (index, i32) {
// CHECK: %[[V:.*]] = memref.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<4x9xi32>
// CHECK-DAG: %[[M:.*]] = arith.maxsi %[[A]], %[[P]] : index
// CHECK-DAG: %[[S:.*]] = arith.addi %[[B]], %[[V]] : i32
// CHECK: scf.yield %[[M]], %[[S]] : index, i32
// CHECK-NEXT: } {exec.lanes}
// Inside a condition, too.
// CHECK: scf.if
// CHECK: scf.for
// CHECK: arith.minsi
// CHECK: } {exec.lanes}
module {
exec.state @x : memref<4x9xi32>
exec.state @n : memref<4xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  %y, %z = mtp.per_slot %s {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %n = mtp.load @n[] : i32
    %end = arith.index_cast %n : i32 to index
    %last, %sum = scf.parallel (%p) = (%c0) to (%end) step (%c1) init (%c0, %zero) -> (index, i32) {
      %v = mtp.load @x[%p] : i32
      scf.reduce(%p, %v : index, i32) {
      ^bb0(%a: index, %b: index):
        %m = arith.maxsi %a, %b : index
        scf.reduce.return %m : index
      }, {
      ^bb0(%a: i32, %b: i32):
        %t = arith.addi %a, %b : i32
        scf.reduce.return %t : i32
      }
    }
    %li = arith.index_cast %last : index to i32
    %more = arith.cmpi sgt, %sum, %zero : i32
    %w = scf.if %more -> (i32) {
      %least = scf.parallel (%p) = (%c0) to (%end) step (%c1) init (%zero) -> i32 {
        %v = mtp.load @x[%p] : i32
        scf.reduce(%v : i32) {
        ^bb0(%a: i32, %b: i32):
          %m = arith.minsi %a, %b : i32
          scf.reduce.return %m : i32
        }
      }
      scf.yield %least : i32
    } else {
      scf.yield %sum : i32
    }
    mtp.yield %li, %w : i32, i32
  } : (tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  exec.output "y" %y : tensor<2xi32>
  exec.output "z" %z : tensor<2xi32>
}
}

// -----

// A kernel is named after its location; joined bodies contribute each name
// once.
// CHECK-DAG: exec.kernel @look_up_0 #exec.control<
// CHECK-DAG: exec.kernel @look_up_1 #exec.control<
// CHECK-DAG: exec.kernel @control_0 #exec.control<
module {
exec.state @n : memref<2xi32>
exec.program @p function {
  %s = exec.input "s" : tensor<2xi32>
  mtp.per_slot %s {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @n[] : i32
    mtp.yield
  } : (tensor<2xi32>) -> () loc("look-up")
  %x = mtp.per_slot %s {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @n[] : i32
    mtp.yield %n : i32
  } : (tensor<2xi32>) -> tensor<2xi32> loc("look-up")
  mtp.per_slot %s(%x) {
  ^bb0(%index: index, %slot: i32, %y: i32):
    mtp.store %y, @n[] : i32
    mtp.yield
  } : (tensor<2xi32>, tensor<2xi32>) -> ()
}
}

// -----

// Unpacked groups are read from the packed rows: a padding row reads as zeros.
// Another call of the body with unpacked rows has a separate kernel.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK: exec.kernel @control_2
// CHECK: %[[MINUS:.*]] = arith.constant -1 : i32
// CHECK: scf.if
// CHECK: memref.load %{{.*}} : memref<?x3x2xi32>
// CHECK: scf.yield %[[MINUS]] : i32
// CHECK: exec.kernel @control_1 #exec.control<reads = 2, updates = 0, outputs = 1>
// CHECK-LABEL: exec.kernel @control_0 #exec.control<reads = 3, updates = 0, outputs = 1> {
// CHECK-NEXT: ^bb0(%[[TASK:.*]]: index, %{{.*}}: memref<?xi32>, %[[PLACES:.*]]: memref<?x3xi32>, %[[X:.*]]: memref<?x3x16xf32>, %[[Y:.*]]: memref<?xf32>):
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0.0
// CHECK: %[[READ:.*]] = memref.load %[[PLACES]][%[[TASK]], %[[C1]]]
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[READ]] : i32 to index
// CHECK: %[[LIVES:.*]] = arith.cmpi sge, %[[PLACE]], %[[C0]]
// CHECK: %[[ROW:.*]] = arith.maxsi %[[PLACE]], %[[C0]]
// CHECK: %[[GROUP:.*]] = arith.divui %[[ROW]], %[[C3]]
// CHECK: %[[NEAR:.*]] = exec.clamp_task %[[GROUP]]
// CHECK: %[[IN:.*]] = arith.remui %[[ROW]], %[[C3]]
// CHECK: %[[OWN:.*]] = scf.if %[[LIVES]]
// CHECK-NEXT: %[[V:.*]] = memref.load %[[X]][%[[NEAR]], %[[IN]], %[[C2]]]
// CHECK-NEXT: scf.yield %[[V]]
// CHECK: scf.yield %[[NONE]]
// CHECK: memref.store %[[OWN]], %[[Y]][%[[TASK]]]
// CHECK-LABEL: exec.program @packed
exec.program @packed function {
  %slots = exec.input "slots" : tensor<2xi32>
  // CHECK: %[[L:.*]] = exec.input "l"
  %l = exec.input "l" : tensor<8x16xf32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %more = exec.input "more" : tensor<2xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<6xi32>
  %prompts = mtp.make_rows %more, %more : tensor<2xi32>
  // CHECK: %{{.*}}, %{{.*}}, %[[P:.*]], %{{.*}} = mtp.pack
  %p, %t, %places, %theirs = mtp.pack %rows, %tokens prompts %prompts, %more : tensor<6xi32>, tensor<2xi32> -> tensor<8xi32>
  %own = mtp.unpack %l, %places : tensor<8x16xf32>, tensor<6xi32> -> tensor<6x16xf32>
  %groups = mtp.reshape %own : tensor<6x16xf32> -> tensor<2x3x16xf32>
  // CHECK: %[[G:.*]] = mtp.reshape %[[P]] : tensor<6xi32> -> tensor<2x3xi32>
  // CHECK: exec.control @control_0 for 2 of %{{.*}}(%[[G]]) packed(%[[L]]) : (tensor<2xi32>, tensor<2x3xi32>, tensor<8x16xf32>) -> tensor<2xf32>
  %y = mtp.per_slot %slots(%groups) {
  ^bb0(%index: index, %slot: i32, %x: tensor<3x16xf32>):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %v = tensor.extract %x[%c1, %c2] : tensor<3x16xf32>
    mtp.yield %v : f32
  } : (tensor<2xi32>, tensor<2x3x16xf32>) -> tensor<2xf32>
  exec.output "y" %y : tensor<2xf32>
}

// If a budget leaves fewer packed rows than windows have, they are unpacked.
// CHECK-LABEL: exec.program @few
exec.program @few function {
  %slots = exec.input "slots" : tensor<2xi32>
  %l = exec.input "l" : tensor<4x16xf32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<6xi32>
  %p, %t, %places = mtp.pack %rows, %tokens at_most 4 : tensor<6xi32> -> tensor<4xi32>
  // CHECK: %[[U:.*]] = mtp.unpack
  %own = mtp.unpack %l, %places : tensor<4x16xf32>, tensor<6xi32> -> tensor<6x16xf32>
  // CHECK: %[[G:.*]] = mtp.reshape %[[U]]
  %groups = mtp.reshape %own : tensor<6x16xf32> -> tensor<2x3x16xf32>
  // CHECK: exec.control @control_1 for 2 of %{{.*}}(%[[G]]) : (tensor<2xi32>, tensor<2x3x16xf32>) -> tensor<2xf32>
  %y = mtp.per_slot %slots(%groups) {
  ^bb0(%index: index, %slot: i32, %x: tensor<3x16xf32>):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %v = tensor.extract %x[%c1, %c2] : tensor<3x16xf32>
    mtp.yield %v : f32
  } : (tensor<2xi32>, tensor<2x3x16xf32>) -> tensor<2xf32>
  exec.output "y" %y : tensor<2xf32>
}
// Numbers of a padding row are -1, like unpacked ones.
// CHECK-LABEL: exec.program @numbers
exec.program @numbers function {
  %slots = exec.input "slots" : tensor<2xi32>
  %tokens = exec.input "tokens" : tensor<6xi32>
  %best = exec.input "best" : tensor<6x2xi32>
  %rows = mtp.make_rows %tokens, %tokens : tensor<6xi32>
  %p, %t, %places = mtp.pack %rows, %tokens : tensor<6xi32>
  %own = mtp.unpack %best, %places : tensor<6x2xi32>, tensor<6xi32> -> tensor<6x2xi32>
  %groups = mtp.reshape %own : tensor<6x2xi32> -> tensor<2x3x2xi32>
  // CHECK: exec.control @control_2 for 2 of %{{.*}}(%{{.*}}) packed(%{{.*}}) : (tensor<2xi32>, tensor<2x3xi32>, tensor<6x2xi32>) -> tensor<2xi32>
  %y = mtp.per_slot %slots(%groups) {
  ^bb0(%index: index, %slot: i32, %x: tensor<3x2xi32>):
    %c1 = arith.constant 1 : index
    %v = tensor.extract %x[%c1, %c1] : tensor<3x2xi32>
    mtp.yield %v : i32
  } : (tensor<2xi32>, tensor<2x3x2xi32>) -> tensor<2xi32>
  exec.output "y" %y : tensor<2xi32>
}

// Rows at places that are not a pack's are unpacked: they may be anywhere.
// CHECK-LABEL: exec.program @anywhere
exec.program @anywhere function {
  %slots = exec.input "slots" : tensor<2xi32>
  %l = exec.input "l" : tensor<8x16xf32>
  %places = exec.input "places" : tensor<6xi32>
  // CHECK: mtp.unpack
  %own = mtp.unpack %l, %places : tensor<8x16xf32>, tensor<6xi32> -> tensor<6x16xf32>
  %groups = mtp.reshape %own : tensor<6x16xf32> -> tensor<2x3x16xf32>
  // CHECK: exec.control @control_1 for 2 of
  %y = mtp.per_slot %slots(%groups) {
  ^bb0(%index: index, %slot: i32, %x: tensor<3x16xf32>):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %v = tensor.extract %x[%c1, %c2] : tensor<3x16xf32>
    mtp.yield %v : f32
  } : (tensor<2xi32>, tensor<2x3x16xf32>) -> tensor<2xf32>
  exec.output "y" %y : tensor<2xf32>
}
}
