// Speculative sampling by rejection (Leviathan et al., 2022, arXiv:2211.17192): a
// draft x of distribution q is accepted by the target's p with probability
// min(1, p(x) / q(x)); behind the first that is not, a token of the distribution
// max(p - q, 0), scaled, is put out. So every token has the distribution p, but it
// is not the token that k = 0 picks. The rule reads the draft's logits.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @sampling[8] : i32

mtp.round @generate {
  // A chain by the table of bigrams, and the logits that its drafts are from.
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
  } rule (slots, positions, drafts, picks, logits, draft_logits) {
  ^bb0(%slots: tensor<?xi32>, %at: tensor<?x?xi32>, %d: tensor<?x?xi32>, %p: tensor<?x?xi32>, %l: tensor<?x?x64xf32>, %dl: tensor<?x?x64xf32>):
    %n, %t = mtp.per_slot %slots(%at, %d, %p, %l, %dl) {
    ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>, %draft: tensor<?xi32>, %pick: tensor<?xi32>, %target: tensor<?x64xf32>, %drafter: tensor<?x64xf32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %vocabulary = arith.constant 64 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %none = arith.constant 0.0 : f32
      %unit = arith.constant 1.0 : f32
      %least = arith.constant 0xFF800000 : f32
      %bits = mtp.load @sampling[%c2] : i32
      %temperature = arith.bitcast %bits : i32 to f32
      %greedy = arith.cmpf ole, %temperature, %none : f32
      %some = arith.select %greedy, %unit, %temperature : f32
      %inverse = arith.divf %unit, %some : f32

      // Draft by draft, up to the first that is not accepted. What is left of p
      // there is carried on: its sum, and the largest logits and sums of e^x that
      // make probabilities of logits.
      %count, %all, %rest, %pb, %ps, %qb, %qs = scf.for %j = %c0 to %k step %c1
          iter_args(%so_far = %zero, %still = %one, %r0 = %none, %pb0 = %none, %ps0 = %unit, %qb0 = %none, %qs0 = %unit)
          -> (i32, i32, f32, f32, f32, f32, f32) {
        %pb1, %qb1 = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%a = %least, %b = %least) -> (f32, f32) {
          %x = tensor.extract %target[%j, %v] : tensor<?x64xf32>
          %y = tensor.extract %drafter[%j, %v] : tensor<?x64xf32>
          %a2 = arith.maximumf %a, %x : f32
          %b2 = arith.maximumf %b, %y : f32
          scf.yield %a2, %b2 : f32, f32
        }
        %ps1, %qs1 = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%a = %none, %b = %none) -> (f32, f32) {
          %x = tensor.extract %target[%j, %v] : tensor<?x64xf32>
          %y = tensor.extract %drafter[%j, %v] : tensor<?x64xf32>
          %x1 = arith.subf %x, %pb1 : f32
          %y1 = arith.subf %y, %qb1 : f32
          %x2 = arith.mulf %x1, %inverse : f32
          %y2 = arith.mulf %y1, %inverse : f32
          %x3 = math.exp %x2 : f32
          %y3 = math.exp %y2 : f32
          %a2 = arith.addf %a, %x3 : f32
          %b2 = arith.addf %b, %y3 : f32
          scf.yield %a2, %b2 : f32, f32
        }
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %own_pick = tensor.extract %pick[%j] : tensor<?xi32>
        // p and q of the draft, and the sum of what p has more than q.
        %px, %qx, %r1 = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%a = %none, %b = %none, %r = %none) -> (f32, f32, f32) {
          %x = tensor.extract %target[%j, %v] : tensor<?x64xf32>
          %y = tensor.extract %drafter[%j, %v] : tensor<?x64xf32>
          %x1 = arith.subf %x, %pb1 : f32
          %y1 = arith.subf %y, %qb1 : f32
          %x2 = arith.mulf %x1, %inverse : f32
          %y2 = arith.mulf %y1, %inverse : f32
          %x3 = math.exp %x2 : f32
          %y3 = math.exp %y2 : f32
          %pv = arith.divf %x3, %ps1 : f32
          %qv = arith.divf %y3, %qs1 : f32
          %v32 = arith.index_cast %v : index to i32
          %here = arith.cmpi eq, %v32, %token : i32
          %a2 = arith.select %here, %pv, %a : f32
          %b2 = arith.select %here, %qv, %b : f32
          %more = arith.subf %pv, %qv : f32
          %positive = arith.maximumf %more, %none : f32
          %r2 = arith.addf %r, %positive : f32
          scf.yield %a2, %b2, %r2 : f32, f32, f32
        }
        %place = tensor.extract %position[%j] : tensor<?xi32>
        %u = mtp.uniform %place, %zero
        %uq = arith.mulf %u, %qx : f32
        %below = arith.cmpf olt, %uq, %px : f32
        %same = arith.cmpi eq, %token, %own_pick : i32
        %accepts = arith.select %greedy, %same, %below : i1
        %next = arith.select %accepts, %still, %zero : i32
        %sum = arith.addi %so_far, %next : i32
        // The numbers of the first draft that is not accepted stay.
        %is_on = arith.cmpi eq, %still, %one : i32
        %r2 = arith.select %is_on, %r1, %r0 : f32
        %pb2 = arith.select %is_on, %pb1, %pb0 : f32
        %ps2 = arith.select %is_on, %ps1, %ps0 : f32
        %qb2 = arith.select %is_on, %qb1, %qb0 : f32
        %qs2 = arith.select %is_on, %qs1, %qs0 : f32
        scf.yield %sum, %next, %r2, %pb2, %ps2, %qb2, %qs2 : i32, i32, f32, f32, f32, f32, f32
      }

      // A token of max(p - q, 0): the first at which its sums exceed a share.
      %n = arith.index_cast %count : i32 to index
      %last = arith.subi %k, %c1 : index
      %j = arith.minsi %n, %last : index
      %place = tensor.extract %position[%j] : tensor<?xi32>
      %u = mtp.uniform %place, %one
      %share = arith.mulf %u, %rest : f32
      %minus = arith.constant -1 : i32
      %sum, %found = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%s = %none, %f = %minus) -> (f32, i32) {
        %x = tensor.extract %target[%j, %v] : tensor<?x64xf32>
        %y = tensor.extract %drafter[%j, %v] : tensor<?x64xf32>
        %x1 = arith.subf %x, %pb : f32
        %y1 = arith.subf %y, %qb : f32
        %x2 = arith.mulf %x1, %inverse : f32
        %y2 = arith.mulf %y1, %inverse : f32
        %x3 = math.exp %x2 : f32
        %y3 = math.exp %y2 : f32
        %pv = arith.divf %x3, %ps : f32
        %qv = arith.divf %y3, %qs : f32
        %more = arith.subf %pv, %qv : f32
        %positive = arith.maximumf %more, %none : f32
        %s2 = arith.addf %s, %positive : f32
        %first = arith.cmpi slt, %f, %zero : i32
        %over = arith.cmpf ogt, %s2, %share : f32
        %now = arith.andi %first, %over : i1
        %v32 = arith.index_cast %v : index to i32
        %f2 = arith.select %now, %v32, %f : i32
        scf.yield %s2, %f2 : f32, i32
      }
      // Where all are accepted, or nothing is random, the target's own pick.
      %whole = arith.cmpi eq, %n, %k : index
      %plain = arith.ori %whole, %greedy : i1
      %lost = arith.cmpi slt, %found, %zero : i32
      %takes_pick = arith.ori %plain, %lost : i1
      %rows = arith.addi %k, %c1 : index
      %out = tensor.generate %rows {
      ^bb0(%i: index):
        %kept = arith.cmpi slt, %i, %n : index
        %a = tensor.extract %draft[%i] : tensor<?xi32>
        %b = tensor.extract %pick[%i] : tensor<?xi32>
        %c = arith.select %takes_pick, %b, %found : i32
        %token = arith.select %kept, %a, %c : i32
        tensor.yield %token : i32
      } : tensor<?xi32>
      mtp.yield %count, %out : i32, tensor<?xi32>
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
    mtp.yield %n, %t : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
