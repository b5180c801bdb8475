// RUN: mtp-opt %s --split-input-file --verify-diagnostics

func.func @log_sum_exp_c1(%x: tensor<4x16xf32>) {
  // expected-error @+1 {{'mtp.log_sum_exp' op expected a number for each row of 'tensor<4x16xf32>', got 'tensor<4x2xf32>'}}
  %0 = mtp.log_sum_exp %x : tensor<4x16xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @entropy_c1(%x: tensor<2x3x16xf32>) {
  // expected-error @+1 {{'mtp.entropy' op expected a number for each row of 'tensor<2x3x16xf32>', got 'tensor<2x1xf32>'}}
  %0 = mtp.entropy %x : tensor<2x3x16xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @gather_c1(%x: tensor<4x16xf32>, %c: tensor<3xi32>) {
  // expected-error @+1 {{'mtp.gather' op expected a fixed number of columns for each row of 'tensor<4x16xf32>', got 'tensor<3xi32>'}}
  %0 = mtp.gather %x[%c] : tensor<4x16xf32>, tensor<3xi32> -> tensor<4x1xf32>
  return
}

// -----

// gather_c1
func.func @gather_of_groups(%x: tensor<2x3x16xf32>, %c: tensor<2x4xi32>) {
  // expected-error @+1 {{'mtp.gather' op expected a fixed number of columns for each row of 'tensor<2x3x16xf32>', got 'tensor<2x4xi32>'}}
  %0 = mtp.gather %x[%c] : tensor<2x3x16xf32>, tensor<2x4xi32> -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<4x16xf32>, %c: tensor<4x2xi32>) {
  // expected-error @+1 {{'mtp.gather' op expected an element for each number of 'tensor<4x2xi32>', got 'tensor<4x1xf32>'}}
  %0 = mtp.gather %x[%c] : tensor<4x16xf32>, tensor<4x2xi32> -> tensor<4x1xf32>
  return
}

// -----

func.func @gather_c3(%x: tensor<2x3x16xf32>, %c: tensor<2x3xi32>, %places: tensor<6xi32>) {
  // expected-error @+1 {{'mtp.gather' op expected rows with places, got 'tensor<2x3x16xf32>'}}
  %0 = mtp.gather %x[%c] at %places : tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<6xi32> -> tensor<2x3xf32>
  return
}

// -----

func.func @top_k_c1(%x: tensor<4x128xf32>) {
  // expected-error @+1 {{'mtp.top_k' op expected k from 1 to 64, got 65}}
  %0, %1 = mtp.top_k %x k 65 : tensor<4x128xf32> -> tensor<4x65xi32>, tensor<4x65xf32>
  return
}

// -----

// top_k_c1
func.func @top_k_of_few(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'mtp.top_k' op expected k from 1 to 2, got 3}}
  %0, %1 = mtp.top_k %x k 3 : tensor<4x2xf32> -> tensor<4x3xi32>, tensor<4x3xf32>
  return
}

// -----

func.func @top_k_c2(%x: tensor<4x16xf32>) {
  // expected-error @+1 {{'mtp.top_k' op expected the 3 best of each row of 'tensor<4x16xf32>', got 'tensor<4x2xf32>'}}
  %0, %1 = mtp.top_k %x k 3 : tensor<4x16xf32> -> tensor<4x3xi32>, tensor<4x2xf32>
  return
}

// -----

mtp.vocabulary @few dense<[1, 3, 5]> : tensor<3xi32>
func.func @top_k_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.top_k' op expected a token of @few for each of 8 columns, got 3}}
  %0, %1 = mtp.top_k %x k 3 tokens @few : tensor<4x8xf32> -> tensor<4x3xi32>, tensor<4x3xf32>
  return
}

// -----

func.func @top_k_c4(%x: tensor<4x8xf32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{'mtp.top_k' op expected a number with noise alone}}
  %0, %1 = "mtp.top_k"(%x, %n) <{k = 3 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4x3xi32>, tensor<4x3xf32>)
  return
}

// -----

// top_k_c4
func.func @top_k_numbers(%x: tensor<4x8xf32>, %n: tensor<2xi32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.top_k' op expected a number with the rows of 'tensor<4x8xf32>', got 'tensor<2xi32>'}}
  %0, %1 = mtp.top_k %x k 3 noise %rows number %n : tensor<4x8xf32>, tensor<2xi32> -> tensor<4x3xi32>, tensor<4x3xf32>
  return
}

// -----

func.func @log_softmax_c1(%x: tensor<4x?xf32>) {
  // expected-error @+1 {{'mtp.log_softmax' op expected a static width of the operand, got 'tensor<4x?xf32>'}}
  %0 = mtp.log_softmax %x : tensor<4x?xf32>
  return
}

