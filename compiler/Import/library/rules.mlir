// Acceptance rules for chains and trees. Each function depends only on its arguments, so it can
// be run by itself. p holds the target's distribution after each node of a slot, as
// mtp.probabilities makes it. Node 0 is the anchor; node i has draft i - 1, and a draft of -1
// is none. `parents` holds each node's parent. The random number u[i] decides about node i, and
// v[i] draws the token after node i. A rule returns the number of accepted drafts, the last
// accepted node, and the token after it.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 8, prefill_chunk = 1, page = 1>} {

// Returns the parents of a chain's nodes.
func.func private @chain(%slots: tensor<?xi32>, %d: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %parents = mtp.per_slot %slots(%d) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %drafts = tensor.dim %draft, %c0 : tensor<?xi32>
    %nodes = arith.addi %drafts, %c1 : index
    %all = tensor.generate %nodes {
    ^bb0(%j: index):
      %before = arith.subi %j, %c1 : index
      %node = arith.index_cast %before : index to i32
      tensor.yield %node : i32
    } : tensor<?xi32>
    mtp.yield %all : tensor<?xi32>
  } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
  return %parents : tensor<?x?xi32>
}

// Returns random numbers by the position of the row that decides. For rules that read no number
// and no draft after the last accepted one.
func.func private @numbers(%slots: tensor<?xi32>, %at: tensor<?x?xi32>, %parents: tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %u, %v = mtp.per_slot %slots(%at, %parents) {
  ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>, %parent: tensor<?xi32>):
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %nodes = tensor.dim %position, %c0 : tensor<?xi32>
    %tries = tensor.generate %nodes {
    ^bb0(%j: index):
      %above = tensor.extract %parent[%j] : tensor<?xi32>
      %some = arith.maxsi %above, %zero : i32
      %row = arith.index_cast %some : i32 to index
      %place = tensor.extract %position[%row] : tensor<?xi32>
      %node = arith.index_cast %j : index to i32
      %x = mtp.uniform %place, %node
      tensor.yield %x : f32
    } : tensor<?xf32>
    %draws = tensor.generate %nodes {
    ^bb0(%j: index):
      %place = tensor.extract %position[%j] : tensor<?xi32>
      %x = mtp.uniform %place, %zero
      tensor.yield %x : f32
    } : tensor<?xf32>
    mtp.yield %tries, %draws : tensor<?xf32>, tensor<?xf32>
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<?x?xf32>)
  return %u, %v : tensor<?x?xf32>, tensor<?x?xf32>
}

// Returns random numbers by the anchor's position and the node. For rules that read further:
// the next round has some of the same positions, and must get other numbers.
func.func private @numbers_by_anchor(%slots: tensor<?xi32>, %at: tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %u, %v = mtp.per_slot %slots(%at) {
  ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>):
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %nodes = tensor.dim %position, %c0 : tensor<?xi32>
    %anchor = tensor.extract %position[%c0] : tensor<?xi32>
    %tries = tensor.generate %nodes {
    ^bb0(%j: index):
      %node = arith.index_cast %j : index to i32
      %x = mtp.uniform %anchor, %node
      tensor.yield %x : f32
    } : tensor<?xf32>
    %x = mtp.uniform %anchor, %zero
    %draws = tensor.generate %nodes {
    ^bb0(%j: index):
      tensor.yield %x : f32
    } : tensor<?xf32>
    mtp.yield %tries, %draws : tensor<?xf32>, tensor<?xf32>
  } : (tensor<?xi32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<?x?xf32>)
  return %u, %v : tensor<?x?xf32>, tensor<?x?xf32>
}

