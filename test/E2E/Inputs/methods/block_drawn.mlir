// Block verification (Sun et al., 2024, arXiv:2403.10444) of drafts that are drawn from a table
// of bigrams, q. Accepts the longest prefix whose own number accepts it. The rule reads drafts
// after the accepted ones. The next round drafts for some of these positions again, so drafts
// and numbers are drawn by the anchor's position and an index. With the noise of their own
// positions the output would not have the target's distribution.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @sampling[8] : i32

mtp.round @generate {
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
    %p = mtp.sample %l, %rows anchored : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, positions, drafts, logits, draft_logits) {
  ^bb0(%slots: tensor<?xi32>, %at: tensor<?x?xi32>, %d: tensor<?x?xi32>, %l: tensor<?x?x64xf32>, %dl: tensor<?x?x64xf32>):
    %p = mtp.probabilities %l of %slots : tensor<?x?x64xf32>, tensor<?xi32>
    %q = mtp.probabilities %dl of %slots : tensor<?x?x64xf32>, tensor<?xi32>
    %n, %u, %scaled = mtp.per_slot %slots(%at, %d, %p, %q) {
    ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>, %draft: tensor<?xi32>, %target: tensor<?x64xf32>, %drafter: tensor<?x64xf32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %columns = arith.constant 64 : index
      %nodes = arith.addi %k, %c1 : index
      %zero = arith.constant 0 : i32
      %none = arith.constant 0.0 : f32
      %unit = arith.constant 1.0 : f32
      %anchor = tensor.extract %position[%c0] : tensor<?xi32>
      // State: the number of accepted drafts, the ratio of p to q up to there, and up to the
      // draft.
      %count, %part, %all = scf.for %j = %c0 to %k step %c1 iter_args(%so_far = %zero, %kept = %unit, %before = %unit) -> (i32, f32, f32) {
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %v = arith.index_cast %token : i32 to index
        %px = tensor.extract %target[%j, %v] : tensor<?x64xf32>
        %qx = tensor.extract %drafter[%j, %v] : tensor<?x64xf32>
        %own = arith.mulf %before, %px : f32
        %ratio = arith.divf %own, %qx : f32
        %share = arith.minimumf %ratio, %unit : f32
        // The part of p above q after this draft, and the chance to stop here.
        %i = arith.addi %j, %c1 : index
        %more = scf.for %w = %c0 to %columns step %c1 iter_args(%sum = %none) -> f32 {
          %pw = tensor.extract %target[%i, %w] : tensor<?x64xf32>
          %qw = tensor.extract %drafter[%i, %w] : tensor<?x64xf32>
          %scaled_pw = arith.mulf %share, %pw : f32
          %rest = arith.subf %scaled_pw, %qw : f32
          %some = arith.maximumf %rest, %none : f32
          %next = arith.addf %sum, %some : f32
          scf.yield %next : f32
        }
        %less = arith.subf %unit, %share : f32
        %both = arith.addf %more, %less : f32
        %stops = arith.divf %more, %both : f32
        %empty = arith.cmpf ole, %both, %none : f32
        %some = arith.select %empty, %unit, %stops : f32
        %last = arith.cmpi eq, %i, %k : index
        %chance = arith.select %last, %share, %some : f32
        %length = arith.index_cast %i : index to i32
        %number = mtp.uniform %anchor, %length
        %stays = arith.cmpf olt, %number, %chance : f32
        %most = arith.select %stays, %length, %so_far : i32
        %scale = arith.select %stays, %share, %kept : f32
        scf.yield %most, %scale, %share : i32, f32, f32
      }
      %number = mtp.uniform %anchor, %zero
      %rows = tensor.generate %nodes {
      ^bb0(%j: index, %v: index):
        %x = tensor.extract %target[%j, %v] : tensor<?x64xf32>
        %y = arith.mulf %part, %x : f32
        tensor.yield %y : f32
      } : tensor<?x64xf32>
      mtp.yield %count, %number, %rows : i32, f32, tensor<?x64xf32>
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?xf32>, tensor<?x?x64xf32>)
    %own = mtp.sample_residual %scaled less %q at %n by %u : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
    mtp.yield %n, %own : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
