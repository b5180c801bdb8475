// Wrong options, and modules without a weight to change.
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int3' 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: expected a format of int8, int4{{.*}} or none for weights, got 'int3'
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 head-format=fp8' 2>&1 | FileCheck %s --check-prefix=HEAD
// HEAD: error: expected a format of int8, int4{{.*}} or none for weights, got 'fp8'
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 group=48' 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: expected a group of a multiple of 32 up to 128 for weights, got 48
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 head-format=int4 head-group=256' 2>&1 | FileCheck %s --check-prefix=HEADGROUP
// HEADGROUP: error: expected a group of a multiple of 32 up to 128 for weights, got 256
// RUN: not mtp-opt %s '--exec-quantize-weights=embedding-format=bf16' 2>&1 | FileCheck %s --check-prefix=EMBEDDING
// EMBEDDING: error: expected a format of int8, int4{{.*}} or none for weights, got 'bf16'
// RUN: not mtp-opt %s '--exec-quantize-weights=embedding-format=int8 embedding-group=16' 2>&1 | FileCheck %s --check-prefix=EMBEDDINGGROUP
// EMBEDDINGGROUP: error: expected a group of a multiple of 32 up to 128 for weights, got 16
// RUN: not mtp-opt %s '--exec-quantize-weights=embedding-format=int8 embedding-group=0' 2>&1 | FileCheck %s --check-prefix=TABLESCALES
// TABLESCALES: error: expected f32 scales for embedding tables, got int8, group 32, f16
// A format whose only embedding, or only projection, is kept.
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 embedding-format=int8 keep=e' 2>&1 | FileCheck %s --check-prefix=NOTABLE
// NOTABLE: error: expected an embedding table that can be quantized, found none
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 embedding-format=int8 keep=w' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 keep=[a' 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: expected a pattern of weights to keep, got '[a': invalid glob pattern
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 keep=w,v*' 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: expected keep patterns that match a weight's key, got 'v*', which matches none
// RUN: not mtp-opt %s '--exec-quantize-weights=format=int8 keep=?' 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: expected a projection whose weight can be quantized, found none
// After exec-bufferize it is too late.
// RUN: not mtp-opt %s --exec-bufferize '--exec-quantize-weights=format=int8' 2>&1 | FileCheck %s --check-prefix=NONE

// Without a format nothing changes.
// RUN: mtp-opt %s --exec-quantize-weights | FileCheck %s --check-prefix=OFF
// OFF: exec.weight @w {{.*}} : <f32>

exec.weight @w #exec.panels<32> k 8 n 32 stack 1 [#exec.source<key = "w">] : <f32>
exec.weight @e #exec.raw k 8 n 32 stack 1 [#exec.source<key = "e">] : <f32>
exec.program @p function {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.ref @w : memref<1x8x32xf32>
  %y = exec.linear %x, %w as <f32>
    : (tensor<4x8xf32>, memref<1x8x32xf32>) -> tensor<4x32xf32>
  %i = exec.input "i" : tensor<4xi32>
  %e = exec.ref @e : memref<32x8xf32>
  %z = exec.embed %i in %e as <f32> : (memref<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
}
