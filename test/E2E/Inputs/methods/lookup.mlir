// Drafts the tokens after the anchor's last occurrence. There is no module and no weights, only
// the tokens so far, and no special code in the compiler.
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 96, prefill_chunk = 16, page = 8>} {
mtp.weights files ["methods.safetensors"]
mtp.cache @kv layers 2 entry 32 : f32

mtp.state @length : i32
mtp.state @accepted : i32
mtp.state @window[max_k + 1] : i32
mtp.state @history[max_context + 8] : i32 init -1 rebuild tokens

mtp.round @generate {
  %slots = mtp.slots : tensor<?xi32>

  // The window's tokens are at positions n - a to n; the last is the anchor.
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

  // The anchor's last occurrence, or its own position; then the tokens after it, repeated.
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %k = mtp.k
    %length = mtp.load @length[] : i32
    %n = arith.index_cast %length : i32 to index
    %anchor = mtp.load @history[%n] : i32
    %none = arith.constant -1 : index
    %last = scf.parallel (%p) = (%c0) to (%n) step (%c1) init (%none) -> index {
      %token = mtp.load @history[%p] : i32
      %same = arith.cmpi eq, %token, %anchor : i32
      %place = arith.select %same, %p, %none : index
      scf.reduce(%place : index) {
      ^bb0(%one: index, %other: index):
        %later = arith.maxsi %one, %other : index
        scf.reduce.return %later : index
      }
    }
    %is_there = arith.cmpi sge, %last, %c0 : index
    %seen = arith.select %is_there, %last, %n : index
    %distance = arith.subi %n, %seen : index
    %period = arith.maxsi %distance, %c1 : index
    %from = arith.addi %seen, %c1 : index
    %drafted = tensor.generate %k {
    ^bb0(%j: index):
      %step = arith.remsi %j, %period : index
      %p = arith.addi %from, %step : index
      %token = mtp.load @history[%p] : i32
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
