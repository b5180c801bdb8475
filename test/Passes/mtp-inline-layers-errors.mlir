// RUN: mtp-opt %s --mtp-inline-layers --split-input-file --verify-diagnostics

// expected-error @+1 {{expected no recursion, got a cycle through @f}}
func.func private @f(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = mtp.apply @g(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
// expected-note @-4 {{called from here}}
// expected-note @+1 {{called from here}}
func.func private @g(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = func.call @f(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @main(%x: tensor<4x8xf32>, %z: tensor<?x8xf32>) {
  %y = mtp.apply @f(%z) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// expected-error @+1 {{expected a body of one block to inline @f}}
func.func private @f()
func.func @main() {
  mtp.apply @f() : () -> ()
  return
}

// -----

func.func @main(%x: tensor<4x8xf32>, %s: tensor<4xi32>) {
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  // expected-error @+1 {{'mtp.attention' op expected a cache, got none from the mtp.apply ops around it}}
  %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
