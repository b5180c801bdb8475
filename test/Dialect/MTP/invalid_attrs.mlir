// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// envelope_c1
// expected-error @+1 {{expected max_k in [0, 16], got 17}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 17, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {}

// -----

// envelope_c2
// expected-error @+1 {{expected max_batch in [1, 1024], got 0}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 0, max_context = 64, prefill_chunk = 8, page = 16>} {}

// -----

// envelope_c3
// expected-error @+1 {{expected max_context in [2, 4194304], got 1}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 1, prefill_chunk = 8, page = 16>} {}

// -----

// envelope_c4
// expected-error @+1 {{expected prefill_chunk in [1, 4096], got 5000}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 5000, page = 16>} {}

// -----

// envelope_c5
// expected-error @+1 {{expected page to be a power of two, got 24}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 24>} {}

// -----

// envelope_c6
// expected-error @+1 {{expected max_nodes in [2, 64], got 65}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 65>} {}

// -----

// envelope_c6
// expected-error @+1 {{expected max_nodes in [5, 64], got 4}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16, max_nodes = 4>} {}

// -----

// envelope_c7
// expected-error @+1 {{expected round_prompt_rows in [0, 8], got 9}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16, round_prompt_rows = 9>} {}

// -----

// envelope_c8
// expected-error @+1 {{expected max_rows in [4, 256], got 3}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 3>} {}

// -----

// envelope_c8
// expected-error @+1 {{expected max_rows in [4, 256], got 257}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16, max_rows = 257>} {}

// -----

// envelope_c9
// expected-error @+1 {{expected catch_up_rows in [0, 4096], got 4097}}
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16, catch_up_rows = 4097>} {}

// -----

// rope_attr_c1
// expected-error @+1 {{expected an even dim in [2, 4096], got 3}}
module attributes {mtp.rope = #mtp.rope<dim = 3, theta = 10000.0>} {}

// -----

// rope_attr_c2
// expected-error @+1 {{expected a finite positive theta, got 0}}
module attributes {mtp.rope = #mtp.rope<dim = 4>} {}

// -----

// rope_attr_c3
// expected-error @+1 {{expected a positive original_max_position with yarn scaling, got 0}}
module attributes {mtp.rope = #mtp.rope<dim = 4, theta = 10000.0, scaling = yarn, factor = 4.0>} {}

// -----

// rope_attr_c4
// expected-error @+1 {{expected low_freq_factor below high_freq_factor}}
module attributes {mtp.rope = #mtp.rope<dim = 4, theta = 10000.0, scaling = llama3, low_freq_factor = 4.0, original_max_position = 8>} {}

// -----

// rope_attr_c5
// expected-error @+1 {{expected beta_slow of beta_fast at most}}
module attributes {mtp.rope = #mtp.rope<dim = 4, theta = 10000.0, scaling = yarn, beta_slow = 64.0, original_max_position = 8>} {}

// -----

// rope_attr_c6
// expected-error @+1 {{expected no parameters of another scaling with none scaling}}
module attributes {mtp.rope = #mtp.rope<dim = 4, theta = 10000.0, factor = 2.0>} {}

// -----

// expected-error @+1 {{unknown rope parameter 'base'}}
module attributes {mtp.rope = #mtp.rope<dim = 4, base = 10000.0>} {}

// -----

// expected-error @+1 {{unknown scaling 'ntk'}}
module attributes {mtp.rope = #mtp.rope<dim = 4, theta = 10000.0, scaling = ntk>} {}

// -----

// expected-error @+1 {{rope parameter 'dim' repeats}}
module attributes {mtp.rope = #mtp.rope<dim = 4, dim = 4>} {}

// -----

// module_c1
// expected-error @+1 {{'mtp.envelope' expected #mtp.envelope, got 4 : i64}}
module attributes {mtp.envelope = 4 : i64} {}

// -----

// module_c2
// expected-error @+1 {{'mtp.generation' key 'eos' expected token ids as array<i32>, got array<i32: -1>}}
module attributes {mtp.generation = {eos = array<i32: -1>}} {}

// -----

// module_c2
// expected-error @+1 {{'mtp.generation' key 'bos' expected a token id as i32, got 1 : i64}}
module attributes {mtp.generation = {bos = 1 : i64}} {}

// -----

// module_c3
// expected-error @+1 {{'mtp.wiring' expected #mtp.wiring on a function}}
module attributes {mtp.wiring = 1 : i32} {}

// -----

// module_c4
// expected-error @+1 {{'mtp.generation' key 'top_p' expected a number in (0, 1], got 1.500000e+00 : f32}}
module attributes {mtp.generation = {top_p = 1.5 : f32}} {}

// -----

// module_c4
// expected-error @+1 {{'mtp.generation' key 'top_p' expected a number in (0, 1], got 0.000000e+00 : f32}}
module attributes {mtp.generation = {top_p = 0.0 : f32}} {}

// -----

// module_c4
// expected-error @+1 {{'mtp.generation' key 'temperature' expected a number in [0, 100], got 0x7FC00000 : f32}}
module attributes {mtp.generation = {temperature = 0x7FC00000 : f32}} {}

// -----

// module_c4
// expected-error @+1 {{'mtp.generation' key 'top_k' expected a count below 2^31, got -1 : i64}}
module attributes {mtp.generation = {top_k = -1 : i64}} {}

// -----

// module_c5
// expected-error @+1 {{'mtp.tokenizer' expected a relative path that does not climb, got '../hf'}}
module attributes {mtp.tokenizer = "../hf"} {}

// -----

// module_c5
// expected-error @+1 {{'mtp.tokenizer' expected a relative path that does not climb, got '/hf'}}
module attributes {mtp.tokenizer = "/hf"} {}

// -----

// module_c1
// expected-error @+1 {{'mtp.method' expected a string, got 1 : i32}}
module attributes {mtp.method = 1 : i32} {}

// -----

// module_c6
// expected-error @+1 {{'mtp.method' expected 1 to 256 printable characters, got 0 bytes}}
module attributes {mtp.method = ""} {}

// -----

// module_c6
// expected-error @+1 {{'mtp.method' expected 1 to 256 printable characters, got 7 bytes}}
module attributes {mtp.method = "lookup\n"} {}

// -----

// expected-error @below {{'mtp.rule' expected a string of 1 to 64 printable characters, got ""}}
module attributes {mtp.rule = ""} {
}

// -----

// The name of the exact rule is reserved.
// expected-error @below {{'mtp.rule' expected the name of a custom rule, got 'exact', as which the artifact names mtp.accept's own rule}}
module attributes {mtp.rule = "exact"} {
}

// -----

// expected-error @below {{'mtp.lossy' expected no value, got 1 : i64}}
module attributes {mtp.lossy = 1} {
}

// -----

// expected-error @below {{'mtp.best_drafts' expected on an mtp.accept}}
module attributes {mtp.best_drafts} {
}

// -----

func.func @shares(%l: tensor<2x16xf32>) -> tensor<2x2xf32> {
  // expected-error @below {{'mtp.shares' expected on an mtp.top_k with noise}}
  %b, %s = mtp.top_k %l k 2 {mtp.shares} : tensor<2x16xf32> -> tensor<2x2xi32>, tensor<2x2xf32>
  return %s : tensor<2x2xf32>
}

// -----

// expected-error @below {{'mtp.rule' expected on an mtp.accept}}
func.func private @rule() attributes {mtp.rule = "block"}

// -----

// expected-error @below {{'mtp.accept_rules' expected an array of dictionaries on a function}}
func.func private @declares() attributes {mtp.accept_rules = {name = "block"}}
