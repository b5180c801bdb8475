// Drafts a tree whose shape the program computes, for each slot and round. The anchor and its
// position select a chain, a star, nothing, or two siblings with equal tokens, of which the
// second one has the likelier child. Node i is draft i. Drafts are the best by a table of
// bigrams.
//
//   0 - 1 - 2 - 3 - 4        0 - 1, 2, 3, 4        0        0 --- 1 --- 3
//                                                            \--- 2 --- 4
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32

mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>

  // The anchor, and the rows that will verify a chain's nodes.
  %anchor, %p0, %p1, %p2, %p3 = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c1 = arith.constant 1 : i32
    %n = mtp.load @length[] : i32
    %a = mtp.load @accepted[] : i32
    %last = arith.index_cast %a : i32 to index
    %token = mtp.load @window[%last] : i32
    %n1 = arith.addi %n, %c1 : i32
    %n2 = arith.addi %n1, %c1 : i32
    %n3 = arith.addi %n2, %c1 : i32
    mtp.yield %token, %n, %n1, %n2, %n3 : i32, i32, i32, i32, i32
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>)
  %r0 = mtp.make_rows %slots, %p0 : tensor<?xi32>
  %r1 = mtp.make_rows %slots, %p1 : tensor<?xi32>
  %r2 = mtp.make_rows %slots, %p2 : tensor<?xi32>
  %r3 = mtp.make_rows %slots, %p3 : tensor<?xi32>

  // The anchor's four best tokens, and each time the best token after the best.
  %l0 = mtp.embed %anchor, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %b1 = mtp.sample %l0, %r0 : tensor<?x64xf32> -> tensor<?xi32>
  %x1 = mtp.mask_tokens %l0, %b1 : tensor<?x64xf32>, tensor<?xi32>
  %b2 = mtp.sample %x1, %r0 : tensor<?x64xf32> -> tensor<?xi32>
  %x2 = mtp.mask_tokens %x1, %b2 : tensor<?x64xf32>, tensor<?xi32>
  %b3 = mtp.sample %x2, %r0 : tensor<?x64xf32> -> tensor<?xi32>
  %x3 = mtp.mask_tokens %x2, %b3 : tensor<?x64xf32>, tensor<?xi32>
  %b4 = mtp.sample %x3, %r0 : tensor<?x64xf32> -> tensor<?xi32>
  %l1 = mtp.embed %b1, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %c2 = mtp.sample %l1, %r1 : tensor<?x64xf32> -> tensor<?xi32>
  %y2 = mtp.mask_tokens %l1, %c2 : tensor<?x64xf32>, tensor<?xi32>
  %u2 = mtp.sample %y2, %r1 : tensor<?x64xf32> -> tensor<?xi32>
  %l2 = mtp.embed %c2, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %c3 = mtp.sample %l2, %r2 : tensor<?x64xf32> -> tensor<?xi32>
  %l3 = mtp.embed %c3, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %c4 = mtp.sample %l3, %r3 : tensor<?x64xf32> -> tensor<?xi32>

  // The shape, and the drafts of its nodes. A smaller k has the first of them.
  %drafts, %parents = mtp.per_slot %slots(%anchor, %p0, %b1, %b2, %b3, %b4, %u2, %c2, %c3, %c4) {
  ^bb0(%index: index, %slot: i32, %t: i32, %n: i32, %best: i32, %second: i32, %third: i32, %fourth: i32, %other: i32, %two: i32, %three: i32, %four: i32):
    %one = arith.constant 1 : index
    %count = arith.constant 4 : i32
    %k = mtp.k
    %nodes = arith.addi %k, %one : index
    %sum = arith.addi %t, %n : i32
    %shape = arith.remui %sum, %count : i32
    %row = arith.index_cast %shape : i32 to index
    %of_drafts = tensor.from_elements %best, %two, %three, %four,
        %best, %second, %third, %fourth, %best, %best, %best, %best,
        %best, %best, %other, %two : tensor<4x4xi32>
    %of_parents = arith.constant dense<[[-1, 0, 1, 2, 3], [-1, 0, 0, 0, 0],
        [-1, -1, -1, -1, -1], [-1, 0, 0, 1, 2]]> : tensor<4x5xi32>
    %d = tensor.generate %k {
    ^bb0(%j: index):
      %token = tensor.extract %of_drafts[%row, %j] : tensor<4x4xi32>
      tensor.yield %token : i32
    } : tensor<?xi32>
    %p = tensor.generate %nodes {
    ^bb0(%j: index):
      %parent = tensor.extract %of_parents[%row, %j] : tensor<4x5xi32>
      tensor.yield %parent : i32
    } : tensor<?xi32>
    mtp.yield %d, %p : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> (tensor<?x?xi32>, tensor<?x?xi32>)

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
