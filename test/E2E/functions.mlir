// Exported functions, each one op, with results computed by hand.

// RUN: rm -rf %t && mkdir %t && cp %s %t/m.mlir
// RUN: python3 %S/Inputs/weights.py %t/weights.safetensors
// RUN: mtpc %t/m.mlir -o %t/m.bin

module {
mtp.weights files ["weights.safetensors"]

// All, one and none of the drafts are accepted; drafts after a mismatch do not count.
// RUN: mtp-run %t/m.bin --function=@accept --input="4x2xi32=[[1,2],[1,2],[1,2],[1,2]]" --input="4x3xi32=[[1,2,3],[1,9,3],[9,2,3],[9,1,2]]" --expected-output="4xi32=[2,1,0,0]" --expected-output="4xi32=[3,9,9,9]"
func.func @accept(%drafts: tensor<4x2xi32>, %picks: tensor<4x3xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %count, %next = mtp.accept_tokens %drafts, %picks : tensor<4x2xi32>, tensor<4x3xi32> -> tensor<4xi32>, tensor<4xi32>
  return %count, %next : tensor<4xi32>, tensor<4xi32>
}

// A wrong expectation is an error.
// RUN: not mtp-run %t/m.bin --function=@accept --input="4x2xi32=[[1,2],[1,2],[1,2],[1,2]]" --input="4x3xi32=[[1,2,3],[1,9,3],[9,2,3],[9,1,2]]" --expected-output="4xi32=[2,1,0,1]" --expected-output="4xi32=[3,9,9,9]" 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: @accept: result 0:

// Nodes 1 and 2 are children of the root, node 3 of node 1, node 4 of node 2. Paths: down one
// branch, down the other, nowhere; of two equal children the lower one.
// RUN: mtp-run %t/m.bin --function=@accept_tree --input="4x5xi32=[[7,1,2,3,4],[7,1,2,3,4],[7,1,2,3,4],[7,5,5,6,6]]" --input="4x5xi32=[[1,3,4,8,9],[2,3,4,8,9],[3,3,4,8,9],[5,6,6,8,9]]" --expected-output="4x5xi32=[[0,1,3,-1,-1],[0,2,4,-1,-1],[0,-1,-1,-1,-1],[0,1,3,-1,-1]]" --expected-output="4xi32=[2,2,0,2]" --expected-output="4xi32=[8,9,3,8]"
func.func @accept_tree(%tokens: tensor<4x5xi32>, %picks: tensor<4x5xi32>) -> (tensor<4x5xi32>, tensor<4xi32>, tensor<4xi32>) {
  %path, %count, %next = mtp.accept_tree %tokens, %picks [-1, 0, 0, 1, 2] : tensor<4x5xi32>, tensor<4x5xi32> -> tensor<4x5xi32>, tensor<4xi32>, tensor<4xi32>
  return %path, %count, %next : tensor<4x5xi32>, tensor<4xi32>, tensor<4xi32>
}

// The squares' mean is 4, and eps is 0.
// RUN: mtp-run %t/m.bin --function=@norm --input="2x4xf32=[[2,2,2,2],[-4,0,0,0]]" --expected-output="2x4xf32=[[1,2,0.5,-1],[-2,0,0,0]]" --tolerance=1e-6
func.func @norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = mtp.weight "norm" : tensor<4xf32>
  %y = mtp.rms_norm %x, %w eps 1.0e-20 : tensor<2x4xf32>, tensor<4xf32>
  return %y : tensor<2x4xf32>
}

