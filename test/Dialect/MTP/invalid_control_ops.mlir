// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// extent_c1
// expected-error @+1 {{expected the number of an extent in [1, 1073741824], got 0}}
mtp.state @s[0] : i32

// -----

// extent_c1
// expected-error @+1 {{expected the number of an extent in [0, 1073741824], got -1}}
mtp.state @s[max_k + -1] : i32

// -----

// extent_c2
// expected-error @+1 {{expected the number of an extent in [1, 1073741824], got 1073741825}}
mtp.state @s[1073741825] : i32

// -----

// extent_c1
// expected-error @+1 {{expected an integer, max_k, max_batch, max_context, max_pages or prefill_chunk, got 'max_slots'}}
mtp.state @s[max_slots] : i32

// -----

// state_c1
// expected-error @+1 {{'mtp.state' op expected at most 3 extents, got 4}}
mtp.state @s[1, 2, 3, 4] : i32

// -----

// state_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected extents of at least 1 within the envelope, got 0}}
mtp.state @s[max_k] : i32
}

// -----

// state_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected at most 2^46 elements within the envelope}}
mtp.state @s[1073741824, 1073741824] : i32
}

// -----

// state_c2
// expected-error @+1 {{attribute 'element_type' failed to satisfy constraint: type attribute of 32-bit signless integer or 64-bit signless integer or 32-bit float}}
mtp.state @s : bf16

// -----

// state_c3
// expected-error @+1 {{'mtp.state' op expected init of 'i32', got 1 : i64}}
"mtp.state"() {sym_name = "s", extents = [], element_type = i32, init = 1 : i64} : () -> ()

// -----

// state_c4
// expected-error @+1 {{'mtp.state' op expected rebuild of 1 to 4096 rows, got 0}}
mtp.state @s : i32 rebuild rows 0

// -----

// state_c5
// expected-error @+1 {{'mtp.state' op expected one extent of max_context and elements of i32 for rebuild tokens}}
mtp.state @s[64] : i32 rebuild tokens

// -----

// state_c5
// expected-error @+1 {{'mtp.state' op expected one extent of max_context and elements of i32 for rebuild tokens}}
mtp.state @s[max_context] : f32 rebuild tokens

// -----

// state_c6
// expected-error @+1 {{'mtp.state' op expected no rebuild of a shared state}}
mtp.state shared @s : i32 rebuild never

// -----

// state_c7
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @out_tokens[max_k + 1] : i32', as the host shares this state}}
mtp.state @out_tokens[max_k] : i32

// -----

// state_c7
// expected-error @+1 {{'mtp.state' op expected 'mtp.state shared @prompt_tokens[n, prefill_chunk] : i32', as the host shares this state}}
mtp.state @prompt_tokens[2, prefill_chunk] : i32

// -----

// state_c7
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @length : i32', as the host shares this state}}
mtp.state @length : i64

// -----

// state_c7
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @shown_confidence[32, max_k] : f32', as the host shares this state}}
mtp.state @shown_confidence[32, max_k] : i32

// -----

// state_c8
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.state' op expected at most 65536 bytes of a slot for rebuild save, got 65544}}
mtp.state @s[8193] : i64 rebuild save
}

// -----

// state_c8
// expected-error @+1 {{expected rows, tokens, never or save, got 'keep'}}
mtp.state @s : i32 rebuild keep

// -----

// state_c10
// expected-error @+1 {{expected rebuild rows, tokens, never or save, got run, which is for what mtp.recurrence declares}}
mtp.state @s : f32 rebuild run

// -----

// state_c11
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @want_k : i32', as it says how many drafts a slot wants}}
mtp.state @want_k[2] : i32

// -----

// state_c11
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @want_k : i32', as it says how many drafts a slot wants}}
mtp.state @want_k : f32

// -----

// state_c11
// expected-error @+1 {{'mtp.state' op expected 'mtp.state @want_k : i32', as it says how many drafts a slot wants}}
mtp.state shared @want_k : i32

// -----

