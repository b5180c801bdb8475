// Speculative sampling by rejection (Leviathan et al., 2022, arXiv:2211.17192). The target
// accepts a draft x of distribution q with probability min(1, p(x) / q(x)). After the first
// rejection the rule outputs a token of the distribution max(p - q, 0), normalised. So each
// token has the distribution p, but it is not the token that k = 0 picks. The rule reads the
// draft's logits.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @sampling[8] : i32

mtp.round @generate {
  // A chain by the table of bigrams, and the logits that its drafts are drawn from.
  %drafts, %draft_logits = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x?xi32>, tensor<?x?x64xf32>

  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)

  %count, %tokens = mtp.accept %drafts, %logits with %draft_logits custom {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, positions, drafts, logits, draft_logits) {
  ^bb0(%slots: tensor<?xi32>, %at: tensor<?x?xi32>, %d: tensor<?x?xi32>, %l: tensor<?x?x64xf32>, %dl: tensor<?x?x64xf32>):
    %p = mtp.probabilities %l of %slots : tensor<?x?x64xf32>, tensor<?xi32>
    %q = mtp.probabilities %dl of %slots : tensor<?x?x64xf32>, tensor<?xi32>
    %n, %u = mtp.per_slot %slots(%at, %d, %p, %q) {
    ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>, %draft: tensor<?xi32>, %target: tensor<?x64xf32>, %drafter: tensor<?x64xf32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %count, %all = scf.for %j = %c0 to %k step %c1 iter_args(%so_far = %zero, %still = %one) -> (i32, i32) {
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %v = arith.index_cast %token : i32 to index
        %px = tensor.extract %target[%j, %v] : tensor<?x64xf32>
        %qx = tensor.extract %drafter[%j, %v] : tensor<?x64xf32>
        %place = tensor.extract %position[%j] : tensor<?xi32>
        %number = mtp.uniform %place, %zero
        %share = arith.mulf %number, %qx : f32
        %accepts = arith.cmpf olt, %share, %px : f32
        %next = arith.select %accepts, %still, %zero : i32
        %sum = arith.addi %so_far, %next : i32
        scf.yield %sum, %next : i32, i32
      }
      // After the last accepted draft, a token of max(p - q, 0), or of p.
      %end = arith.index_cast %count : i32 to index
      %place = tensor.extract %position[%end] : tensor<?xi32>
      %number = mtp.uniform %place, %one
      mtp.yield %count, %number : i32, f32
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?xf32>)
    %own = mtp.sample_residual %p less %q at %n by %u : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
    mtp.yield %n, %own : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
