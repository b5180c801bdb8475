// Drafts the tokens after the anchor's last occurrence. Accepts a draft that the target finds
// typical: among its two best tokens, or likely enough for the entropy of its distribution
// (Medusa, Cai et al., 2024, arXiv:2401.10774). The rule is the code of this file. The output
// differs from k = 0.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32

mtp.round @generate {
  // A chain by the table of bigrams, the likeliest token each time.
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
    %sums = mtp.log_sum_exp %l : tensor<?x?x64xf32> -> tensor<?x?xf32>
    %entropies = mtp.entropy %l : tensor<?x?x64xf32> -> tensor<?x?xf32>
    %best, %logs = mtp.top_k %l k 2 : tensor<?x?x64xf32> -> tensor<?x?x2xi32>, tensor<?x?x2xf32>
    %n, %own = mtp.per_slot %slots(%d, %p, %l, %sums, %entropies, %best) {
    ^bb0(%index: index, %slot: i32, %draft: tensor<?xi32>, %pick: tensor<?xi32>, %logit: tensor<?x64xf32>, %sum: tensor<?xf32>, %entropy: tensor<?xf32>, %two: tensor<?x2xi32>):
      %k = mtp.k
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %epsilon = arith.constant 0.25 : f32
      %delta = arith.constant 0.5 : f32
      %count, %all = scf.for %j = %c0 to %k step %c1 iter_args(%so_far = %zero, %still = %one) -> (i32, i32) {
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %column = arith.index_cast %token : i32 to index
        %x = tensor.extract %logit[%j, %column] : tensor<?x64xf32>
        %s = tensor.extract %sum[%j] : tensor<?xf32>
        %log = arith.subf %x, %s : f32
        %probability = math.exp %log : f32
        %h = tensor.extract %entropy[%j] : tensor<?xf32>
        %minus = arith.negf %h : f32
        %certainty = math.exp %minus : f32
        %scaled = arith.mulf %certainty, %delta : f32
        %threshold = arith.minimumf %scaled, %epsilon : f32
        %likely = arith.cmpf oge, %probability, %threshold : f32
        %b0 = tensor.extract %two[%j, %c0] : tensor<?x2xi32>
        %b1 = tensor.extract %two[%j, %c1] : tensor<?x2xi32>
        %is0 = arith.cmpi eq, %token, %b0 : i32
        %is1 = arith.cmpi eq, %token, %b1 : i32
        %among = arith.ori %is0, %is1 : i1
        %typical = arith.ori %likely, %among : i1
        %next = arith.select %typical, %still, %zero : i32
        %more = arith.addi %so_far, %next : i32
        scf.yield %more, %next : i32, i32
      }
      // The accepted drafts, then the target's pick after them.
      %end = arith.index_cast %count : i32 to index
      %behind = tensor.extract %pick[%end] : tensor<?xi32>
      mtp.yield %count, %behind : i32, i32
    } : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x64xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?x2xi32>) -> (tensor<?xi32>, tensor<?xi32>)
    mtp.yield %n, %own : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %tokens, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
