// RUN: mtp-opt %s --mtp-lint-states --split-input-file --verify-diagnostics

// A layer of the drafter's cache that no prefill writes.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-warning @+1 {{no prefill writes layers 1, 2 of @own, so that rounds read nothing of the prompt there, and drafts are accepted less often; run what writes them in an mtp.prefill, too, over the rows of mtp.prompt_rows}}
mtp.cache @own layers 4 entry 16 : f32
mtp.round @generate k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %a = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @own[0]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{read here}}
  %b = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @own[2]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %c = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @own[1]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // A layer without readers needs no writer.
  mtp.cache_append %x, %rows into @own[3] at 0 : tensor<?x8xf32>
}
mtp.prefill @prompt k 0 {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.cache_append %x, %rows into @own[0] at 0 : tensor<?x8xf32>
}
}

// -----

// States. A state that a round writes before it reads it is not carried on. A
// state that the host or a prefill writes is restored.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
// expected-warning @+1 {{the state @lost is lost when a sequence is preempted: rounds carry it on, and no prefill writes it; declare it 'rebuild save', so that the host keeps it, or 'rebuild tokens' if it holds the known tokens, or write it in an mtp.prefill, from the prompt's tokens or with its initial value}}
mtp.state @lost : i32
mtp.state @saved : i32 rebuild save
mtp.state @most : i32 init 4 input
// expected-warning @+1 {{nothing reads the input @bias, so that it makes no difference what a request brings}}
mtp.state @bias[8] : f32 input
mtp.state @scratch : i32
mtp.state @filled : i32
mtp.state @known[max_context + 1] : i32 rebuild tokens
// expected-warning @+1 {{nothing reads the state @forgotten, and nothing writes it; every slot has its memory for nothing}}
mtp.state @forgotten : i32
// expected-warning @+1 {{nothing reads the state @unread, which is written; every slot has its memory for nothing}}
mtp.state @unread : i32
// expected-warning @+1 {{nothing reads the state @copied, which the host writes; every slot has its memory for nothing}}
mtp.state @copied[max_context] : i32 rebuild tokens
// expected-warning @+1 {{nothing writes the state @constant, so that it keeps its initial value}}
mtp.state @constant : i32 init 7
mtp.round @generate k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    // expected-note @+1 {{what an earlier round left is read here}}
    %lost = mtp.load @lost[] : i32
    %most = mtp.load @most[] : i32
    %saved = mtp.load @saved[] : i32
    mtp.store %saved, @saved[] : i32
    %filled = mtp.load @filled[] : i32
    // expected-note @+1 {{read here}}
    %constant = mtp.load @constant[] : i32
    %token = mtp.load @known[%index] : i32
    mtp.store %lost, @scratch[] : i32
    %scratch = mtp.load @scratch[] : i32
    // expected-note @+1 {{written here}}
    mtp.store %scratch, @lost[] : i32
    mtp.store %filled, @filled[] : i32
    mtp.store %token, @unread[] : i32
    mtp.store %constant, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
mtp.prefill @prompt k 0 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.store %slot, @filled[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// Unknown names, and declarations without uses.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-warning @+1 {{nothing names the vocabulary @frequent}}
mtp.vocabulary @frequent dense<[3, 5]> : tensor<2xi32>
mtp.round @generate k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.output "tokens" %slots : tensor<?xi32>
  mtp.output "doubt" %slots for slots : tensor<?xi32>
}
// expected-warning @+1 {{nothing calls the private function @helper}}
func.func private @helper(%t: tensor<?xi32>) -> tensor<?xi32> {
  return %t : tensor<?xi32>
}
func.func @exported(%t: tensor<2xi32>) -> tensor<2xi32> {
  return %t : tensor<2xi32>
}
}

// -----

// An output that is unknown to the host and not declared.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @generate k 1 {
  %slots = mtp.slots : tensor<?xi32>
  // expected-error @+1 {{'mtp.output' op expected a name that the host knows ('logits', 'picks', 'tokens', 'path', 'places', 'again', 'drafted', 'drafts', 'parents'), or 'for slots' or 'for tokens', with which requests may ask for it, got 'bias'}}
  mtp.output "bias" %slots : tensor<?xi32>
}
}

// -----

// A store that may be skipped, or of another element than the one read, does
// not count as a new value in each round.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-warning @+1 {{the state @branch is lost when a sequence is preempted}}
mtp.state @branch : i32
// expected-warning @+1 {{the state @either is lost when a sequence is preempted}}
mtp.state @either : i32
// expected-warning @+1 {{the state @counted is lost when a sequence is preempted}}
mtp.state @counted : i32
// expected-warning @+1 {{the state @seen is lost when a sequence is preempted}}
mtp.state @seen[max_context + 1] : i32
mtp.state @same_branch : i32
mtp.state @twice : i32
mtp.state @scratch[8] : i32
mtp.state @length : i32
mtp.round @generate k 1 {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %zero = arith.constant 0 : i32
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %i2 = arith.constant 2 : index
    %length = mtp.load @length[] : i32
    %is_first = arith.cmpi eq, %length, %zero : i32
    %n = arith.index_cast %length : i32 to index
    scf.if %is_first {
      mtp.store %zero, @branch[] : i32
      mtp.store %zero, @same_branch[] : i32
      %same = mtp.load @same_branch[] : i32
      mtp.store %same, @length[] : i32
      // expected-note @+1 {{written here}}
      mtp.store %zero, @either[] : i32
    } else {
      // expected-note @+1 {{what an earlier round left is read here}}
      %other = mtp.load @either[] : i32
      mtp.store %other, @length[] : i32
    }
    scf.for %i = %i0 to %n step %i1 {
      mtp.store %zero, @counted[] : i32
    }
    scf.for %i = %i0 to %i2 step %i1 {
      mtp.store %zero, @twice[] : i32
      mtp.store %zero, @scratch[%i] : i32
    }
    // expected-note @+1 {{written here}}
    mtp.store %zero, @seen[%n] : i32
    // expected-note @+1 {{what an earlier round left is read here}}
    %branch = mtp.load @branch[] : i32
    // expected-note @+1 {{what an earlier round left is read here}}
    %counted = mtp.load @counted[] : i32
    // expected-note @+1 {{what an earlier round left is read here}}
    %seen = mtp.load @seen[%i1] : i32
    %twice = mtp.load @twice[] : i32
    %scratch = mtp.load @scratch[%i1] : i32
    // expected-note @+1 {{written here}}
    mtp.store %seen, @branch[] : i32
    // expected-note @+1 {{written here}}
    mtp.store %branch, @counted[] : i32
    %a = arith.addi %twice, %scratch : i32
    %b = arith.addi %a, %counted : i32
    mtp.store %b, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// A drafter in core ops that also runs without drafts, over a cache that no
// prefill of k = 0 fills.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-warning @+1 {{the round of k = 0 reads layer 1 of @own, which prefills write only where there are drafts; let what drafts stand in an mtp.draft, which is gone at k = 0}}
mtp.cache @own layers 2 entry 16 : f32
mtp.round @plain k 0 {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %rows = mtp.make_rows %slots, %slots : tensor<?xi32>
  %x = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %a = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @own[0]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // expected-note @+1 {{read here}}
  %b = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0 cache @own[1]
       : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
}
mtp.prefill @prompt k 0 {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.cache_append %x, %rows into @own[0] at 0 : tensor<?x8xf32>
}
mtp.prefill @drafted k 1 {
  %t, %rows = mtp.prompt_rows : tensor<?xi32>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  mtp.cache_append %x, %rows into @own[1] at 0 : tensor<?x8xf32>
}
}
