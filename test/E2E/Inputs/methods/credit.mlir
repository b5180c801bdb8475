// Accepts a draft that is not the target's pick but among its three best, as long as the slot
// has credit. Each such draft takes one credit, and each draft that is the pick returns one, up
// to two. The credit after a round does not follow from tokens that the host knows, so the host
// saves it over a preemption. The output differs from k = 0.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
mtp.state @credit : i32 init 2 rebuild save

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
      %three = arith.constant 3 : i32
      %before = mtp.load @credit[] : i32
      %count, %all, %left = scf.for %j = %c0 to %k step %c1 iter_args(%so_far = %zero, %still = %one, %credit = %before) -> (i32, i32, i32) {
        %token = tensor.extract %draft[%j] : tensor<?xi32>
        %wanted = tensor.extract %pick[%j] : tensor<?xi32>
        %column = arith.index_cast %token : i32 to index
        %own = tensor.extract %logit[%j, %column] : tensor<?x64xf32>
        %rank = scf.for %v = %c0 to %vocabulary step %c1 iter_args(%r = %zero) -> (i32) {
          %x = tensor.extract %logit[%j, %v] : tensor<?x64xf32>
          %larger = arith.cmpf ogt, %x, %own : f32
          %more = arith.extui %larger : i1 to i32
          %r2 = arith.addi %r, %more : i32
          scf.yield %r2 : i32
        }
        %same = arith.cmpi eq, %token, %wanted : i32
        %near = arith.cmpi slt, %rank, %three : i32
        %rich = arith.cmpi sgt, %credit, %zero : i32
        %loose = arith.andi %near, %rich : i1
        %ok = arith.ori %same, %loose : i1
        %next = arith.select %ok, %still, %zero : i32
        %earned = arith.addi %credit, %one : i32
        %most = arith.minsi %earned, %two : i32
        %paid = arith.subi %credit, %one : i32
        %then = arith.select %same, %most, %paid : i32
        %stays = arith.cmpi eq, %next, %one : i32
        %credit2 = arith.select %stays, %then, %credit : i32
        %so_far2 = arith.addi %so_far, %next : i32
        scf.yield %so_far2, %next, %credit2 : i32, i32, i32
      }
      mtp.store %left, @credit[] : i32
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
