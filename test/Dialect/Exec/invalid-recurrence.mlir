// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Constraints of calls of recurrent layers; a case per constraint, with its label.

// sigmoid_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.sigmoid' op failed to verify that all of {x, y} have same shape}}
  %r = exec.sigmoid %x : (tensor<4x16xf32>) -> tensor<4x8xf32>
}

// -----

// sigmoid_gate_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.sigmoid_gate' op failed to verify that all of {x, y} have same shape}}
  %r = exec.sigmoid_gate %x by %x : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x8xf32>
}

// -----

// sigmoid_gate_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %g = exec.input "g" : tensor<4x3xf32>
  // expected-error @+1 {{'exec.sigmoid_gate' op expected gates that divide 16 columns, got 3}}
  %r = exec.sigmoid_gate %x by %g : (tensor<4x16xf32>, tensor<4x3xf32>) -> tensor<4x16xf32>
}

// -----

// l2_norm_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.l2_norm' op failed to verify that all of {x, y} have same shape}}
  %r = exec.l2_norm %x eps 1.0e-6 : (tensor<4x16xf32>) -> tensor<2x16xf32>
}

// -----

// l2_norm_c2
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  // expected-error @+1 {{'exec.l2_norm' op expected groups that divide 16 columns, got 3}}
  %r = exec.l2_norm %x groups 3 eps 1.0e-6 : (tensor<4x16xf32>) -> tensor<4x16xf32>
}

// -----

// decay_c1
exec.program @p function {
  %x = exec.input "x" : tensor<4x16xf32>
  %w = exec.input "w" : tensor<16xf32>
  // expected-error @+1 {{'exec.decay' op failed to verify that all of {x, y} have same shape}}
  %r = exec.decay %x rate %w bias %w : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x8xf32>
}

// -----

