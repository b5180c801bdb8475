// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// Each case has the label of the constraint that it breaks.

func.func @shapes_c1(%x: tensor<4611686018427387904x4611686018427387904xf32>) {
  // expected-error @+1 {{'mtp.argmax' op expected at most 2^46 elements, got 'tensor<4611686018427387904x4611686018427387904xf32>'}}
  %0 = mtp.argmax %x : tensor<4611686018427387904x4611686018427387904xf32> -> tensor<?xi32>
  return
}

// -----

func.func @shapes_c2(%x: tensor<?x0xf32>) {
  // expected-error @+1 {{'mtp.argmax' op expected no extent of zero, got 'tensor<?x0xf32>'}}
  %0 = mtp.argmax %x : tensor<?x0xf32> -> tensor<?xi32>
  return
}

// -----

// weights_c1
mtp.weights files ["a.safetensors"]
// expected-error @+1 {{'mtp.weights' op expected at most once in a module}}
mtp.weights files ["b.safetensors"]

// -----

// weights_c2
// expected-error @+1 {{'mtp.weights' op expected a relative path that does not climb, got 'hf/../../a.safetensors'}}
mtp.weights files ["hf/../../a.safetensors"]

// -----

// weights_c2
// expected-error @+1 {{'mtp.weights' op expected a relative path that does not climb, got '/a.safetensors'}}
mtp.weights files ["/a.safetensors"]

// -----

// weights_c3
// expected-error @+1 {{'mtp.weights' op expected a prefix for each of 2 files, got 1}}
mtp.weights files ["a.safetensors", "b.safetensors"] prefixes [""]

// -----

// import_c1
// expected-error @+1 {{'mtp.import' op expected a relative path that does not climb, got '../eagle.mlir'}}
mtp.import "../eagle.mlir" [@step]

// -----

// import_c1
// expected-error @+1 {{'mtp.import' op expected the name of a file in angle brackets, got '<../eagle.mlir>'}}
mtp.import "<../eagle.mlir>" [@step]

// -----

// import_c1
// expected-error @+1 {{'mtp.import' op expected the name of a file in angle brackets, got '<>'}}
mtp.import "<>" [@step]

// -----

// import_c2
// expected-error @+1 {{'mtp.import' op expected a function at least}}
mtp.import "eagle.mlir" []

// -----

// import_c2
// expected-error @+1 {{'mtp.import' op expected every function once, got @step again}}
mtp.import "eagle.mlir" [@step, @keep, @step]

// -----

func.func @weight_c1() {
  // expected-error @+1 {{'mtp.weight' op expected a key, got '/'}}
  %0 = mtp.weight "/" : tensor<8xf32>
  return
}

// -----

func.func @weight_c2() {
  // expected-error @+1 {{'mtp.weight' op expected a static weight, got 'tensor<?x8xf32>'}}
  %0 = mtp.weight "w" : tensor<?x8xf32>
  return
}

// -----

func.func @weight_c3() {
  // expected-error @+1 {{'mtp.weight' op expected cols as an ascending range}}
  %0 = mtp.weight "w" cols 8 to 8 : tensor<8x8xf32>
  return
}

// -----

func.func @weight_c3_negative() {
  // expected-error @+1 {{'mtp.weight' op expected rows as an ascending range}}
  %0 = mtp.weight "w" rows -4 to 4 : tensor<8x8xf32>
  return
}

// -----

func.func @weight_c4() {
  // expected-error @+1 {{'mtp.weight' op expected 4 cols, got 'tensor<8x8xf32>'}}
  %0 = mtp.weight "w" cols 4 to 8 : tensor<8x8xf32>
  return
}

// -----

func.func @weight_c4_vector() {
  // expected-error @+1 {{'mtp.weight' op expected a matrix with rows or cols, got 'tensor<4xf32>'}}
  %0 = mtp.weight "w" cols 4 to 8 : tensor<4xf32>
  return
}

// -----

