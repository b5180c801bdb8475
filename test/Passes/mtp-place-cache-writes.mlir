// RUN: mtp-opt %s --mtp-place-cache-writes --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mtp-opt %s --canonicalize --mtp-place-cache-writes --split-input-file --verify-diagnostics | FileCheck %s

mtp.cache @heads layers 2 entry 256 : bf16
mtp.cache @latent layers 3 entry 80 : bf16
mtp.cache @integers layers 1 entry 80 : i8

// Keys of all heads, then values of all heads.
// CHECK-LABEL: exec.program @grouped
// CHECK: %[[Q:.*]] = exec.input "q"
// CHECK: %[[K:.*]] = exec.input "k"
// CHECK: %[[V:.*]] = exec.input "v"
// CHECK: %[[ROWS:.*]] = mtp.make_rows
// CHECK: mtp.cache_append %[[K]], %[[ROWS]] into @heads[1] at 0 : tensor<4x128xf32>
// CHECK-NEXT: mtp.cache_append %[[V]], %[[ROWS]] into @heads[1] at 128 : tensor<4x128xf32>
// CHECK-NEXT: %[[Y:.*]] = mtp.cached_attention %[[Q]], %[[ROWS]] in @heads[1] heads 4 kv_heads 2 keys 64 at 0 values 64 at 128 scale 1.250000e-01 window 32
// CHECK-NEXT: exec.output "y" %[[Y]]
exec.program @grouped function {
  %q = exec.input "q" : tensor<4x256xf32>
  %k = exec.input "k" : tensor<4x128xf32>
  %v = exec.input "v" : tensor<4x128xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  %y = mtp.attention %q, %k, %v, %rows heads 4 kv_heads 2 scale 0.125 window 32 cache @heads[1]
       : tensor<4x256xf32>, tensor<4x128xf32>, tensor<4x128xf32> -> tensor<4x256xf32>
  exec.output "y" %y : tensor<4x256xf32>
}

// Absorbed MLA: one entry of latent and rotated key, values are its prefix.
// CHECK-LABEL: exec.program @mla
// CHECK: %[[C:.*]] = exec.input "c"
// CHECK: mtp.cache_append %[[C]], %[[ROWS:.*]] into @latent[2] at 0 : tensor<4x80xf32>
// CHECK-NEXT: mtp.cached_attention %{{.*}}, %[[ROWS]] in @latent[2] heads 4 kv_heads 1 keys 80 at 0 values 64 at 0 scale 1.440000e-01 :
exec.program @mla function {
  %q = exec.input "q" : tensor<4x320xf32>
  %c = exec.input "c" : tensor<4x80xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  %y = mtp.attention %q, %c, %rows heads 4 kv_heads 1 values 64 scale 0.144 cache @latent[2]
       : tensor<4x320xf32>, tensor<4x80xf32> -> tensor<4x256xf32>
  exec.output "y" %y : tensor<4x256xf32>
}

// The latent and the rotated key of integers are appended apart, because each
// has a scale.
// CHECK-LABEL: exec.program @pieces
// CHECK: %[[C:.*]] = exec.input "c"
// CHECK: %[[K:.*]] = exec.input "k"
// CHECK: mtp.cache_append %[[C]], %[[ROWS:.*]] into @integers[0] at 0 : tensor<4x64xf32>
// CHECK-NEXT: mtp.cache_append %[[K]], %[[ROWS]] into @integers[0] at 64 : tensor<4x16xf32>
// CHECK-NEXT: mtp.cached_attention %{{.*}}, %[[ROWS]] in @integers[0] heads 4 kv_heads 1 keys 80 at 0 values 64 at 0
exec.program @pieces function {
  %q = exec.input "q" : tensor<4x320xf32>
  %c = exec.input "c" : tensor<4x64xf32>
  %k = exec.input "k" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  %e = mtp.concat %c, %k : tensor<4x64xf32>, tensor<4x16xf32> -> tensor<4x80xf32>
  %y = mtp.attention %q, %e, %rows heads 4 kv_heads 1 values 64 scale 0.144 cache @integers[0]
       : tensor<4x320xf32>, tensor<4x80xf32> -> tensor<4x256xf32>
  exec.output "y" %y : tensor<4x256xf32>
}

// CHECK-LABEL: exec.program @sliced
// CHECK: %[[E:.*]] = exec.input "e"
// CHECK-DAG: %[[A:.*]] = mtp.slice %[[E]] cols 0 to 64
// CHECK-DAG: %[[B:.*]] = mtp.slice %[[E]] cols 64 to 80
// CHECK: mtp.cache_append %[[A]], %{{.*}} into @integers[0] at 0
// CHECK: mtp.cache_append %[[B]], %{{.*}} into @integers[0] at 64
exec.program @sliced function {
  %q = exec.input "q" : tensor<4x320xf32>
  %e = exec.input "e" : tensor<4x80xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  %y = mtp.attention %q, %e, %rows heads 4 kv_heads 1 values 64 scale 0.144 cache @integers[0]
       : tensor<4x320xf32>, tensor<4x80xf32> -> tensor<4x256xf32>
  exec.output "y" %y : tensor<4x256xf32>
}

// A prefill runs a drafter only for its entries. The result has no reader, but
// the append must stay, whatever pass ran before this one.
// CHECK-LABEL: exec.program @unused
// CHECK: mtp.cache_append %{{.*}} into @latent[0] at 0
exec.program @unused function {
  %q = exec.input "q" : tensor<4x320xf32>
  %c = exec.input "c" : tensor<4x80xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  %y = mtp.attention %q, %c, %rows heads 4 kv_heads 1 values 64 scale 0.144 cache @latent[0]
       : tensor<4x320xf32>, tensor<4x80xf32> -> tensor<4x256xf32>
}

// -----

exec.program @p function {
  %x = exec.input "x" : tensor<4x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %rows = mtp.make_rows %s, %s : tensor<4xi32>
  // expected-error @+1 {{'mtp.attention' op expected a cache and a layer; give the mtp.apply around it `cache @symbol[layer]`}}
  %y = mtp.attention %x, %x, %x, %rows heads 1 kv_heads 1 scale 1.0
       : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
}
