// RUN: mtp-opt %s --mtp-expand-commit --split-input-file --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %q, %f : i32, tensor<3xi32>, tensor<3xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x3xi32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.commit' op expected a round or a prefill with a k, is mtp-instantiate-rounds missing before this pass?}}
  mtp.commit %count, %picks, %h along %path : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>, tensor<?x3xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<2xi32>
    %q = tensor.splat %slot : tensor<3xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %q, %f : i32, tensor<2xi32>, tensor<3xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x3xi32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.commit' op expected 3 picks and nodes per slot, got 'tensor<?x2xi32>'}}
  mtp.commit %count, %picks, %h along %path : tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>, tensor<?x3xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.round @r k 2 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path, %h = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<3xi32>
    %q = tensor.splat %slot : tensor<5xi32>
    %f = arith.constant dense<0.0> : tensor<8xf32>
    mtp.yield %slot, %p, %q, %f : i32, tensor<3xi32>, tensor<5xi32>, tensor<8xf32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x3xi32>, tensor<?x5xi32>, tensor<?x8xf32>)
  // expected-error @+1 {{'mtp.commit' op expected 3 picks and nodes per slot, got 'tensor<?x5xi32>'}}
  mtp.commit %count, %picks, %h along %path : tensor<?xi32>, tensor<?x3xi32>, tensor<?x8xf32>, tensor<?x5xi32>
}
}

// -----

// The use of a tree's rows in a function is unknown.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
func.func private @layer(%t: tensor<?xi32>, %rows: !mtp.rows) -> tensor<?x8xf32>
mtp.round @tree k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<2xi32>
    mtp.yield %slot, %p, %p : i32, tensor<2xi32>, tensor<2xi32>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x2xi32>)
  %flat = mtp.reshape %path : tensor<?x2xi32> -> tensor<?xi32>
  %plain = mtp.make_rows %flat, %flat : tensor<?xi32>
  %rows = mtp.tree_rows %plain [-1, 0]
  // expected-error @+1 {{'func.call' op expected no call that takes the rows of a tree, is mtp-inline-layers missing before this pass?}}
  %h = func.call @layer(%flat, %rows) : (tensor<?xi32>, !mtp.rows) -> tensor<?x8xf32>
  mtp.commit %count, %picks, %h along %path : tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>, tensor<?x2xi32>
}
}

// -----

// The slots of the rows are unknown.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.cache @own layers 1 entry 8 : f32
func.func private @places() -> tensor<?xi32>
mtp.round @tree k 1 {
  %slots = mtp.slots : tensor<?xi32>
  %count, %picks, %path, %bits = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    %p = tensor.splat %slot : tensor<2xi32>
    %m = arith.constant dense<[1, 3]> : tensor<2xi64>
    mtp.yield %slot, %p, %p, %m : i32, tensor<2xi32>, tensor<2xi32>, tensor<2xi64>
  } : (tensor<?xi32>) -> (tensor<?xi32>, tensor<?x2xi32>, tensor<?x2xi32>, tensor<?x2xi64>)
  %flat = mtp.reshape %path : tensor<?x2xi32> -> tensor<?xi32>
  %masks = mtp.reshape %bits : tensor<?x2xi64> -> tensor<?xi64>
  %w = mtp.weight "table" : tensor<16x8xf32>
  %x = mtp.embed %flat, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %best = func.call @places() : () -> tensor<?xi32>
  // expected-error @+1 {{'mtp.make_tree_rows' op expected places in groups of a slot, whose entries a commit moves}}
  %rows = mtp.make_tree_rows %flat, %flat from %flat at %best seeing %masks : tensor<?xi32>, tensor<?xi64>
  mtp.cache_append %x, %rows into @own[0] at 0 : tensor<?x8xf32>
  mtp.commit %count, %picks, %x along %path : tensor<?xi32>, tensor<?x2xi32>, tensor<?x8xf32>, tensor<?x2xi32>
}
}
