// Two branches of a tree of drafts, each with a sibling at each depth, for drafters that read a
// token and the preceding hidden state:
//
//   0 --- 1 --- 3 --- 7        branches: 1, 3, 7, .. and 2, 5, 9, ..
//    \     \--- 4  \- 8
//     \-- 2 --- 5 --- 9
//          \--- 6  \- 10
module attributes {mtp.envelope = #mtp.envelope<max_k = 10, max_batch = 1, max_context = 8, prefill_chunk = 1, page = 1>} {
mtp.state @length : i32
mtp.state @nodes[max_k] : i32
// Stores the drafts of the two branches, picked from the logits of their last rows, at position
// %at. Returns the next rows: the best token of each branch, which sees only its own branch.
func.func private @grow(%slots: tensor<?xi32>, %logits: tensor<?x?xf32>, %at: tensor<?xi32>) -> (tensor<?xi32>, !mtp.rows, tensor<?xi32>) {
  %both = mtp.reshape %logits : tensor<?x?xf32> -> tensor<?x2x?xf32>
  %best, %logs = mtp.top_k %both k 2 : tensor<?x2x?xf32> -> tensor<?x2x2xi32>, tensor<?x2x2xf32>
  %t, %s, %p, %r, %q, %m, %next = mtp.per_slot %slots(%best, %at) {
  ^bb0(%index: index, %slot: i32, %drafts: tensor<2x2xi32>, %position: i32):
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i2 = arith.constant 2 : index
    %i4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %n = mtp.load @length[] : i32
    %depth = arith.subi %position, %n : i32
    %is_anchor = arith.cmpi eq, %depth, %zero : i32
    // Both branches begin at the anchor; the second one stores last.
    %deep = arith.index_cast %depth : i32 to index
    %before = arith.muli %deep, %i4 : index
    %begin = arith.subi %before, %i2 : index
    scf.for %i = %i0 to %i4 step %i1 {
      %row = arith.divui %i, %i2 : index
      %column = arith.remui %i, %i2 : index
      %token = tensor.extract %drafts[%row, %column] : tensor<2x2xi32>
      %node = arith.addi %begin, %i : index
      mtp.store %token, @nodes[%node] : i32
    }
    %row = arith.select %is_anchor, %i0, %i1 : index
    %column = arith.select %is_anchor, %i1, %i0 : index
    %t0 = tensor.extract %drafts[%i0, %i0] : tensor<2x2xi32>
    %t1 = tensor.extract %drafts[%row, %column] : tensor<2x2xi32>
    %tokens = tensor.from_elements %t0, %t1 : tensor<2xi32>
    %of = tensor.from_elements %slot, %slot : tensor<2xi32>
    %positions = tensor.from_elements %position, %position : tensor<2xi32>
    %root = arith.subi %n, %one : i32
    %roots = tensor.from_elements %root, %root : tensor<2xi32>
    %p0 = arith.addi %position, %depth : i32
    %p1 = arith.addi %p0, %one : i32
    %places = tensor.from_elements %p0, %p1 : tensor<2xi32>
    // Every second place of the window, one for each depth, and the anchor's place.
    %bit = arith.constant 1 : i64
    %double = arith.constant 2 : i64
    %every = arith.constant 0x1555555555555555 : i64
    %d0 = arith.addi %depth, %one : i32
    %d1 = arith.muli %d0, %two : i32
    %count = arith.extsi %d1 : i32 to i64
    %above = arith.shli %bit, %count : i64
    %below = arith.subi %above, %bit : i64
    %path = arith.andi %every, %below : i64
    %first = arith.shli %path, %bit : i64
    %second = arith.shli %path, %double : i64
    %m0 = arith.ori %first, %bit : i64
    %m1 = arith.ori %second, %bit : i64
    %masks = tensor.from_elements %m0, %m1 : tensor<2xi64>
    %behind = arith.addi %position, %one : i32
    mtp.yield %tokens, %of, %positions, %roots, %places, %masks, %behind : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>, i32
  } : (tensor<?xi32>, tensor<?x2x2xi32>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi64>, tensor<?xi32>)
  %token = mtp.reshape %t : tensor<?x2xi32> -> tensor<?xi32>
  %of = mtp.reshape %s : tensor<?x2xi32> -> tensor<?xi32>
  %position = mtp.reshape %p : tensor<?x2xi32> -> tensor<?xi32>
  %root = mtp.reshape %r : tensor<?x2xi32> -> tensor<?xi32>
  %place = mtp.reshape %q : tensor<?x2xi32> -> tensor<?xi32>
  %mask = mtp.reshape %m : tensor<?x2xi64> -> tensor<?xi64>
  %rows = mtp.make_tree_rows %of, %position from %root at %place seeing %mask refreshed : tensor<?xi32>, tensor<?xi64>
  return %token, %rows, %next : tensor<?xi32>, !mtp.rows, tensor<?xi32>
}
// Returns the stored drafts. A smaller k has the first of them.
func.func private @kept(%slots: tensor<?xi32>) -> tensor<?x?xi32> {
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %k = mtp.k
    %all = tensor.generate %k {
    ^bb0(%j: index):
      %d = mtp.load @nodes[%j] : i32
      tensor.yield %d : i32
    } : tensor<?xi32>
    mtp.yield %all : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>
  return %drafts : tensor<?x?xi32>
}
// Returns one row of each slot, twice.
func.func private @twice(%slots: tensor<?xi32>, %row: tensor<?xi32>) -> tensor<?xi32> {
  %rows = mtp.per_slot %slots(%row) {
  ^bb0(%index: index, %slot: i32, %r: i32):
    %both = tensor.from_elements %r, %r : tensor<2xi32>
    mtp.yield %both : tensor<2xi32>
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x2xi32>
  %all = mtp.reshape %rows : tensor<?x2xi32> -> tensor<?xi32>
  return %all : tensor<?xi32>
}
}
