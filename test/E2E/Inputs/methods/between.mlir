// Code between the ops. Each slot's third draft of a table becomes the token after its own. A
// bias is added to logits. A region of accept excludes the token before its row, so that no
// token occurs twice in a row.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %table = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x?xi32>
  %drafts = mtp.per_slot %slots(%table) {
  ^bb0(%index: index, %slot: i32, %own: tensor<?xi32>):
    %k = mtp.k
    %two = arith.constant 2 : index
    %one = arith.constant 1 : i32
    %most = arith.constant 63 : i32
    %changed = tensor.generate %k {
    ^bb0(%j: index):
      %d = tensor.extract %own[%j] : tensor<?xi32>
      %next = arith.addi %d, %one : i32
      %other = arith.minsi %next, %most : i32
      %is_third = arith.cmpi eq, %j, %two : index
      %t = arith.select %is_third, %other, %d : i32
      tensor.yield %t : i32
    } : tensor<?xi32>
    mtp.yield %changed : tensor<?xi32>
  } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
  %raw, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %logits = mtp.add %raw, %raw : tensor<?x64xf32>
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x?xi32>):
    %before = mtp.per_slot %of(%path) {
    ^bb0(%index: index, %slot: i32, %tokens: tensor<?xi32>):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %count = tensor.dim %tokens, %c0 : tensor<?xi32>
      %last = scf.for %j = %c0 to %count step %c1 iter_args(%t = %zero) -> (i32) {
        %u = tensor.extract %tokens[%j] : tensor<?xi32>
        %is_one = arith.cmpi sge, %u, %zero : i32
        %v = arith.select %is_one, %u, %t : i32
        scf.yield %v : i32
      }
      mtp.yield %last : i32
    } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?xi32>
    %others = mtp.mask_tokens %l, %before : tensor<?x64xf32>, tensor<?xi32>
    %p = mtp.sample %others, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
