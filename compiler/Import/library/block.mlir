// Drafts a block that one pass fills (DFlash, arXiv:2602.06036; DSpark, arXiv:2607.05147). The
// rows of a block are the anchor and masks, at the slot's next positions. Each row sees the
// committed entries and all rows of the block. A row drafts the token at its own position
// (@block_of_masks, in which the anchor's row drafts nothing) or the token after it
// (@block_from_anchor).
//
// A slot that drafts fewer tokens than its round has the block of a smaller round, so its
// drafts do not depend on the other slots of the batch. With a Markov head, drafts are picked
// one after the other: @begin_drafts, then @at_draft and @put_draft or @put_sure for each.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 16, prefill_chunk = 1, page = 1>} {
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
mtp.state @draft_limit : i32
mtp.state @loop[8] : i32
mtp.state @shown_confidence[32, max_k] : f32

// Returns the number of drafts of a slot: k, but no draft after position %last.
func.func private @drafts_of_round(%last: i32) -> i32 {
  %k = mtp.k
  %zero = arith.constant 0 : i32
  %n = mtp.load @length[] : i32
  %drafts = arith.index_cast %k : index to i32
  %room = arith.subi %last, %n : i32
  %fit = arith.minsi %drafts, %room : i32
  %some = arith.maxsi %fit, %zero : i32
  return %some : i32
}

// Like @drafts_of_round, limited by the slot's own draft_limit.
func.func private @drafts_of_slot(%last: i32) -> i32 {
  %most = func.call @drafts_of_round(%last) : (i32) -> i32
  %own = mtp.load @draft_limit[] : i32
  %fit = arith.minsi %most, %own : i32
  return %fit : i32
}

// Returns %count rows of a slot, of which the first %live are active: tokens, slots, positions,
// the block's first position, and masks.
func.func private @fill(%slot: i32, %count: index, %live: i32, %mask: i32) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant -1 : i32
  %blind = arith.constant 0 : i64
  %bit = arith.constant 1 : i64
  %n = mtp.load @length[] : i32
  %a = mtp.load @accepted[] : i32
  %last = arith.index_cast %a : i32 to index
  %anchor = mtp.load @window[%last] : i32
  %end = arith.index_cast %live : i32 to index
  %wide = arith.extui %live : i32 to i64
  %above = arith.shli %bit, %wide : i64
  %all = arith.subi %above, %bit : i64
  %tokens = tensor.generate %count {
  ^bb0(%j: index):
    %is_anchor = arith.cmpi eq, %j, %c0 : index
    %token = arith.select %is_anchor, %anchor, %mask : i32
    tensor.yield %token : i32
  } : tensor<?xi32>
  %slots = tensor.splat %slot[%count] : tensor<?xi32>
  %positions = tensor.generate %count {
  ^bb0(%j: index):
    %far = arith.index_cast %j : index to i32
    %p = arith.addi %n, %far : i32
    %lives = arith.cmpi slt, %j, %end : index
    %own = arith.select %lives, %p, %none : i32
    tensor.yield %own : i32
  } : tensor<?xi32>
  %roots = tensor.generate %count {
  ^bb0(%j: index):
    %lives = arith.cmpi slt, %j, %end : index
    %own = arith.select %lives, %n, %none : i32
    tensor.yield %own : i32
  } : tensor<?xi32>
  %sees = tensor.generate %count {
  ^bb0(%j: index):
    %lives = arith.cmpi slt, %j, %end : index
    %own = arith.select %lives, %all, %blind : i64
    tensor.yield %own : i64
  } : tensor<?xi64>
  return %tokens, %slots, %positions, %roots, %sees : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>
}

// Makes the rows of all slots from the results of @fill.
func.func private @block_rows(%of: tensor<?x?xi32>, %at: tensor<?x?xi32>, %from: tensor<?x?xi32>, %sees: tensor<?x?xi64>) -> !mtp.rows {
  %slots = mtp.reshape %of : tensor<?x?xi32> -> tensor<?xi32>
  %positions = mtp.reshape %at : tensor<?x?xi32> -> tensor<?xi32>
  %roots = mtp.reshape %from : tensor<?x?xi32> -> tensor<?xi32>
  %masks = mtp.reshape %sees : tensor<?x?xi64> -> tensor<?xi64>
  %rows = mtp.make_tree_rows %slots, %positions from %roots at %positions seeing %masks refreshed : tensor<?xi32>, tensor<?xi64>
  return %rows : !mtp.rows
}

