// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>,
// CHECK: test.extents = [#mtp.extent<7>, #mtp.extent<max_k>, #mtp.extent<max_pages + 2>]
                   test.extents = [#mtp.extent<7>, #mtp.extent<max_k>, #mtp.extent<max_pages + 2>]} {

// CHECK: {{^ *}}mtp.state @length : i32{{$}}
mtp.state @length : i32
// CHECK: {{^ *}}mtp.state @window[max_k + 1] : i32{{$}}
mtp.state @window[max_k + 1] : i32
// CHECK: mtp.state @hidden[max_k + 1, 192] : f32 rebuild rows 2
mtp.state @hidden[max_k + 1, 192] : f32 rebuild rows 2
// CHECK: {{^ *}}mtp.state @one_row : f32 init 5.000000e-01{{$}}
mtp.state @one_row : f32 init 0.5 rebuild rows 1
// CHECK: mtp.state @history[max_context] : i32 init -1 rebuild tokens
mtp.state @history[max_context] : i32 init -1 rebuild tokens
// CHECK: mtp.state @counts[max_k, prefill_chunk + 3, max_pages] : i64 rebuild never
mtp.state @counts[max_k, prefill_chunk + 3, max_pages] : i64 rebuild never
// CHECK: mtp.state @thinks : i32 rebuild save
mtp.state @thinks : i32 rebuild save
// CHECK: mtp.state @bias[64] : f32 init 5.000000e-01 input
mtp.state @bias[64] : f32 init 0.5 input
// CHECK: mtp.state shared @active[max_batch] : i32
mtp.state shared @active[max_batch] : i32
// The other states that the host shares.
mtp.state @out_tokens[max_k + 1] : i32
mtp.state @out_count : i32
mtp.state @sampling[8] : i32
mtp.state @page_table[max_pages] : i32
mtp.state shared @prompt_tokens[2, prefill_chunk] : i32
mtp.state shared @prompt_positions[2, prefill_chunk] : i32
mtp.state shared @prompt_slots[prefill_chunk] : i32
mtp.state shared @prompt_sequences[5, max_batch] : i32

// CHECK-LABEL: func.func private @rows
func.func private @rows(%slots: tensor<?xi32>, %draft: tensor<?xi32>, %grid: tensor<?x2xi32>)
    -> (tensor<?x3xi32>, tensor<?xi32>) {
  // CHECK: %{{.*}}:2 = mtp.per_slot %{{.*}}(%{{.*}}, %{{.*}}) {
  // CHECK: ^bb0(%{{.*}}: index, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: tensor<2xi32>):
  %t, %last = mtp.per_slot %slots(%draft, %grid) {
  ^bb0(%index: index, %slot: i32, %d: i32, %g: tensor<2xi32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    // CHECK: mtp.load @length[] : i32
    %n = mtp.load @length[] : i32
    // CHECK: mtp.uniform %{{.*}}, %{{.*}}{{$}}
    %u = mtp.uniform %n, %slot
    // CHECK: mtp.load @active[%{{.*}}] : i32
    %a = mtp.load @active[%index] : i32
    // CHECK: mtp.load @hidden[%{{.*}}, %{{.*}}] : f32
    %h = mtp.load @hidden[%c0, %c1] : f32
    %sum = scf.for %j = %c0 to %c3 step %c1 iter_args(%acc = %n) -> i32 {
      %w = mtp.load @window[%j] : i32
      %next = arith.addi %acc, %w : i32
      scf.yield %next : i32
    }
    %root = math.sqrt %h : f32
    %large = arith.cmpf ogt, %root, %h : f32
    scf.if %large {
      // CHECK: mtp.store %{{.*}}, @length[] : i32
      mtp.store %a, @length[] : i32
    }
    // CHECK: mtp.store %{{.*}}, @window[%{{.*}}] : i32
    mtp.store %d, @window[%c1] : i32
    %v = tensor.extract %g[%c1] : tensor<2xi32>
    %rows = tensor.generate {
    ^bb0(%i: index):
      %w = mtp.load @history[%i] : i32
      tensor.yield %w : i32
    } : tensor<3xi32>
    %out = tensor.insert %v into %rows[%c0] : tensor<3xi32>
    mtp.yield %out, %sum : tensor<3xi32>, i32
  // CHECK: } : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x3xi32>, tensor<?xi32>)
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) -> (tensor<?x3xi32>, tensor<?xi32>)
  return %t, %last : tensor<?x3xi32>, tensor<?xi32>
}

// Values per draft are empty at k = 0.
// CHECK-LABEL: func.func private @without_drafts
func.func private @without_drafts(%slots: tensor<4xi32>) {
  // CHECK: mtp.per_slot %{{.*}} {
  %none = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %e = tensor.empty() : tensor<0xi32>
    mtp.yield %e : tensor<0xi32>
  } : (tensor<4xi32>) -> tensor<4x0xi32>
  mtp.per_slot %slots(%none) {
  ^bb0(%index: index, %slot: i32, %d: tensor<0xi32>):
    mtp.store %slot, @length[] : i32
    mtp.yield
  } : (tensor<4xi32>, tensor<4x0xi32>) -> ()
  return
}

// A body has names of its own, and functions may hold the ops of bodies.
func.func private @twice(%n: i32) -> i32 {
  %m = mtp.load @length[] : i32
  %s = arith.addi %n, %m : i32
  return %s : i32
}
// CHECK-LABEL: func.func private @own_names
func.func private @own_names(%slots: tensor<4xi32>) -> tensor<4xi32> {
  %n = arith.constant 3 : i32
  // CHECK: mtp.per_slot
  %slot = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %n = mtp.load @length[] : i32
    // CHECK: call @twice
    %slots = func.call @twice(%n) : (i32) -> i32
    mtp.yield %slots : i32
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %slot : tensor<4xi32>
}
}
