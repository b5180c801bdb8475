// Lookahead decoding (arXiv:2402.02057), as a tree of each slot: no model drafts. With a window
// of W columns, n-grams of N tokens and G guesses the nodes are
//
//   0       the anchor: level 0 of the window, column 0
//   1 ..    G n-grams, each N - 1 tokens that were seen after the anchor's token
//   then    level 0, columns 1 to W - 1, a chain
//   then    levels 1 to N - 2, W columns each; the parent of a node is the node of its
//           column in the level before
//
// The target's best token after the last level completes an n-gram of each column, which is
// stored under the token of its column in level 0. Then each level moves up by one, and the
// target's tokens become the last level of the next round. If a tokens more were accepted,
// columns move by a. A column without a guess gets a token of the sequence so far.
//
// The tree has 1 + (W - 1) + (N - 2) W + G (N - 1) nodes and depth W + N - 3.
//
//   mtp.per_slot %slots { func.call @remember() ... }        // in every round
//   %drafts, %parents = mtp.per_slot %slots { ... func.call @lookahead(%w, %n, %g) ... }
//   ... after mtp.verify, with the best token after each node:
//   mtp.per_slot %slots(%drafts, %best) { ... func.call @learn(%w, %n, %g, %d, %b) ... }
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 16, prefill_chunk = 1, page = 1>} {
mtp.import "<lookup.mlir>" [@remember]
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
mtp.state @history[max_context] : i32 init -1 rebuild tokens
// @guesses holds the window by level and column. @runs holds stored n-grams in rows, which are
// selected by a hash of the token before the n-gram. @owners is the token that owns a row,
// @seen the time of the last use of each n-gram.
mtp.state @guesses[64] : i32 init -1 rebuild save
mtp.state @owners[256] : i32 init -1 rebuild save
mtp.state @runs[256, 64] : i32 init -1 rebuild save
mtp.state @seen[256, 32] : i32 rebuild save
mtp.state @clock : i32 rebuild save

// Returns the anchor's token.
func.func private @anchor() -> i32 {
  %a = mtp.load @accepted[] : i32
  %last = arith.index_cast %a : i32 to index
  %anchor = mtp.load @window[%last] : i32
  return %anchor : i32
}

// Returns the row of @runs for n-grams after a token.
func.func private @row_of(%token: i32) -> index {
  %rows = arith.constant 256 : i32
  %own = arith.remui %token, %rows : i32
  %row = arith.index_cast %own : i32 to index
  return %row : index
}

// Returns token %j % (N - 1) of n-gram %j / (N - 1) after the anchor; -1 for none.
func.func private @run(%j: index) -> i32 {
  %none = arith.constant -1 : i32
  %anchor = func.call @anchor() : () -> i32
  %row = func.call @row_of(%anchor) : (i32) -> index
  %owner = mtp.load @owners[%row] : i32
  %token = mtp.load @runs[%row, %j] : i32
  %is_own = arith.cmpi eq, %owner, %anchor : i32
  %known = arith.select %is_own, %token, %none : i32
  return %known : i32
}

// Returns the guess for a level and a column, or else a token of the sequence.
func.func private @guess(%w: index, %level: index, %column: index) -> i32 {
  %c1 = arith.constant 1 : index
  %c13 = arith.constant 13 : index
  %zero = arith.constant 0 : i32
  %length = mtp.load @length[] : i32
  %accepted = mtp.load @accepted[] : i32
  %n = arith.index_cast %length : i32 to index
  %a = arith.index_cast %accepted : i32 to index
  %first = arith.muli %level, %w : index
  %moved = arith.addi %column, %a : index
  %at = arith.addi %first, %moved : index
  %guess = mtp.load @guesses[%at] : i32
  %is_in = arith.cmpi ult, %moved, %w : index
  %is_token = arith.cmpi sge, %guess, %zero : i32
  %is_guess = arith.andi %is_in, %is_token : i1
  %place = arith.addi %first, %column : index
  %spread = arith.muli %place, %c13 : index
  %known = arith.addi %n, %c1 : index
  %p = arith.remui %spread, %known : index
  %any = mtp.load @history[%p] : i32
  %token = arith.select %is_guess, %guess, %any : i32
  return %token : i32
}

// Returns the draft of node %i and its parent.
func.func private @node(%w: index, %n: index, %g: index, %i: index) -> (i32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.subi %n, %c1 : index
  %runs = arith.muli %g, %size : index
  %before = arith.subi %i, %c1 : index
  %is_run = arith.cmpi ule, %i, %runs : index
  // Case of an n-gram's node.
  %run = func.call @run(%before) : (index) -> i32
  %place = arith.remui %before, %size : index
  %starts = arith.cmpi eq, %place, %c0 : index
  %above_run = arith.select %starts, %c0, %before : index
  // Case of the window's node; the anchor is column 0 of level 0.
  %cell = arith.subi %i, %runs : index
  %level = arith.divui %cell, %w : index
  %column = arith.remui %cell, %w : index
  %guess = func.call @guess(%w, %level, %column) : (index, index, index) -> i32
  %is_chain = arith.cmpi eq, %level, %c0 : index
  %step = arith.select %is_chain, %c1, %w : index
  %above_cell = arith.subi %cell, %step : index
  %under_anchor = arith.cmpi eq, %above_cell, %c0 : index
  %above_node = arith.addi %above_cell, %runs : index
  %above_window = arith.select %under_anchor, %c0, %above_node : index
  %token = arith.select %is_run, %run, %guess : i32
  %above = arith.select %is_run, %above_run, %above_window : index
  %parent = arith.index_cast %above : index to i32
  return %token, %parent : i32, i32
}

// Returns drafts and parents for a window of %w columns, n-grams of %n tokens and %g guesses.
func.func private @lookahead(%w: index, %n: index, %g: index) -> (tensor<?xi32>, tensor<?xi32>) {
  %c1 = arith.constant 1 : index
  %nodes = mtp.nodes
  %count = arith.subi %nodes, %c1 : index
  %drafts = tensor.generate %count {
  ^bb0(%j: index):
    %i = arith.addi %j, %c1 : index
    %token, %parent = func.call @node(%w, %n, %g, %i) : (index, index, index, index) -> (i32, i32)
    tensor.yield %token : i32
  } : tensor<?xi32>
  %parents = tensor.generate %nodes {
  ^bb0(%i: index):
    %token, %parent = func.call @node(%w, %n, %g, %i) : (index, index, index, index) -> (i32, i32)
    tensor.yield %parent : i32
  } : tensor<?xi32>
  return %drafts, %parents : tensor<?xi32>, tensor<?xi32>
}

// Assigns a row of @runs to a token, and clears the row if another token owned it.
func.func private @take_row(%row: index, %token: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %none = arith.constant -1 : i32
  %owner = mtp.load @owners[%row] : i32
  %is_other = arith.cmpi ne, %owner, %token : i32
  scf.if %is_other {
    mtp.store %token, @owners[%row] : i32
    scf.for %j = %c0 to %c64 step %c1 {
      mtp.store %none, @runs[%row, %j] : i32
    }
    scf.for %j = %c0 to %c32 step %c1 {
      mtp.store %zero, @seen[%row, %j] : i32
    }
  }
  return
}

// Returns the place of an n-gram of %size tokens in a row of %g: where it is already stored, or
// else the least recently used place.
func.func private @place_of(%row: index, %run: tensor<16xi32>, %size: index, %g: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = arith.constant 0x7FFFFFFF : i32
  %before = arith.constant -1 : i32
  %yes = arith.constant 1 : i32
  %at, %when = scf.for %r = %c0 to %g step %c1 iter_args(%best = %c0, %least = %most) -> (index, i32) {
    %first = arith.muli %r, %size : index
    %same = scf.for %j = %c0 to %size step %c1 iter_args(%so_far = %yes) -> (i32) {
      %i = arith.addi %first, %j : index
      %known = mtp.load @runs[%row, %i] : i32
      %own = tensor.extract %run[%j] : tensor<16xi32>
      %equal = arith.cmpi eq, %known, %own : i32
      %bit = arith.extui %equal : i1 to i32
      %both = arith.andi %so_far, %bit : i32
      scf.yield %both : i32
    }
    %stamp = mtp.load @seen[%row, %r] : i32
    %is_it = arith.cmpi eq, %same, %yes : i32
    %rank = arith.select %is_it, %before, %stamp : i32
    %wins = arith.cmpi slt, %rank, %least : i32
    %a = arith.select %wins, %r, %best : index
    %b = arith.select %wins, %rank, %least : i32
    scf.yield %a, %b : index, i32
  }
  return %at : index
}

// Stores an n-gram of %size tokens after %token.
func.func private @keep_run(%token: i32, %run: tensor<16xi32>, %size: index, %g: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %row = func.call @row_of(%token) : (i32) -> index
  func.call @take_row(%row, %token) : (index, i32) -> ()
  %at = func.call @place_of(%row, %run, %size, %g) : (index, tensor<16xi32>, index, index) -> index
  %first = arith.muli %at, %size : index
  scf.for %j = %c0 to %size step %c1 {
    %i = arith.addi %first, %j : index
    %own = tensor.extract %run[%j] : tensor<16xi32>
    mtp.store %own, @runs[%row, %i] : i32
  }
  %now = mtp.load @clock[] : i32
  %next = arith.addi %now, %one : i32
  mtp.store %next, @clock[] : i32
  mtp.store %next, @seen[%row, %at] : i32
  return
}

// Returns the n-gram of a column: the window's tokens after level 0, and the target's best
// token after them.
func.func private @run_of(%w: index, %runs: index, %size: index, %column: index, %drafts: tensor<?xi32>, %best: tensor<?xi32>) -> tensor<16xi32> {
  %run = tensor.generate {
  ^bb0(%j: index):
    %one = arith.constant 1 : index
    %next = arith.addi %j, %one : index
    %rows = arith.muli %next, %w : index
    %cell = arith.addi %rows, %column : index
    %i = arith.addi %cell, %runs : index
    %before = arith.subi %i, %one : index
    %guess = tensor.extract %drafts[%before] : tensor<?xi32>
    %last_cell = arith.subi %i, %w : index
    %new = tensor.extract %best[%last_cell] : tensor<?xi32>
    %is_new = arith.cmpi eq, %next, %size : index
    %token = arith.select %is_new, %new, %guess : i32
    tensor.yield %token : i32
  } : tensor<16xi32>
  return %run : tensor<16xi32>
}

// Stores the n-gram of each column and moves the levels up. Skips a column if its last node is
// deeper than the round's drafts.
func.func private @learn(%w: index, %n: index, %g: index, %drafts: tensor<?xi32>, %best: tensor<?xi32>) {
  %k = mtp.k
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %size = arith.subi %n, %c1 : index
  %runs = arith.muli %g, %size : index
  %deep = arith.subi %n, %c2 : index
  %anchor = func.call @anchor() : () -> i32
  scf.for %column = %c0 to %w step %c1 {
    %depth = arith.addi %column, %deep : index
    %lives = arith.cmpi ule, %depth, %k : index
    scf.if %lives {
      %run = func.call @run_of(%w, %runs, %size, %column, %drafts, %best) : (index, index, index, index, tensor<?xi32>, tensor<?xi32>) -> tensor<16xi32>
      %node = arith.addi %runs, %column : index
      %at = arith.subi %node, %c1 : index
      %own = tensor.extract %drafts[%at] : tensor<?xi32>
      %is_first = arith.cmpi eq, %column, %c0 : index
      %key = arith.select %is_first, %anchor, %own : i32
      func.call @keep_run(%key, %run, %size, %g) : (i32, tensor<16xi32>, index, index) -> ()
      scf.for %level = %c0 to %size step %c1 {
        %token = tensor.extract %run[%level] : tensor<16xi32>
        %first = arith.muli %level, %w : index
        %i = arith.addi %first, %column : index
        mtp.store %token, @guesses[%i] : i32
      }
    }
  }
  return
}
}