// Makes blocks of the anchor and a mask for each of %limits drafts. Returns tokens, rows, and
// the indices of the rows that draft.
func.func private @block_of_masks(%slots: tensor<?xi32>, %limits: tensor<?xi32>, %masks: tensor<?xi32>) -> (tensor<?xi32>, !mtp.rows, tensor<?xi32>) {
  %t, %s, %p, %r, %m, %d = mtp.per_slot %slots(%limits, %masks) {
  ^bb0(%index: index, %slot: i32, %limit: i32, %mask: i32):
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %count = arith.addi %k, %c1 : index
    %wide = arith.addi %limit, %one : i32
    %drafts = arith.cmpi sgt, %limit, %zero : i32
    %live = arith.select %drafts, %wide, %zero : i32
    %all:5 = func.call @fill(%slot, %count, %live, %mask) : (i32, index, i32, i32) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>)
    %first = arith.muli %index, %count : index
    %drafting = tensor.generate %k {
    ^bb0(%j: index):
      %row = arith.addi %first, %j : index
      %behind = arith.addi %row, %c1 : index
      %i = arith.index_cast %behind : index to i32
      tensor.yield %i : i32
    } : tensor<?xi32>
    mtp.yield %all#0, %all#1, %all#2, %all#3, %all#4, %drafting : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>, tensor<?xi32>
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi64>, tensor<?x?xi32>)
  %tokens = mtp.reshape %t : tensor<?x?xi32> -> tensor<?xi32>
  %drafting = mtp.reshape %d : tensor<?x?xi32> -> tensor<?xi32>
  %rows = func.call @block_rows(%s, %p, %r, %m) : (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi64>) -> !mtp.rows
  return %tokens, %rows, %drafting : tensor<?xi32>, !mtp.rows, tensor<?xi32>
}

// Makes blocks of the anchor and masks, all of which draft: one row per draft.
func.func private @block_from_anchor(%slots: tensor<?xi32>, %limits: tensor<?xi32>, %masks: tensor<?xi32>) -> (tensor<?xi32>, !mtp.rows) {
  %t, %s, %p, %r, %m = mtp.per_slot %slots(%limits, %masks) {
  ^bb0(%index: index, %slot: i32, %limit: i32, %mask: i32):
    %k = mtp.k
    %all:5 = func.call @fill(%slot, %k, %limit, %mask) : (i32, index, i32, i32) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>)
    mtp.yield %all#0, %all#1, %all#2, %all#3, %all#4 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi64>)
  %tokens = mtp.reshape %t : tensor<?x?xi32> -> tensor<?xi32>
  %rows = func.call @block_rows(%s, %p, %r, %m) : (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi64>) -> !mtp.rows
  return %tokens, %rows : tensor<?xi32>, !mtp.rows
}

// Returns the rows that will verify the drafts: for draft j the row before it.
func.func private @verifying(%slots: tensor<?xi32>) -> !mtp.rows {
  %s, %p = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %k = mtp.k
    %n = mtp.load @length[] : i32
    %of = tensor.splat %slot[%k] : tensor<?xi32>
    %at = tensor.generate %k {
    ^bb0(%j: index):
      %far = arith.index_cast %j : index to i32
      %own = arith.addi %n, %far : i32
      tensor.yield %own : i32
    } : tensor<?xi32>
    mtp.yield %of, %at : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  %of = mtp.reshape %s : tensor<?x?xi32> -> tensor<?xi32>
  %at = mtp.reshape %p : tensor<?x?xi32> -> tensor<?xi32>
  %rows = mtp.make_rows %of, %at : tensor<?xi32>
  return %rows : !mtp.rows
}

// Returns the anchors, which precede the first drafts, and empty drafts.
func.func private @begin_drafts(%slots: tensor<?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>) {
  %anchors, %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %k = mtp.k
    %none = arith.constant -1 : i32
    %a = mtp.load @accepted[] : i32
    %last = arith.index_cast %a : i32 to index
    %anchor = mtp.load @window[%last] : i32
    %d = tensor.splat %none[%k] : tensor<?xi32>
    mtp.yield %anchor, %d : i32, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  return %anchors, %drafts : tensor<?xi32>, tensor<?x?xi32>
}