// state_c9
// expected-error @+1 {{'mtp.state' op expected an input of each slot's own, of i32 or f32, got a shared one of 'f32'}}
mtp.state shared @s[8] : f32 input

// -----

// state_c9
// expected-error @+1 {{'mtp.state' op expected an input of each slot's own, of i32 or f32, got 'i64'}}
mtp.state @s[8] : i64 input

// -----

// state_c9
// expected-error @+1 {{'mtp.state' op expected no rebuild of an input}}
mtp.state @s[8] : f32 rebuild never input

// -----

// state_c9
// expected-error @+1 {{'mtp.state' op expected another name for an input, as the host shares the state @length}}
mtp.state @length : i32 input

// -----

// per_slot_c1
func.func private @f(%slots: tensor<2xi32>, %x: tensor<3xi32>) {
  // expected-error @+1 {{'mtp.per_slot' op expected operands and results with the rows of 'tensor<2xi32>', got 'tensor<3xi32>'}}
  mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32, %a: i32):
    mtp.yield
  } : (tensor<2xi32>, tensor<3xi32>) -> ()
  return
}

// -----

// per_slot_c2
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  // expected-error @+1 {{'mtp.per_slot' op expected the body to take ('index', 'i32', 'tensor<3xi32>'), got ('index', 'i32')}}
  mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32):
    mtp.yield
  } : (tensor<2xi32>, tensor<2x3xi32>) -> ()
  return
}

// -----

// per_slot_c3
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  // expected-error @+1 {{'mtp.per_slot' op expected the body to yield ('tensor<2xi32>')}}
  %r = mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32, %a: tensor<3xi32>):
    mtp.yield %a : tensor<3xi32>
  } : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x2xi32>
  return
}

// -----

// per_slot_c4
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %true = arith.constant true
    // expected-error @+1 {{'scf.while' op expected arith and scalar math that need no library, scf.for, scf.if, scf.parallel, operations on small tensors, loads and stores in the body of mtp.per_slot}}
    scf.while : () -> () {
      scf.condition(%true)
    } do {
      scf.yield
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c4
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xf32>) {
  mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32, %a: tensor<3xf32>):
    // expected-error @+1 {{'math.sqrt' op expected arith and scalar math that need no library, scf.for, scf.if, scf.parallel, operations on small tensors, loads and stores in the body of mtp.per_slot}}
    %r = math.sqrt %a : tensor<3xf32>
    mtp.yield
  } : (tensor<2xi32>, tensor<2x3xf32>) -> ()
  return
}

// -----

// per_slot_c4
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2xf32>) {
  mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32, %a: f32):
    // expected-error @+1 {{'math.erf' op expected arith and scalar math that need no library, scf.for, scf.if, scf.parallel, operations on small tensors, loads and stores in the body of mtp.per_slot}}
    %r = math.erf %a : f32
    mtp.yield
  } : (tensor<2xi32>, tensor<2xf32>) -> ()
  return
}

// -----

// per_slot_c4
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2xf32>) {
  mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32, %a: f32):
    // expected-error @+1 {{'arith.remf' op expected arith and scalar math that need no library, scf.for, scf.if, scf.parallel, operations on small tensors, loads and stores in the body of mtp.per_slot}}
    %r = arith.remf %a, %a : f32
    mtp.yield
  } : (tensor<2xi32>, tensor<2xf32>) -> ()
  return
}

// -----