func.func @weight_c5() {
  // expected-error @+1 {{'mtp.weight' op expected a stack of 4 matrices, got 'tensor<8x4x2xf32>'}}
  %0 = mtp.weight "w.{}" stack 4 : tensor<8x4x2xf32>
  return
}

// -----

func.func @weight_c5_key() {
  // expected-error @+1 {{'mtp.weight' op expected '{}' once in the key of a stack, got 'w.{}.{}'}}
  %0 = mtp.weight "w.{}.{}" stack 8 : tensor<8x4x2xf32>
  return
}

// -----

func.func @weight_c4_blocks() {
  // expected-error @+1 {{'mtp.weight' op expected 4 rows, got 'tensor<6x8xf32>'}}
  %0 = mtp.weight "w" rows 0 to 4 of 24 : tensor<6x8xf32>
  return
}

// -----

func.func @weight_c4_unknown() {
  // expected-error @+1 {{'mtp.weight' op expected 4 rows, got 'tensor<8x8xf32>'}}
  %0 = mtp.weight "w" rows 0 to 4 : tensor<8x8xf32>
  return
}

// -----

func.func @weight_c4_stack() {
  // expected-error @+1 {{'mtp.weight' op expected 4 rows, got 'tensor<2x8x8xf32>'}}
  %0 = mtp.weight "w" rows 0 to 4 of 16 stack 2 : tensor<2x8x8xf32>
  return
}

// -----

func.func @weight_c4_outside() {
  // expected-error @+1 {{'mtp.weight' op expected rows within the first of 2 equal blocks, got 16 of which 6 to 10 are taken}}
  %0 = mtp.weight "w" rows 6 to 10 of 16 : tensor<8x8xf32>
  return
}

// -----

func.func @weight_c4_uneven() {
  // expected-error @+1 {{'mtp.weight' op expected rows within the first of 3 equal blocks, got 16 of which 0 to 4 are taken}}
  %0 = mtp.weight "w" rows 0 to 4 of 16 : tensor<12x8xf32>
  return
}

// -----

func.func @weight_c6() {
  // expected-error @+1 {{'mtp.weight' op expected a range within the cols of the tensor, got 7}}
  %0 = mtp.weight "w" cols 4 to 8 of 7 : tensor<4x4xf32>
  return
}

// -----
func.func @weight_c5_no_stack() {
  // expected-error @+1 {{'mtp.weight' op expected a stack with a third dimension or '{}'}}
  %0 = mtp.weight "w.{}" : tensor<4x2xf32>
  return
}

// -----

func.func @weight_type() {
  // expected-error @+1 {{'mtp.weight' op result #0 must be}}
  %0 = mtp.weight "w" : tensor<4x2xf16>
  return
}

// -----

