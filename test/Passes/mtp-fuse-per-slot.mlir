// RUN: mtp-opt %s --mtp-fuse-per-slot --split-input-file | FileCheck %s

// The first body's results are read only after the second: both run at the
// second's place, and values between them stay in the body.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
// CHECK-LABEL: mtp.round @sinks
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[E:.*]] = mtp.embed %[[SLOTS]]
// CHECK: %[[T:.*]] = mtp.argmax %[[E]]
// CHECK: mtp.per_slot %[[SLOTS]](%[[T]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[TOKEN:.*]]: i32):
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: %[[SUM:.*]] = arith.addi %[[N]], %[[TOKEN]]
// CHECK: mtp.store %[[SUM]], @length[]
// CHECK: mtp.yield{{$}}
// CHECK-NOT: mtp.per_slot
mtp.round @sinks k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %n = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    mtp.yield %n : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  %e = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %t = mtp.argmax %e : tensor<?x16xf32> -> tensor<?xi32>
  mtp.per_slot %slots(%t, %n) {
  ^bb0(%index: index, %slot: i32, %token: i32, %n0: i32):
    %sum = arith.addi %n0, %token : i32
    mtp.store %sum, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> ()
}

// A result is read between: the second moves up, as it needs no value made
// there.
// CHECK-LABEL: mtp.prefill @rises
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[BOTH:.*]]:2 = mtp.per_slot %[[SLOTS]] {
// CHECK: %[[N:.*]] = mtp.load @length[]
// CHECK: %[[NEXT:.*]] = arith.addi %[[N]]
// CHECK: mtp.yield %[[N]], %[[NEXT]] : i32, i32
// CHECK: %[[E:.*]] = mtp.embed %[[BOTH]]#0
// CHECK: %[[T:.*]] = mtp.argmax %[[E]]
// CHECK: mtp.output "a" %[[T]]
// CHECK: mtp.output "b" %[[BOTH]]#1
mtp.prefill @rises k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %n = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    mtp.yield %n : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  %e = mtp.embed %n, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %t = mtp.argmax %e : tensor<?x16xf32> -> tensor<?xi32>
  %next = mtp.per_slot %slots(%n) {
  ^bb0(%index: index, %slot: i32, %n0: i32):
    %one = arith.constant 1 : i32
    %m = arith.addi %n0, %one : i32
    mtp.yield %m : i32
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  mtp.output "a" %t : tensor<?xi32>
  mtp.output "b" %next : tensor<?xi32>
}
}

// -----

// Three in a row become one.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.state @accepted : i32
// CHECK-LABEL: mtp.round @three
// CHECK-COUNT-1: mtp.per_slot
// CHECK-NOT: mtp.per_slot
// The order of the stores is kept.
// CHECK: mtp.store %{{.*}}, @accepted[]
// CHECK: mtp.load @accepted[]
// CHECK: mtp.store %{{.*}}, @length[]
mtp.round @three k 0 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @accepted[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %a = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %a = mtp.load @accepted[] : i32
    mtp.yield %a : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  mtp.per_slot %slots(%a) {
  ^bb0(%index: index, %slot: i32, %n: i32):
    mtp.store %n, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?xi32>) -> ()
}
}

// -----

// A result is read between, and the second needs a value made there.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
// CHECK-LABEL: mtp.round @between
// CHECK: mtp.per_slot
// CHECK: mtp.argmax
// CHECK: mtp.per_slot
mtp.round @between k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x16xf32>
  %n = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    mtp.yield %n : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  %e = mtp.embed %n, %w : tensor<?xi32>, tensor<16x16xf32> -> tensor<?x16xf32>
  %t = mtp.argmax %e : tensor<?x16xf32> -> tensor<?xi32>
  mtp.per_slot %slots(%t) {
  ^bb0(%index: index, %slot: i32, %token: i32):
    mtp.store %token, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>, tensor<?xi32>) -> ()
}
}

// -----

// An op that reads or writes a state of both bodies stays between them; bodies
// move across accesses to another state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.state @hidden[8] : f32
// CHECK-LABEL: mtp.round @states
// CHECK: mtp.per_slot
// CHECK: mtp.store %{{.*}}, @hidden[
// CHECK: mtp.read_state
// CHECK: mtp.per_slot
// CHECK: mtp.store %{{.*}}, @hidden[
// CHECK: mtp.write_state
// CHECK: mtp.per_slot
// CHECK: mtp.store %{{.*}}, @hidden[
mtp.round @states k 0 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    mtp.store %one, @hidden[%c0] : f32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %h = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    mtp.store %one, @hidden[%c1] : f32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  mtp.write_state %h, @hidden of %slots : tensor<?x8xf32>, tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c2 = arith.constant 2 : index
    %one = arith.constant 1.0 : f32
    mtp.store %one, @hidden[%c2] : f32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}

// CHECK-LABEL: mtp.round @apart
// CHECK: mtp.read_state
// CHECK: mtp.write_state
// CHECK: mtp.per_slot
// CHECK: mtp.store %{{.*}}, @length[]
// CHECK: mtp.store %{{.*}}, @length[]
// CHECK-NOT: mtp.per_slot
mtp.round @apart k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %h = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  mtp.write_state %h, @hidden of %slots : tensor<?x8xf32>, tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    %two = arith.addi %n, %n : i32
    mtp.store %two, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}
// -----

// Bodies for other slots stay separate.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
// CHECK-LABEL: mtp.round @others
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: %[[NEXT:.*]] = mtp.per_slot %[[SLOTS]] {
// CHECK: mtp.per_slot %[[NEXT]] {
mtp.round @others k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %next = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %one = arith.constant 1 : i32
    %m = arith.addi %slot, %one : i32
    mtp.yield %m : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  mtp.per_slot %next {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// A body is simplified.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
// CHECK-LABEL: mtp.round @tidy
// CHECK: mtp.per_slot
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[C:.*]] = arith.constant 5 : i32
// CHECK-NEXT: mtp.store %[[C]], @length[]
// CHECK-NEXT: mtp.yield
mtp.round @tidy k 0 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %sum = arith.addi %two, %three : i32
    %yes = arith.constant true
    %n = scf.if %yes -> i32 {
      scf.yield %sum : i32
    } else {
      scf.yield %slot : i32
    }
    mtp.store %n, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// Bodies are not joined across the point at which the host may write states,
// even if they touch no common state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.state @most : i32 input
// CHECK-LABEL: mtp.round @stops
// CHECK: %[[D:.*]] = mtp.per_slot
// CHECK: mtp.await_host %[[D]] : tensor<?x1xi32>
// CHECK: mtp.per_slot
mtp.round @stops k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %d = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    %own = tensor.from_elements %n : tensor<1xi32>
    mtp.yield %own : tensor<1xi32>
  } : (tensor<?xi32>) -> tensor<?x1xi32>
  mtp.await_host %d : tensor<?x1xi32>
  %m = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @most[] : i32
    mtp.yield %n : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  mtp.output "tokens" %m : tensor<?xi32>
}
}
