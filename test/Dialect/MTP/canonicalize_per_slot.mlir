// RUN: mtp-opt %s --split-input-file --canonicalize | FileCheck %s

mtp.state @length : i32

// Unused, repeated and forwarded values are removed.
// CHECK-LABEL: func.func @values
// CHECK-SAME: (%[[SLOTS:.*]]: tensor<?xi32>, %[[A:.*]]: tensor<?xi32>, %[[B:.*]]: tensor<?x2xi32>, %{{.*}}: tensor<?xi32>)
func.func @values(%slots: tensor<?xi32>, %a: tensor<?xi32>, %b: tensor<?x2xi32>, %unused: tensor<?xi32>)
    -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) {
  // CHECK: %[[SUM:.*]] = mtp.per_slot %[[SLOTS]](%[[A]]) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %[[SLOT:.*]]: i32, %[[X:.*]]: i32):
  %r:5 = mtp.per_slot %slots(%a, %unused, %a, %b, %slots) {
  ^bb0(%i: index, %slot: i32, %x: i32, %u: i32, %y: i32, %z: tensor<2xi32>, %s: i32):
    // CHECK-NEXT: %[[T:.*]] = arith.addi %[[X]], %[[X]] : i32
    %sum = arith.addi %x, %y : i32
    // CHECK-NEXT: arith.addi %[[T]], %[[SLOT]] : i32
    %all = arith.addi %sum, %s : i32
    // CHECK-NEXT: mtp.yield %{{.*}} : i32
    mtp.yield %all, %sum, %all, %slot, %z : i32, i32, i32, i32, tensor<2xi32>
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<?xi32>)
      -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>)
  // CHECK: return %[[SUM]], %[[SUM]], %[[SLOTS]], %[[B]]
  return %r#0, %r#2, %r#3, %r#4 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>
}

// -----

mtp.state @length : i32

// CHECK-LABEL: func.func @reads_only
func.func @reads_only(%slots: tensor<2xi32>) {
  // CHECK-NEXT: return
  mtp.per_slot %slots {
  ^bb0(%i: index, %slot: i32):
    %n = mtp.load @length[] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// CHECK-LABEL: func.func @writes
func.func @writes(%slots: tensor<2xi32>) {
  // CHECK-NEXT: mtp.per_slot
  mtp.per_slot %slots {
  ^bb0(%i: index, %slot: i32):
    mtp.store %slot, @length[] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// Casts move out of the body if the types inside become static.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[SLOTS:.*]]: tensor<2xi32>, %[[A:.*]]: tensor<2x3xi32>)
func.func @casts(%slots: tensor<2xi32>, %a: tensor<2x3xi32>) -> tensor<2x?xi32> {
  %d = tensor.cast %a : tensor<2x3xi32> to tensor<2x?xi32>
  // CHECK: %[[R:.*]] = mtp.per_slot %[[SLOTS]](%[[A]]) {
  // CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %{{.*}}: tensor<3xi32>):
  %r = mtp.per_slot %slots(%d) {
  ^bb0(%i: index, %slot: i32, %x: tensor<?xi32>):
    // CHECK: %[[V:.*]] = tensor.extract %{{.*}}[%{{.*}}] : tensor<3xi32>
    // CHECK: tensor.splat %{{.*}} : tensor<4xi32>
    %c1 = arith.constant 1 : index
    %v = tensor.extract %x[%c1] : tensor<?xi32>
    %t = tensor.splat %v : tensor<4xi32>
    %u = tensor.cast %t : tensor<4xi32> to tensor<?xi32>
    // CHECK: mtp.yield %{{.*}} : tensor<4xi32>
    mtp.yield %u : tensor<?xi32>
  } : (tensor<2xi32>, tensor<2x?xi32>) -> tensor<2x?xi32>
  // CHECK: } : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x4xi32>
  // CHECK: %[[C:.*]] = tensor.cast %[[R]] : tensor<2x4xi32> to tensor<2x?xi32>
  // CHECK: return %[[C]]
  return %r : tensor<2x?xi32>
}

// -----

mtp.state @length : i32

// CHECK-LABEL: func.func @empty
func.func @empty(%slots: tensor<2xi32>, %drafts: tensor<2x0xi32>) -> tensor<2x1xi32> {
  // CHECK-NEXT: mtp.per_slot %{{[a-z0-9]*}} {
  %r = mtp.per_slot %slots(%drafts) {
  ^bb0(%i: index, %slot: i32, %d: tensor<0xi32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tensor.dim %d, %c0 : tensor<0xi32>
    %w = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %slot) -> i32 {
      %v = tensor.extract %d[%j] : tensor<0xi32>
      scf.yield %v : i32
    }
    %t = tensor.from_elements %w : tensor<1xi32>
    // CHECK-NOT: scf.for
    mtp.yield %t : tensor<1xi32>
  } : (tensor<2xi32>, tensor<2x0xi32>) -> tensor<2x1xi32>
  return %r : tensor<2x1xi32>
}

// -----

// Of two equal results the first may have no uses.
// CHECK-LABEL: func.func @first_unused
// CHECK-SAME: (%[[SLOTS:.*]]: tensor<?xi32>, %[[A:.*]]: tensor<?xi32>)
func.func @first_unused(%slots: tensor<?xi32>, %a: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) {
  // CHECK: %[[SUM:.*]] = mtp.per_slot %[[SLOTS]](%[[A]])
  %r:3 = mtp.per_slot %slots(%a) {
  ^bb0(%i: index, %slot: i32, %x: i32):
    %sum = arith.addi %x, %slot : i32
    mtp.yield %sum, %sum, %sum : i32, i32, i32
  } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
  // CHECK: return %[[SUM]], %[[SUM]]
  return %r#1, %r#2 : tensor<?xi32>, tensor<?xi32>
}
