// RUN: mtp-opt %s --split-input-file --mtp-outline-control --verify-diagnostics

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @p function {
  %x = exec.input "x" : tensor<2xi32>
  %slots = tensor.cast %x : tensor<2xi32> to tensor<?xi32>
  // expected-error @+1 {{'mtp.per_slot' op expected static sizes, is mtp-specialize-shapes missing before this pass?}}
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.yield
  } : (tensor<?xi32>) -> ()
}
}

// -----

// expected-error @+1 {{expected 'mtp.envelope' on a module with states}}
module {
mtp.state @length : i32
exec.program @p function {
  %slots = exec.input "slots" : tensor<2xi32>
  mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
    mtp.yield
  } : (tensor<2xi32>) -> ()
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @p function {
  %slots = exec.input "slots" : tensor<2xi32>
  %x = exec.input "x" : tensor<2xi32>
  // expected-error @+2 {{expected at most 16384 bytes of tensors in the body of mtp.per_slot, got 20000}}
  // expected-error @+1 {{'mtp.per_slot' op has a body that cannot become a kernel}}
  %y = mtp.per_slot %slots(%x) {
  ^bb0(%index: index, %slot: i32, %a: i32):
    %e = tensor.splat %a : tensor<5000xi32>
    %i = arith.index_cast %a : i32 to index
    %b = tensor.insert %slot into %e[%i] : tensor<5000xi32>
    %c = tensor.extract %b[%index] : tensor<5000xi32>
    mtp.yield %c : i32
  } : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  exec.output "y" %y : tensor<2xi32>
}
}
