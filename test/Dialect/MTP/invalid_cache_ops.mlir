// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// cache_c1
// expected-error @+1 {{'mtp.cache' op expected layers in [1, 4096], got 0}}
mtp.cache @target layers 0 entry 80 : bf16

// -----

// cache_c1
// expected-error @+1 {{'mtp.cache' op expected an entry width in [1, 2^20], got 0}}
mtp.cache @target layers 1 entry 0 : bf16

// -----

// cache_c2
// expected-error @+1 {{'mtp.cache' op expected f32, bf16 or i8 elements, got 'f16'}}
mtp.cache @target layers 1 entry 80 : f16

// -----

func.func @cache_append_c1(%x: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cache_append' op expected @target to be an mtp.cache}}
  mtp.cache_append %x, %rows into @target[0] at 0 : tensor<?x8xf32>
  return
}

// -----

// expected-note @+1 {{the cache is declared here}}
mtp.cache @target layers 1 entry 80 : bf16
func.func @cache_append_c2(%x: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cache_append' op expected at most 80 columns for an entry of @target, got 84}}
  mtp.cache_append %x, %rows into @target[0] at 76 : tensor<?x8xf32>
  return
}

// -----

mtp.cache @target layers 1 entry 80 : bf16
func.func @cache_append_c2_negative(%x: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cache_append' op expected a place within the entry, got -8}}
  mtp.cache_append %x, %rows into @target[0] at -8 : tensor<?x8xf32>
  return
}

// -----

// expected-note @+1 {{the cache is declared here}}
mtp.cache @target layers 1 entry 80 : bf16
func.func @cached_attention_c1(%q: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cached_attention' op expected a layer of @target below 1, got -1}}
  %0 = mtp.cached_attention %q, %rows in @target[-1] heads 1 kv_heads 1 keys 8 at 0 values 8 at 8 scale 1.0 : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

mtp.cache @target layers 1 entry 80 : bf16
func.func @cached_attention_c2(%q: tensor<?x24xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cached_attention' op expected kv_heads to divide 3 heads, got 2}}
  %0 = mtp.cached_attention %q, %rows in @target[0] heads 3 kv_heads 2 keys 8 at 0 values 8 at 8 scale 1.0 : tensor<?x24xf32> -> tensor<?x24xf32>
  return
}

// -----

mtp.cache @target layers 1 entry 80 : bf16
func.func @cached_attention_c3(%q: tensor<?x16xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cached_attention' op expected width 8 of the query, got 'tensor<?x16xf32>'}}
  %0 = mtp.cached_attention %q, %rows in @target[0] heads 1 kv_heads 1 keys 8 at 0 values 8 at 8 scale 1.0 : tensor<?x16xf32> -> tensor<?x8xf32>
  return
}

// -----

// expected-note @+1 {{the cache is declared here}}
mtp.cache @target layers 1 entry 80 : bf16
func.func @cached_attention_c4(%q: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cached_attention' op expected at most 80 columns for an entry of @target, got 88}}
  %0 = mtp.cached_attention %q, %rows in @target[0] heads 1 kv_heads 1 keys 8 at 0 values 8 at 80 scale 1.0 : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

mtp.cache @target layers 1 entry 80 : bf16
func.func @cached_attention_c5(%q: tensor<?x8xf32>, %rows: !mtp.rows) {
  // expected-error @+1 {{'mtp.cached_attention' op expected a positive window, got 0}}
  %0 = mtp.cached_attention %q, %rows in @target[0] heads 1 kv_heads 1 keys 8 at 0 values 8 at 8 scale 1.0 window 0 : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @cache_move_c1(%p: tensor<2x4xi32>, %c: tensor<2xi32>) {
  // expected-error @+1 {{'mtp.cache_move' op expected @target to be an mtp.cache}}
  mtp.cache_move %p to %p of %c in @target : tensor<2x4xi32>, tensor<2xi32>
  return
}

// -----

mtp.cache @target layers 1 entry 80 : bf16
func.func @cache_move_c2(%p: tensor<2x4xi32>, %c: tensor<4xi32>) {
  // expected-error @+1 {{'mtp.cache_move' op expected positions with the rows of 'tensor<4xi32>', got 'tensor<2x4xi32>'}}
  mtp.cache_move %p to %p of %c in @target : tensor<2x4xi32>, tensor<4xi32>
  return
}