func.func @embed_c1(%t: tensor<4xi32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.embed' op expected a result with the rows of 'tensor<4xi32>', got 'tensor<?x8xf32>'}}
  %0 = mtp.embed %t, %w : tensor<4xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @embed_c2(%t: tensor<?xi32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.embed' op expected width 8 of the result, got 'tensor<?x16xf32>'}}
  %0 = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @mask_first_c1(%x: tensor<?x?xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mask_first' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.mask_first %x, %rows : tensor<?x?xf32>
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'mtp.rms_norm' op expected a finite positive eps, got 0}}
  %0 = mtp.rms_norm %x, %w eps 0.0 : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rms_norm_c1_offset(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'mtp.rms_norm' op expected offset 0 or 1, got 2}}
  %0 = mtp.rms_norm %x, %w eps 1.0e-6 offset 2 : tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<?x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'mtp.rms_norm' op expected width 12 of the rows, got 'tensor<?x8xf32>'}}
  %0 = mtp.rms_norm %x, %w groups 3 eps 1.0e-6 : tensor<?x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_c2_overflow(%x: tensor<?x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'mtp.rms_norm' op expected groups to fit, got 4611686018427387904 * 4}}
  %0 = mtp.rms_norm %x, %w groups 4611686018427387904 eps 1.0e-6 : tensor<?x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.concat' op expected at least two operands, got 1}}
  %0 = mtp.concat %x : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @concat_c1_rows(%x: tensor<?x8xf32>, %y: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.concat' op expected an operand with the rows of 'tensor<?x16xf32>', got 'tensor<4x8xf32>'}}
  %0 = mtp.concat %x, %y : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x16xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.concat' op expected width 16 of the result, got 'tensor<?x8xf32>'}}
  %0 = mtp.concat %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.slice' op expected cols as a range within 0 to 8, got 4 to 9}}
  %0 = mtp.slice %x cols 4 to 9 : tensor<?x8xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.slice' op expected width 4 of the result, got 'tensor<?x5xf32>'}}
  %0 = mtp.slice %x cols 4 to 8 : tensor<?x8xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @linear_c1(%x: tensor<?x8xf32>, %w: tensor<4x16xf32>) {
  // expected-error @+1 {{'mtp.linear' op expected width 16 of the operand, got 'tensor<?x8xf32>'}}
  %0 = mtp.linear %x, %w : tensor<?x8xf32>, tensor<4x16xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_c2(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.linear' op expected width 4 of the result, got 'tensor<?x8xf32>'}}
  %0 = mtp.linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @linear_c3(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'mtp.linear' op expected width 4 of the bias, got 'tensor<8xf32>'}}
  %0 = mtp.linear %x, %w bias %b : tensor<?x8xf32>, tensor<4x8xf32>, tensor<8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @add_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.add' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.add %x, %x : tensor<?x?xf32>
  return
}

// -----

func.func @embed_c3(%t: tensor<?xi32>, %w: tensor<16x8xf32>) {
  // expected-error @+1 {{'mtp.embed' op expected a finite positive scale, got 0}}
  %0 = mtp.embed %t, %w scale 0.0 : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @geglu_tanh_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.geglu_tanh' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.geglu_tanh %x, %x : tensor<?x?xf32>
  return
}

// -----

func.func @silu_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.silu' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.silu %x : tensor<?x?xf32>
  return
}

// -----

func.func @swiglu_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.swiglu' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.swiglu %x, %x : tensor<?x?xf32>
  return
}

// -----

func.func @apply_c1() {
  // expected-error @+1 {{'mtp.apply' op expected @layer to be a func.func of this module}}
  mtp.apply @layer() : () -> ()
  return
}

// -----

// expected-note @+1 {{the callee is here}}
func.func private @layer(tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @apply_c2(%x: tensor<?x16xf32>) {
  // expected-error @+1 {{'mtp.apply' op expected type '(tensor<?x8xf32>) -> tensor<?x8xf32>', got '(tensor<?x16xf32>) -> tensor<?x16xf32>'}}
  %0 = mtp.apply @layer(%x) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return
}

// -----

// An extent that the callee fixes cannot have another value.
// expected-note @+1 {{the callee is here}}
func.func private @layer(tensor<?x8xf32>, tensor<?x?xf32>)
func.func @apply_c2_open(%x: tensor<4x9xf32>, %y: tensor<4x16xf32>) {
  // expected-error @+1 {{'mtp.apply' op expected type '(tensor<?x8xf32>, tensor<?x?xf32>) -> ()', got '(tensor<4x9xf32>, tensor<4x16xf32>) -> ()'}}
  mtp.apply @layer(%x, %y) : (tensor<4x9xf32>, tensor<4x16xf32>) -> ()
  return
}

// -----

func.func private @layer()
func.func @apply_c3_missing() {
  // expected-error @+1 {{'mtp.apply' op expected @layer to be an mtp.cache}}
  mtp.apply @layer() cache @layer[0] : () -> ()
  return
}

// -----

// expected-note @+1 {{the cache is declared here}}
mtp.cache @target layers 4 entry 80 : bf16
func.func private @layer()
func.func @apply_c3() {
  // expected-error @+1 {{'mtp.apply' op expected a layer of @target below 4, got 4}}
  mtp.apply @layer() cache @target[4] : () -> ()
  return
}

// -----

func.func @argmax_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.argmax' op expected a result with the rows of 'tensor<4x8xf32>', got 'tensor<8xi32>'}}
  %0 = mtp.argmax %x : tensor<4x8xf32> -> tensor<8xi32>
  return
}