// per_slot_c5
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'arith.trunci' op expected values of index, i1, i32, i64 or f32, or tensors of the last four, in the body of mtp.per_slot, got 'i8'}}
    %r = arith.trunci %s : i32 to i8
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c6
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'scf.for' op expected a constant step and signed bounds in the body of mtp.per_slot}}
    scf.for %j = %c0 to %i step %i {
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c7
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %t = tensor.generate {
    ^bb0(%j: index):
      // expected-error @+1 {{'mtp.load' op expected a state that the body does not store to, in a tensor.generate, got @s}}
      %v = mtp.load @s[%j] : i32
      tensor.yield %v : i32
    } : tensor<4xi32>
    mtp.store %s, @s[%i] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c8
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{'scf.parallel' op expected one dimension and a constant step in the body of mtp.per_slot}}
    scf.parallel (%p, %q) = (%c0, %c0) to (%i, %i) step (%c1, %c1) {
      scf.reduce
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c8
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'scf.parallel' op expected one dimension and a constant step in the body of mtp.per_slot}}
    scf.parallel (%p) = (%c0) to (%i) step (%i) {
      scf.reduce
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c8
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.parallel (%p) = (%c0) to (%i) step (%c1) init (%s) -> i32 {
      // expected-error @+1 {{'scf.reduce' op expected numbers of i32, i64 or index that one arith.addi, arith.maxsi or arith.minsi joins, in the body of mtp.per_slot}}
      scf.reduce(%s : i32) {
      ^bb0(%a: i32, %b: i32):
        %d = arith.subi %a, %b : i32
        scf.reduce.return %d : i32
      }
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c8
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %r = scf.parallel (%p) = (%c0) to (%i) step (%c1) init (%f) -> f32 {
      // expected-error @+1 {{'scf.reduce' op expected numbers of i32, i64 or index that one arith.addi}}
      scf.reduce(%f : f32) {
      ^bb0(%a: f32, %b: f32):
        %d = arith.addf %a, %b : f32
        scf.reduce.return %d : f32
      }
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c8
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.parallel (%p) = (%c0) to (%i) step (%c1) {
      // expected-error @+1 {{'mtp.store' op expected no stores and no tensors in an scf.parallel}}
      mtp.store %s, @s[%p] : i32
      scf.reduce
    }
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// per_slot_c8
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots(%x) {
  ^bb0(%i: index, %s: i32, %row: tensor<3xi32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.parallel (%p) = (%c0) to (%i) step (%c1) init (%s) -> i32 {
      // expected-error @+1 {{'tensor.extract' op expected no stores and no tensors in an scf.parallel}}
      %v = tensor.extract %row[%p] : tensor<3xi32>
      scf.reduce(%v : i32) {
      ^bb0(%a: i32, %b: i32):
        %d = arith.addi %a, %b : i32
        scf.reduce.return %d : i32
      }
    }
    mtp.yield
  } : (tensor<2xi32>, tensor<2x3xi32>) -> ()
  return
}

// -----

// uniform_c1
func.func @f(%n: i32) {
  // expected-error @+1 {{'mtp.uniform' op expected in the body of an mtp.per_slot, or in a private function that it calls}}
  %u = mtp.uniform %n, %n
  return
}

// -----

// load_c1
mtp.state @s : i32
func.func @f() {
  // expected-error @+1 {{'mtp.load' op expected in the body of an mtp.per_slot, or in a private function that it calls}}
  %n = mtp.load @s[] : i32
  return
}

// -----

// load_c2
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.load' op expected @t to be an mtp.state}}
    %n = mtp.load @t[] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// load_c2
// expected-note @+1 {{the state is declared here}}
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.load' op expected 1 indices and elements of 'i32' for @s, got 0 and 'i32'}}
    %n = mtp.load @s[] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// load_c2
// expected-note @+1 {{the state is declared here}}
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.load' op expected 1 indices and elements of 'i32' for @s, got 1 and 'f32'}}
    %n = mtp.load @s[%i] : f32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// store_c1
mtp.state @s : i32
func.func @f(%x: i32) {
  // expected-error @+1 {{'mtp.store' op expected in the body of an mtp.per_slot, or in a private function that it calls}}
  mtp.store %x, @s[] : i32
  return
}

// -----

// store_c1
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %t = tensor.generate {
    ^bb0(%j: index):
      // expected-error @+1 {{'mtp.store' op expected outside of a tensor.generate, whose order is free}}
      mtp.store %s, @s[%j] : i32
      tensor.yield %s : i32
    } : tensor<4xi32>
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// store_c2
// expected-note @+1 {{the state is declared here}}
mtp.state @s[4] : i32
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected 1 indices and elements of 'i32' for @s, got 2 and 'i32'}}
    mtp.store %s, @s[%i, %i] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// store_c4
// expected-note @+1 {{the state is declared here}}
mtp.state @s : i32 input
func.func private @f(%slots: tensor<2xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that programs write, got the input @s}}
    mtp.store %s, @s[] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// store_c3
