// A host that sees the drafts before they are verified, and writes a bit per token for what may
// follow the anchor and each draft. Row j of @allowed is for the row after j drafts. Drafts are
// the best by a table of bigrams among the tokens that the rows allow when they are picked:
// rows of the last round, or rows that the host has written ahead.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.state @allowed[max_k + 1, 2] : i32 init -1 input

mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x?xi32>
  mtp.await_host %drafts : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows, %of: tensor<?xi32>, %path: tensor<?x?xi32>):
    %behind = mtp.per_slot %of(%path) {
    ^bb0(%index: index, %slot: i32, %tokens: tensor<?xi32>):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %anchor = arith.constant -1 : i32
      %width = tensor.dim %tokens, %c0 : tensor<?xi32>
      %count = scf.for %j = %c0 to %width step %c1 iter_args(%n = %anchor) -> (i32) {
        %u = tensor.extract %tokens[%j] : tensor<?xi32>
        %is_one = arith.cmpi sge, %u, %zero : i32
        %more = arith.extui %is_one : i1 to i32
        %sum = arith.addi %n, %more : i32
        scf.yield %sum : i32
      }
      mtp.yield %count : i32
    } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?xi32>
    %y = mtp.mask_columns %l by @allowed of %of[%behind] : tensor<?x64xf32>, tensor<?xi32>, tensor<?xi32>
    %p = mtp.sample %y, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
