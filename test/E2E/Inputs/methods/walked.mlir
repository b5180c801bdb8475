// The exact rule as code of the program: the walk down a tree of drafts, child by child, that
// mtp.accept does by itself with `exact`. Output and acceptance are equal. A table of bigrams
// drafts the tree.
//
//   0 --- 1 --- 3
//    \--- 2
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.round @generate {
  %drafts = mtp.draft_tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x3xi32>
  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x3xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %tokens, %path = mtp.accept %drafts, %logits custom tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, drafts, picks) {
  ^bb0(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %p: tensor<?x?xi32>):
    %n, %t, %w = mtp.per_slot %slots(%d, %p) {
    ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %pick: tensor<?xi32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %nodes = arith.addi %k, %c1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %parents = arith.constant dense<[-1, 0, 0, 1]> : tensor<4xi32>
      %start = arith.constant dense<[0, -1, -1, -1]> : tensor<4xi32>
      // A node is visited if its parent is visited and picks it.
      %count, %last, %walked = scf.for %child = %c1 to %nodes step %c1
          iter_args(%so_far = %zero, %node = %zero, %path = %start) -> (i32, i32, tensor<4xi32>) {
        %before = arith.subi %child, %c1 : index
        %token = tensor.extract %draft[%before] : tensor<?xi32>
        %parent = tensor.extract %parents[%child] : tensor<4xi32>
        %place = arith.index_cast %node : i32 to index
        %wanted = tensor.extract %pick[%place] : tensor<?xi32>
        %below = arith.cmpi eq, %parent, %node : i32
        %same = arith.cmpi eq, %token, %wanted : i32
        %goes = arith.andi %below, %same : i1
        %more = arith.addi %so_far, %one : i32
        %now = arith.select %goes, %more, %so_far : i32
        %child32 = arith.index_cast %child : index to i32
        %next = arith.select %goes, %child32, %node : i32
        %at = arith.index_cast %now : i32 to index
        %longer = tensor.insert %next into %path[%at] : tensor<4xi32>
        scf.yield %now, %next, %longer : i32, i32, tensor<4xi32>
      }
      %own = tensor.generate %nodes {
      ^bb0(%i: index):
        %node = tensor.extract %walked[%i] : tensor<4xi32>
        tensor.yield %node : i32
      } : tensor<?xi32>
      %out = tensor.generate %nodes {
      ^bb0(%i: index):
        %node = tensor.extract %walked[%i] : tensor<4xi32>
        %place = arith.index_cast %node : i32 to index
        %token = tensor.extract %pick[%place] : tensor<?xi32>
        tensor.yield %token : i32
      } : tensor<?xi32>
      mtp.yield %count, %out, %own : i32, tensor<?xi32>, tensor<?xi32>
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
    mtp.yield %n, %t, %w : tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>
  } : (tensor<?x3xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden along %path : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>, tensor<?x?xi32>
}
