// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// log_sum_exp_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.log_sum_exp' op failed to verify that all of {x, y} have same rows}}
  %r = exec.log_sum_exp %x : (tensor<4x16xf32>) -> tensor<2x1xf32>
}

// -----

// log_sum_exp_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.log_sum_exp' op expected one column, got 'tensor<4x2xf32>'}}
  %r = exec.log_sum_exp %x : (tensor<4x16xf32>) -> tensor<4x2xf32>
}

// -----

// entropy_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.entropy' op failed to verify that all of {x, y} have same rows}}
  %r = exec.entropy %x : (tensor<4x16xf32>) -> tensor<2x1xf32>
}

// -----

// entropy_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.entropy' op expected one column, got 'tensor<4x2xf32>'}}
  %r = exec.entropy %x : (tensor<4x16xf32>) -> tensor<4x2xf32>
}

// -----

// gather_columns_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %c = exec.input "c" : tensor<2x3xi32>
  // expected-error @+1 {{'exec.gather_columns' op expected columns for each row of 'tensor<4x16xf32>', got 'tensor<2x3xi32>'}}
  %r = exec.gather_columns %x, %c : (tensor<4x16xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
}

// -----

// gather_columns_c1
exec.program @p function {
  %x = exec.input "x" : tensor<2x16xf32>
  %p = exec.input "p" : tensor<4xi32>
  %c = exec.input "c" : tensor<2x3xi32>
  // expected-error @+1 {{'exec.gather_columns' op expected columns for each row of 'tensor<4xi32>', got 'tensor<2x3xi32>'}}
  %r = exec.gather_columns %x[%p], %c : (tensor<2x16xf32>, tensor<4xi32>, tensor<2x3xi32>) -> tensor<2x3xf32>
}

// -----

// gather_columns_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %c = exec.input "c" : tensor<4x3xi32>
  // expected-error @+1 {{'exec.gather_columns' op failed to verify that all of {columns, y} have same shape}}
  %r = exec.gather_columns %x, %c : (tensor<4x16xf32>, tensor<4x3xi32>) -> tensor<4x2xf32>
}

// -----

// top_k_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.top_k' op failed to verify that all of {x, columns} have same rows}}
  %c, %l = exec.top_k %x : (tensor<4x16xf32>) -> (tensor<2x3xi32>, tensor<2x3xf32>)
}

// -----

// top_k_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.top_k' op failed to verify that all of {columns, logs} have same shape}}
  %c, %l = exec.top_k %x : (tensor<4x16xf32>) -> (tensor<4x3xi32>, tensor<4x2xf32>)
}

// -----

// log_softmax_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.log_softmax' op failed to verify that all of {x, y} have same shape}}
  %r = exec.log_softmax %x : (tensor<4x16xf32>) -> tensor<4x8xf32>
}

// -----

// sample_keys_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<4x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %n = exec.input "n" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.sample_keys' op failed to verify that all of {x, p, keys} have same shape}}
  %r, %u = exec.sample_keys %x of %p slots %s positions %s by %w : (tensor<4x16xf32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>) -> (tensor<4x16xf32>, tensor<4x1xf32>)
}

// -----

// sample_keys_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<3xi32>
  %n = exec.input "n" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.sample_keys' op failed to verify that all of {x, slots, positions, sums} have same rows}}
  %r, %u = exec.sample_keys %x of %p slots %s positions %s by %w : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<3xi32>, tensor<3xi32>, tensor<2x8xi32>) -> (tensor<4x16xf32>, tensor<4x1xf32>)
}

// -----

// sample_keys_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<4x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %n = exec.input "n" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // expected-error @+1 {{'exec.sample_keys' op failed to verify that x to be no view}}
  %r, %u = exec.sample_keys %v of %p slots %s positions %s by %w : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>) -> (tensor<4x8xf32>, tensor<4x1xf32>)
}

// -----

// sample_keys_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %n = exec.input "n" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.sample_keys' op expected a number for each row, got 'tensor<2xi32>'}}
  %r, %u = exec.sample_keys %x of %p slots %s positions %s numbers %n by %w : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2x8xi32>) -> (tensor<4x16xf32>, tensor<4x1xf32>)
}

// -----

// sample_keys_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %p = exec.input "p" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %n = exec.input "n" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.sample_keys' op expected one column, got 'tensor<4x2xf32>'}}
  %r, %u = exec.sample_keys %x of %p slots %s positions %s by %w : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x8xi32>) -> (tensor<4x16xf32>, tensor<4x2xf32>)
}

// -----

// top_k_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<2x1xf32>
  // expected-error @+1 {{'exec.top_k' op expected a sum for each row, side by side, got 'tensor<2x1xf32>'}}
  %c, %l = exec.top_k %x less %s : (tensor<4x16xf32>, tensor<2x1xf32>) -> (tensor<4x3xi32>, tensor<4x3xf32>)
}

// -----

// probabilities_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.probabilities' op failed to verify that all of {x, y} have same shape}}
  %r = exec.probabilities %x of %s by %w : (tensor<4x16xf32>, tensor<2xi32>, tensor<2x8xi32>) -> tensor<4x8xf32>
}

