// Exported functions that need positions, in a module with a round that bounds them. Results
// are computed by hand.

// RUN: rm -rf %t && mkdir %t && cp %s %t/m.mlir
// RUN: python3 %S/Inputs/weights.py %t/weights.safetensors
// RUN: mtpc %t/m.mlir -o %t/m.bin

module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.weights files ["weights.safetensors"]

// Position 0 rotates nothing. At position 1 the pair (0, 2) rotates by 1 and the pair (1, 3) by
// 1/100.
// RUN: mtp-run %t/m.bin --function=@rope --input="2x4xf32=[[1,2,3,4],[1,0,0,1]]" --input="2xi32=[0,0]" --input="2xi32=[0,1]" --expected-output="2x4xf32=[[1,2,3,4],[0.540302306,-0.00999983333,0.841470985,0.99995]]" --tolerance=1e-6
func.func @rope(%x: tensor<2x4xf32>, %slots: tensor<2xi32>, %positions: tensor<2xi32>) -> tensor<2x4xf32> {
  %rows = mtp.make_rows %slots, %positions : tensor<2xi32>
  %y = mtp.rope %x, %rows by <dim = 4, theta = 10000.0> heads 1 of 4 : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// The pairs of the interleaved layout are (0, 1) and (2, 3).
// RUN: mtp-run %t/m.bin --function=@rope_interleaved --input="1x4xf32=[[1,0,0,1]]" --input="1xi32=[0]" --input="1xi32=[1]" --expected-output="1x4xf32=[[0.540302306,0.841470985,-0.00999983333,0.99995]]" --tolerance=1e-6
func.func @rope_interleaved(%x: tensor<1x4xf32>, %slots: tensor<1xi32>, %positions: tensor<1xi32>) -> tensor<1x4xf32> {
  %rows = mtp.make_rows %slots, %positions : tensor<1xi32>
  %y = mtp.rope %x, %rows by <dim = 4, theta = 10000.0, layout = interleaved> heads 1 of 4 : tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

mtp.round @plain {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<64x32xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<64x32xf32> -> tensor<?x32xf32>
    %l = mtp.linear %e, %w : tensor<?x32xf32>, tensor<64x32xf32> -> tensor<?x64xf32>
    mtp.yield %l, %e : tensor<?x64xf32>, tensor<?x32xf32>
  } : () -> (tensor<?x64xf32>, tensor<?x32xf32>)
  %count, %picks = mtp.accept %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %p = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x32xf32>
}
}
