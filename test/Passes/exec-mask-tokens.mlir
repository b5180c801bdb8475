// RUN: mtp-opt %s --exec-mask-tokens=tokens=0,3 | FileCheck %s
// RUN: mtp-opt %s --exec-mask-tokens=tokens=0,3 --exec-fuse-argmax | FileCheck %s --check-prefix=FUSED
// RUN: mtp-opt %s --exec-mask-tokens | FileCheck %s --check-prefix=NONE
// RUN: mtp-opt %s --exec-mask-tokens=tokens=9 | FileCheck %s --check-prefix=NONE

// Ids beyond the tokenizer were picked (bugreports/a: pegainfer#673,
// Blaizzy/mlx-vlm#1917, vllm-project/vllm#340, transformers#35244).

// NONE-NOT: token_mask

// The whole vocabulary, merged heads, and a part of it.
// CHECK-DAG: exec.constant @[[WHOLE:.*]] dense<{{\[\[}}0xFF800000, -0.000000e+00, -0.000000e+00, 0xFF800000]]> : tensor<1x4xf32>
// CHECK-DAG: exec.constant @[[TWO:.*]] dense<{{\[\[}}0xFF800000, -0.000000e+00, 0xFF800000, -0.000000e+00, 0xFF800000, -0.000000e+00, -0.000000e+00, 0xFF800000]]> : tensor<1x8xf32>
// CHECK-DAG: exec.constant @[[PART:.*]] dense<{{\[\[}}0xFF800000, -0.000000e+00, 0xFF800000]]> : tensor<1x3xf32>
module attributes {exec.model = {modules = 0, vocab = 4}} {
exec.weight @head #exec.panels<32> k 8 n 4 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.weight @two #exec.panels<32> k 8 n 8 stack 1 [#exec.source<key = "two">] : <f32>
exec.weight @own #exec.panels<32> k 8 n 3 stack 1 [#exec.source<key = "own">] : <f32>
exec.weight @few #exec.panels<32> k 8 n 3 stack 1 [#exec.source<key = "lm_head">] picks @tokens : <f32>
exec.constant @tokens dense<[[0], [2], [3]]> : tensor<3x1xi32>
exec.constant @unmasked dense<[[1], [2], [1]]> : tensor<3x1xi32>
exec.state @sampling : memref<1x8xi32>

// CHECK-LABEL: exec.program @round
// FUSED-LABEL: exec.program @round
exec.program @round decode k 0 n 1 to 1 {
  %x = exec.input "x" : tensor<1x8xf32>
  %b = exec.input "b" : tensor<4xf32>
  %at = exec.input "at" : tensor<1xi32>
  %head = exec.ref @head : memref<1x8x32xf32>
  %two = exec.ref @two : memref<1x8x32xf32>
  %own = exec.ref @own : memref<1x8x32xf32>
  %few = exec.ref @few : memref<1x8x32xf32>
  %tokens = exec.ref @tokens : memref<3x1xi32>
  %unmasked = exec.ref @unmasked : memref<3x1xi32>
  %sampling = exec.ref @sampling : memref<1x8xi32>

  // CHECK: %[[M0:.*]] = exec.ref @[[WHOLE]] : memref<1x4xf32>
  // CHECK: %[[L0:.*]] = exec.linear %{{.*}}, %{{.*}} as <f32> bias %[[M0]] role head
  // CHECK: exec.argmax %[[L0]]
  // FUSED: exec.linear_argmax {{.*}} n 4 as <f32> bias %{{.*}} :
  %l0 = exec.linear %x, %head as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  %p0 = exec.argmax %l0 : (tensor<1x4xf32>) -> tensor<1xi32>
  exec.output "p0" %p0 : tensor<1xi32>

  // A sampled pick, to which the head moves with its mask.
  // CHECK: exec.linear {{.*}} bias %{{.*}} role head
  // FUSED: exec.linear_argmax {{.*}} n 4 as <f32> bias %{{.*}} logits
  %l1 = exec.linear %x, %head as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  %p1 = exec.sample %l1 slots %at positions %at by %sampling
    : (tensor<1x4xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  exec.output "p1" %p1 : tensor<1xi32>

  // A head with its own bias.
  // CHECK: %[[L2:.*]] = exec.linear {{.*}} bias %{{.*}} role head
  // CHECK: %[[A2:.*]] = exec.add_bias %[[L2]], %{{.*}} : (tensor<1x4xf32>, memref<1x4xf32>)
  // CHECK: exec.argmax %[[A2]]
  %l2 = exec.linear %x, %head as <f32> bias %b role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %p2 = exec.argmax %l2 : (tensor<1x4xf32>) -> tensor<1xi32>
  exec.output "p2" %p2 : tensor<1xi32>

  // Merged: a part of the vocabulary, another number, and all of it.
  // CHECK: %[[M3:.*]] = exec.ref @[[TWO]] : memref<1x8xf32>
  // CHECK: exec.linear {{.*}} bias %[[M3]] role head
  %l3 = exec.linear %x, %two as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x8xf32>
  %c3 = exec.columns %l3[4 to 8] : tensor<1x8xf32>
  %p3 = exec.argmax %c3 : (tensor<1x4xf32>) -> tensor<1xi32>
  exec.output "p3" %p3 : tensor<1xi32>
  %part = exec.columns %l3[0 to 3] : tensor<1x8xf32>
  %cp = exec.argmax %part : (tensor<1x3xf32>) -> tensor<1xi32>
  %pp = exec.gather_rows %tokens, %cp : (memref<3x1xi32>, tensor<1xi32>) -> tensor<1xi32>
  exec.output "pp" %pp : tensor<1xi32>
  %beside = exec.columns %l3[3 to 4] : tensor<1x8xf32>
  %gate = exec.sigmoid %beside : (tensor<1x1xf32>) -> tensor<1x1xf32>
  exec.output "gate" %gate : tensor<1x1xf32>

  // Columns that stand for tokens: of a separate head, and of rows of another.
  // CHECK: %[[M4:.*]] = exec.ref @[[PART]] : memref<1x3xf32>
  // CHECK: exec.linear {{.*}} bias %[[M4]] role head
  %l4 = exec.linear %x, %own as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x3xf32>
  %c4 = exec.argmax %l4 : (tensor<1x3xf32>) -> tensor<1xi32>
  %p4 = exec.gather_rows %tokens, %c4 : (memref<3x1xi32>, tensor<1xi32>) -> tensor<1xi32>
  exec.output "p4" %p4 : tensor<1xi32>
  // CHECK: %[[M5:.*]] = exec.ref @[[PART]] : memref<1x3xf32>
  // CHECK: exec.linear {{.*}} bias %[[M5]] role head
  %l5 = exec.linear %x, %few as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x3xf32>
  exec.output "l5" %l5 : tensor<1x3xf32>
  // CHECK: exec.linear {{.*}} bias %{{.*}} role head
  // CHECK: exec.sample
  %l6 = exec.linear %x, %own as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x3xf32>
  %p6 = exec.sample %l6 tokens %tokens slots %at positions %at by %sampling
    : (tensor<1x3xf32>, memref<3x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  exec.output "p6" %p6 : tensor<1xi32>

  // None of these columns is masked, and a product that is no head is not.
  // CHECK: exec.linear %{{.*}}, %{{[^ ]*}} as <f32> role head
  %l7 = exec.linear %x, %own as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x3xf32>
  %c7 = exec.argmax %l7 : (tensor<1x3xf32>) -> tensor<1xi32>
  %p7 = exec.gather_rows %unmasked, %c7 : (memref<3x1xi32>, tensor<1xi32>) -> tensor<1xi32>
  exec.output "p7" %p7 : tensor<1xi32>
  // CHECK: exec.linear %{{.*}}, %{{[^ ]*}} as <f32> :
  %l8 = exec.linear %x, %head as <f32>
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  exec.output "l8" %l8 : tensor<1x4xf32>
}

// Scoring texts uses the model's own logits.
// CHECK-LABEL: exec.program @score
exec.program @score function {
  %x = exec.input "x" : tensor<1x8xf32>
  %head = exec.ref @head : memref<1x8x32xf32>
  // CHECK: exec.linear %{{.*}}, %{{[^ ]*}} as <f32> role head
  %l = exec.linear %x, %head as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  exec.output "logits" %l : tensor<1x4xf32>
}
}
