// Drafts a tree with random parents for each slot and round, so that all shapes occur. A node's
// parent is a preceding node, or sometimes any number, which may be no preceding node. A draft
// is one of the three likeliest tokens after its parent by a table of bigrams, or sometimes
// none. Seed, length and anchor determine the random choices.
module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8, max_nodes = 24>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
// Returns one of `count` numbers from 0 on, the `number`th draw at a position.
func.func private @draw(%position: i32, %number: i32, %count: i32) -> i32 {
  %bits = arith.constant 24 : i32
  %scale = arith.constant 16777216.0 : f32
  %u = mtp.uniform %position, %number
  %scaled = arith.mulf %u, %scale : f32
  %whole = arith.fptosi %scaled : f32 to i32
  %product = arith.muli %whole, %count : i32
  %drawn = arith.shrui %product, %bits : i32
  return %drawn : i32
}
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %drafts, %parents = mtp.draft {
    // The logits of the next token for each token.
    %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>
    %all = mtp.per_slot %slots {
    ^bb0(%index: index, %slot: i32):
      %tokens = tensor.generate {
      ^bb0(%j: index):
        %t = arith.index_cast %j : index to i32
        tensor.yield %t : i32
      } : tensor<64xi32>
      mtp.yield %tokens : tensor<64xi32>
    } : (tensor<?xi32>) -> tensor<?x64xi32>
    %each = mtp.reshape %all : tensor<?x64xi32> -> tensor<?xi32>
    %logits = mtp.embed %each, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %of_slots = mtp.reshape %logits : tensor<?x64xf32> -> tensor<?x64x64xf32>
    %best, %logs = mtp.top_k %of_slots k 3 : tensor<?x64x64xf32> -> tensor<?x64x3xi32>, tensor<?x64x3xf32>
    %d, %p = mtp.per_slot %slots(%best) {
    ^bb0(%index: index, %slot: i32, %next: tensor<64x3xi32>):
      %i1 = arith.constant 1 : index
      %none = arith.constant -1 : i32
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %eight = arith.constant 8 : i32
      %lowest = arith.constant 20 : i32
      %many = arith.constant 64 : i32
      %of_anchor = arith.constant 512 : i32
      %n = mtp.load @length[] : i32
      %a = mtp.load @accepted[] : i32
      %last = arith.index_cast %a : i32 to index
      %anchor = mtp.load @window[%last] : i32
      %first = arith.muli %anchor, %of_anchor : i32
      %nodes = mtp.nodes
      %count = arith.subi %nodes, %i1 : index
      %t0 = tensor.splat %anchor : tensor<24xi32>
      %d0 = arith.constant dense<-1> : tensor<24xi32>
      %tokens, %ds, %ps = scf.for %j = %i1 to %nodes step %i1 iter_args(%t = %t0, %d = %d0, %p = %d0) -> (tensor<24xi32>, tensor<24xi32>, tensor<24xi32>) {
        %node = arith.index_cast %j : index to i32
        %own = arith.muli %node, %eight : i32
        %n0 = arith.addi %first, %own : i32
        %n1 = arith.addi %n0, %one : i32
        %n2 = arith.addi %n1, %one : i32
        %n3 = arith.addi %n2, %one : i32
        %n4 = arith.addi %n3, %one : i32
        %before = func.call @draw(%n, %n0, %node) : (i32, i32, i32) -> i32
        %any = func.call @draw(%n, %n1, %many) : (i32, i32, i32) -> i32
        %kind = func.call @draw(%n, %n2, %eight) : (i32, i32, i32) -> i32
        %is_any = arith.cmpi eq, %kind, %zero : i32
        %wild = arith.subi %any, %lowest : i32
        %parent = arith.select %is_any, %wild, %before : i32
        // The best token in three of four cases, otherwise the second or third.
        %chance = func.call @draw(%n, %n3, %eight) : (i32, i32, i32) -> i32
        %rank = arith.subi %two, %chance : i32
        %others = arith.maxsi %rank, %zero : i32
        // The token follows the preceding node, whatever the parent is.
        %above = arith.index_cast %before : i32 to index
        %row = tensor.extract %t[%above] : tensor<24xi32>
        %from = arith.index_cast %row : i32 to index
        %column = arith.index_cast %others : i32 to index
        %token = tensor.extract %next[%from, %column] : tensor<64x3xi32>
        %gap = func.call @draw(%n, %n4, %lowest) : (i32, i32, i32) -> i32
        %is_none = arith.cmpi eq, %gap, %zero : i32
        %draft = arith.select %is_none, %none, %token : i32
        %tj = tensor.insert %token into %t[%j] : tensor<24xi32>
        %dj = tensor.insert %draft into %d[%j] : tensor<24xi32>
        %pj = tensor.insert %parent into %p[%j] : tensor<24xi32>
        scf.yield %tj, %dj, %pj : tensor<24xi32>, tensor<24xi32>, tensor<24xi32>
      }
      %own_drafts = tensor.generate %count {
      ^bb0(%j: index):
        %j1 = arith.addi %j, %i1 : index
        %t = tensor.extract %ds[%j1] : tensor<24xi32>
        tensor.yield %t : i32
      } : tensor<?xi32>
      %own_parents = tensor.generate %nodes {
      ^bb0(%j: index):
        %t = tensor.extract %ps[%j] : tensor<24xi32>
        tensor.yield %t : i32
      } : tensor<?xi32>
      mtp.yield %own_drafts, %own_parents : tensor<?xi32>, tensor<?xi32>
    } : (tensor<?xi32>, tensor<?x64x3xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)
    mtp.yield %d, %p : tensor<?x?xi32>, tensor<?x?xi32>
  } : tensor<?x?xi32>, tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts parents %parents {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact parents %parents {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
