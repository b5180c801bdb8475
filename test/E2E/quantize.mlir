// Packing and kernels of integer weights agree. Values that the formats represent exactly are
// returned exactly, except for the last bit of a scale that int4 searched; see
// Inputs/quantized.py.

// DEFINE: %{run} = mtp-run %t/m.bin --function
// RUN: rm -rf %t && mkdir -p %t/8 %t/4 && cp %s %t/8/m.mlir && cp %s %t/4/m.mlir
// RUN: python3 %S/Inputs/quantized.py 8 %t/8 && python3 %S/Inputs/quantized.py 4 %t/4

// RUN: mtpc %t/8/m.mlir -o %t/m.bin --quantize=int8,group=32
// RUN: mtp-dump %t/m.bin | FileCheck %s --check-prefix=INT8
// INT8: format 1.{{[0-9]+}},
// INT8: weight w: 3x7296xi8, 21888 bytes at {{[0-9]+}} of segment {{[0-9]+}}, int8 of 200 inputs, group 32
// INT8: weight gate: 6x7296xi8, {{.*}}, int8 of 200 inputs, group 32
// RUN: mtp-dump %t/m.bin --json | FileCheck %s --check-prefix=JSON
// JSON: "format": "int8",
// JSON-NEXT: "group": 32,
// JSON-NEXT: "inputs": 200
// RUN: %{run}=@linear --input=@%t/8/x.npy --expected-output=@%t/8/linear.npy --tolerance=0
// RUN: mtpc %t/8/m.mlir -o %t/e.bin --quantize-embedding=int8,group=32
// RUN: mtp-dump %t/e.bin | FileCheck %s --check-prefix=ROWS8
// ROWS8: weight table: 70x228xi8, 15960 bytes at {{[0-9]+}} of segment {{[0-9]+}}, int8_rows of 200 inputs, group 32
// RUN: mtp-dump %t/e.bin --json | FileCheck %s --check-prefix=ROWSJSON
// ROWSJSON: "format": "int8_rows",
// ROWSJSON-NEXT: "group": 32,
// ROWSJSON-NEXT: "inputs": 200
// RUN: mtp-run %t/e.bin --function=@embed --input=@%t/8/tokens.npy --expected-output=@%t/8/embed.npy --tolerance=0
// RUN: %{run}=@swiglu --input=@%t/8/small.npy --expected-output=@%t/8/swiglu.npy --tolerance=1e-5
// RUN: %{run}=@experts --input=@%t/8/small.npy --input=@%t/8/logits.npy --input=@%t/8/positions.npy --expected-output=@%t/8/experts32.npy --tolerance=1e-3

// RUN: mtpc %t/4/m.mlir -o %t/m.bin --quantize=int4,symmetric
// RUN: mtp-dump %t/m.bin | FileCheck %s --check-prefix=INT4
// INT4: weight w: 3x3712xi8, 11136 bytes at {{[0-9]+}} of segment {{[0-9]+}}, int4 of 200 inputs, group 64
// RUN: %{run}=@linear --input=@%t/4/x.npy --expected-output=@%t/4/linear.npy --tolerance=1e-6
// RUN: mtpc %t/4/m.mlir -o %t/e.bin --quantize-embedding=int4
// RUN: mtp-dump %t/e.bin | FileCheck %s --check-prefix=ROWS4
// ROWS4: weight table: 70x116xi8, 8120 bytes at {{[0-9]+}} of segment {{[0-9]+}}, int4_rows of 200 inputs, group 64
// RUN: mtp-run %t/e.bin --function=@embed --input=@%t/4/tokens.npy --expected-output=@%t/4/embed.npy --tolerance=1e-6
// RUN: %{run}=@swiglu --input=@%t/4/small.npy --expected-output=@%t/4/swiglu.npy --tolerance=1e-5
// RUN: %{run}=@experts --input=@%t/4/small.npy --input=@%t/4/logits.npy --input=@%t/4/positions.npy --expected-output=@%t/4/experts64.npy --tolerance=1e-3

// The same comparison on the narrowest target.
// RUN: mtpc %t/8/m.mlir -o %t/m.bin --quantize=int8,group=64 --quantize-embedding=int8,group=64 --target-cpu=x86-64-v3
// RUN: %{run}=@embed --input=@%t/8/tokens.npy --expected-output=@%t/8/embed.npy --tolerance=0
// RUN: %{run}=@linear --input=@%t/8/x.npy --expected-output=@%t/8/linear.npy --tolerance=0
// RUN: mtpc %t/4/m.mlir -o %t/m.bin --quantize=int4,group=96,symmetric --quantize-embedding=int4,group=96 --target-cpu=x86-64-v3
// RUN: %{run}=@embed --input=@%t/4/tokens.npy --expected-output=@%t/4/embed.npy --tolerance=1e-6
// RUN: %{run}=@linear --input=@%t/4/x.npy --expected-output=@%t/4/linear.npy --tolerance=1e-6

module {
mtp.weights files ["weights.safetensors"]

func.func @embed(%t: tensor<5xi32>) -> tensor<5x200xf32> {
  %w = mtp.weight "table" : tensor<70x200xf32>
  %y = mtp.embed %t, %w : tensor<5xi32>, tensor<70x200xf32> -> tensor<5x200xf32>
  return %y : tensor<5x200xf32>
}

func.func @linear(%x: tensor<5x200xf32>) -> tensor<5x70xf32> {
  %w = mtp.weight "w" : tensor<70x200xf32>
  %y = mtp.linear %x, %w : tensor<5x200xf32>, tensor<70x200xf32> -> tensor<5x70xf32>
  return %y : tensor<5x70xf32>
}

func.func @swiglu(%x: tensor<5x200xf32>) -> tensor<5x70xf32> {
  %gw = mtp.weight "gate" : tensor<70x200xf32>
  %uw = mtp.weight "up" : tensor<70x200xf32>
  %g = mtp.linear %x, %gw : tensor<5x200xf32>, tensor<70x200xf32> -> tensor<5x70xf32>
  %u = mtp.linear %x, %uw : tensor<5x200xf32>, tensor<70x200xf32> -> tensor<5x70xf32>
  %y = mtp.swiglu %g, %u : tensor<5x70xf32>
  return %y : tensor<5x70xf32>
}

func.func @experts(%x: tensor<5x200xf32>, %l: tensor<5x3xf32>, %p: tensor<5xi32>) -> tensor<5x200xf32> {
  %rows = mtp.make_rows %p, %p : tensor<5xi32>
  %i, %s = mtp.moe_route %l softmax top_k 2 normalized : tensor<5x3xf32> -> tensor<5x2xi32>, tensor<5x2xf32>
  %g = mtp.weight "e.{}.gate" stack 3 : tensor<3x75x200xf32>
  %u = mtp.weight "e.{}.up" stack 3 : tensor<3x75x200xf32>
  %d = mtp.weight "e.{}.down" stack 3 : tensor<3x200x75xf32>
  %y = mtp.moe_experts %x, %i, %s, %rows experts(%g, %u, %d)
       : (tensor<5x200xf32>, tensor<5x2xi32>, tensor<5x2xf32>, !mtp.rows, tensor<3x75x200xf32>,
          tensor<3x75x200xf32>, tensor<3x200x75xf32>) -> tensor<5x200xf32>
  return %y : tensor<5x200xf32>
}
}
