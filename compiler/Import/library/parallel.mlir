// Rows of drafters that draft all positions in one pass (PARD, arXiv:2504.18583; P-EAGLE,
// arXiv:2602.01469). The rows of the known tokens are followed by mask rows, one for each draft
// except the first, at the next positions. Attention is causal. The next round overwrites the
// entries of masks, because its rows begin at the first mask's position.
//
//   %t, %rows, %drafting, %at = func.call @masked(%slots, %mask, %behind)
//   %l = ... the drafter on %t, %rows; the rows %drafting, each of which drafts one token
//   %d = mtp.sample %l, %at
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 16, prefill_chunk = 1, page = 1>} {
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32

// Returns the 2 k rows of each slot: the tokens that followed the last round's rows, ending
// with the anchor, then the masks. Other rows are padding. A row is %behind positions before
// its token: 0, or 1 if the hidden state of that position is its second input. Results: tokens,
// their rows, the indices of the k rows that draft, and the rows that will verify the drafts.
func.func private @masked(%slots: tensor<?xi32>, %mask: tensor<?xi32>, %behind: tensor<?xi32>) -> (tensor<?xi32>, !mtp.rows, tensor<?xi32>, !mtp.rows) {
  %t, %s, %p, %r, %ds, %dp = mtp.per_slot %slots(%mask, %behind) {
  ^bb0(%index: index, %slot: i32, %filler: i32, %shift: i32):
    %k = mtp.k
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : i32
    %dead = arith.constant -1 : i32
    %count = arith.muli %k, %two : index
    %n = mtp.load @length[] : i32
    %a = mtp.load @accepted[] : i32
    %drafts = arith.index_cast %k : index to i32
    %end = arith.addi %a, %drafts : i32
    %known = arith.subi %n, %a : i32
    %first = arith.subi %known, %shift : i32
    %positions = tensor.generate %count {
    ^bb0(%j: index):
      %far = arith.index_cast %j : index to i32
      %position = arith.addi %first, %far : i32
      %is_row = arith.cmpi slt, %far, %end : i32
      %is_there = arith.cmpi sge, %position, %zero : i32
      %lives = arith.andi %is_row, %is_there : i1
      %own = arith.select %lives, %position, %dead : i32
      tensor.yield %own : i32
    } : tensor<?xi32>
    %tokens = tensor.generate %count {
    ^bb0(%j: index):
      %far = arith.index_cast %j : index to i32
      %token = mtp.load @window[%j] : i32
      %is_known = arith.cmpi sle, %far, %a : i32
      %some = arith.select %is_known, %token, %filler : i32
      %position = tensor.extract %positions[%j] : tensor<?xi32>
      %lives = arith.cmpi sge, %position, %zero : i32
      %own = arith.select %lives, %some, %zero : i32
      tensor.yield %own : i32
    } : tensor<?xi32>
    %of = tensor.splat %slot[%count] : tensor<?xi32>
    %begin = arith.muli %index, %count : index
    %drafting = tensor.generate %k {
    ^bb0(%j: index):
      %next = arith.addi %begin, %j : index
      %row = arith.index_cast %next : index to i32
      %behind_anchor = arith.addi %row, %a : i32
      tensor.yield %behind_anchor : i32
    } : tensor<?xi32>
    %own = tensor.splat %slot[%k] : tensor<?xi32>
    %verified = tensor.generate %k {
    ^bb0(%j: index):
      %far = arith.index_cast %j : index to i32
      %place = arith.addi %n, %far : i32
      tensor.yield %place : i32
    } : tensor<?xi32>
    mtp.yield %tokens, %of, %positions, %drafting, %own, %verified : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  %token = mtp.reshape %t : tensor<?x?xi32> -> tensor<?xi32>
  %slot = mtp.reshape %s : tensor<?x?xi32> -> tensor<?xi32>
  %position = mtp.reshape %p : tensor<?x?xi32> -> tensor<?xi32>
  %drafting = mtp.reshape %r : tensor<?x?xi32> -> tensor<?xi32>
  %own = mtp.reshape %ds : tensor<?x?xi32> -> tensor<?xi32>
  %verified = mtp.reshape %dp : tensor<?x?xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %slot, %position : tensor<?xi32>
  %at = mtp.make_rows %own, %verified : tensor<?xi32>
  return %token, %rows, %drafting, %at : tensor<?xi32>, !mtp.rows, tensor<?xi32>, !mtp.rows
}

// Returns the features of the rows of @masked: %h for verified rows, as mtp.refresh returns
// them, and the slot's row of %filler for masks.
func.func private @features(%slots: tensor<?xi32>, %h: tensor<?x?xf32>, %filler: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a, %b = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %k = mtp.k
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %none = arith.constant -1 : i32
    %count = arith.muli %k, %two : index
    %verified = arith.addi %k, %one : index
    %begin = arith.muli %index, %verified : index
    %accepted = mtp.load @accepted[] : i32
    %own = tensor.generate %count {
    ^bb0(%j: index):
      %far = arith.index_cast %j : index to i32
      %at = arith.addi %begin, %j : index
      %row = arith.index_cast %at : index to i32
      %is_known = arith.cmpi sle, %far, %accepted : i32
      %place = arith.select %is_known, %row, %none : i32
      tensor.yield %place : i32
    } : tensor<?xi32>
    %fillers = tensor.generate %count {
    ^bb0(%j: index):
      %far = arith.index_cast %j : index to i32
      %is_mask = arith.cmpi sgt, %far, %accepted : i32
      %row = arith.index_cast %index : index to i32
      %place = arith.select %is_mask, %row, %none : i32
      tensor.yield %place : i32
    } : tensor<?xi32>
    mtp.yield %own, %fillers : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  %own = mtp.reshape %a : tensor<?x?xi32> -> tensor<?xi32>
  %fillers = mtp.reshape %b : tensor<?x?xi32> -> tensor<?xi32>
  %known = mtp.unpack %h, %own : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  %masks = mtp.unpack %filler, %fillers : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  %x = mtp.add %known, %masks : tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}
}