// Returns the row at position %at, which verifies a draft, and the logits and state of the
// block's row that makes this draft.
func.func private @at_draft(%slots: tensor<?xi32>, %at: tensor<?xi32>, %logits: tensor<?x?xf32>, %states: tensor<?x?xf32>) -> (!mtp.rows, tensor<?x?xf32>, tensor<?x?xf32>) {
  %own = mtp.per_slot %slots(%at) {
  ^bb0(%index: index, %slot: i32, %position: i32):
    %k = mtp.k
    %n = mtp.load @length[] : i32
    %far = arith.subi %position, %n : i32
    %j = arith.index_cast %far : i32 to index
    %first = arith.muli %index, %k : index
    %row = arith.addi %first, %j : index
    %i = arith.index_cast %row : index to i32
    mtp.yield %i : i32
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  %rows = mtp.make_rows %slots, %at : tensor<?xi32>
  %logit = mtp.gather_rows %logits, %own : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  %state = mtp.gather_rows %states, %own : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  return %rows, %logit, %state : !mtp.rows, tensor<?x?xf32>, tensor<?x?xf32>
}

// Stores a draft in its place and moves to the next position.
func.func private @put_draft(%slots: tensor<?xi32>, %at: tensor<?xi32>, %tokens: tensor<?xi32>, %drafts: tensor<?x?xi32>) -> (tensor<?x?xi32>, tensor<?xi32>) {
  %more, %next = mtp.per_slot %slots(%at, %tokens, %drafts) {
  ^bb0(%index: index, %slot: i32, %position: i32, %token: i32, %d: tensor<?xi32>):
    %one = arith.constant 1 : i32
    %n = mtp.load @length[] : i32
    %far = arith.subi %position, %n : i32
    %j = arith.index_cast %far : i32 to index
    %own = tensor.insert %token into %d[%j] : tensor<?xi32>
    %behind = arith.addi %position, %one : i32
    mtp.yield %own, %behind : tensor<?xi32>, i32
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>) -> (tensor<?x?xi32>, tensor<?xi32>)
  return %more, %next : tensor<?x?xi32>, tensor<?xi32>
}

// Returns the probability of which %sure is the logit.
func.func private @likelihood(%sure: tensor<1xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %logit = tensor.extract %sure[%c0] : tensor<1xf32>
  %minus = arith.negf %logit : f32
  %e = math.exp %minus : f32
  %sum = arith.addf %one, %e : f32
  %share = arith.divf %one, %sum : f32
  return %share : f32
}

// Like @put_draft, but stores -1 unless the draft's confidence is at least %least. The confidence
// is the probability of which %sure is the logit. After the first such draft all further drafts
// are -1.
func.func private @put_sure(%slots: tensor<?xi32>, %at: tensor<?xi32>, %tokens: tensor<?xi32>, %drafts: tensor<?x?xi32>, %sure: tensor<?x1xf32>, %least: tensor<?xf32>) -> (tensor<?x?xi32>, tensor<?xi32>) {
  %kept = mtp.per_slot %slots(%at, %tokens, %drafts, %sure, %least) {
  ^bb0(%index: index, %slot: i32, %position: i32, %token: i32, %d: tensor<?xi32>, %own: tensor<1xf32>, %bound: f32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %none = arith.constant -1 : i32
    %n = mtp.load @length[] : i32
    %far = arith.subi %position, %n : i32
    %j = arith.index_cast %far : i32 to index
    %up = arith.subi %j, %c1 : index
    %before = tensor.extract %d[%up] : tensor<?xi32>
    %is_first = arith.cmpi eq, %j, %c0 : index
    %was_one = arith.cmpi sge, %before, %zero : i32
    %goes_on = arith.ori %is_first, %was_one : i1
    %share = func.call @likelihood(%own) : (tensor<1xf32>) -> f32
    %is_sure = arith.cmpf oge, %share, %bound : f32
    %stays = arith.andi %goes_on, %is_sure : i1
    %draft = arith.select %stays, %token, %none : i32
    mtp.yield %draft : i32
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?x1xf32>, tensor<?xf32>) -> tensor<?xi32>
  %more, %next = func.call @put_draft(%slots, %at, %kept, %drafts) : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>) -> (tensor<?x?xi32>, tensor<?xi32>)
  return %more, %next : tensor<?x?xi32>, tensor<?xi32>
}

// Shows the host the confidence in the draft for position %at, or -1 if %drafts has none there.
func.func private @show_sure(%slots: tensor<?xi32>, %at: tensor<?xi32>, %drafts: tensor<?x?xi32>, %sure: tensor<?x1xf32>) {
  mtp.per_slot %slots(%at, %drafts, %sure) {
  ^bb0(%index: index, %slot: i32, %position: i32, %d: tensor<?xi32>, %own: tensor<1xf32>):
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %none = arith.constant -1.0 : f32
    %n = mtp.load @length[] : i32
    %far = arith.subi %position, %n : i32
    %j = arith.index_cast %far : i32 to index
    %token = tensor.extract %d[%j] : tensor<?xi32>
    %is_one = arith.cmpi sge, %token, %zero : i32
    %share = func.call @likelihood(%own) : (tensor<1xf32>) -> f32
    %shown = arith.select %is_one, %share, %none : f32
    %of = mtp.load @loop[%c0] : i32
    %round = arith.index_cast %of : i32 to index
    mtp.store %shown, @shown_confidence[%round, %j] : f32
    mtp.yield
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<?x1xf32>) -> ()
  return
}
}