mtp.state shared @s[4] : i32
func.func private @f(%slots: tensor<2xi32>, %x: tensor<2x3xi32>) {
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state of each slot's own, got the shared @s}}
    mtp.store %s, @s[%i] : i32
    mtp.yield
  } : (tensor<2xi32>) -> ()
  return
}

// -----

// store_c5: an mtp.commit in the round writes this state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @length, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
    mtp.store %s, @length[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// store_c5: an mtp.commit in the round writes this state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @accepted : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @accepted, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
    mtp.store %s, @accepted[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// store_c5: an mtp.commit in the round writes this state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out_count : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @out_count, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
    mtp.store %s, @out_count[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// store_c5: an mtp.commit in the round writes this state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @window[max_k + 1] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @window, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
    mtp.store %s, @window[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// store_c5: an mtp.commit in the round writes this state.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @out_tokens[max_k + 1] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @out_tokens, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
    mtp.store %s, @out_tokens[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// store_c5: also under a condition, and in a prefill.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.prefill @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    %k = mtp.k
    %none = arith.constant 0 : index
    %drafts = arith.cmpi sgt, %k, %none : index
    scf.if %drafts {
      // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @length, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
      mtp.store %s, @length[] : i32
    }
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// store_c5: in a function that the body calls through another function.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @accepted : i32
func.func private @inner(%s: i32) {
  // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @accepted, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
  mtp.store %s, @accepted[] : i32
  return
}
func.func private @outer(%s: i32) {
  func.call @inner(%s) : (i32) -> ()
  return
}
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    func.call @outer(%s) : (i32) -> ()
    mtp.yield
  } : (tensor<?xi32>) -> ()
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}

// -----

// A round in core ops writes these states itself, even if a prefill commits.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @length : i32
mtp.state @known[4] : i32
func.func private @keep(%s: i32) {
  mtp.store %s, @length[] : i32
  return
}
mtp.round @core {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    func.call @keep(%s) : (i32) -> ()
    mtp.store %s, @length[] : i32
    mtp.store %s, @known[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @page_table[max_pages] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @page_table, which the host alone writes; keep what the method needs in a state of another name}}
    mtp.store %s, @page_table[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @sampling[8] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @sampling, which the host alone writes; keep what the method needs in a state of another name}}
    mtp.store %s, @sampling[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @draft_limit : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @draft_limit, which the host alone writes; keep what the method needs in a state of another name}}
    mtp.store %s, @draft_limit[] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @stop_tokens[8] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @stop_tokens, which the host alone writes; keep what the method needs in a state of another name}}
    mtp.store %s, @stop_tokens[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @drafter_places[max_k, 2] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @drafter_places, which the host alone writes; keep what the method needs in a state of another name}}
    mtp.store %s, @drafter_places[%i, %i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @loop[8] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @loop, which the host writes, and mtpc's own code after a round; keep what the method needs in a state of another name}}
    mtp.store %s, @loop[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: the host writes this state, with or without an mtp.commit.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @ring[32, max_k + 2] : i32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @ring, which the host writes, and mtpc's own code after a round; keep what the method needs in a state of another name}}
    mtp.store %s, @ring[%i, %i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// store_c5: an mtp.commit takes the anchor from `known`.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @known[max_context + 1] : i32 init -1 rebuild tokens
mtp.prefill @p {
  %slots = mtp.slots : tensor<?xi32>
  mtp.per_slot %slots {
  ^bb0(%i: index, %s: i32):
    // expected-error @+1 {{'mtp.store' op expected a state that the program writes, got @known, which the host alone writes; keep what the method needs in a state of another name}}
    mtp.store %s, @known[%i] : i32
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
