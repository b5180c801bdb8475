// RUN: mtp-opt %s --split-input-file --verify-diagnostics

func.func @rope_c1(%x: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.rope' op expected width 128 of the rows, got 'tensor<?x64xf32>'}}
  %0 = mtp.rope %x, %rows by <dim = 32, theta = 10000.0> heads 4 of 32 : tensor<?x64xf32>
  return
}

// -----

func.func @rope_c1_heads(%x: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.rope' op expected a positive heads, got 0}}
  %0 = mtp.rope %x, %rows by <dim = 32, theta = 10000.0> heads 0 of 32 : tensor<?x64xf32>
  return
}

// -----

func.func @rope_c2(%x: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.rope' op expected the rotated columns within a head of 32, got 16 at 24}}
  %0 = mtp.rope %x, %rows by <dim = 16, theta = 10000.0> heads 2 of 32 offset 24 : tensor<?x64xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<?x96xf32>, %k: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected kv_heads to divide 3 heads, got 2}}
  %0 = mtp.attention %q, %k, %k, %rows heads 3 kv_heads 2 scale 1.0
       : tensor<?x96xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x96xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<?x64xf32>, %k: tensor<4x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected a key with the rows of 'tensor<?x64xf32>', got 'tensor<4x64xf32>'}}
  %0 = mtp.attention %q, %k, %k, %rows heads 2 kv_heads 2 scale 1.0
       : tensor<?x64xf32>, tensor<4x64xf32>, tensor<4x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<?x64xf32>, %k: tensor<?x32xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected one width of query and key heads, got 64 for 4 and 32 for 4}}
  %0 = mtp.attention %q, %k, %k, %rows heads 4 kv_heads 4 scale 1.0
       : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected either a value operand or values}}
  %0 = mtp.attention %q, %q, %rows heads 4 kv_heads 4 scale 1.0
       : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @attention_c4_prefix(%q: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected values within a key head of 16, got 17}}
  %0 = mtp.attention %q, %q, %rows heads 4 kv_heads 4 values 17 scale 1.0
       : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x68xf32>
  return
}

// -----

func.func @attention_c4_value(%q: tensor<?x64xf32>, %v: tensor<?x30xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected 4 kv_heads to divide the value's width, got 30}}
  %0 = mtp.attention %q, %q, %v, %rows heads 4 kv_heads 4 scale 1.0
       : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x30xf32> -> tensor<?x30xf32>
  return
}

// -----

func.func @attention_c5(%q: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected width 64 of the result, got 'tensor<?x32xf32>'}}
  %0 = mtp.attention %q, %q, %q, %rows heads 4 kv_heads 4 scale 1.0
       : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x32xf32>
  return
}

// -----

func.func @attention_c6(%q: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected a positive window, got 0}}
  %0 = mtp.attention %q, %q, %q, %rows heads 4 kv_heads 4 scale 1.0 window 0
       : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return
}

// -----

// expected-note @+1 {{the cache is declared here}}
mtp.cache @target layers 1 entry 64 : bf16
func.func @attention_c7(%q: tensor<?x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.attention' op expected at most 64 columns for an entry of @target, got 128}}
  %0 = mtp.attention %q, %q, %q, %rows heads 4 kv_heads 4 scale 1.0 cache @target[0]
       : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @mla_attention_c1(%q: tensor<?x192xf32>, %c: tensor<?x64xf32>, %p: tensor<?x16xf32>, %w: tensor<256x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected a positive nope, got 0}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 0 rope 16 value 32 scale 1.0
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xf32> -> tensor<?x128xf32>
  return
}

// -----

func.func @mla_attention_c2(%q: tensor<?x192xf32>, %c: tensor<4x64xf32>, %p: tensor<?x16xf32>, %w: tensor<256x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected an operand with the rows of 'tensor<?x128xf32>', got 'tensor<4x64xf32>'}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 32 rope 16 value 32 scale 1.0
       : tensor<?x192xf32>, tensor<4x64xf32>, tensor<?x16xf32>, tensor<256x64xf32> -> tensor<?x128xf32>
  return
}

// -----

func.func @mla_attention_c3(%q: tensor<?x128xf32>, %c: tensor<?x64xf32>, %p: tensor<?x16xf32>, %w: tensor<256x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected width 192 of the query, got 'tensor<?x128xf32>'}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 32 rope 16 value 32 scale 1.0
       : tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xf32> -> tensor<?x128xf32>
  return
}

// -----

func.func @mla_attention_c4(%q: tensor<?x192xf32>, %c: tensor<?x64xf32>, %p: tensor<?x16xf32>, %w: tensor<128x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected kv_b of 256x64, got 'tensor<128x64xf32>'}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 32 rope 16 value 32 scale 1.0
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<128x64xf32> -> tensor<?x128xf32>
  return
}

// -----

func.func @mla_attention_c5(%q: tensor<?x192xf32>, %c: tensor<?x64xf32>, %p: tensor<?x16xf32>, %w: tensor<256x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected width 128 of the result, got 'tensor<?x192xf32>'}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 32 rope 16 value 32 scale 1.0
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xf32> -> tensor<?x192xf32>
  return
}

// -----

func.func @mla_attention_c6(%q: tensor<?x192xf32>, %c: tensor<?x64xf32>, %p: tensor<?x16xf32>, %w: tensor<256x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected a finite positive scale, got -1}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 32 rope 16 value 32 scale -1.0
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xf32> -> tensor<?x128xf32>
  return
}

// -----

// expected-note @+1 {{the cache is declared here}}
mtp.cache @target layers 1 entry 64 : bf16
func.func @mla_attention_c7(%q: tensor<?x192xf32>, %c: tensor<?x64xf32>, %p: tensor<?x16xf32>, %w: tensor<256x64xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.mla_attention' op expected at most 64 columns for an entry of @target, got 80}}
  %0 = mtp.mla_attention %q, %c, %p, %w, %rows heads 4 nope 32 rope 16 value 32 scale 1.0 cache @target[0]
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xf32> -> tensor<?x128xf32>
  return
}
