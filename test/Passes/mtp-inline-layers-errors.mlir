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

// -----

func.func private @gate(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = mtp.silu %x : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @main(%x: tensor<?x8xf32>) -> tensor<?x16xf32> {
  // expected-error @+1 {{expected a result of 'tensor<?x16xf32>' from the callee, got 'tensor<?x8xf32>'}}
  %y = mtp.apply @gate(%x) : (tensor<?x8xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// The width is unknown.
func.func private @gate(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{'mtp.silu' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %s = mtp.silu %x : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @main(%x: tensor<?x?xf32>) {
  %y = mtp.apply @gate(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

// -----

// Inferred types must be valid, as if they had been written.
func.func private @project(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{'mtp.linear' op expected width 4 of the operand, got 'tensor<?x8xf32>'}}
  %y = mtp.linear %x, %w : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
func.func @main(%x: tensor<?x8xf32>, %w: tensor<16x4xf32>) {
  %y = mtp.apply @project(%x, %w) : (tensor<?x8xf32>, tensor<16x4xf32>) -> tensor<?x16xf32>
  return
}

// -----

// The function is never called.
// expected-error @+1 {{expected a call that says the widths of @gate, got none}}
func.func private @gate(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = mtp.silu %x : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
