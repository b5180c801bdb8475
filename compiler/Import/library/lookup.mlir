// Drafts by n-grams of the sequence so far, as vLLM's `ngram` does: the tokens that followed the
// longest earlier occurrence of the last tokens. Of equally long ones the first is used. There is
// no model and no weights.
//
//   mtp.per_slot %slots { func.call @remember() ... }        // in every round
//   %drafts = mtp.per_slot %slots { %d = func.call @lookup(%min, %max) ... }
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 16, prefill_chunk = 1, page = 1>} {
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
// The sequence: the token of each position.
mtp.state @history[max_context] : i32 init -1 rebuild tokens

// Stores the tokens of the last round at positions n - a to n. The last of them is the anchor.
func.func private @remember() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %length = mtp.load @length[] : i32
  %accepted = mtp.load @accepted[] : i32
  %n = arith.index_cast %length : i32 to index
  %a = arith.index_cast %accepted : i32 to index
  %first = arith.subi %n, %a : index
  %count = arith.addi %a, %c1 : index
  scf.for %j = %c0 to %count step %c1 {
    %token = mtp.load @window[%j] : i32
    %p = arith.addi %first, %j : index
    mtp.store %token, @history[%p] : i32
  }
  return
}

// Returns the token %back positions before position %p.
func.func private @token(%p: index, %back: index) -> i32 {
  %at = arith.subi %p, %back : index
  %token = mtp.load @history[%at] : i32
  return %token : i32
}

// Extends a match that ends at %p by one token if %token is also %back positions before %p.
// Returns whether it still matches, and its size, which is at most %max.
func.func private @longer(%matches: i1, %size: i64, %p: index, %back: index, %token: i32, %max: index) -> (i1, i64) {
  %own = func.call @token(%p, %back) : (index, index) -> i32
  %same = arith.cmpi eq, %own, %token : i32
  %is_there = arith.cmpi sge, %p, %back : index
  %is_asked = arith.cmpi slt, %back, %max : index
  %both = arith.andi %same, %is_there : i1
  %so_far = arith.andi %matches, %is_asked : i1
  %goes_on = arith.andi %so_far, %both : i1
  %one = arith.extui %goes_on : i1 to i64
  %more = arith.addi %size, %one : i64
  return %goes_on, %more : i1, i64
}

