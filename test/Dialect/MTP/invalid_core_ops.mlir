// RUN: mtp-opt %s --split-input-file --verify-diagnostics

func.func @prompt_rows_c1() {
  // expected-error @+1 {{'mtp.prompt_rows' op expected ahead as a range within 0 to 17, got 17 to 18}}
  %t, %rows = mtp.prompt_rows ahead 17 : tensor<?xi32>
  return
}

// -----

func.func @prompt_rows_c1() {
  // expected-error @+1 {{'mtp.prompt_rows' op expected ahead as a range within 0 to 17, got -1 to 0}}
  %t, %rows = mtp.prompt_rows ahead -1 : tensor<?xi32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<?x2xi32>) {
  // expected-error @+1 {{'mtp.reshape' op expected rows on one side and the same in groups on the other, got 'tensor<?x2xi32>' and 'tensor<?x3xi32>'}}
  %0 = mtp.reshape %x : tensor<?x2xi32> -> tensor<?x3xi32>
  return
}

// -----

func.func @reshape_c2(%x: tensor<2x3xi32>) {
  // expected-error @+1 {{'mtp.reshape' op expected equal numbers of elements, got 'tensor<2x3xi32>' and 'tensor<5xi32>'}}
  %0 = mtp.reshape %x : tensor<2x3xi32> -> tensor<5xi32>
  return
}

// -----

func.func @read_state_c1(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected @hidden to be a state}}
  %0 = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state shared @hidden[8] : f32
func.func @read_state_c1(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected @hidden to have f32 rows of 8 columns per slot}}
  %0 = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state @hidden[8] : i32
func.func @read_state_c1(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected @hidden to have f32 rows of 8 columns per slot}}
  %0 = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state @hidden : f32
func.func @read_state_c1(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected @hidden to have f32 rows of 1 columns per slot}}
  %0 = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x1xf32>
  return
}

// -----

mtp.state @hidden[2, 3, 8] : f32
func.func @read_state_c1(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected @hidden to have f32 rows of 8 columns per slot}}
  %0 = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state @hidden[4] : f32
func.func @read_state_c1(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected @hidden to have f32 rows of 8 columns per slot}}
  %0 = mtp.read_state @hidden of %slots : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state @hidden[4, 8] : f32
func.func @read_state_c2(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected a positive rows, got 0}}
  %0 = mtp.read_state @hidden of %slots rows 0 : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state @hidden[4, 8] : f32
func.func @read_state_c2(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected at most 4 rows of @hidden, got 5}}
  %0 = mtp.read_state @hidden of %slots rows 5 : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

// A state of one dimension is one row.
mtp.state @carry[8] : f32
func.func @read_state_c2(%slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.read_state' op expected at most 1 rows of @carry, got 2}}
  %0 = mtp.read_state @carry of %slots rows 2 : tensor<?xi32> -> tensor<?x8xf32>
  return
}

// -----

mtp.state @hidden[4, 8] : f32
func.func @write_state_c1(%x: tensor<?x4xf32>, %slots: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.write_state' op expected @hidden to have f32 rows of 4 columns per slot}}
  mtp.write_state %x, @hidden of %slots : tensor<?x4xf32>, tensor<?xi32>
  return
}

// -----

mtp.state @hidden[4, 8] : f32
func.func @write_state_c2(%x: tensor<6x8xf32>, %index: tensor<3xi32>, %slots: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.write_state' op expected an index with the rows of 'tensor<2xi32>', got 'tensor<3xi32>'}}
  mtp.write_state %x[%index], @hidden of %slots : tensor<6x8xf32>[tensor<3xi32>], tensor<2xi32>
  return
}

// -----

mtp.state @hidden[4, 8] : f32
func.func @write_state_c2(%x: tensor<5x8xf32>, %slots: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.write_state' op expected a fixed number of rows for each of 2 slots, got 5}}
  mtp.write_state %x, @hidden of %slots : tensor<5x8xf32>, tensor<2xi32>
  return
}

// -----

