// Drafts by suffixes of the sequence so far (arXiv:2411.04975, within one request): the most
// frequent tokens after earlier occurrences of the longest suffix, as long as they are frequent
// enough. There is no model and no weights.
//
// The sequence is split into 16 parts of equal length. Each part contributes its longest match,
// of equally long ones the first. Among these the longest matches vote, token by token. A match
// whose token loses a vote does not vote again. So the work is one scan of the sequence by
// lanes, and votes are counted by part.
//
//   mtp.per_slot %slots { func.call @remember() ... }        // in every round
//   %drafts = mtp.per_slot %slots { %d = func.call @suffix(%max, %percent) ... }
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 16, prefill_chunk = 1, page = 1>} {
mtp.import "<lookup.mlir>" [@remember, @longest]
mtp.state @length : i32
mtp.state @history[max_context] : i32 init -1 rebuild tokens

// Returns the longest match in part %i of the sequence, of 1 to %max tokens: size and end.
func.func private @part(%i: index, %n: index, %max: index) -> (i32, i32) {
  %c1 = arith.constant 1 : index
  %parts = arith.constant 16 : index
  %next = arith.addi %i, %c1 : index
  %low = arith.muli %n, %i : index
  %high = arith.muli %n, %next : index
  %from = arith.divui %low, %parts : index
  %to = arith.divui %high, %parts : index
  %size, %end = func.call @longest(%from, %to, %n, %c1, %max) : (index, index, index, index, index) -> (i64, index)
  %s = arith.trunci %size : i64 to i32
  %p = arith.index_cast %end : index to i32
  return %s, %p : i32, i32
}

// Returns the sizes and ends of the parts' matches, and the largest size.
func.func private @matches(%n: index, %max: index) -> (tensor<16xi32>, tensor<16xi32>, i32) {
  %i0 = arith.constant 0 : index
  %s0, %p0 = func.call @part(%i0, %n, %max) : (index, index, index) -> (i32, i32)
  %i1 = arith.constant 1 : index
  %s1, %p1 = func.call @part(%i1, %n, %max) : (index, index, index) -> (i32, i32)
  %i2 = arith.constant 2 : index
  %s2, %p2 = func.call @part(%i2, %n, %max) : (index, index, index) -> (i32, i32)
  %i3 = arith.constant 3 : index
  %s3, %p3 = func.call @part(%i3, %n, %max) : (index, index, index) -> (i32, i32)
  %i4 = arith.constant 4 : index
  %s4, %p4 = func.call @part(%i4, %n, %max) : (index, index, index) -> (i32, i32)
  %i5 = arith.constant 5 : index
  %s5, %p5 = func.call @part(%i5, %n, %max) : (index, index, index) -> (i32, i32)
  %i6 = arith.constant 6 : index
  %s6, %p6 = func.call @part(%i6, %n, %max) : (index, index, index) -> (i32, i32)
  %i7 = arith.constant 7 : index
  %s7, %p7 = func.call @part(%i7, %n, %max) : (index, index, index) -> (i32, i32)
  %i8 = arith.constant 8 : index
  %s8, %p8 = func.call @part(%i8, %n, %max) : (index, index, index) -> (i32, i32)
  %i9 = arith.constant 9 : index
  %s9, %p9 = func.call @part(%i9, %n, %max) : (index, index, index) -> (i32, i32)
  %i10 = arith.constant 10 : index
  %s10, %p10 = func.call @part(%i10, %n, %max) : (index, index, index) -> (i32, i32)
  %i11 = arith.constant 11 : index
  %s11, %p11 = func.call @part(%i11, %n, %max) : (index, index, index) -> (i32, i32)
  %i12 = arith.constant 12 : index
  %s12, %p12 = func.call @part(%i12, %n, %max) : (index, index, index) -> (i32, i32)
  %i13 = arith.constant 13 : index
  %s13, %p13 = func.call @part(%i13, %n, %max) : (index, index, index) -> (i32, i32)
  %i14 = arith.constant 14 : index
  %s14, %p14 = func.call @part(%i14, %n, %max) : (index, index, index) -> (i32, i32)
  %i15 = arith.constant 15 : index
  %s15, %p15 = func.call @part(%i15, %n, %max) : (index, index, index) -> (i32, i32)
  %sizes = tensor.from_elements %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7, %s8, %s9, %s10, %s11, %s12, %s13, %s14, %s15 : tensor<16xi32>
  %ends = tensor.from_elements %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7, %p8, %p9, %p10, %p11, %p12, %p13, %p14, %p15 : tensor<16xi32>
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %best = scf.for %a = %i0 to %c16 step %i1 iter_args(%most = %zero) -> (i32) {
    %size = tensor.extract %sizes[%a] : tensor<16xi32>
    %larger = arith.maxsi %most, %size : i32
    scf.yield %larger : i32
  }
  return %sizes, %ends, %best : tensor<16xi32>, tensor<16xi32>, i32
}

// Returns the token %j positions after the end of match %a.
func.func private @follower(%ends: tensor<16xi32>, %a: index, %j: index) -> i32 {
  %end = tensor.extract %ends[%a] : tensor<16xi32>
  %p = arith.index_cast %end : i32 to index
  %q = arith.addi %p, %j : index
  %token = mtp.load @history[%q] : i32
  return %token : i32
}

// Returns the token %j positions after the end of each match. All loads precede the first use,
// so a GPU thread waits once for all of them.
func.func private @followers(%ends: tensor<16xi32>, %j: index) -> tensor<16xi32> {
  %i0 = arith.constant 0 : index
  %t0 = func.call @follower(%ends, %i0, %j) : (tensor<16xi32>, index, index) -> i32
  %i1 = arith.constant 1 : index
  %t1 = func.call @follower(%ends, %i1, %j) : (tensor<16xi32>, index, index) -> i32
  %i2 = arith.constant 2 : index
  %t2 = func.call @follower(%ends, %i2, %j) : (tensor<16xi32>, index, index) -> i32
  %i3 = arith.constant 3 : index
  %t3 = func.call @follower(%ends, %i3, %j) : (tensor<16xi32>, index, index) -> i32
  %i4 = arith.constant 4 : index
  %t4 = func.call @follower(%ends, %i4, %j) : (tensor<16xi32>, index, index) -> i32
  %i5 = arith.constant 5 : index
  %t5 = func.call @follower(%ends, %i5, %j) : (tensor<16xi32>, index, index) -> i32
  %i6 = arith.constant 6 : index
  %t6 = func.call @follower(%ends, %i6, %j) : (tensor<16xi32>, index, index) -> i32
  %i7 = arith.constant 7 : index
  %t7 = func.call @follower(%ends, %i7, %j) : (tensor<16xi32>, index, index) -> i32
  %i8 = arith.constant 8 : index
  %t8 = func.call @follower(%ends, %i8, %j) : (tensor<16xi32>, index, index) -> i32
  %i9 = arith.constant 9 : index
  %t9 = func.call @follower(%ends, %i9, %j) : (tensor<16xi32>, index, index) -> i32
  %i10 = arith.constant 10 : index
  %t10 = func.call @follower(%ends, %i10, %j) : (tensor<16xi32>, index, index) -> i32
  %i11 = arith.constant 11 : index
  %t11 = func.call @follower(%ends, %i11, %j) : (tensor<16xi32>, index, index) -> i32
  %i12 = arith.constant 12 : index
  %t12 = func.call @follower(%ends, %i12, %j) : (tensor<16xi32>, index, index) -> i32
  %i13 = arith.constant 13 : index
  %t13 = func.call @follower(%ends, %i13, %j) : (tensor<16xi32>, index, index) -> i32
  %i14 = arith.constant 14 : index
  %t14 = func.call @follower(%ends, %i14, %j) : (tensor<16xi32>, index, index) -> i32
  %i15 = arith.constant 15 : index
  %t15 = func.call @follower(%ends, %i15, %j) : (tensor<16xi32>, index, index) -> i32
  %tokens = tensor.from_elements %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7, %t8, %t9, %t10, %t11, %t12, %t13, %t14, %t15 : tensor<16xi32>
  return %tokens : tensor<16xi32>
}

// Returns the token %j positions after the end of each match that still votes (%live 1). -1 for
// other matches, and beyond the end of the sequence.
func.func private @votes(%ends: tensor<16xi32>, %live: tensor<16xi32>, %n: index, %j: index) -> tensor<16xi32> {
  %tokens = func.call @followers(%ends, %j) : (tensor<16xi32>, index) -> tensor<16xi32>
  %votes = tensor.generate {
  ^bb0(%a: index):
    %none = arith.constant -1 : i32
    %one = arith.constant 1 : i32
    %end = tensor.extract %ends[%a] : tensor<16xi32>
    %p = arith.index_cast %end : i32 to index
    %q = arith.addi %p, %j : index
    %token = tensor.extract %tokens[%a] : tensor<16xi32>
    %lives = tensor.extract %live[%a] : tensor<16xi32>
    %votes_yet = arith.cmpi eq, %lives, %one : i32
    %is_known = arith.cmpi sle, %q, %n : index
    %has = arith.andi %votes_yet, %is_known : i1
    %vote = arith.select %has, %token, %none : i32
    tensor.yield %vote : i32
  } : tensor<16xi32>
  return %votes : tensor<16xi32>
}

// Returns the token with the most votes and its number of votes. Ties go to the first part. -1
// and 0 if no match votes.
func.func private @elect(%votes: tensor<16xi32>) -> (i32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %none = arith.constant -1 : i32
  %token, %count = scf.for %a = %c0 to %c16 step %c1 iter_args(%best = %none, %most = %zero) -> (i32, i32) {
    %own = tensor.extract %votes[%a] : tensor<16xi32>
    %is_vote = arith.cmpi sge, %own, %zero : i32
    %b, %m = scf.if %is_vote -> (i32, i32) {
      %same = scf.for %c = %a to %c16 step %c1 iter_args(%so_far = %zero) -> (i32) {
        %other = tensor.extract %votes[%c] : tensor<16xi32>
        %agrees = arith.cmpi eq, %other, %own : i32
        %one = arith.extui %agrees : i1 to i32
        %more = arith.addi %so_far, %one : i32
        scf.yield %more : i32
      }
      %wins = arith.cmpi sgt, %same, %most : i32
      %t = arith.select %wins, %own, %best : i32
      %w = arith.select %wins, %same, %most : i32
      scf.yield %t, %w : i32, i32
    } else {
      scf.yield %best, %most : i32, i32
    }
    scf.yield %b, %m : i32, i32
  }
  return %token, %count : i32, i32
}

// Drafts the tokens that follow the longest matches of at most %max tokens. The number of
// drafts is at most the size of the match. Each draft needs the votes of %percent % of all
// matches; the suffix itself counts as one match.
func.func private @suffix(%max: index, %percent: i32) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = mtp.k
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %hundred = arith.constant 100 : i32
  %none = arith.constant -1 : i32
  %length = mtp.load @length[] : i32
  %n = arith.index_cast %length : i32 to index
  %sizes, %ends, %best = func.call @matches(%n, %max) : (index, index) -> (tensor<16xi32>, tensor<16xi32>, i32)
  %least = arith.maxsi %best, %one : i32
  %longest = tensor.generate {
  ^bb0(%a: index):
    %size = tensor.extract %sizes[%a] : tensor<16xi32>
    %is_longest = arith.cmpi sge, %size, %least : i32
    %lives = arith.extui %is_longest : i1 to i32
    tensor.yield %lives : i32
  } : tensor<16xi32>
  %c16 = arith.constant 16 : index
  %all = scf.for %a = %c0 to %c16 step %c1 iter_args(%so_far = %one) -> (i32) {
    %lives = tensor.extract %longest[%a] : tensor<16xi32>
    %more = arith.addi %so_far, %lives : i32
    scf.yield %more : i32
  }
  %bound = arith.muli %all, %percent : i32
  %limit = arith.index_cast %best : i32 to index
  %begin = tensor.splat %none : tensor<16xi32>
  %made, %left = scf.for %j = %c0 to %k step %c1 iter_args(%drafts = %begin, %live = %longest) -> (tensor<16xi32>, tensor<16xi32>) {
    %next = arith.addi %j, %c1 : index
    %votes = func.call @votes(%ends, %live, %n, %next) : (tensor<16xi32>, tensor<16xi32>, index, index) -> tensor<16xi32>
    %token, %count = func.call @elect(%votes) : (tensor<16xi32>) -> (i32, i32)
    %share = arith.muli %count, %hundred : i32
    %often = arith.cmpi sge, %share, %bound : i32
    %some = arith.cmpi sgt, %count, %zero : i32
    %short = arith.cmpi slt, %j, %limit : index
    %both = arith.andi %often, %some : i1
    %is_draft = arith.andi %both, %short : i1
    %draft = arith.select %is_draft, %token, %none : i32
    %more = tensor.insert %draft into %drafts[%j] : tensor<16xi32>
    %agree = tensor.generate {
    ^bb0(%a: index):
      %vote = tensor.extract %votes[%a] : tensor<16xi32>
      %same = arith.cmpi eq, %vote, %draft : i32
      %stays = arith.andi %same, %is_draft : i1
      %lives = arith.extui %stays : i1 to i32
      tensor.yield %lives : i32
    } : tensor<16xi32>
    scf.yield %more, %agree : tensor<16xi32>, tensor<16xi32>
  }
  %drafts = tensor.generate %k {
  ^bb0(%j: index):
    %draft = tensor.extract %made[%j] : tensor<16xi32>
    tensor.yield %draft : i32
  } : tensor<?xi32>
  return %drafts : tensor<?xi32>
}
}
