// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

// CHECK: mtp.cache @latent layers 4 entry 80 : bf16
mtp.cache @latent layers 4 entry 80 : bf16
// CHECK: mtp.cache @heads layers 2 entry 256 : f32
mtp.cache @heads layers 2 entry 256 : f32

// CHECK-LABEL: func.func private @latent_attention
func.func private @latent_attention(%c: tensor<8x64xf32>, %pe: tensor<8x16xf32>,
    %q: tensor<8x320xf32>, %rows: !mtp.rows) -> tensor<8x256xf32> {
  // CHECK: mtp.cache_append %{{.*}}, %{{.*}} into @latent[3] at 0 : tensor<8x64xf32>
  mtp.cache_append %c, %rows into @latent[3] at 0 : tensor<8x64xf32>
  // CHECK: mtp.cache_append %{{.*}}, %{{.*}} into @latent[3] at 64 : tensor<8x16xf32>
  mtp.cache_append %pe, %rows into @latent[3] at 64 : tensor<8x16xf32>
  // CHECK: mtp.cached_attention %{{.*}}, %{{.*}} in @latent[3] heads 4 kv_heads 1 keys 80 at 0 values 64 at 0 scale 1.440000e-01 : tensor<8x320xf32> -> tensor<8x256xf32>
  %y = mtp.cached_attention %q, %rows in @latent[3] heads 4 kv_heads 1
       keys 80 at 0 values 64 at 0 scale 0.144 : tensor<8x320xf32> -> tensor<8x256xf32>
  return %y : tensor<8x256xf32>
}

// CHECK-LABEL: func.func private @grouped_attention
func.func private @grouped_attention(%q: tensor<8x256xf32>, %rows: !mtp.rows) -> tensor<8x256xf32> {
  // CHECK: mtp.cached_attention %{{.*}} in @heads[1] heads 4 kv_heads 2 keys 64 at 0 values 64 at 128 scale 1.250000e-01 window 32
  %y = mtp.cached_attention %q, %rows in @heads[1] heads 4 kv_heads 2
       keys 64 at 0 values 64 at 128 scale 0.125 window 32 : tensor<8x256xf32> -> tensor<8x256xf32>
  return %y : tensor<8x256xf32>
}

// CHECK-LABEL: func.func private @move
func.func private @move(%path: tensor<2x4xi32>, %count: tensor<2xi32>) {
  // CHECK: mtp.cache_move %{{.*}} to %{{.*}} of %{{.*}} in @latent : tensor<2x4xi32>, tensor<2xi32>
  mtp.cache_move %path to %path of %count in @latent : tensor<2x4xi32>, tensor<2xi32>
  return
}