// Returns the tokens and the nodes of a path, k + 1 of each; -1 after the last node.
func.func private @along(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %parents: tensor<?x?xi32>, %count: tensor<?xi32>, %last: tensor<?xi32>, %token: tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>) {
  %tokens, %path = mtp.per_slot %slots(%d, %parents, %count, %last, %token) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %parent: tensor<?xi32>, %n: i32, %end: i32, %behind: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = arith.constant -1 : i32
    %zero = arith.constant 0 : i32
    %k = mtp.k
    %places = arith.addi %k, %c1 : index
    %length = arith.index_cast %n : i32 to index
    %nodes = tensor.generate %places {
    ^bb0(%j: index):
      %steps = arith.subi %length, %j : index
      %node = scf.for %i = %c0 to %steps step %c1 iter_args(%at = %end) -> (i32) {
        %row = arith.index_cast %at : i32 to index
        %above = tensor.extract %parent[%row] : tensor<?xi32>
        %next = arith.maxsi %above, %zero : i32
        scf.yield %next : i32
      }
      %is_on = arith.cmpi sle, %j, %length : index
      %x = arith.select %is_on, %node, %none : i32
      tensor.yield %x : i32
    } : tensor<?xi32>
    %out = tensor.generate %places {
    ^bb0(%j: index):
      %next = arith.addi %j, %c1 : index
      %is_draft = arith.cmpi slt, %j, %length : index
      %row = arith.select %is_draft, %next, %c0 : index
      %node = tensor.extract %nodes[%row] : tensor<?xi32>
      %at = arith.index_cast %node : i32 to index
      %before = arith.subi %at, %c1 : index
      %place = arith.maxsi %before, %c0 : index
      %x = tensor.extract %draft[%place] : tensor<?xi32>
      %own = arith.select %is_draft, %x, %behind : i32
      tensor.yield %own : i32
    } : tensor<?xi32>
    mtp.yield %out, %nodes : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  return %tokens, %path : tensor<?x?xi32>, tensor<?x?xi32>
}

