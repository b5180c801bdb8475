// Lookahead decoding (arXiv:2402.02057) with 60 rows beside the anchor, as a tree of the
// slot's own: no model drafts. Nodes 1 to 36 are twelve runs of three tokens that were
// seen behind the anchor's token. The others are the window: a chain of eight guesses
// (37 to 44), behind each of which the guess of the next step stands (45 to 52) and that
// of the one after (53 to 60). What the target picks behind the last ones ends a run of
// four tokens, which is kept, and all guesses move up a step.
module attributes {mtp.envelope = #mtp.envelope<max_k = 10, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8, max_nodes = 61>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
// The guesses, runs by their first token, and which of the twelve is next.
mtp.state @guesses[24] : i32 init -1 rebuild save
mtp.state @runs[64, 36] : i32 init -1 rebuild save
mtp.state @next[64] : i32 rebuild save

mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %parents = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %runs = arith.constant 36 : index
    %zero = arith.constant 0 : i32
    %times = arith.constant 13 : i32
    %tokens = arith.constant 64 : i32
    %shape = arith.constant dense<[-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11, 0, 13, 14, 0, 16, 17, 0,
        19, 20, 0, 22, 23, 0, 25, 26, 0, 28, 29, 0, 31, 32, 0, 34, 35, 0, 37, 38,
        39, 40, 41, 42, 43, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
        52]> : tensor<61xi32>
    %a = mtp.load @accepted[] : i32
    %last = arith.index_cast %a : i32 to index
    %anchor = mtp.load @window[%last] : i32
    %key = arith.index_cast %anchor : i32 to index
    %nodes = mtp.nodes
    %count = arith.subi %nodes, %c1 : index
    %d = tensor.generate %count {
    ^bb0(%j: index):
      %known = mtp.load @runs[%key, %j] : i32
      %behind = arith.subi %j, %runs : index
      %at = arith.maxsi %behind, %c0 : index
      %guess = mtp.load @guesses[%at] : i32
      // None yet: any token.
      %i = arith.index_cast %at : index to i32
      %spread = arith.muli %i, %times : i32
      %sum = arith.addi %spread, %anchor : i32
      %any = arith.remui %sum, %tokens : i32
      %is_guess = arith.cmpi sge, %guess, %zero : i32
      %own = arith.select %is_guess, %guess, %any : i32
      %is_run = arith.cmpi ult, %j, %runs : index
      %token = arith.select %is_run, %known, %own : i32
      tensor.yield %token : i32
    } : tensor<?xi32>
    %p = tensor.generate %nodes {
    ^bb0(%j: index):
      %parent = tensor.extract %shape[%j] : tensor<61xi32>
      tensor.yield %parent : i32
    } : tensor<?xi32>
    mtp.yield %d, %p : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)

  %logits, %hidden, %verified = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>, !mtp.rows)

  %k = mtp.k
  %none = arith.constant 0 : index
  %is_drafting = arith.cmpi ugt, %k, %none : index
  scf.if %is_drafting {
    %own = mtp.sample %logits, %verified : tensor<?x64xf32> -> tensor<?xi32>
    %picks = mtp.regroup %own : tensor<?xi32> -> tensor<?x?xi32>
    mtp.per_slot %slots(%drafts, %picks) {
    ^bb0(%index: index, %slot: i32, %d: tensor<?xi32>, %p: tensor<?xi32>):
      %k_of = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %width = arith.constant 8 : index
      %first = arith.constant 36 : index
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %twelve = arith.constant 12 : i32
      scf.for %c = %c0 to %width step %c1 {
        // The third guess is three deeper than its column; else it is dead.
        %depth = arith.addi %c, %c3 : index
        %lives = arith.cmpi ule, %depth, %k_of : index
        scf.if %lives {
          %i0 = arith.addi %c, %first : index
          %i1 = arith.addi %i0, %width : index
          %i2 = arith.addi %i1, %width : index
          %node = arith.addi %i2, %c1 : index
          %t0 = tensor.extract %d[%i0] : tensor<?xi32>
          %t1 = tensor.extract %d[%i1] : tensor<?xi32>
          %t2 = tensor.extract %d[%i2] : tensor<?xi32>
          %t3 = tensor.extract %p[%node] : tensor<?xi32>
          %second = arith.addi %c, %width : index
          %third = arith.addi %second, %width : index
          mtp.store %t1, @guesses[%c] : i32
          mtp.store %t2, @guesses[%second] : i32
          mtp.store %t3, @guesses[%third] : i32
          %key = arith.index_cast %t0 : i32 to index
          %n = mtp.load @next[%key] : i32
          %begin = arith.muli %n, %three : i32
          %at = arith.index_cast %begin : i32 to index
          %at1 = arith.addi %at, %c1 : index
          %at2 = arith.addi %at, %c2 : index
          mtp.store %t1, @runs[%key, %at] : i32
          mtp.store %t2, @runs[%key, %at1] : i32
          mtp.store %t3, @runs[%key, %at2] : i32
          %more = arith.addi %n, %one : i32
          %after = arith.remui %more, %twelve : i32
          mtp.store %after, @next[%key] : i32
        }
      }
      mtp.yield
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>) -> ()
  }
  %count, %picks = mtp.accept %drafts, %logits exact parents %parents {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
