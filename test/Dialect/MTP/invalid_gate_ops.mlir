// RUN: mtp-opt %s --split-input-file --verify-diagnostics

func.func @sigmoid_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.sigmoid' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.sigmoid %x : tensor<?x?xf32>
  return
}

// -----

func.func @sigmoid_gate_c1(%x: tensor<?x10xf32>, %g: tensor<?x4xf32>) {
  // expected-error @+1 {{'mtp.sigmoid_gate' op expected gates that divide 10 columns, got 4}}
  %0 = mtp.sigmoid_gate %x by %g : tensor<?x10xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @sigmoid_gate_c1_rows(%x: tensor<3x10xf32>, %g: tensor<2x5xf32>) {
  // expected-error @+1 {{'mtp.sigmoid_gate' op expected}}
  %0 = mtp.sigmoid_gate %x by %g : tensor<3x10xf32>, tensor<2x5xf32>
  return
}

// -----

func.func @l2_norm_c1(%x: tensor<?x10xf32>) {
  // expected-error @+1 {{'mtp.l2_norm' op expected}}
  %0 = mtp.l2_norm %x eps 0.0 : tensor<?x10xf32>
  return
}

// -----

func.func @l2_norm_c2(%x: tensor<?x10xf32>) {
  // expected-error @+1 {{'mtp.l2_norm' op expected groups that divide 10 columns, got 4}}
  %0 = mtp.l2_norm %x groups 4 eps 1.0e-6 : tensor<?x10xf32>
  return
}

// -----

func.func @decay_c1(%x: tensor<?x10xf32>, %w: tensor<10xf32>, %b: tensor<9xf32>) {
  // expected-error @+1 {{'mtp.decay' op expected}}
  %0 = mtp.decay %x rate %w bias %b : tensor<?x10xf32>, tensor<10xf32>, tensor<9xf32>
  return
}