// -----

// probabilities_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.probabilities' op failed to verify that x to be no view}}
  %r = exec.probabilities %v of %s by %w : (tensor<4x8xf32>, tensor<2xi32>, tensor<2x8xi32>) -> tensor<4x8xf32>
}

// -----

// probabilities_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<3xi32>
  %w = exec.input "w" : tensor<2x8xi32>
  // expected-error @+1 {{'exec.probabilities' op expected a fixed number of rows for each of 3 slots, got 'tensor<4x16xf32>'}}
  %r = exec.probabilities %x of %s by %w : (tensor<4x16xf32>, tensor<3xi32>, tensor<2x8xi32>) -> tensor<4x16xf32>
}

// -----

// sample_residual_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %u = exec.input "u" : tensor<3xf32>
  // expected-error @+1 {{'exec.sample_residual' op failed to verify that all of {uniforms, picks} have same rows}}
  %r = exec.sample_residual %x by %u : (tensor<4x16xf32>, tensor<3xf32>) -> tensor<4xi32>
}

// -----

// sample_residual_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %v = exec.columns %x[8 to 16] : tensor<4x16xf32>
  %u = exec.input "u" : tensor<4xf32>
  // expected-error @+1 {{'exec.sample_residual' op failed to verify that p to be no view}}
  %r = exec.sample_residual %v by %u : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xi32>
}

// -----

// sample_residual_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %u = exec.input "u" : tensor<2xf32>
  // expected-error @+1 {{'exec.sample_residual' op expected a fixed number of rows of 16 columns for each of 2 picks, got 'tensor<4x16xf32>', 'tensor<2xf32>'}}
  %r = exec.sample_residual %x by %u : (tensor<4x16xf32>, tensor<2xf32>) -> tensor<2xi32>
}

// -----

// sample_residual_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  %t = exec.input "t" : tensor<3xi32>
  %u = exec.input "u" : tensor<2xf32>
  // expected-error @+1 {{'exec.sample_residual' op expected a fixed number of rows of 16 columns for each of 2 picks, got 'tensor<4x16xf32>', 'tensor<3xi32>', 'tensor<2xi32>', 'tensor<2xf32>'}}
  %r = exec.sample_residual %x[%t] at %s by %u : (tensor<4x16xf32>, tensor<3xi32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
}

// -----

// sample_residual_c3
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  %t = exec.input "t" : tensor<0xi32>
  %u = exec.input "u" : tensor<2xf32>
  // expected-error @+1 {{'exec.sample_residual' op expected a fixed number of rows of 16 columns for each of 2 picks, got 'tensor<4x16xf32>', 'tensor<0xi32>', 'tensor<2xi32>', 'tensor<2xf32>'}}
  %r = exec.sample_residual %x[%t] at %s by %u : (tensor<4x16xf32>, tensor<0xi32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
}

// -----

// sample_residual_c4
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<2xi32>
  %u = exec.input "u" : tensor<2xf32>
  // expected-error @+1 {{'exec.sample_residual' op expected places with a row for each pick, got none}}
  %r = exec.sample_residual %x[%t] by %u : (tensor<4x16xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
}

// -----

// mask_columns_c1
exec.state @allowed : memref<4x2xi32>
exec.program @p function {
  %x = exec.input "x" : tensor<6x64xf32>
  %s = exec.input "s" : tensor<6xi32>
  %f = exec.input "f" : tensor<3xi32>
  %a = exec.ref @allowed : memref<4x2xi32>
  // expected-error @+1 {{'exec.mask_columns' op failed to verify that all of {x, slots} have same rows}}
  %r = exec.mask_columns %x by %a of %f : (tensor<6x64xf32>, tensor<3xi32>, memref<4x2xi32>) -> tensor<6x64xf32>
}

// -----

// mask_columns_c2
exec.state @allowed : memref<4x2xi32>
exec.program @p function {
  %x = exec.input "x" : tensor<6x64xf32>
  %s = exec.input "s" : tensor<6xi32>
  %f = exec.input "f" : tensor<3xi32>
  %a = exec.ref @allowed : memref<4x2xi32>
  // expected-error @+1 {{'exec.mask_columns' op failed to verify that all of {x, y} have same shape}}
  %r = exec.mask_columns %x by %a of %s : (tensor<6x64xf32>, tensor<6xi32>, memref<4x2xi32>) -> tensor<6x32xf32>
}

// -----

// mask_columns_c3
exec.state @allowed : memref<4x2xi32>
exec.program @p function {
  %x = exec.input "x" : tensor<6x64xf32>
  %s = exec.input "s" : tensor<6xi32>
  %f = exec.input "f" : tensor<3xi32>
  %a = exec.ref @allowed : memref<4x2xi32>
  // expected-error @+1 {{'exec.mask_columns' op expected a bit for each column of 'tensor<6x64xf32>', in a row that each of its rows names, got 'memref<4x2xi32>'}}
  %r = exec.mask_columns %x by %a of %s at %s : (tensor<6x64xf32>, tensor<6xi32>, tensor<6xi32>, memref<4x2xi32>) -> tensor<6x64xf32>
}
