// RUN: mtp-opt %s --split-input-file --verify-diagnostics

func.func @moe_route_c1(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.moe_route' op expected top_k within 8 of at most 4096 experts, got 9}}
  %i, %w = mtp.moe_route %l softmax top_k 9 : tensor<?x8xf32> -> tensor<?x9xi32>, tensor<?x9xf32>
  return
}

// -----

func.func @moe_route_c2(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.moe_route' op expected groups that divide 8 experts and keep some, got 3 keep 1}}
  %i, %w = mtp.moe_route %l sigmoid top_k 2 groups 3 : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @moe_route_c2_kept(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.moe_route' op expected 3 experts in 1 kept groups of at least 2, got groups of 2}}
  %i, %w = mtp.moe_route %l sigmoid top_k 3 groups 4 : tensor<?x8xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @moe_route_c3(%l: tensor<?x8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'mtp.moe_route' op expected width 8 of the bias, got 'tensor<4xf32>'}}
  %i, %w = mtp.moe_route %l bias %b sigmoid top_k 2 : tensor<?x8xf32>, tensor<4xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @moe_route_c4(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.moe_route' op expected width 2 of a result, got 'tensor<?x3xf32>'}}
  %i, %w = mtp.moe_route %l sigmoid top_k 2 : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x3xf32>
  return
}

// -----

func.func @moe_route_c5(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.moe_route' op expected a finite positive scale, got 0}}
  %i, %w = mtp.moe_route %l sigmoid top_k 2 scale 0.0 : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

func.func @moe_experts_c1(%x: tensor<?x8xf32>, %i: tensor<?x2xi32>, %w: tensor<?x3xf32>, %g: tensor<4x6x8xf32>, %d: tensor<4x8x6xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.moe_experts' op expected width 2 of the weights, got 'tensor<?x3xf32>'}}
  %0 = mtp.moe_experts %x, %i, %w, %rows experts(%g, %g, %d)
       : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x3xf32>, !mtp.rows, tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @moe_experts_c2(%x: tensor<?x8xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %g: tensor<4x6x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.moe_experts' op expected down of 'tensor<4x8x6xf32>', got 'tensor<4x6x8xf32>'}}
  %0 = mtp.moe_experts %x, %i, %w, %rows experts(%g, %g, %g)
       : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @moe_experts_c3(%x: tensor<?x8xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %g: tensor<1x6x8xf32>, %d: tensor<1x8x6xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.moe_experts' op expected at most 1 experts per row, got 2}}
  %0 = mtp.moe_experts %x, %i, %w, %rows experts(%g, %g, %d)
       : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<1x6x8xf32>, tensor<1x6x8xf32>, tensor<1x8x6xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @moe_experts_c4(%x: tensor<?x8xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %g: tensor<4x6x8xf32>, %d: tensor<4x8x6xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.moe_experts' op expected addends and result of type 'tensor<?x8xf32>', got 'tensor<?x2xf32>'}}
  %0 = mtp.moe_experts %x, %i, %w, %rows experts(%g, %g, %d) residual %w
       : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x8x6xf32>, tensor<?x2xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @moe_experts_c5(%x: tensor<?x8xf32>, %i: tensor<?x2xi32>, %w: tensor<?x2xf32>, %g: tensor<4x6x8xf32>, %u: tensor<4x6x8xbf16>, %d: tensor<4x8x6xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.moe_experts' op expected gate and up of one type with 8 inputs, got 'tensor<4x6x8xf32>' and 'tensor<4x6x8xbf16>'}}
  %0 = mtp.moe_experts %x, %i, %w, %rows experts(%g, %u, %d)
       : (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<4x6x8xf32>, tensor<4x6x8xbf16>, tensor<4x8x6xf32>) -> tensor<?x8xf32>
  return
}