// RUN: mtp-run %t/m.bin --function=@linear --input="2x4xf32=[[1,1,1,1],[1,-2,3,0]]" --expected-output="2x3xf32=[[20,20,32],[16,22,31]]"
func.func @linear(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %w = mtp.weight "matrix" : tensor<3x4xf32>
  %b = mtp.weight "bias" : tensor<3xf32>
  %y = mtp.linear %x, %w bias %b : tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// RUN: mtp-run %t/m.bin --function=@embed --input="3xi32=[3,0,1]" --expected-output="3x2xf32=[[30,31],[0,1],[10,11]]"
func.func @embed(%tokens: tensor<3xi32>) -> tensor<3x2xf32> {
  %w = mtp.weight "table" : tensor<4x2xf32>
  %y = mtp.embed %tokens, %w : tensor<3xi32>, tensor<4x2xf32> -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// The softmax of logits 0, ln 2, ln 4, ln 1 is 1/8, 2/8, 4/8, 1/8. The two kept values are 4/6
// and 2/6 of their sum. Of equal values the lower index is kept.
// RUN: mtp-run %t/m.bin --function=@route --input="2x4xf32=[[0,0.693147181,1.38629436,0],[1,1,1,1]]" --expected-output="2x2xi32=[[2,1],[0,1]]" --expected-output="2x2xf32=[[0.666666667,0.333333333],[0.5,0.5]]" --tolerance=1e-6
func.func @route(%logits: tensor<2x4xf32>) -> (tensor<2x2xi32>, tensor<2x2xf32>) {
  %i, %p = mtp.moe_route %logits softmax top_k 2 normalized : tensor<2x4xf32> -> tensor<2x2xi32>, tensor<2x2xf32>
  return %i, %p : tensor<2x2xi32>, tensor<2x2xf32>
}

// The lowest index of equal values; NaN never wins.
// RUN: mtp-run %t/m.bin --function=@argmax --input="4x3xf32=[[1,3,2],[5,5,5],[nan,-1,-2],[-inf,nan,-3]]" --expected-output="4xi32=[1,0,1,2]"
func.func @argmax(%x: tensor<4x3xf32>) -> tensor<4xi32> {
  %y = mtp.argmax %x : tensor<4x3xf32> -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// RUN: mtp-run %t/m.bin --function=@take --input="3x2xf32=[[1,2],[3,4],[5,6]]" --input="2xi32=[2,0]" --expected-output="2x2xf32=[[5,6],[1,2]]"
func.func @take(%x: tensor<3x2xf32>, %index: tensor<2xi32>) -> tensor<2x2xf32> {
  %y = mtp.gather_rows %x, %index : tensor<3x2xf32>, tensor<2xi32> -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// silu(0) = 0, silu(1) = 1 / (1 + e^-1).
// RUN: mtp-run %t/m.bin --function=@silu --input="1x2xf32=[[0,1]]" --expected-output="1x2xf32=[[0,0.73105858]]" --tolerance=1e-6
func.func @silu(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = mtp.silu %x : tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// One function for all widths.
// RUN: mtp-run %t/m.bin --function=@gates --input="1x2xf32=[[0,1]]" --input="1x1xf32=[[1]]" --expected-output="1x2xf32=[[0,0.73105858]]" --expected-output="1x1xf32=[[0.73105858]]" --tolerance=1e-6
func.func private @gate(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %s = mtp.silu %x : tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
func.func @gates(%x: tensor<1x2xf32>, %z: tensor<1x1xf32>) -> (tensor<1x2xf32>, tensor<1x1xf32>) {
  %a = mtp.apply @gate(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %b = mtp.apply @gate(%z) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %a, %b : tensor<1x2xf32>, tensor<1x1xf32>
}

// One body for all extents, which determine the extents of the results.
// RUN: mtp-run %t/m.bin --function=@doubles --input="2x3xi32=[[1,2,3],[4,5,6]]" --expected-output="2x3xi32=[[2,4,6],[8,10,12]]"
func.func private @doubled(%slots: tensor<?xi32>, %x: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %y = mtp.per_slot %slots(%x) {
  ^bb0(%index: index, %slot: i32, %row: tensor<?xi32>):
    %c0 = arith.constant 0 : index
    %n = tensor.dim %row, %c0 : tensor<?xi32>
    %twice = tensor.generate %n {
    ^bb0(%j: index):
      %a = tensor.extract %row[%j] : tensor<?xi32>
      %b = arith.addi %a, %a : i32
      tensor.yield %b : i32
    } : tensor<?xi32>
    mtp.yield %twice : tensor<?xi32>
  } : (tensor<?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
  return %y : tensor<?x?xi32>
}
func.func @doubles(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %slots = arith.constant dense<0> : tensor<2xi32>
  %y = mtp.apply @doubled(%slots, %x) : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  return %y : tensor<2x3xi32>
}

// RUN: mtp-run %t/m.bin --function=@swiglu --input="1x2xf32=[[0,1]]" --input="1x2xf32=[[5,2]]" --expected-output="1x2xf32=[[0,1.46211716]]" --tolerance=1e-6
func.func @swiglu(%gate: tensor<1x2xf32>, %up: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = mtp.swiglu %gate, %up : tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
}