// causal_conv_c1
exec.state @conv : memref<4x8x8xf32>
exec.program @p function {
  %x = exec.input "x" : tensor<6x8xf32>
  %w = exec.input "w" : tensor<32xf32>
  %n = exec.input "n" : tensor<5xi32>
  %conv = exec.ref @conv : memref<4x8x8xf32>
  // expected-error @+1 {{'exec.causal_conv' op failed to verify that all of {x, slots, positions, pending, keeps, y} have same rows}}
  %r = exec.causal_conv %x by %w window 4 in %conv slots %n at %n pending %n keeps %n
       : (tensor<6x8xf32>, tensor<32xf32>, memref<4x8x8xf32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<6x8xf32>
}

// -----

// causal_conv_c2
exec.state @conv : memref<4x8x8xf32>
exec.program @p function {
  %x = exec.input "x" : tensor<6x8xf32>
  %w = exec.input "w" : tensor<24xf32>
  %n = exec.input "n" : tensor<6xi32>
  %conv = exec.ref @conv : memref<4x8x8xf32>
  // expected-error @+1 {{'exec.causal_conv' op expected a window of at least 2 rows, and a weight of window * 8 elements, got 4 and 'tensor<24xf32>'}}
  %r = exec.causal_conv %x by %w window 4 in %conv slots %n at %n pending %n keeps %n
       : (tensor<6x8xf32>, tensor<24xf32>, memref<4x8x8xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x8xf32>
}

// -----

// causal_conv_c3
exec.state @conv : memref<4x3x8xf32>
exec.program @p function {
  %x = exec.input "x" : tensor<6x8xf32>
  %w = exec.input "w" : tensor<32xf32>
  %n = exec.input "n" : tensor<6xi32>
  %conv = exec.ref @conv : memref<4x3x8xf32>
  // expected-error @+1 {{'exec.causal_conv' op expected at least 4 rows of 8 columns for a slot, got 'memref<4x3x8xf32>'}}
  %r = exec.causal_conv %x by %w window 4 in %conv slots %n at %n pending %n keeps %n
       : (tensor<6x8xf32>, tensor<32xf32>, memref<4x3x8xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x8xf32>
}

// -----

// delta_rule_c1
exec.state @memory : memref<4x8x8xf32>
exec.state @kept : memref<4x5x26xf32>
exec.program @p function {
  %q = exec.input "q" : tensor<6x4xf32>
  %v = exec.input "v" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<5x2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %kept = exec.ref @kept : memref<4x5x26xf32>
  // expected-error @+1 {{'exec.delta_rule' op failed to verify that all of {q, k, v, decay, beta, slots, positions, pending, keeps, y} have same rows}}
  %y = exec.delta_rule %q, %q, %v decay %g beta %g scale 0.5 key_heads 1 in %memory keeping %kept slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<5x2xf32>, tensor<5x2xf32>, memref<4x8x8xf32>, memref<4x5x26xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
}

// -----

// delta_rule_c2
exec.state @memory : memref<4x8x8xf32>
exec.state @kept : memref<4x5x26xf32>
exec.program @p function {
  %q = exec.input "q" : tensor<6x4xf32>
  %v = exec.input "v" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<6x2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %kept = exec.ref @kept : memref<4x5x26xf32>
  // expected-error @+1 {{'exec.delta_rule' op expected a decay for each beta or for each of its keys, betas that divide the columns of v, and key_heads that divides them and the columns of q and of k, got 2 decays, 2 betas and 3 key_heads for 4, 4 and 16 columns}}
  %y = exec.delta_rule %q, %q, %v decay %g beta %g scale 0.5 key_heads 3 in %memory keeping %kept slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<6x2xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x26xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
}

// -----

// delta_rule_c2
exec.state @memory : memref<4x8x8xf32>
exec.state @kept : memref<4x5x28xf32>
exec.program @p function {
  %q = exec.input "q" : tensor<6x4xf32>
  %v = exec.input "v" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<6x4xf32>
  %b = exec.input "b" : tensor<6x2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %kept = exec.ref @kept : memref<4x5x28xf32>
  // expected-error @+1 {{got 4 decays, 2 betas and 1 key_heads for 4, 4 and 16 columns}}
  %y = exec.delta_rule %q, %q, %v decay %g beta %b scale 0.5 key_heads 1 in %memory keeping %kept slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<6x4xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x28xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
}

// -----

// delta_rule_c3
exec.state @memory : memref<4x8x8xf32>
exec.state @kept : memref<4x5x26xf32>
exec.program @p function {
  %q = exec.input "q" : tensor<6x4xf32>
  %v = exec.input "v" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<6x8xf32>
  %b = exec.input "b" : tensor<6x2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %kept = exec.ref @kept : memref<4x5x26xf32>
  // expected-error @+1 {{and kept rows of 32, got 'memref<4x8x8xf32>' and 'memref<4x5x26xf32>'}}
  %y = exec.delta_rule %q, %q, %v decay %g beta %b scale 0.5 key_heads 1 in %memory keeping %kept slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x26xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
}

// -----

// delta_rule_c3
exec.state @memory : memref<4x8x8xf32>
exec.state @kept : memref<4x5x25xf32>
exec.program @p function {
  %q = exec.input "q" : tensor<6x4xf32>
  %v = exec.input "v" : tensor<6x16xf32>
  %g = exec.input "g" : tensor<6x2xf32>
  %n = exec.input "n" : tensor<6xi32>
  %memory = exec.ref @memory : memref<4x8x8xf32>
  %kept = exec.ref @kept : memref<4x5x25xf32>
  // expected-error @+1 {{'exec.delta_rule' op expected a state of 8 rows of 8 columns for each slot, and kept rows of 26, got 'memref<4x8x8xf32>' and 'memref<4x5x25xf32>'}}
  %y = exec.delta_rule %q, %q, %v decay %g beta %g scale 0.5 key_heads 1 in %memory keeping %kept slots %n at %n pending %n keeps %n
       : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x16xf32>, tensor<6x2xf32>, tensor<6x2xf32>, memref<4x8x8xf32>, memref<4x5x25xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> tensor<6x16xf32>
}
