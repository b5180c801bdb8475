// Drafts the tokens after the anchor's last occurrence. If it has too few tokens, earlier
// occurrences provide the rest.
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

  // Each occurrence of the anchor overwrites the drafts of earlier ones: two nested loops that
  // carry one state.
  %drafts = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %none = arith.constant dense<-1> : tensor<4xi32>
    %k = mtp.k
    %length = mtp.load @length[] : i32
    %n = arith.index_cast %length : i32 to index
    %anchor = mtp.load @history[%n] : i32
    %found = scf.for %p = %c0 to %n step %c1 iter_args(%a = %none) -> (tensor<4xi32>) {
      %token = mtp.load @history[%p] : i32
      %same = arith.cmpi eq, %token, %anchor : i32
      %left = arith.subi %n, %p : index
      %most = arith.minsi %left, %c4 : index
      %count = arith.select %same, %most, %c0 : index
      %from = arith.addi %p, %c1 : index
      %followed = scf.for %j = %c0 to %count step %c1 iter_args(%b = %a) -> (tensor<4xi32>) {
        %q = arith.addi %from, %j : index
        %next = mtp.load @history[%q] : i32
        %c = tensor.insert %next into %b[%j] : tensor<4xi32>
        scf.yield %c : tensor<4xi32>
      }
      scf.yield %followed : tensor<4xi32>
    }
    %drafted = tensor.generate %k {
    ^bb0(%j: index):
      %token = tensor.extract %found[%j] : tensor<4xi32>
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
