// Drafts by suffixes of at most 6 of the tokens so far, with three tenths of the votes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 5, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.import "<lookup.mlir>" [@remember]
mtp.import "<suffix.mlir>" [@suffix]
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    func.call @remember() : () -> ()
    mtp.yield
  } : (tensor<?xi32>) -> ()
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %max = arith.constant 6 : index
    %percent = arith.constant 30 : i32
    %d = func.call @suffix(%max, %percent) : (index, i32) -> tensor<?xi32>
    mtp.yield %d : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>

  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