// Speculative sampling (Leviathan et al., 2022, arXiv:2211.17192) for a chain whose drafts were
// drawn from the rows of q. Accepts a draft x with probability min(1, p(x) / q(x)). The token
// after the last accepted draft is drawn from max(p - q, 0), normalised. Lossless in
// distribution.
func.func private @rejection_drawn(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %p: tensor<?x?x?xf32>, %q: tensor<?x?x?xf32>, %u: tensor<?x?xf32>, %v: tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>) {
  // If the chain ends without a rejection, there is no q: the token is drawn from p.
  %count, %row, %by = mtp.per_slot %slots(%d, %p, %q, %u, %v) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %target: tensor<?x?xf32>, %drafter: tensor<?x?xf32>, %number: tensor<?xf32>, %draws: tensor<?xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %drafts = tensor.dim %draft, %c0 : tensor<?xi32>
    %n, %all, %live = scf.for %j = %c0 to %drafts step %c1 iter_args(%so_far = %zero, %still = %one, %goes_on = %one) -> (i32, i32, i32) {
      %token = tensor.extract %draft[%j] : tensor<?xi32>
      %is_some = arith.cmpi sge, %token, %zero : i32
      %some = arith.extui %is_some : i1 to i32
      %lives = arith.minsi %goes_on, %some : i32
      %own = arith.maxsi %token, %zero : i32
      %x = arith.index_cast %own : i32 to index
      %px = tensor.extract %target[%j, %x] : tensor<?x?xf32>
      %qx = tensor.extract %drafter[%j, %x] : tensor<?x?xf32>
      %i = arith.addi %j, %c1 : index
      %w = tensor.extract %number[%i] : tensor<?xf32>
      %share = arith.mulf %w, %qx : f32
      %accepts = arith.cmpf olt, %share, %px : f32
      %may = arith.minsi %still, %lives : i32
      %next = arith.select %accepts, %may, %zero : i32
      %sum = arith.addi %so_far, %next : i32
      // A draft of -1 ends the chain without a rejection.
      %was = arith.cmpi eq, %still, %one : i32
      %ends = arith.select %was, %lives, %goes_on : i32
      scf.yield %sum, %next, %ends : i32, i32, i32
    }
    %end = arith.index_cast %n : i32 to index
    %w = tensor.extract %draws[%end] : tensor<?xf32>
    mtp.yield %n, %live, %w : i32, i32, f32
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xf32>)
  %rest = mtp.sample_residual %p less %q at %count by %by : (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  %whole = mtp.sample_residual %p at %count by %by : (tensor<?x?x?xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
  %token = mtp.per_slot %slots(%row, %rest, %whole) {
  ^bb0(%index: index, %slot: i32, %live: i32, %x: i32, %y: i32):
    %one = arith.constant 1 : i32
    %is_live = arith.cmpi eq, %live, %one : i32
    %own = arith.select %is_live, %x, %y : i32
    mtp.yield %own : i32
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %count, %token : tensor<?xi32>, tensor<?xi32>
}

// Speculative sampling for a tree whose drafts were certain (q = 1), such as the best of their
// logits. Tries the children of a node in order. A child is accepted with its probability by p,
// normalised over the tokens that were not tried yet. The path continues at the first accepted
// child. The token after the last node is drawn from p without the tried tokens. Lossless in
// distribution for any drafts that do not depend on the deciding numbers. At most eight tokens
// per node are tried.
func.func private @rejection(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %parents: tensor<?x?xi32>, %p: tensor<?x?x?xf32>, %u: tensor<?x?xf32>, %v: tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %count, %last, %row, %by, %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7 = mtp.per_slot %slots(%d, %parents, %p, %u, %v) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %parent: tensor<?xi32>, %target: tensor<?x?xf32>, %number: tensor<?xf32>, %draws: tensor<?xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %none = arith.constant -1 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %most = arith.constant 8 : i32
    %empty = arith.constant 0.0 : f32
    %unit = arith.constant 1.0 : f32
    %nodes = tensor.dim %parent, %c0 : tensor<?xi32>
    %nobody = tensor.splat %none : tensor<8xi32>
    // State: depth of the last accepted node, that node, the remaining probability of its p,
    // the number of tries, and the tried tokens.
    %n, %end, %left, %few, %tried = scf.for %i = %c1 to %nodes step %c1 iter_args(%depth = %zero, %at = %zero, %rest = %unit, %tries = %zero, %out = %nobody) -> (i32, i32, f32, i32, tensor<8xi32>) {
      %above = tensor.extract %parent[%i] : tensor<?xi32>
      %j = arith.subi %i, %c1 : index
      %token = tensor.extract %draft[%j] : tensor<?xi32>
      %is_child = arith.cmpi eq, %above, %at : i32
      %is_token = arith.cmpi sge, %token, %zero : i32
      %seen = scf.for %t = %c0 to %c8 step %c1 iter_args(%times = %zero) -> (i32) {
        %other = tensor.extract %out[%t] : tensor<8xi32>
        %same = arith.cmpi eq, %other, %token : i32
        %more = arith.extui %same : i1 to i32
        %sum = arith.addi %times, %more : i32
        scf.yield %sum : i32
      }
      %is_new = arith.cmpi eq, %seen, %zero : i32
      %is_early = arith.cmpi slt, %tries, %most : i32
      %child = arith.andi %is_child, %is_token : i1
      %fresh = arith.andi %is_new, %is_early : i1
      %is_tried = arith.andi %child, %fresh : i1
      %own = arith.maxsi %token, %zero : i32
      %column = arith.index_cast %own : i32 to index
      %row = arith.index_cast %at : i32 to index
      %share = tensor.extract %target[%row, %column] : tensor<?x?xf32>
      %w = tensor.extract %number[%i] : tensor<?xf32>
      %bar = arith.mulf %w, %rest : f32
      %is_below = arith.cmpf olt, %bar, %share : f32
      %is_some = arith.cmpf ogt, %share, %empty : f32
      %accepts = arith.andi %is_below, %is_some : i1
      %stays = arith.andi %is_tried, %accepts : i1
      %node = arith.index_cast %i : index to i32
      %deeper = arith.addi %depth, %one : i32
      %lost = arith.subf %rest, %share : f32
      %another = arith.addi %tries, %one : i32
      %rest1 = arith.select %is_tried, %lost, %rest : f32
      %tries1 = arith.select %is_tried, %another, %tries : i32
      %depth2 = arith.select %stays, %deeper, %depth : i32
      %at2 = arith.select %stays, %node, %at : i32
      %rest2 = arith.select %stays, %unit, %rest1 : f32
      %tries2 = arith.select %stays, %zero, %tries1 : i32
      %place = arith.index_cast %tries : i32 to index
      %out2 = tensor.generate {
      ^bb0(%t: index):
        %before = tensor.extract %out[%t] : tensor<8xi32>
        %is_here = arith.cmpi eq, %t, %place : index
        %is_added = arith.andi %is_tried, %is_here : i1
        %x = arith.select %is_added, %token, %before : i32
        %y = arith.select %stays, %none, %x : i32
        tensor.yield %y : i32
      } : tensor<8xi32>
      scf.yield %depth2, %at2, %rest2, %tries2, %out2 : i32, i32, f32, i32, tensor<8xi32>
    }
    %own = arith.index_cast %end : i32 to index
    %w = tensor.extract %draws[%own] : tensor<?xf32>
    %begin = arith.muli %index, %nodes : index
    %flat = arith.addi %begin, %own : index
    %place = arith.index_cast %flat : index to i32
    %x0 = tensor.extract %tried[%c0] : tensor<8xi32>
    %x1 = tensor.extract %tried[%c1] : tensor<8xi32>
    %x2 = tensor.extract %tried[%c2] : tensor<8xi32>
    %x3 = tensor.extract %tried[%c3] : tensor<8xi32>
    %x4 = tensor.extract %tried[%c4] : tensor<8xi32>
    %x5 = tensor.extract %tried[%c5] : tensor<8xi32>
    %x6 = tensor.extract %tried[%c6] : tensor<8xi32>
    %x7 = tensor.extract %tried[%c7] : tensor<8xi32>
    mtp.yield %n, %end, %place, %w, %x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7 : i32, i32, i32, f32, i32, i32, i32, i32, i32, i32, i32, i32
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
  %rows = mtp.reshape %p : tensor<?x?x?xf32> -> tensor<?x?xf32>
  %p0 = mtp.gather_rows %rows, %row : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  %p1 = mtp.mask_tokens %p0, %t0 : tensor<?x?xf32>, tensor<?xi32>
  %p2 = mtp.mask_tokens %p1, %t1 : tensor<?x?xf32>, tensor<?xi32>
  %p3 = mtp.mask_tokens %p2, %t2 : tensor<?x?xf32>, tensor<?xi32>
  %p4 = mtp.mask_tokens %p3, %t3 : tensor<?x?xf32>, tensor<?xi32>
  %p5 = mtp.mask_tokens %p4, %t4 : tensor<?x?xf32>, tensor<?xi32>
  %p6 = mtp.mask_tokens %p5, %t5 : tensor<?x?xf32>, tensor<?xi32>
  %p7 = mtp.mask_tokens %p6, %t6 : tensor<?x?xf32>, tensor<?xi32>
  %p8 = mtp.mask_tokens %p7, %t7 : tensor<?x?xf32>, tensor<?xi32>
  %x = mtp.sample_residual %p8 by %by : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?xi32>
  %token = mtp.apply @or_tried(%slots, %x, %t0) : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %count, %last, %token : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}

// Returns the drawn token, or a tried token if rounding left nothing to draw from.
func.func private @or_tried(%slots: tensor<?xi32>, %drawn: tensor<?xi32>, %tried: tensor<?xi32>) -> tensor<?xi32> {
  %token = mtp.per_slot %slots(%drawn, %tried) {
  ^bb0(%index: index, %slot: i32, %x: i32, %t: i32):
    %zero = arith.constant 0 : i32
    %is_none = arith.cmpi slt, %x, %zero : i32
    %own = arith.select %is_none, %t, %x : i32
    mtp.yield %own : i32
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %token : tensor<?xi32>
}

// Block verification (Sun et al., 2024, arXiv:2403.10444) for a chain whose drafts were certain
// (q = 1). Accepts the longest prefix whose own number accepts it, whether shorter ones are
// accepted or not. The rule reads drafts and numbers after the accepted ones, so it takes
// numbers by the anchor: @numbers_by_anchor. Lossless in distribution.
func.func private @block(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %p: tensor<?x?x?xf32>, %u: tensor<?x?xf32>, %v: tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>) {
  %count, %row, %without, %by = mtp.per_slot %slots(%d, %p, %u, %v) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %target: tensor<?x?xf32>, %number: tensor<?xf32>, %draws: tensor<?xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = arith.constant -1 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %empty = arith.constant 0.0 : f32
    %unit = arith.constant 1.0 : f32
    %drafts = tensor.dim %draft, %c0 : tensor<?xi32>
    %nodes = arith.addi %drafts, %c1 : index
    %last = arith.subi %drafts, %c1 : index
    // State: the number of accepted drafts, the probability of the prefix, and whether the
    // chain goes on.
    %n, %all, %whole = scf.for %j = %c0 to %drafts step %c1 iter_args(%so_far = %zero, %before = %unit, %lives = %one) -> (i32, f32, i32) {
      %token = tensor.extract %draft[%j] : tensor<?xi32>
      %is_token = arith.cmpi sge, %token, %zero : i32
      %some = arith.extui %is_token : i1 to i32
      %goes_on = arith.minsi %lives, %some : i32
      %own = arith.maxsi %token, %zero : i32
      %x = arith.index_cast %own : i32 to index
      %px = tensor.extract %target[%j, %x] : tensor<?x?xf32>
      %share = arith.mulf %before, %px : f32
      // The probability that p leaves for tokens other than the next draft, and the chance to
      // stop before that draft.
      %i = arith.addi %j, %c1 : index
      %at = arith.minsi %i, %last : index
      %next = tensor.extract %draft[%at] : tensor<?xi32>
      %is_next = arith.cmpi sge, %next, %zero : i32
      %in_range = arith.cmpi slt, %i, %drafts : index
      %follows = arith.andi %is_next, %in_range : i1
      %other = arith.maxsi %next, %zero : i32
      %y = arith.index_cast %other : i32 to index
      %there = tensor.extract %target[%i, %y] : tensor<?x?xf32>
      %rest = arith.subf %unit, %there : f32
      %more = arith.mulf %share, %rest : f32
      %less = arith.subf %unit, %share : f32
      %both = arith.addf %more, %less : f32
      %ratio = arith.divf %more, %both : f32
      %is_empty = arith.cmpf ole, %both, %empty : f32
      %stop = arith.select %is_empty, %unit, %ratio : f32
      %chance = arith.select %follows, %stop, %share : f32
      %length = arith.index_cast %i : index to i32
      %w = tensor.extract %number[%i] : tensor<?xf32>
      %is_below = arith.cmpf olt, %w, %chance : f32
      %is_live = arith.cmpi eq, %goes_on, %one : i32
      %stays = arith.andi %is_below, %is_live : i1
      %longest = arith.select %stays, %length, %so_far : i32
      scf.yield %longest, %share, %goes_on : i32, f32, i32
    }
    %end = arith.index_cast %n : i32 to index
    %at = arith.minsi %end, %last : index
    %token = tensor.extract %draft[%at] : tensor<?xi32>
    %is_in = arith.cmpi slt, %end, %drafts : index
    %without = arith.select %is_in, %token, %none : i32
    %w = tensor.extract %draws[%end] : tensor<?xf32>
    %begin = arith.muli %index, %nodes : index
    %flat = arith.addi %begin, %end : index
    %place = arith.index_cast %flat : index to i32
    mtp.yield %n, %place, %without, %w : i32, i32, i32, f32
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xf32>)
  %rows = mtp.reshape %p : tensor<?x?x?xf32> -> tensor<?x?xf32>
  %p0 = mtp.gather_rows %rows, %row : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  %p1 = mtp.mask_tokens %p0, %without : tensor<?x?xf32>, tensor<?xi32>
  %x = mtp.sample_residual %p1 by %by : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?xi32>
  %token = mtp.apply @or_tried(%slots, %x, %without) : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %count, %token : tensor<?xi32>, tensor<?xi32>
}

// Returns the longest path of good nodes whose ancestors are good. Ties go to the largest sum
// of scores, then to the lowest last node.
func.func private @longest(%slots: tensor<?xi32>, %parents: tensor<?x?xi32>, %good: tensor<?x?xi32>, %score: tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>) {
  %count, %last = mtp.per_slot %slots(%parents, %good, %score) {
  ^bb0(%index: index, %slot: i32, %parent: tensor<?xi32>, %is_good: tensor<?xi32>, %points: tensor<?xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %none = arith.constant -1 : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %empty = arith.constant 0.0 : f32
    %nodes = tensor.dim %parent, %c0 : tensor<?xi32>
    %depths0 = tensor.generate %nodes {
    ^bb0(%j: index):
      %is_root = arith.cmpi eq, %j, %c0 : index
      %depth = arith.select %is_root, %zero, %none : i32
      tensor.yield %depth : i32
    } : tensor<?xi32>
    %sums0 = tensor.splat %empty[%nodes] : tensor<?xf32>
    %all:5 = scf.for %i = %c1 to %nodes step %c1 iter_args(%depths = %depths0, %sums = %sums0, %n = %zero, %end = %zero, %best = %empty) -> (tensor<?xi32>, tensor<?xf32>, i32, i32, f32) {
      %above = tensor.extract %parent[%i] : tensor<?xi32>
      %node = arith.index_cast %i : index to i32
      %is_some = arith.cmpi sge, %above, %zero : i32
      %is_before = arith.cmpi slt, %above, %node : i32
      %is_parent = arith.andi %is_some, %is_before : i1
      %from = arith.select %is_parent, %above, %zero : i32
      %at = arith.index_cast %from : i32 to index
      %depth0 = tensor.extract %depths[%at] : tensor<?xi32>
      %sum0 = tensor.extract %sums[%at] : tensor<?xf32>
      %mark = tensor.extract %is_good[%i] : tensor<?xi32>
      %own = tensor.extract %points[%i] : tensor<?xf32>
      %is_marked = arith.cmpi eq, %mark, %one : i32
      %is_live = arith.cmpi sge, %depth0, %zero : i32
      %is_on = arith.andi %is_parent, %is_live : i1
      %stays = arith.andi %is_on, %is_marked : i1
      %deeper = arith.addi %depth0, %one : i32
      %depth = arith.select %stays, %deeper, %none : i32
      %sum = arith.addf %sum0, %own : f32
      %depths1 = tensor.insert %depth into %depths[%i] : tensor<?xi32>
      %sums1 = tensor.insert %sum into %sums[%i] : tensor<?xf32>
      %is_longer = arith.cmpi sgt, %depth, %n : i32
      %is_equal = arith.cmpi eq, %depth, %n : i32
      %is_better = arith.cmpf ogt, %sum, %best : f32
      %wins = arith.andi %is_equal, %is_better : i1
      %may = arith.andi %wins, %stays : i1
      %takes = arith.ori %is_longer, %may : i1
      %n1 = arith.select %takes, %depth, %n : i32
      %end1 = arith.select %takes, %node, %end : i32
      %best1 = arith.select %takes, %sum, %best : f32
      scf.yield %depths1, %sums1, %n1, %end1, %best1 : tensor<?xi32>, tensor<?xf32>, i32, i32, f32
    }
    mtp.yield %all#2, %all#3 : i32, i32
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>)
  return %count, %last : tensor<?xi32>, tensor<?xi32>
}

// Returns the target's pick after the last node.
func.func private @behind(%slots: tensor<?xi32>, %picks: tensor<?x?xi32>, %last: tensor<?xi32>) -> tensor<?xi32> {
  %token = mtp.per_slot %slots(%picks, %last) {
  ^bb0(%index: index, %slot: i32, %pick: tensor<?xi32>, %end: i32):
    %at = arith.index_cast %end : i32 to index
    %x = tensor.extract %pick[%at] : tensor<?xi32>
    mtp.yield %x : i32
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %token : tensor<?xi32>
}

// Typical acceptance (Medusa, Cai et al., 2024, arXiv:2401.10774). Accepts a draft x if p(x) >
// min(epsilon, delta e^-H), where H is the entropy of p. The entropy is computed only for a
// draft that epsilon rejects. Lossy.
func.func private @typical(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %parents: tensor<?x?xi32>, %picks: tensor<?x?xi32>, %p: tensor<?x?x?xf32>, %epsilon: tensor<?xf32>, %delta: tensor<?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %good, %score = mtp.per_slot %slots(%d, %parents, %p, %epsilon, %delta) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %parent: tensor<?xi32>, %target: tensor<?x?xf32>, %most: f32, %part: f32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %empty = arith.constant 0.0 : f32
    %nodes = tensor.dim %parent, %c0 : tensor<?xi32>
    %columns = tensor.dim %target, %c1 : tensor<?x?xf32>
    %shares = tensor.generate %nodes {
    ^bb0(%i: index):
      %above = tensor.extract %parent[%i] : tensor<?xi32>
      %from = arith.maxsi %above, %zero : i32
      %at = arith.index_cast %from : i32 to index
      %before = arith.subi %i, %c1 : index
      %j = arith.maxsi %before, %c0 : index
      %token = tensor.extract %draft[%j] : tensor<?xi32>
      %is_token = arith.cmpi sge, %token, %zero : i32
      %own = arith.maxsi %token, %zero : i32
      %column = arith.index_cast %own : i32 to index
      %share = tensor.extract %target[%at, %column] : tensor<?x?xf32>
      %x = arith.select %is_token, %share, %empty : f32
      tensor.yield %x : f32
    } : tensor<?xf32>
    %marks = tensor.generate %nodes {
    ^bb0(%i: index):
      %share = tensor.extract %shares[%i] : tensor<?xf32>
      %above = tensor.extract %parent[%i] : tensor<?xi32>
      %from = arith.maxsi %above, %zero : i32
      %at = arith.index_cast %from : i32 to index
      %is_some = arith.cmpf ogt, %share, %empty : f32
      %is_below = arith.cmpf ole, %share, %most : f32
      %asks = arith.andi %is_some, %is_below : i1
      %end = arith.select %asks, %columns, %c0 : index
      %minus = scf.for %c = %c0 to %end step %c1 iter_args(%sum = %empty) -> (f32) {
        %x = tensor.extract %target[%at, %c] : tensor<?x?xf32>
        %is_there = arith.cmpf ogt, %x, %empty : f32
        %log = math.log %x : f32
        %term = arith.mulf %x, %log : f32
        %own = arith.select %is_there, %term, %empty : f32
        %next = arith.addf %sum, %own : f32
        scf.yield %next : f32
      }
      %certainty = math.exp %minus : f32
      %scaled = arith.mulf %certainty, %part : f32
      %bound = arith.minimumf %scaled, %most : f32
      %is_above = arith.cmpf ogt, %share, %bound : f32
      %passes = arith.andi %is_some, %is_above : i1
      %mark = arith.extui %passes : i1 to i32
      tensor.yield %mark : i32
    } : tensor<?xi32>
    %logs = tensor.generate %nodes {
    ^bb0(%i: index):
      %share = tensor.extract %shares[%i] : tensor<?xf32>
      %is_some = arith.cmpf ogt, %share, %empty : f32
      %log = math.log %share : f32
      %x = arith.select %is_some, %log, %empty : f32
      tensor.yield %x : f32
    } : tensor<?xf32>
    mtp.yield %marks, %logs : tensor<?xi32>, tensor<?xf32>
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x?xf32>, tensor<?xf32>, tensor<?xf32>) -> (tensor<?x?xi32>, tensor<?x?xf32>)
  %count, %last = mtp.apply @longest(%slots, %parents, %good, %score) : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>)
  %token = mtp.apply @behind(%slots, %picks, %last) : (tensor<?xi32>, tensor<?x?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %count, %last, %token : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}

// Relaxed acceptance. Accepts a draft if it is among the target's best tokens and at most delta
// less likely than the first of them, or if it is the target's pick. `best` and `logs` are the
// results of mtp.top_k on the logits, whatever the temperature is. Lossy.
func.func private @relaxed(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %parents: tensor<?x?xi32>, %picks: tensor<?x?xi32>, %best: tensor<?x?x?xi32>, %logs: tensor<?x?x?xf32>, %delta: tensor<?xf32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %good, %score = mtp.per_slot %slots(%d, %parents, %picks, %best, %logs, %delta) {
  ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %parent: tensor<?xi32>, %pick: tensor<?xi32>, %first: tensor<?x?xi32>, %log: tensor<?x?xf32>, %most: f32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %empty = arith.constant 0.0 : f32
    %nodes = tensor.dim %parent, %c0 : tensor<?xi32>
    %few = tensor.dim %first, %c1 : tensor<?x?xi32>
    %marks = tensor.generate %nodes {
    ^bb0(%i: index):
      %above = tensor.extract %parent[%i] : tensor<?xi32>
      %from = arith.maxsi %above, %zero : i32
      %at = arith.index_cast %from : i32 to index
      %before = arith.subi %i, %c1 : index
      %j = arith.maxsi %before, %c0 : index
      %token = tensor.extract %draft[%j] : tensor<?xi32>
      %log0 = tensor.extract %log[%at, %c0] : tensor<?x?xf32>
      %p0 = math.exp %log0 : f32
      %least = arith.subf %p0, %most : f32
      %own = tensor.extract %pick[%at] : tensor<?xi32>
      %is_pick = arith.cmpi eq, %own, %token : i32
      %begin = arith.extui %is_pick : i1 to i32
      %found = scf.for %c = %c0 to %few step %c1 iter_args(%mark = %begin) -> (i32) {
        %other = tensor.extract %first[%at, %c] : tensor<?x?xi32>
        %logc = tensor.extract %log[%at, %c] : tensor<?x?xf32>
        %pc = math.exp %logc : f32
        %same = arith.cmpi eq, %other, %token : i32
        %near = arith.cmpf oge, %pc, %least : f32
        %both = arith.andi %same, %near : i1
        %more = arith.extui %both : i1 to i32
        %sum = arith.ori %mark, %more : i32
        scf.yield %sum : i32
      }
      %is_token = arith.cmpi sge, %token, %zero : i32
      %x = arith.select %is_token, %found, %zero : i32
      tensor.yield %x : i32
    } : tensor<?xi32>
    // Equal scores: of paths of equal length the lowest wins.
    %none = tensor.splat %empty[%nodes] : tensor<?xf32>
    mtp.yield %marks, %none : tensor<?xi32>, tensor<?xf32>
  } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x?xi32>, tensor<?x?x?xf32>, tensor<?xf32>) -> (tensor<?x?xi32>, tensor<?x?xf32>)
  %count, %last = mtp.apply @longest(%slots, %parents, %good, %score) : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<?xi32>, tensor<?xi32>)
  %token = mtp.apply @behind(%slots, %picks, %last) : (tensor<?xi32>, tensor<?x?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %count, %last, %token : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
}
