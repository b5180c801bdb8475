// Drafts a dynamic tree (EAGLE-2, arXiv:2406.16858) with a drafter that reads a token and the
// preceding hidden state. At each depth the three best nodes get three candidates each, the
// best tokens after the node. The best of all candidates are drafted. The rank of a node is the
// sum of log probabilities along its path; of equal sums the first one wins. Each depth after
// the first takes three places of the window.
module attributes {mtp.envelope = #mtp.envelope<max_k = 16, max_batch = 1, max_context = 8, prefill_chunk = 1, page = 1>} {
mtp.state @length : i32
mtp.state @tokens[36] : i32
mtp.state @above[36] : i32
mtp.state @scores[36] : f32
// Returns the first beam: the anchor's row repeated three times, and sums, numbers and masks
// for @expand. Only the first of the three nodes is active.
func.func private @begin(%slots: tensor<?xi32>, %anchor: tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>) {
  %r, %sums, %nodes, %masks = mtp.per_slot %slots(%anchor) {
  ^bb0(%index: index, %slot: i32, %row: i32):
    %rows = tensor.splat %row : tensor<3xi32>
    %sums = arith.constant dense<[0.0, 0xFF800000, 0xFF800000]> : tensor<3xf32>
    %nodes = arith.constant dense<-1> : tensor<3xi32>
    %masks = arith.constant dense<1> : tensor<3xi64>
    mtp.yield %rows, %sums, %nodes, %masks : tensor<3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<3xi64>
  } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?x3xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>)
  %rows = mtp.reshape %r : tensor<?x3xi32> -> tensor<?xi32>
  return %rows, %sums, %nodes, %masks : tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>
}
// Stores the candidates of three nodes and returns the three best as the next beam. Inputs: the
// nodes' logits, states, position, sums, numbers and masks. Results: tokens, rows, states, next
// position, sums, numbers and masks.
func.func private @expand(%slots: tensor<?xi32>, %l: tensor<?x?xf32>, %g: tensor<?x?xf32>, %at: tensor<?xi32>, %sums: tensor<?x3xf32>, %nodes: tensor<?x3xi32>, %masks: tensor<?x3xi64>) -> (tensor<?xi32>, !mtp.rows, tensor<?x?xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>) {
  %three = mtp.reshape %l : tensor<?x?xf32> -> tensor<?x3x?xf32>
  %best, %logs = mtp.top_k %three k 3 : tensor<?x3x?xf32> -> tensor<?x3x3xi32>, tensor<?x3x3xf32>
  %scores = mtp.per_slot %slots(%best, %logs, %at, %sums, %nodes) {
  ^bb0(%index: index, %slot: i32, %tokens: tensor<3x3xi32>, %own: tensor<3x3xf32>, %position: i32, %sum: tensor<3xf32>, %node: tensor<3xi32>):
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i3 = arith.constant 3 : index
    %i9 = arith.constant 9 : index
    %none = arith.constant 0.0 : f32
    %n = mtp.load @length[] : i32
    %depth = arith.subi %position, %n : i32
    %deep = arith.index_cast %depth : i32 to index
    %begin = arith.muli %deep, %i9 : index
    %s0 = tensor.splat %none : tensor<9xf32>
    %all = scf.for %c = %i0 to %i9 step %i1 iter_args(%s = %s0) -> (tensor<9xf32>) {
      %b = arith.divui %c, %i3 : index
      %column = arith.remui %c, %i3 : index
      %token = tensor.extract %tokens[%b, %column] : tensor<3x3xi32>
      %log = tensor.extract %own[%b, %column] : tensor<3x3xf32>
      %above = tensor.extract %sum[%b] : tensor<3xf32>
      %parent = tensor.extract %node[%b] : tensor<3xi32>
      %score = arith.addf %above, %log : f32
      %i = arith.addi %begin, %c : index
      mtp.store %token, @tokens[%i] : i32
      mtp.store %parent, @above[%i] : i32
      mtp.store %score, @scores[%i] : f32
      %more = tensor.insert %score into %s[%c] : tensor<9xf32>
      scf.yield %more : tensor<9xf32>
    }
    mtp.yield %all : tensor<9xf32>
  } : (tensor<?xi32>, tensor<?x3x3xi32>, tensor<?x3x3xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>) -> tensor<?x9xf32>
  %chosen, %shares = mtp.top_k %scores k 3 : tensor<?x9xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  %t, %s, %p, %r, %q, %f, %m, %sum, %node, %next = mtp.per_slot %slots(%chosen, %scores, %best, %at, %masks) {
  ^bb0(%index: index, %slot: i32, %own: tensor<3xi32>, %score: tensor<9xf32>, %tokens: tensor<3x3xi32>, %position: i32, %mask: tensor<3xi64>):
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i3 = arith.constant 3 : index
    %i9 = arith.constant 9 : index
    %one = arith.constant 1 : i32
    %bit = arith.constant 1 : i64
    %none = arith.constant 0.0 : f32
    %n = mtp.load @length[] : i32
    %root = arith.subi %n, %one : i32
    %behind = arith.addi %position, %one : i32
    %depth = arith.subi %position, %n : i32
    %deep = arith.index_cast %depth : i32 to index
    %begin = arith.muli %deep, %i9 : index
    %before = arith.muli %deep, %i3 : index
    %first = arith.muli %index, %i3 : index
    %of = tensor.splat %slot : tensor<3xi32>
    %positions = tensor.splat %position : tensor<3xi32>
    %roots = tensor.splat %root : tensor<3xi32>
    %s0 = tensor.splat %none : tensor<3xf32>
    %all:6 = scf.for %j = %i0 to %i3 step %i1 iter_args(%ts = %of, %qs = %of, %fs = %of, %ms = %mask, %ss = %s0, %ns = %of) -> (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi64>, tensor<3xf32>, tensor<3xi32>) {
      %column = tensor.extract %own[%j] : tensor<3xi32>
      %c = arith.index_cast %column : i32 to index
      %b = arith.divui %c, %i3 : index
      %child = arith.remui %c, %i3 : index
      %token = tensor.extract %tokens[%b, %child] : tensor<3x3xi32>
      %path = tensor.extract %mask[%b] : tensor<3xi64>
      %value = tensor.extract %score[%c] : tensor<9xf32>
      // The anchor has place 0 of the window, and each depth has three places.
      %above = arith.addi %before, %j : index
      %bits = arith.addi %above, %i1 : index
      %wide = arith.index_cast %bits : index to i64
      %own_bit = arith.shli %bit, %wide : i64
      %sees = arith.ori %path, %own_bit : i64
      %far = arith.index_cast %above : index to i32
      %place = arith.addi %n, %far : i32
      %from = arith.addi %first, %b : index
      %row = arith.index_cast %from : index to i32
      %i = arith.addi %begin, %c : index
      %number = arith.index_cast %i : index to i32
      %tj = tensor.insert %token into %ts[%j] : tensor<3xi32>
      %qj = tensor.insert %place into %qs[%j] : tensor<3xi32>
      %fj = tensor.insert %row into %fs[%j] : tensor<3xi32>
      %mj = tensor.insert %sees into %ms[%j] : tensor<3xi64>
      %sj = tensor.insert %value into %ss[%j] : tensor<3xf32>
      %nj = tensor.insert %number into %ns[%j] : tensor<3xi32>
      scf.yield %tj, %qj, %fj, %mj, %sj, %nj : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi64>, tensor<3xf32>, tensor<3xi32>
    }
    mtp.yield %all#0, %of, %positions, %roots, %all#1, %all#2, %all#3, %all#4, %all#5, %behind : tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi64>, tensor<3xf32>, tensor<3xi32>, i32
  } : (tensor<?xi32>, tensor<?x3xi32>, tensor<?x9xf32>, tensor<?x3x3xi32>, tensor<?xi32>, tensor<?x3xi64>) -> (tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x3xi64>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?xi32>)
  %token = mtp.reshape %t : tensor<?x3xi32> -> tensor<?xi32>
  %slot = mtp.reshape %s : tensor<?x3xi32> -> tensor<?xi32>
  %position = mtp.reshape %p : tensor<?x3xi32> -> tensor<?xi32>
  %root = mtp.reshape %r : tensor<?x3xi32> -> tensor<?xi32>
  %place = mtp.reshape %q : tensor<?x3xi32> -> tensor<?xi32>
  %from = mtp.reshape %f : tensor<?x3xi32> -> tensor<?xi32>
  %mask = mtp.reshape %m : tensor<?x3xi64> -> tensor<?xi64>
  %rows = mtp.make_tree_rows %slot, %position from %root at %place seeing %mask refreshed : tensor<?xi32>, tensor<?xi64>
  %h = mtp.gather_rows %g, %from : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  return %token, %rows, %h, %next, %sum, %node, %m : tensor<?xi32>, !mtp.rows, tensor<?x?xf32>, tensor<?xi32>, tensor<?x3xf32>, tensor<?x3xi32>, tensor<?x3xi64>
}
// Drafts the best candidates of all depths before position %at, in the order of their numbers.
// Returns the drafts and the parents of the nodes.
func.func private @rerank(%slots: tensor<?xi32>, %at: tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>) {
  %all = mtp.per_slot %slots(%at) {
  ^bb0(%index: index, %slot: i32, %position: i32):
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i9 = arith.constant 9 : index
    %n = mtp.load @length[] : i32
    %depths = arith.subi %position, %n : i32
    %deep = arith.index_cast %depths : i32 to index
    %end = arith.muli %deep, %i9 : index
    %none = arith.constant dense<0xFF800000> : tensor<36xf32>
    %scores = scf.for %c = %i0 to %end step %i1 iter_args(%s = %none) -> (tensor<36xf32>) {
      %score = mtp.load @scores[%c] : f32
      %more = tensor.insert %score into %s[%c] : tensor<36xf32>
      scf.yield %more : tensor<36xf32>
    }
    mtp.yield %scores : tensor<36xf32>
  } : (tensor<?xi32>, tensor<?xi32>) -> tensor<?x36xf32>
  %best, %shares = mtp.top_k %all k 16 : tensor<?x36xf32> -> tensor<?x16xi32>, tensor<?x16xf32>
  %drafts, %parents = mtp.per_slot %slots(%best) {
  ^bb0(%index: index, %slot: i32, %own: tensor<16xi32>):
    %k = mtp.k
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %nodes = arith.addi %k, %i1 : index
    %d0 = arith.constant dense<-1> : tensor<16xi32>
    %p0 = arith.constant dense<-1> : tensor<17xi32>
    // A node's index is 1 plus the number of drafted candidates with a lower number.
    %d, %p = scf.for %i = %i0 to %k step %i1 iter_args(%d = %d0, %p = %p0) -> (tensor<16xi32>, tensor<17xi32>) {
      %number = tensor.extract %own[%i] : tensor<16xi32>
      %c = arith.index_cast %number : i32 to index
      %token = mtp.load @tokens[%c] : i32
      %up = mtp.load @above[%c] : i32
      %before, %above = scf.for %j = %i0 to %k step %i1 iter_args(%b = %i0, %a = %i0) -> (index, index) {
        %other = tensor.extract %own[%j] : tensor<16xi32>
        %is_before = arith.cmpi slt, %other, %number : i32
        %is_above = arith.cmpi sle, %other, %up : i32
        %b1 = arith.addi %b, %i1 : index
        %a1 = arith.addi %a, %i1 : index
        %bj = arith.select %is_before, %b1, %b : index
        %aj = arith.select %is_above, %a1, %a : index
        scf.yield %bj, %aj : index, index
      }
      %parent = arith.index_cast %above : index to i32
      %node = arith.addi %before, %i1 : index
      %di = tensor.insert %token into %d[%before] : tensor<16xi32>
      %pi = tensor.insert %parent into %p[%node] : tensor<17xi32>
      scf.yield %di, %pi : tensor<16xi32>, tensor<17xi32>
    }
    %ds = tensor.generate %k {
    ^bb0(%j: index):
      %t = tensor.extract %d[%j] : tensor<16xi32>
      tensor.yield %t : i32
    } : tensor<?xi32>
    %ps = tensor.generate %nodes {
    ^bb0(%j: index):
      %t = tensor.extract %p[%j] : tensor<17xi32>
      tensor.yield %t : i32
    } : tensor<?xi32>
    mtp.yield %ds, %ps : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>, tensor<?x16xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
  return %drafts, %parents : tensor<?x?xi32>, tensor<?x?xi32>
}
}