// -----

func.func @probabilities_c1(%x: tensor<4x?xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.probabilities' op expected a static width of the operand, got 'tensor<4x?xf32>'}}
  %0 = mtp.probabilities %x of %s : tensor<4x?xf32>, tensor<2xi32>
  return
}

// -----

func.func @probabilities_c2(%x: tensor<5x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.probabilities' op expected a fixed number of rows for each of 2 slots, got 5}}
  %0 = mtp.probabilities %x of %s : tensor<5x16xf32>, tensor<2xi32>
  return
}

// -----

func.func @sample_residual_c1(%p: tensor<2x16xf32>, %q: tensor<2x8xf32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{'mtp.sample_residual' op expected width 16 of q, got 'tensor<2x8xf32>'}}
  %0 = mtp.sample_residual %p less %q by %u : (tensor<2x16xf32>, tensor<2x8xf32>, tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_residual_c2(%p: tensor<2x16xf32>, %at: tensor<2xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{'mtp.sample_residual' op expected groups with a row for each slot, got 'tensor<2x16xf32>'}}
  %0 = mtp.sample_residual %p at %at by %u : (tensor<2x16xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_residual_c2_places(%p: tensor<2x3x16xf32>, %at: tensor<2xi32>, %places: tensor<2x3xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{'mtp.sample_residual' op expected packed rows, and a row for each slot, with places, got 'tensor<2x3x16xf32>'}}
  %0 = mtp.sample_residual %p[%places] at %at by %u : (tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_residual_c2_without(%p: tensor<6x16xf32>, %places: tensor<2x3xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{'mtp.sample_residual' op expected packed rows, and a row for each slot, with places, got 'tensor<6x16xf32>'}}
  %0 = mtp.sample_residual %p[%places] by %u : (tensor<6x16xf32>, tensor<2x3xi32>, tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_residual_c3_places(%p: tensor<6x16xf32>, %at: tensor<2xi32>, %places: tensor<3x3xi32>, %u: tensor<2xf32>) {
  // expected-error @+1 {{'mtp.sample_residual' op expected all operands with the rows of 'tensor<2xi32>', got 'tensor<3x3xi32>'}}
  %0 = mtp.sample_residual %p[%places] at %at by %u : (tensor<6x16xf32>, tensor<3x3xi32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_residual_c3(%p: tensor<2x16xf32>, %u: tensor<3xf32>) {
  // expected-error @+1 {{'mtp.sample_residual' op expected all operands with the rows of 'tensor<2xi32>', got 'tensor<3xf32>'}}
  %0 = mtp.sample_residual %p by %u : (tensor<2x16xf32>, tensor<3xf32>) -> tensor<2xi32>
  return
}

// -----

mtp.state @allowed : i32 input
func.func @mask_columns_c1(%x: tensor<2x?xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.mask_columns' op expected a static width of the operand, got 'tensor<2x?xf32>'}}
  %0 = mtp.mask_columns %x by @allowed of %s : tensor<2x?xf32>, tensor<2xi32>
  return
}

// -----

mtp.state @allowed[2] : i32 input
func.func @mask_columns_c2(%x: tensor<2x65xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.mask_columns' op expected @allowed to have i32 rows of 3 words per slot}}
  %0 = mtp.mask_columns %x by @allowed of %s : tensor<2x65xf32>, tensor<2xi32>
  return
}

// -----

// mask_columns_c2
func.func @mask_columns_by_nothing(%x: tensor<2x64xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.mask_columns' op expected @allowed to be a state}}
  %0 = mtp.mask_columns %x by @allowed of %s : tensor<2x64xf32>, tensor<2xi32>
  return
}

// -----

mtp.state @allowed[2] : i32 input
func.func @mask_columns_c3(%x: tensor<2x64xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.mask_columns' op expected several rows of words per slot in @allowed}}
  %0 = mtp.mask_columns %x by @allowed of %s[%s] : tensor<2x64xf32>, tensor<2xi32>, tensor<2xi32>
  return
}

// -----

mtp.state @allowed[3, 2] : i32 input
func.func @mask_columns_c4(%x: tensor<2x64xf32>, %s: tensor<2xi32>, %a: tensor<3xi32>) {
  // expected-error @+1 {{'mtp.mask_columns' op expected a number with the rows of 'tensor<2x64xf32>', got 'tensor<3xi32>'}}
  %0 = mtp.mask_columns %x by @allowed of %s[%a] : tensor<2x64xf32>, tensor<2xi32>, tensor<3xi32>
  return
}