mtp.state @hidden[4, 8] : f32
func.func @write_state_c3(%x: tensor<10x8xf32>, %slots: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.write_state' op expected at most 4 rows of @hidden, got 5}}
  mtp.write_state %x, @hidden of %slots : tensor<10x8xf32>, tensor<2xi32>
  return
}

// -----

mtp.state @carry[8] : f32
func.func @write_state_c3(%x: tensor<10x8xf32>, %index: tensor<2x3xi32>, %slots: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.write_state' op expected at most 1 rows of @carry, got 3}}
  mtp.write_state %x[%index], @carry of %slots : tensor<10x8xf32>[tensor<2x3xi32>], tensor<2xi32>
  return
}

// -----

func.func @pack_c1(%rows: !mtp.rows, %t: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.pack' op expected rows, tokens and places of prompts, or none of them}}
  %0:3 = "mtp.pack"(%rows, %t, %t) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (!mtp.rows, tensor<?xi32>, tensor<?xi32>) -> (!mtp.rows, tensor<?xi32>, tensor<?xi32>)
  return
}

// -----

func.func @pack_c2(%rows: !mtp.rows, %t: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.pack' op attribute 'at_most' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0:3 = mtp.pack %rows, %t at_most 0 : tensor<?xi32>
  return
}

// -----

func.func @unpack_c1(%x: tensor<?x8xf32>, %y: tensor<?xi32>) {
  // expected-error @+1 {{'mtp.unpack' op expected a row of 'tensor<?x8xf32>' for each of 'tensor<?xi32>', got 'tensor<?x4xf32>'}}
  %0 = mtp.unpack %x, %y : tensor<?x8xf32>, tensor<?xi32> -> tensor<?x4xf32>
  return
}

// -----

func.func @unpack_c1(%x: tensor<6xi32>, %y: tensor<6xi32>) {
  // expected-error @+1 {{'mtp.unpack' op expected a row of 'tensor<6xi32>' for each of 'tensor<6xi32>', got 'tensor<4xi32>'}}
  %0 = mtp.unpack %x, %y : tensor<6xi32>, tensor<6xi32> -> tensor<4xi32>
  return
}

// -----

// expected-note @+1 {{the state is declared here}}
mtp.state @bias[8] : f32 input
func.func @write_state_c4(%x: tensor<2x8xf32>, %slots: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.write_state' op expected a state that programs write, got the input @bias}}
  mtp.write_state %x, @bias of %slots : tensor<2x8xf32>, tensor<2xi32>
  return
}

// -----

func.func @concat_rows_c1(%x: tensor<?x8xf32>, %y: tensor<?x4xf32>) {
  // expected-error @+1 {{'mtp.concat_rows' op expected width 8 of the second rows, got 'tensor<?x4xf32>'}}
  %0 = mtp.concat_rows %x rows 1, %y rows 3 : tensor<?x8xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @concat_rows_c1(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.concat_rows' op expected a static width of the rows, got 'tensor<?x?xf32>'}}
  %0 = mtp.concat_rows %x rows 1, %x rows 3 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @concat_rows_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.concat_rows' op expected a positive rows, got 0}}
  %0 = mtp.concat_rows %x rows 1, %x rows 0 : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @concat_rows_c2(%x: tensor<2x8xf32>, %y: tensor<9x8xf32>) {
  // expected-error @+1 {{'mtp.concat_rows' op expected 1 and 3 rows for each slot, got 2 and 9 for a result of 11}}
  %0 = mtp.concat_rows %x rows 1, %y rows 3 : tensor<2x8xf32>, tensor<9x8xf32> -> tensor<11x8xf32>
  return
}

// -----

func.func @concat_rows_c2(%x: tensor<2x8xf32>, %y: tensor<6x8xf32>) {
  // expected-error @+1 {{'mtp.concat_rows' op expected 1 and 3 rows for each slot, got 2 and 6 for a result of 9}}
  %0 = mtp.concat_rows %x rows 1, %y rows 3 : tensor<2x8xf32>, tensor<6x8xf32> -> tensor<9x8xf32>
  return
}

// -----

func.func @make_tree_rows_c1(%x: tensor<6xi32>, %m: tensor<3xi64>) {
  // expected-error @+1 {{'mtp.make_tree_rows' op expected masks with the rows of 'tensor<6xi32>', got 'tensor<3xi64>'}}
  %0 = mtp.make_tree_rows %x, %x from %x at %x seeing %m : tensor<6xi32>, tensor<3xi64>
  return
}

// -----

func.func @mask_tokens_c1(%l: tensor<4x16xf32>, %t: tensor<3xi32>) {
  // expected-error @+1 {{'mtp.mask_tokens' op expected the tokens with the rows of 'tensor<4x16xf32>', got 'tensor<3xi32>'}}
  %0 = mtp.mask_tokens %l, %t : tensor<4x16xf32>, tensor<3xi32>
  return
}

// -----

// prefill_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @a {
}
// expected-error @+1 {{'mtp.prefill' op expected to stand once in a module, or once for each k}}
mtp.prefill @b k 2 {
}
}