// -----

func.func @gather_rows_c1(%x: tensor<8x16xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'mtp.gather_rows' op expected a result with the rows of 'tensor<4xi32>', got 'tensor<8x16xf32>'}}
  %0 = mtp.gather_rows %x, %i : tensor<8x16xf32>, tensor<4xi32> -> tensor<8x16xf32>
  return
}

// -----

func.func @sample_c3(%x: tensor<4x8xf32>, %n: tensor<4xi32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.sample' op expected a number or anchored, got both}}
  %0 = mtp.sample %x, %rows anchored number %n : tensor<4x8xf32>, tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

// sample_c3
func.func @sample_numbers(%x: tensor<4x8xf32>, %n: tensor<2xi32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.sample' op expected a number with the rows of 'tensor<4x8xf32>', got 'tensor<2xi32>'}}
  %0 = mtp.sample %x, %rows number %n : tensor<4x8xf32>, tensor<2xi32> -> tensor<4xi32>
  return
}

// -----

func.func @sample_c1(%x: tensor<4x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.sample' op expected a result with the rows of 'tensor<4x8xf32>', got 'tensor<2xi32>'}}
  %0 = mtp.sample %x, %rows : tensor<4x8xf32> -> tensor<2xi32>
  return
}

// -----

// argmax_c2
mtp.vocabulary @few dense<[1, 2, 7]> : tensor<3xi32>
func.func @argmax_c2(%x: tensor<4x8xf32>, %rows: !mtp.rows, %t: tensor<4xi32>) {
  // expected-error @+1 {{'mtp.argmax' op expected a token of @few for each of 8 columns, got 3}}
  %0 = mtp.argmax %x tokens @few : tensor<4x8xf32> -> tensor<4xi32>
  return
}

// -----

// sample_c2
mtp.vocabulary @few dense<[1, 2, 7]> : tensor<3xi32>
func.func @sample_c2(%x: tensor<4x8xf32>, %rows: !mtp.rows, %t: tensor<4xi32>) {
  // expected-error @+1 {{'mtp.sample' op expected a token of @few for each of 8 columns, got 3}}
  %0 = mtp.sample %x, %rows tokens @few : tensor<4x8xf32> -> tensor<4xi32>
  return
}

// -----

// mask_tokens_c2
mtp.vocabulary @few dense<[1, 2, 7]> : tensor<3xi32>
func.func @mask_tokens_c2(%x: tensor<4x8xf32>, %rows: !mtp.rows, %t: tensor<4xi32>) {
  // expected-error @+1 {{'mtp.mask_tokens' op expected a token of @few for each of 8 columns, got 3}}
  %0 = mtp.mask_tokens %x, %t tokens @few : tensor<4x8xf32>, tensor<4xi32>
  return
}

// -----

// argmax_c2
mtp.state @few : i32
func.func @argmax_c2_kind(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'mtp.argmax' op expected @few to be an mtp.vocabulary}}
  %0 = mtp.argmax %x tokens @few : tensor<4x8xf32> -> tensor<4xi32>
  return
}

// -----

// argmax_c2
module attributes {mtp.envelope = #mtp.envelope<max_k = 0, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[1, 2, 4, 5, 6, 7, 8, 16]> : tensor<8xi32>
mtp.round @r {
  %logits, %hidden = mtp.verify {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    // expected-error @+1 {{'mtp.argmax' op expected tokens of @few below the target's 16, got 16}}
    %p = mtp.argmax %e tokens @few : tensor<?x8xf32> -> tensor<?xi32>
    %l = mtp.linear %e, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : () -> (tensor<?x16xf32>, tensor<?x8xf32>)
}
}
