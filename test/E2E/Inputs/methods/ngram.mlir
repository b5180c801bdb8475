// Drafts by n-grams of the tokens so far, as vLLM's `ngram` does (prompt_lookup_min 2,
// prompt_lookup_max 3): what followed the first place where the longest of the last three
// or two tokens stood before. The places are compared by many lanes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
mtp.state @history[max_context + 8] : i32 init -1 rebuild tokens

mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>

  // The window's tokens stand at positions n - a to n; the last is the anchor.
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %length = mtp.load @length[] : i32
    %accepted = mtp.load @accepted[] : i32
    %n = arith.index_cast %length : i32 to index
    %a = arith.index_cast %accepted : i32 to index
    %first = arith.subi %n, %a : index
    %count = arith.addi %a, %c1 : index
    scf.for %j = %c0 to %count step %c1 {
      %token = mtp.load @window[%j] : i32
      %p = arith.addi %first, %j : index
      mtp.store %token, @history[%p] : i32
    }
    mtp.yield
  } : (tensor<?xi32>) -> ()

  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0 : i32
    %none = arith.constant 0 : i64
    %two = arith.constant 0x100000000 : i64
    %three = arith.constant 0x200000000 : i64
    %k = mtp.k
    %length = mtp.load @length[] : i32
    %n = arith.index_cast %length : i32 to index
    %n1 = arith.subi %n, %c1 : index
    %n2 = arith.subi %n, %c2 : index
    %t0 = mtp.load @history[%n] : i32
    %t1 = mtp.load @history[%n1] : i32
    %t2 = mtp.load @history[%n2] : i32
    // The longer one is best, and of two that are as long the first: size - place.
    %best = scf.parallel (%p) = (%c1) to (%n) step (%c1) init (%none) -> i64 {
      %p1 = arith.subi %p, %c1 : index
      %p2 = arith.subi %p, %c2 : index
      %x0 = mtp.load @history[%p] : i32
      %x1 = mtp.load @history[%p1] : i32
      %x2 = mtp.load @history[%p2] : i32
      %is0 = arith.cmpi eq, %x0, %t0 : i32
      %is1 = arith.cmpi eq, %x1, %t1 : i32
      %is2 = arith.cmpi eq, %x2, %t2 : i32
      %has2 = arith.cmpi sge, %p, %c2 : index
      %more = arith.andi %is2, %has2 : i1
      %size = arith.select %more, %three, %two : i64
      %place = arith.index_cast %p : index to i64
      %own = arith.subi %size, %place : i64
      %both = arith.andi %is0, %is1 : i1
      %score = arith.select %both, %own, %none : i64
      scf.reduce(%score : i64) {
      ^bb0(%a: i64, %b: i64):
        %larger = arith.maxsi %a, %b : i64
        scf.reduce.return %larger : i64
      }
    }
    // Behind the last token there are none, -1.
    %low = arith.trunci %best : i64 to i32
    %at = arith.subi %zero, %low : i32
    %found = arith.cmpi sgt, %best, %none : i64
    %seen = arith.select %found, %at, %length : i32
    %s = arith.index_cast %seen : i32 to index
    %from = arith.addi %s, %c1 : index
    %drafted = tensor.generate %k {
    ^bb0(%j: index):
      %q = arith.addi %from, %j : index
      %token = mtp.load @history[%q] : i32
      tensor.yield %token : i32
    } : tensor<?xi32>
    mtp.yield %drafted : tensor<?xi32>
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