// -----

// prefill_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @a k 0 {
}
mtp.prefill @b k 2 {
}
// expected-error @+1 {{'mtp.prefill' op expected to stand once in a module, or once for each k}}
mtp.prefill @c k 2 {
}
}

// -----

// prefill_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @a k 2 beside @r {
}
mtp.prefill @b k 2 beside @s {
}
// expected-error @+1 {{'mtp.prefill' op expected to stand once in a module, or once for each k}}
mtp.prefill @c k 2 beside @r {
}
}

// -----

// prefill_c1
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.prefill @a k 2 {
}
mtp.prefill @b k 2 catch_up 9 {
}
// expected-error @+1 {{'mtp.prefill' op expected to stand once in a module, or once for each k}}
mtp.prefill @c k 2 catch_up 9 {
}
}

// -----

// prefill_c2
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
// expected-error @+1 {{'mtp.prefill' op expected a catch_up of 1 to 2^31 - 1 positions, got 0}}
mtp.prefill @a k 2 catch_up 0 {
}
}

// -----

// prefill_c1
// expected-error @+1 {{'mtp.prefill' op expected 'mtp.envelope' on the module}}
mtp.prefill @a {
}

// -----

// reshape_c1
func.func @reshape_c1_columns(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.reshape' op expected rows on one side and the same in groups on the other, got 'tensor<?x8xf32>' and 'tensor<?x2x4xf32>'}}
  %0 = mtp.reshape %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  return
}

// -----

// reshape_c1
func.func @reshape_c1_type(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.reshape' op expected rows on one side and the same in groups on the other, got 'tensor<?x8xf32>' and 'tensor<?xi32>'}}
  %0 = mtp.reshape %x : tensor<?x8xf32> -> tensor<?xi32>
  return
}

// -----

// output_c1
func.func @output_c1(%x: tensor<?xi64>) {
  // expected-error @+1 {{'mtp.output' op expected rows of i32 or f32 for a declared output, got 'tensor<?xi64>'}}
  mtp.output "doubt" %x for slots : tensor<?xi64>
  return
}

// -----

// output_c1
func.func @output_c1_width(%x: tensor<?x?xf32>) {
  // expected-error @+1 {{'mtp.output' op expected rows of i32 or f32 for a declared output, got 'tensor<?x?xf32>'}}
  mtp.output "doubt" %x for tokens : tensor<?x?xf32>
  return
}

// -----

// output_c2
func.func @output_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'mtp.output' op expected no 'for' with a name that the host knows, got 'logits'}}
  mtp.output "logits" %x for tokens : tensor<?x8xf32>
  return
}

// -----

// write_state_c5
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.state @hidden[max_k + 1, 8] : f32
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %w = mtp.weight "w" : tensor<16x8xf32>
  %h = mtp.embed %slots, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
  %p = mtp.reshape %slots : tensor<?xi32> -> tensor<?x?xi32>
  // expected-error @+1 {{'mtp.write_state' op expected a state that the program writes, got @hidden, which mtp.commit alone writes where it stands; keep what the method needs in a state of another name}}
  mtp.write_state %h, @hidden of %slots : tensor<?x8xf32>, tensor<?xi32>
  // expected-note @+1 {{the commit is here}}
  mtp.commit %slots, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