// Returns the longest match of the last tokens that ends at a position in [%from, %to) and has
// %min to %max tokens (8 at most): its size and its first end. Size 0: there is none.
func.func private @longest(%from: index, %to: index, %n: index, %min: index, %max: index) -> (i64, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %t0 = func.call @token(%n, %c0) : (index, index) -> i32
  %t1 = func.call @token(%n, %c1) : (index, index) -> i32
  %t2 = func.call @token(%n, %c2) : (index, index) -> i32
  %t3 = func.call @token(%n, %c3) : (index, index) -> i32
  %t4 = func.call @token(%n, %c4) : (index, index) -> i32
  %t5 = func.call @token(%n, %c5) : (index, index) -> i32
  %t6 = func.call @token(%n, %c6) : (index, index) -> i32
  %t7 = func.call @token(%n, %c7) : (index, index) -> i32
  %least = arith.index_cast %min : index to i64
  %none = arith.constant 0 : i64
  %bits = arith.constant 32 : i64
  // Lanes share the positions. A longer match is better, and of equal sizes the earlier one, so
  // size and position are packed into one number.
  %best = scf.parallel (%p) = (%from) to (%to) step (%c1) init (%none) -> i64 {
    %yes = arith.constant true
    %zero = arith.constant 0 : i64
    %m0, %s0 = func.call @longer(%yes, %zero, %p, %c0, %t0, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m1, %s1 = func.call @longer(%m0, %s0, %p, %c1, %t1, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m2, %s2 = func.call @longer(%m1, %s1, %p, %c2, %t2, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m3, %s3 = func.call @longer(%m2, %s2, %p, %c3, %t3, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m4, %s4 = func.call @longer(%m3, %s3, %p, %c4, %t4, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m5, %s5 = func.call @longer(%m4, %s4, %p, %c5, %t5, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m6, %s6 = func.call @longer(%m5, %s5, %p, %c6, %t6, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %m7, %s7 = func.call @longer(%m6, %s6, %p, %c7, %t7, %max) : (i1, i64, index, index, i32, index) -> (i1, i64)
    %long_enough = arith.cmpi sge, %s7, %least : i64
    %place = arith.index_cast %p : index to i64
    %high = arith.shli %s7, %bits : i64
    %own = arith.subi %high, %place : i64
    %score = arith.select %long_enough, %own, %zero : i64
    scf.reduce(%score : i64) {
    ^bb0(%a: i64, %b: i64):
      %larger = arith.maxsi %a, %b : i64
      scf.reduce.return %larger : i64
    }
  }
  // Unpacks (size << 32) - position.
  %back = arith.subi %none, %best : i64
  %low = arith.trunci %back : i64 to i32
  %at = arith.extui %low : i32 to i64
  %whole = arith.addi %best, %at : i64
  %size = arith.shrsi %whole, %bits : i64
  %end = arith.index_cast %at : i64 to index
  return %size, %end : i64, index
}

// Returns the tokens after position %p as drafts, -1 beyond the sequence's end. All are -1 if
// %is_there is false.
func.func private @behind(%p: index, %n: index, %is_there: i1) -> tensor<?xi32> {
  %c1 = arith.constant 1 : index
  %k = mtp.k
  %from = arith.addi %p, %c1 : index
  %drafts = tensor.generate %k {
  ^bb0(%j: index):
    %no_draft = arith.constant -1 : i32
    %q = arith.addi %from, %j : index
    %token = mtp.load @history[%q] : i32
    %is_known = arith.cmpi sle, %q, %n : index
    %is_draft = arith.andi %is_known, %is_there : i1
    %draft = arith.select %is_draft, %token, %no_draft : i32
    tensor.yield %draft : i32
  } : tensor<?xi32>
  return %drafts : tensor<?xi32>
}

// Drafts the tokens after the first of the longest matches of %min to %max last tokens.
func.func private @lookup(%min: index, %max: index) -> tensor<?xi32> {
  %none = arith.constant 0 : i64
  %length = mtp.load @length[] : i32
  %n = arith.index_cast %length : i32 to index
  %c0 = arith.constant 0 : index
  %size, %end = func.call @longest(%c0, %n, %n, %min, %max) : (index, index, index, index, index) -> (i64, index)
  %is_there = arith.cmpi sgt, %size, %none : i64
  %drafts = func.call @behind(%end, %n, %is_there) : (index, index, i1) -> tensor<?xi32>
  return %drafts : tensor<?xi32>
}

// Returns the drafts %one, or %other if %one has none.
func.func private @first_of(%one: tensor<?xi32>, %other: tensor<?xi32>) -> tensor<?xi32> {
  %k = mtp.k
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i32
  %first = tensor.extract %one[%c0] : tensor<?xi32>
  %has = arith.cmpi sge, %first, %none : i32
  %drafts = tensor.generate %k {
  ^bb0(%j: index):
    %a = tensor.extract %one[%j] : tensor<?xi32>
    %b = tensor.extract %other[%j] : tensor<?xi32>
    %draft = arith.select %has, %a, %b : i32
    tensor.yield %draft : i32
  } : tensor<?xi32>
  return %drafts : tensor<?xi32>
}
// Returns the drafts of a lookup, or another drafter's drafts if the lookup finds none.
func.func private @lookup_before(%other: tensor<?xi32>, %min: index, %max: index) -> tensor<?xi32> {
  %found = func.call @lookup(%min, %max) : (index, index) -> tensor<?xi32>
  %drafts = func.call @first_of(%found, %other) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %drafts : tensor<?xi32>
}
// Like @lookup_before, for a tree: the lookup's drafts as a chain, or else the nodes of another
// drafter with their parents.
func.func private @lookup_before_tree(%other: tensor<?xi32>, %parents: tensor<?xi32>, %min: index, %max: index) -> (tensor<?xi32>, tensor<?xi32>) {
  %found = func.call @lookup(%min, %max) : (index, index) -> tensor<?xi32>
  %k = mtp.k
  %nodes = mtp.nodes
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  %first = tensor.extract %found[%c0] : tensor<?xi32>
  %finds = arith.cmpi sge, %first, %zero : i32
  %places = arith.subi %nodes, %c1 : index
  %drafts = tensor.generate %places {
  ^bb0(%j: index):
    %a = tensor.extract %found[%j] : tensor<?xi32>
    %b = tensor.extract %other[%j] : tensor<?xi32>
    %is_found = arith.cmpi slt, %j, %k : index
    %own = arith.select %is_found, %a, %none : i32
    %draft = arith.select %finds, %own, %b : i32
    tensor.yield %draft : i32
  } : tensor<?xi32>
  %above = tensor.generate %nodes {
  ^bb0(%i: index):
    %node = arith.index_cast %i : index to i32
    %before = arith.subi %node, %one : i32
    %b = tensor.extract %parents[%i] : tensor<?xi32>
    %parent = arith.select %finds, %before, %b : i32
    tensor.yield %parent : i32
  } : tensor<?xi32>
  return %drafts, %above : tensor<?xi32>, tensor<?xi32>
}
}
