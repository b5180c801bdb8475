// RUN: mtp-opt %s --mtp-expand-uniform | FileCheck %s

// The slot's seed is the key, and the counter is the position, 2, the number
// and 0; ten rounds, of which the first is checked.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK: mtp.state @sampling[8] : i32
// CHECK-LABEL: func.func @f
// CHECK: ^bb0(%{{.*}}: index, %[[SLOT:.*]]: i32, %[[AT:.*]]: i32):
// CHECK-DAG: %[[LOW:.*]] = mtp.load @sampling[%c0
// CHECK-DAG: %[[HIGH:.*]] = mtp.load @sampling[%c1
// CHECK: %[[M0:.*]] = arith.constant -766435501 : i32
// CHECK: %[[LL:.*]], %[[LH:.*]] = arith.mului_extended %[[M0]], %[[AT]] : i32
// CHECK: %[[M1:.*]] = arith.constant -845247145 : i32
// CHECK: %[[RL:.*]], %[[RH:.*]] = arith.mului_extended %[[M1]], %[[SLOT]] : i32
// CHECK: %[[X:.*]] = arith.xori %[[RH]], %{{.*}} : i32
// CHECK: arith.xori %[[X]], %[[LOW]] : i32
// CHECK: %[[Y:.*]] = arith.xori %[[LH]], %{{.*}} : i32
// CHECK: arith.xori %[[Y]], %[[HIGH]] : i32
// CHECK: %[[W0:.*]] = arith.constant -1640531527 : i32
// CHECK: arith.addi %[[LOW]], %[[W0]] : i32
// CHECK: %[[W1:.*]] = arith.constant -1150833019 : i32
// CHECK: arith.addi %[[HIGH]], %[[W1]] : i32
// CHECK-COUNT-18: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: %[[UPPER:.*]] = arith.shrui %{{.*}}, %{{.*}} : i32
// CHECK: %[[F:.*]] = arith.uitofp %[[UPPER]] : i32 to f32
// CHECK: %[[UNIT:.*]] = arith.constant 5.96046448E-8 : f32
// CHECK: arith.mulf %[[F]], %[[UNIT]] : f32
// CHECK-NOT: mtp.uniform
func.func @f(%slots: tensor<2xi32>, %positions: tensor<2xi32>) -> tensor<2xf32> {
  %u = mtp.per_slot %slots(%positions) {
  ^bb0(%index: index, %slot: i32, %at: i32):
    %x = mtp.uniform %at, %slot
    mtp.yield %x : f32
  } : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xf32>
  return %u : tensor<2xf32>
}
}
