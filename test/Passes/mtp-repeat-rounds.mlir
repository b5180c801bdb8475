// RUN: mtp-opt %s --mtp-repeat-rounds --split-input-file | FileCheck %s

// After a round: its tokens go into the ring's entry, the budget and the rounds
// are counted, and each slot determines whether another round follows. A
// prefill is unchanged.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-DAG: mtp.state @loop[8] : i32
// CHECK-DAG: mtp.state @stop_tokens[8] : i32 init -1
// CHECK-DAG: mtp.state @ring[32, max_k + 2] : i32
// CHECK-LABEL: mtp.round @generate
// CHECK: %[[SLOTS:.*]] = mtp.slots
// CHECK: mtp.per_slot %[[SLOTS]] {
// CHECK: mtp.store %{{.*}}, @out_count[]
// CHECK: %[[AGAIN:.*]] = mtp.per_slot %[[SLOTS]] {
// The entry is that of the round's number.
// CHECK: %[[ROUND:.*]] = mtp.load @loop[
// CHECK: %[[COUNT:.*]] = mtp.load @out_count[]
// CHECK: %[[WAS:.*]] = mtp.load @loop[
// CHECK: %[[DEAD:.*]] = arith.cmpi ne, %[[WAS]]
// A sequence that has ended puts out nothing.
// CHECK: %[[KEPT:.*]] = arith.select %[[DEAD]], %{{.*}}, %[[COUNT]]
// CHECK: mtp.store %[[KEPT]], @ring[
// CHECK: scf.for
// CHECK: %[[TOKEN:.*]] = mtp.load @out_tokens[
// CHECK: %[[OUT:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNT]]
// CHECK: mtp.store %[[TOKEN]], @ring[
// CHECK: arith.cmpi slt, %[[TOKEN]]
// CHECK: scf.for
// CHECK: %[[STOP:.*]] = mtp.load @stop_tokens[
// CHECK: arith.cmpi eq, %[[TOKEN]], %[[STOP]]
// CHECK: arith.andi %[[OUT]]
// CHECK: mtp.store %{{.*}}, @loop[
// CHECK: mtp.store %{{.*}}, @loop[
// CHECK: mtp.store %{{.*}}, @loop[
// CHECK: mtp.load @length[]
// The next round needs two positions.
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// At the context's end there are fewer.
// CHECK: %[[NEXT:.*]] = arith.minsi %{{.*}}, %[[TWO]]
// CHECK: %[[FULL:.*]] = arith.cmpi slt, %{{.*}}, %[[NEXT]]
// Without pages no slot goes on, whether the sequence has ended or not.
// CHECK: %[[YIELDS:.*]] = arith.andi
// CHECK: %[[ENDS:.*]] = arith.ori %[[FULL]], %[[YIELDS]]
// CHECK: %[[STOPS:.*]] = arith.ori %{{.*}}, %[[ENDS]]
// CHECK: %[[WISH:.*]] = arith.select
// CHECK: %[[SAYS:.*]] = arith.select %[[STOPS]], %{{.*}}, %[[WISH]]
// CHECK: mtp.yield %[[SAYS]] : i32
// CHECK: mtp.output "again" %[[AGAIN]] : tensor<?xi32>
mtp.state @length : i32
mtp.state @out_tokens[max_k + 1] : i32
mtp.state @out_count : i32
mtp.round @generate k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @out_count[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
// CHECK-LABEL: mtp.prefill
// CHECK-NOT: mtp.output "again"
mtp.prefill @prompt k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @out_count[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// The number of drafts of the round goes into the ring, after the tokens: -1
// for a missing draft. The output is removed.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: mtp.round @some
// CHECK: %[[D:.*]] = mtp.per_slot
// CHECK-NOT: mtp.output "drafted"
// CHECK: mtp.per_slot %{{.*}}(%[[D]]) {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %[[DRAFTED:.*]]: i32):
// CHECK: %[[COUNT:.*]] = mtp.load @out_count[]
// CHECK: scf.for
// CHECK: %[[TOKEN:.*]] = mtp.load @out_tokens[
// CHECK: %[[OUT:.*]] = arith.cmpi slt, %[[PLACE:.*]], %[[COUNT]]
// CHECK: %[[DRAFT:.*]] = arith.cmpi sle, %[[PLACE]], %[[DRAFTED]]
// CHECK: %[[ANY:.*]] = arith.ori %[[OUT]], %[[DRAFT]]
// CHECK: %[[NONE:.*]] = arith.constant -1
// CHECK: %[[KEPT:.*]] = arith.select %[[ANY]], %[[TOKEN]], %[[NONE]]
// CHECK: mtp.store %[[KEPT]], @ring[
// CHECK: mtp.output "again"
// CHECK-NOT: mtp.output "drafted"
mtp.round @some k 3 {
  %slots = mtp.slots : tensor<?xi32>
  %drafted = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.yield %slot : i32
  } : (tensor<?xi32>) -> tensor<?xi32>
  mtp.output "drafted" %drafted : tensor<?xi32>
}
}

// -----

// Another round needs pages for all nodes, k + 1 or more.
// CHECK-LABEL: mtp.round @deep k 2 nodes 5 {
// CHECK: %[[REST:.*]] = arith.subi
// CHECK: %[[FIVE:.*]] = arith.constant 5 : i32
// CHECK: arith.minsi %{{.*}}, %[[FIVE]] : i32
// CHECK: mtp.output "again"
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 5>} {
mtp.round @deep k 2 nodes 5 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.output "kept" %slots for slots : tensor<?xi32>
}
}
