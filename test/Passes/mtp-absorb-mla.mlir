// RUN: mtp-opt %s --mtp-absorb-mla | FileCheck %s

mtp.cache @target layers 4 entry 80 : bf16

// CHECK-LABEL: func.func @mla
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x192xf32>, %[[C:[a-z0-9]+]]: tensor<?x64xf32>, %[[PE:[a-z0-9]+]]: tensor<?x16xf32>, %[[W:[a-z0-9]+]]: tensor<256x64xbf16>, %[[ROWS:[a-z0-9]+]]: !mtp.rows
func.func @mla(%q: tensor<?x192xf32>, %c: tensor<?x64xf32>, %pe: tensor<?x16xf32>,
               %w: tensor<256x64xbf16>, %rows: !mtp.rows) -> tensor<?x128xf32> {
  // CHECK: %[[QL:.*]] = mtp.head_linear %[[Q]], %[[W]] heads 4 cols 0 to 32 block 0 to 32 stride 64 transposed keep 32 to 48 : tensor<?x192xf32>, tensor<256x64xbf16> -> tensor<?x320xf32>
  // CHECK: %[[K:.*]] = mtp.concat %[[C]], %[[PE]] : tensor<?x64xf32>, tensor<?x16xf32> -> tensor<?x80xf32>
  // CHECK: %[[O:.*]] = mtp.attention %[[QL]], %[[K]], %[[ROWS]] heads 4 kv_heads 1 values 64 scale 1.440000e-01 window 32 cache @target[2] : tensor<?x320xf32>, tensor<?x80xf32> -> tensor<?x256xf32>
  // CHECK: %[[Y:.*]] = mtp.head_linear %[[O]], %[[W]] heads 4 cols 0 to 64 block 32 to 64 stride 64 : tensor<?x256xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
  // CHECK: return %[[Y]]
  %y = mtp.mla_attention %q, %c, %pe, %w, %rows heads 4 nope 32 rope 16 value 32 scale 0.144
       window 32 cache @target[2]
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
