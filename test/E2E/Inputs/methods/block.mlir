// Block verification (Sun et al., 2024, arXiv:2403.10444) of drafts that are the likeliest by a
// table of bigrams, so that each is certain (q = 1). Accepts the longest prefix whose own
// number accepts it, whether shorter ones are accepted or not. The rule reads drafts and
// numbers after the accepted ones. The next round drafts for some of these positions again, so
// numbers go by the anchor's position and an index. With numbers by position the output would
// not have the target's distribution.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @sampling[8] : i32

mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %bigrams = mtp.weight "bigrams" : tensor<64x64xf32>
    %l = mtp.embed %t, %bigrams : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x?xi32>

  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %l, %h = func.call @target(%t, %rows) : (tensor<?xi32>, !mtp.rows) -> (tensor<?x64xf32>, tensor<?x32xf32>)
    mtp.yield %l, %h : tensor<?x64xf32>, tensor<?x32xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x32xf32>)

  // Drafts are the best of their logits at any temperature.
  %count, %tokens = mtp.accept %drafts, %logits custom {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.argmax %l : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, positions, drafts, logits) {
  ^bb0(%slots: tensor<?xi32>, %at: tensor<?x?xi32>, %d: tensor<?x?xi32>, %l: tensor<?x?x64xf32>):
    %p = mtp.probabilities %l of %slots : tensor<?x?x64xf32>, tensor<?xi32>
    %n, %u, %q = mtp.per_slot %slots(%at, %d, %p) {
    ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>, %draft: tensor<?xi32>, %target: tensor<?x64xf32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %none = arith.constant 0.0 : f32
      %unit = arith.constant 1.0 : f32
      %count, %all = scf.for %j = %c0 to %k step %c1 iter_args(%so_far = %zero, %before = %unit) -> (i32, f32) {
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %v = arith.index_cast %token : i32 to index
        %own = tensor.extract %target[%j, %v] : tensor<?x64xf32>
        %share = arith.mulf %before, %own : f32
        // The part of p above q after this draft, and the chance to stop here.
        %i = arith.addi %j, %c1 : index
        %next = tensor.extract %draft[%i] : tensor<?xi32>
        %w = arith.index_cast %next : i32 to index
        %there = tensor.extract %target[%i, %w] : tensor<?x64xf32>
        %rest = arith.subf %unit, %there : f32
        %more = arith.mulf %share, %rest : f32
        %less = arith.subf %unit, %share : f32
        %both = arith.addf %more, %less : f32
        %ratio = arith.divf %more, %both : f32
        %empty = arith.cmpf ole, %both, %none : f32
        %some = arith.select %empty, %unit, %ratio : f32
        %last = arith.cmpi eq, %i, %k : index
        %chance = arith.select %last, %share, %some : f32
        %length = arith.index_cast %i : index to i32
        %place = tensor.extract %position[%c0] : tensor<?xi32>
        %number = mtp.uniform %place, %length
        %stays = arith.cmpf olt, %number, %chance : f32
        %most = arith.select %stays, %length, %so_far : i32
        scf.yield %most, %share : i32, f32
      }
      %place = tensor.extract %position[%c0] : tensor<?xi32>
      %number = mtp.uniform %place, %zero
      // q. There is no draft after the last one.
      %one_hot = tensor.generate %k {
      ^bb0(%j: index, %v: index):
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %column = arith.index_cast %token : i32 to index
        %is_it = arith.cmpi eq, %column, %v : index
        %x = arith.select %is_it, %unit, %none : f32
        tensor.yield %x : f32
      } : tensor<?x64xf32>
      mtp.yield %count, %number, %one_hot : i32, f32, tensor<?x64xf32>
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?xf32>, tensor<?x?x64xf32>)
    %own = mtp.sample_residual %p less %q at %n by %u : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?xi32>, tensor<?xf32>) -> tensor<?xi32>
    mtp.yield %n, %own : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
