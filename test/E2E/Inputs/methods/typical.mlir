// Drafts what followed the anchor the last time that it was seen, and accepts a
// draft where the target finds it typical: among its two best, or likely enough
// for how undecided it is (Medusa, Cai et al., 2024, arXiv:2401.10774). The rule
// is the code of this file; what it puts out is not what k = 0 does.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32

mtp.round @generate {
  // A chain by the table of bigrams, the likeliest first.
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

  %count, %tokens = mtp.accept %drafts, %logits custom {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } rule (slots, drafts, picks, logits) {
  ^bb0(%slots: tensor<?xi32>, %d: tensor<?x?xi32>, %p: tensor<?x?xi32>, %l: tensor<?x?x64xf32>):
    %n, %t = mtp.per_slot %slots(%d, %p, %l) {
    ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %pick: tensor<?xi32>, %logit: tensor<?x64xf32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %vocabulary = arith.constant 64 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %none = arith.constant 0.0 : f32
      %least = arith.constant 0xFF800000 : f32
      %epsilon = arith.constant 0.25 : f32
      %delta = arith.constant 0.5 : f32
      %count, %all = scf.for %j = %c0 to %k step %c1 iter_args(%so_far = %zero, %still = %one) -> (i32, i32) {
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %column = arith.index_cast %token : i32 to index
        %own = tensor.extract %logit[%j, %column] : tensor<?x64xf32>
        // The largest logit, and how many are larger than the draft's.
        %best, %rank = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%b = %least, %r = %zero) -> (f32, i32) {
          %x = tensor.extract %logit[%j, %v] : tensor<?x64xf32>
          %b2 = arith.maximumf %b, %x : f32
          %larger = arith.cmpf ogt, %x, %own : f32
          %more = arith.extui %larger : i1 to i32
          %r2 = arith.addi %r, %more : i32
          scf.yield %b2, %r2 : f32, i32
        }
        // With p = e^x / sum, the entropy is log(sum) - (sum of e^x x) / sum.
        %sum, %moment = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%s = %none, %m = %none) -> (f32, f32) {
          %x = tensor.extract %logit[%j, %v] : tensor<?x64xf32>
          %y = arith.subf %x, %best : f32
          %e = math.exp %y : f32
          %s2 = arith.addf %s, %e : f32
          %ey = arith.mulf %e, %y : f32
          %m2 = arith.addf %m, %ey : f32
          scf.yield %s2, %m2 : f32, f32
        }
        %log = math.log %sum : f32
        %mean = arith.divf %moment, %sum : f32
        %minus_entropy = arith.subf %mean, %log : f32
        %certainty = math.exp %minus_entropy : f32
        %scaled = arith.mulf %certainty, %delta : f32
        %threshold = arith.minimumf %scaled, %epsilon : f32
        %own_y = arith.subf %own, %best : f32
        %own_e = math.exp %own_y : f32
        %probability = arith.divf %own_e, %sum : f32
        %likely = arith.cmpf oge, %probability, %threshold : f32
        %among = arith.cmpi slt, %rank, %two : i32
        %typical = arith.ori %likely, %among : i1
        %next = arith.select %typical, %still, %zero : i32
        %sum_so_far = arith.addi %so_far, %next : i32
        scf.yield %sum_so_far, %next : i32, i32
      }
      // The drafts that stay, then what the target picks behind them.
      %n = arith.index_cast %count : i32 to index
      %rows = arith.addi %k, %c1 : index
      %out = tensor.generate %rows {
      ^bb0(%j: index):
        %kept = arith.cmpi slt, %j, %n : index
        %a = tensor.extract %draft[%j] : tensor<?xi32>
        %b = tensor.extract %pick[%j] : tensor<?xi32>
        %token = arith.select %kept, %a, %b : i32
        tensor.yield %token : i32
      } : tensor<?xi32>
      mtp.yield %count, %out : i32, tensor<?xi32>
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
    mtp.yield %n, %t : tensor<?xi32>, tensor<?x?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
