// Drafts a tree of two branches with a table of bigrams: the two best tokens after the anchor,
// then the best token after each. Node i is draft i.
//
//   0 --- 1 --- 3
//    \--- 2 --- 4
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32

mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>

  // The anchor, and the rows that will verify its successors and those of nodes 1 and 2.
  %anchor, %p0, %p1 = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c1 = arith.constant 1 : i32
    %n = mtp.load @length[] : i32
    %a = mtp.load @accepted[] : i32
    %last = arith.index_cast %a : i32 to index
    %token = mtp.load @window[%last] : i32
    %next = arith.addi %n, %c1 : i32
    mtp.yield %token, %n, %next : i32, i32, i32
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
  %rows0 = mtp.make_rows %slots, %p0 : tensor<?xi32>
  %rows1 = mtp.make_rows %slots, %p1 : tensor<?xi32>

  // Siblings are the best with the noise of the row that will verify them.
  %l0 = mtp.embed %anchor, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %d1 = mtp.sample %l0, %rows0 : tensor<?x64xf32> -> tensor<?xi32>
  %rest = mtp.mask_tokens %l0, %d1 : tensor<?x64xf32>, tensor<?xi32>
  %d2 = mtp.sample %rest, %rows0 : tensor<?x64xf32> -> tensor<?xi32>
  %l1 = mtp.embed %d1, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %d3 = mtp.sample %l1, %rows1 : tensor<?x64xf32> -> tensor<?xi32>
  %l2 = mtp.embed %d2, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %d4 = mtp.sample %l2, %rows1 : tensor<?x64xf32> -> tensor<?xi32>

  // A smaller k has the first nodes.
  %drafts = mtp.per_slot %slots(%d1, %d2, %d3, %d4) {
  ^bb0(%index: index, %slot: i32, %t1: i32, %t2: i32, %t3: i32, %t4: i32):
    %k = mtp.k
    %all = tensor.from_elements %t1, %t2, %t3, %t4 : tensor<4xi32>
    %some = tensor.generate %k {
    ^bb0(%j: index):
      %t = tensor.extract %all[%j] : tensor<4xi32>
      tensor.yield %t : i32
    } : tensor<?xi32>
    mtp.yield %some : tensor<?xi32>
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>

  %logits, %hidden = mtp.verify %drafts tree [-1, 0, 0, 1, 2] {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 1, 2] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
