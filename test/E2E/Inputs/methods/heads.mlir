// Heads that do not feed each other (Medusa, arXiv:2401.10774): each makes a draft of the
// hidden state in front of the anchor, h + silu(W h), by the target's head. Heads deeper
// than k are not run.
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32
// A draft for the row at position %at.
func.func private @head(%slots: tensor<?xi32>, %h: tensor<?x32xf32>, %at: tensor<?xi32>) -> tensor<?xi32> {
  %uw = mtp.weight "up" : tensor<32x32xf32>
  %hw = mtp.weight "/head" : tensor<64x32xf32>
  %u = mtp.linear %h, %uw : tensor<?x32xf32>, tensor<32x32xf32> -> tensor<?x32xf32>
  %s = mtp.silu %u : tensor<?x32xf32>
  %y = mtp.add %h, %s : tensor<?x32xf32>
  %l = mtp.linear %y, %hw : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
  %row = mtp.make_rows %slots, %at : tensor<?xi32>
  %d = mtp.sample %l, %row : tensor<?x64xf32> -> tensor<?xi32>
  return %d : tensor<?xi32>
}
mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>
  %drafts = mtp.draft {
    %k = mtp.k
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %two = arith.cmpi ugt, %k, %c1 : index
    %three = arith.cmpi ugt, %k, %c2 : index
    %t, %rows, %anchor, %next, %hs = mtp.refresh : tensor<?xi32>, !mtp.rows, tensor<?xi32>, tensor<?xi32>, tensor<?x32xf32>
    %h = mtp.take_rows %hs, %anchor : tensor<?x32xf32>, tensor<?xi32> -> tensor<?x32xf32>
    %p1, %p2 = mtp.per_slot %slots(%next) {
    ^bb0(%index: index, %slot: i32, %n: i32):
      %one = arith.constant 1 : i32
      %first = arith.addi %n, %one : i32
      %second = arith.addi %first, %one : i32
      mtp.yield %first, %second : i32, i32
    } : (tensor<?xi32>, tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>)
    %d0 = mtp.apply @head(%slots, %h, %next) weights "heads.0." : (tensor<?xi32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?xi32>
    %d1 = scf.if %two -> (tensor<?xi32>) {
      %d = mtp.apply @head(%slots, %h, %p1) weights "heads.1." : (tensor<?xi32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?xi32>
      scf.yield %d : tensor<?xi32>
    } else {
      scf.yield %d0 : tensor<?xi32>
    }
    %d2 = scf.if %three -> (tensor<?xi32>) {
      %d = mtp.apply @head(%slots, %h, %p2) weights "heads.2." : (tensor<?xi32>, tensor<?x32xf32>, tensor<?xi32>) -> tensor<?xi32>
      scf.yield %d : tensor<?xi32>
    } else {
      scf.yield %d0 : tensor<?xi32>
    }
    %drafts = mtp.per_slot %slots(%d0, %d1, %d2) {
    ^bb0(%index: index, %slot: i32, %t0: i32, %t1: i32, %t2: i32):
      %k = mtp.k
      %all = tensor.from_elements %t0, %t1, %t2 : tensor<3xi32>
      %some = tensor.generate %k {
      ^bb0(%j: index):
        %token = tensor.extract %all[%j] : tensor<3xi32>
        tensor.yield %token : i32
      } : tensor<?xi32>
      mtp.yield %some : tensor<?xi32>
    } : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?x?xi32>
    mtp.yield %drafts : tensor<?x?xi32>
  } : tensor<?x?xi32>
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
