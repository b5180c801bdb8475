// RUN: mtp-opt %s --split-input-file --verify-diagnostics

func.func @fused_linear_c1_none(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected at least one weight}}
  %0 = mtp.fused_linear %x weights() : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @fused_linear_c1(%x: tensor<?x8xf32>, %v: tensor<4x8xf32>, %w: tensor<4x8xbf16>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected weights of 8 inputs and type 'f32', got 'tensor<4x8xbf16>'}}
  %0 = mtp.fused_linear %x weights(%v, %w) : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>) -> tensor<?x8xf32>
  return
}

// -----

func.func @fused_linear_c2(%x: tensor<?x8xf32>, %n: tensor<4xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected width 8 of the norm, got 'tensor<4xf32>'}}
  %0 = mtp.fused_linear %x norm %n eps 1.0e-6 weights(%w) : (tensor<?x8xf32>, tensor<4xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @fused_linear_c2_eps(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected eps exactly with a norm}}
  %0 = mtp.fused_linear %x weights(%w) {eps = 1.0 : f64} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @fused_linear_c2_offset(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected offset 0, or 1 with a norm, got 1}}
  %0 = mtp.fused_linear %x offset 1 weights(%w) : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @fused_linear_c3(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected width 8 of the result, got 'tensor<?x4xf32>'}}
  %0 = mtp.fused_linear %x weights(%w, %w) : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @fused_linear_c3_geglu_tanh(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected no bias and no residual with geglu_tanh}}
  %0 = mtp.fused_linear %x weights(%w, %w) residual %x activation geglu_tanh : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @fused_linear_c3_swiglu(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected no bias and no residual with swiglu}}
  %0 = mtp.fused_linear %x weights(%w, %w) residual %x activation swiglu : (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @fused_linear_c3_pair(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected gate and up of one type with swiglu}}
  %0 = mtp.fused_linear %x weights(%w) activation swiglu : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @fused_linear_c4(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected a bias per weight, got 1 for 2}}
  %0 = mtp.fused_linear %x weights(%w, %w) biases(%b) : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @fused_linear_c5(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.fused_linear' op expected a residual of type 'tensor<?x4xf32>', got 'tensor<?x8xf32>'}}
  %0 = mtp.fused_linear %x weights(%w) residual %x : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @head_linear_c1(%x: tensor<?x30xf32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.head_linear' op expected 4 heads to divide the width, got 30}}
  %0 = mtp.head_linear %x, %w heads 4 cols 0 to 8 block 0 to 4 stride 4 : tensor<?x30xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @head_linear_c2(%x: tensor<?x32xf32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.head_linear' op expected keep as a range within 0 to 8, got 4 to 9}}
  %0 = mtp.head_linear %x, %w heads 4 cols 0 to 8 block 0 to 4 stride 4 keep 4 to 9 : tensor<?x32xf32>, tensor<16x8xf32> -> tensor<?x36xf32>
  return
}

// -----

func.func @head_linear_c3(%x: tensor<?x32xf32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.head_linear' op expected the weight of 32x8, got 'tensor<16x8xf32>'}}
  %0 = mtp.head_linear %x, %w heads 4 cols 0 to 8 block 0 to 4 stride 8 : tensor<?x32xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @head_linear_c3_overflow(%x: tensor<?x32xf32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.head_linear' op expected heads to fit, got 4 * 4611686018427387904}}
  %0 = mtp.head_linear %x, %w heads 4 cols 0 to 8 block 0 to 4 stride 4611686018427387904 : tensor<?x32xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @head_linear_c4(%x: tensor<?x32xf32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.head_linear' op expected 4 cols for the block, got 8}}
  %0 = mtp.head_linear %x, %w heads 4 cols 0 to 8 block 0 to 4 stride 4 transposed : tensor<?x32xf32>, tensor<16x8xf32> -> tensor<?x32xf32>
  return
}

// -----

func.func @head_linear_c5(%x: tensor<?x32xf32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.head_linear' op expected width 16 of the result, got 'tensor<?x32xf32>'}}
  %0 = mtp.head_linear %x, %w heads 4 cols 0 to 8 block 0 to 4 stride 4 : tensor<?x32xf32>, tensor<16x8xf32> -> tensor<?x32xf32>
  return
}
