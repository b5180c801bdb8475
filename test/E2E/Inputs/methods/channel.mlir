// Inputs and outputs of requests. A request brings a bias, which is added to the logits of all
// its rows, the target's and the drafter's. The output is that of a head with this bias, for
// any drafts. A request may ask for two numbers of each token, computed from the hidden state
// that the token was picked from, and for the drafts that a round accepted.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.state @bias[64] : f32 input

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
  %count, %tokens = mtp.accept %drafts, %logits exact tree [-1, 0, 0, 1] {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %slots = mtp.row_slots %rows : tensor<?xi32>
    %b = mtp.read_state @bias of %slots : tensor<?xi32> -> tensor<?x64xf32>
    %y = mtp.add %l, %b : tensor<?x64xf32>
    %p = mtp.sample %y, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x3xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  %probe = mtp.weight "probe" : tensor<2x32xf32>
  %seen = mtp.linear %hidden, %probe : tensor<?x32xf32>, tensor<2x32xf32> -> tensor<?x2xf32>
  mtp.output "probe" %seen for tokens : tensor<?x2xf32>
  mtp.output "kept" %count for slots : tensor<?xi32>
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
