// RUN: mtp-opt %s --mtp-convert-to-exec --split-input-file --verify-diagnostics | FileCheck %s

// Groups are rows to kernels, and results are grouped again.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[1, 3]> : tensor<2xi32>
exec.state shared @active : memref<4xi32>
exec.state @sampling : memref<4x8xi32>
// CHECK-LABEL: exec.program @round decode
// CHECK: %[[SLOTS:.*]] = exec.ref @active : memref<2xi32>
// CHECK: %[[L:.*]] = exec.input "l" : tensor<2x3x16xf32>
// CHECK: %[[X:.*]] = exec.reshape %[[L]] : tensor<2x3x16xf32> -> tensor<6x16xf32>
// CHECK: exec.log_sum_exp %[[X]] : (tensor<6x16xf32>) -> tensor<6x1xf32>
// CHECK: exec.reshape %{{.*}} : tensor<6x1xf32> -> tensor<2x3xf32>
// CHECK: exec.entropy %{{.*}} : (tensor<6x16xf32>) -> tensor<6x1xf32>
// CHECK: %[[COLUMNS:.*]] = exec.reshape %{{.*}} : tensor<2x3xi32> -> tensor<6x1xi32>
// CHECK: exec.gather_columns %{{.*}}, %[[COLUMNS]] : (tensor<6x16xf32>, tensor<6x1xi32>) -> tensor<6x1xf32>
// CHECK: exec.top_k %{{.*}} : (tensor<6x16xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>)
// CHECK: %[[FEW:.*]], %{{.*}} = exec.top_k %{{.*}} : (tensor<2x2xf32>) -> (tensor<2x1xi32>, tensor<2x1xf32>)
// CHECK: %[[FLAT:.*]] = exec.reshape %[[FEW]] : tensor<2x1xi32> -> tensor<2xi32>
// CHECK: exec.gather_rows %{{.*}}, %[[FLAT]] : (memref<2x1xi32>, tensor<2xi32>) -> tensor<2xi32>
// CHECK: %[[SAMPLING:.*]] = exec.ref @sampling : memref<4x8xi32>
// CHECK: %[[P:.*]] = exec.probabilities %{{.*}} of %[[SLOTS]] by %[[SAMPLING]] : (tensor<6x16xf32>, memref<2xi32>, memref<4x8xi32>) -> tensor<6x16xf32>
// CHECK: exec.sample_residual %{{.*}} less %{{.*}} at %[[SLOTS]] by %{{.*}} : (tensor<6x16xf32>, tensor<4x16xf32>, memref<2xi32>, tensor<2xf32>) -> tensor<2xi32>
exec.program @round decode k 2 n 2 to 2 {
  %slots = mtp.slots : tensor<2xi32>
  %l = exec.input "l" : tensor<2x3x16xf32>
  %q = exec.input "q" : tensor<2x2x16xf32>
  %t = exec.input "t" : tensor<2x3xi32>
  %f = exec.input "f" : tensor<2x2xf32>
  %u = exec.input "u" : tensor<2xf32>
  %s = mtp.log_sum_exp %l : tensor<2x3x16xf32> -> tensor<2x3xf32>
  exec.output "s" %s : tensor<2x3xf32>
  %h = mtp.entropy %l : tensor<2x3x16xf32> -> tensor<2x3xf32>
  exec.output "h" %h : tensor<2x3xf32>
  %g = mtp.gather %l[%t] : tensor<2x3x16xf32>, tensor<2x3xi32> -> tensor<2x3xf32>
  exec.output "g" %g : tensor<2x3xf32>
  %b, %bl = mtp.top_k %l k 2 : tensor<2x3x16xf32> -> tensor<2x3x2xi32>, tensor<2x3x2xf32>
  exec.output "b" %b : tensor<2x3x2xi32>
  %c, %cl = mtp.top_k %f k 1 tokens @few : tensor<2x2xf32> -> tensor<2x1xi32>, tensor<2x1xf32>
  exec.output "c" %c : tensor<2x1xi32>
  %p = mtp.probabilities %l of %slots : tensor<2x3x16xf32>, tensor<2xi32>
  %r = mtp.sample_residual %p less %q at %slots by %u : (tensor<2x3x16xf32>, tensor<2x2x16xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  exec.output "r" %r : tensor<2xi32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.program @p function {
  %l = exec.input "l" : tensor<2x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  // expected-error @+1 {{'mtp.probabilities' op expected a round in the module: sampling parameters belong to its slots}}
  %p = mtp.probabilities %l of %s : tensor<2x16xf32>, tensor<2xi32>
  exec.output "p" %p : tensor<2x16xf32>
}
}

// -----

// A mask is read directly from the state of each row's slot.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state @allowed : memref<4x3x1xi32>
// CHECK-LABEL: exec.program @masks decode
// CHECK: %[[STATE:.*]] = exec.ref @allowed : memref<4x3x1xi32>
// CHECK: exec.mask_columns %{{.*}} by %[[STATE]] of %{{.*}} at %{{.*}} : (tensor<2x16xf32>, tensor<2xi32>, tensor<2xi32>, memref<4x3x1xi32>) -> tensor<2x16xf32>
exec.program @masks decode k 2 n 2 to 2 {
  %l = exec.input "l" : tensor<2x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  %y = mtp.mask_columns %l by @allowed of %s[%s] : tensor<2x16xf32>, tensor<2xi32>, tensor<2xi32>
  exec.output "y" %y : tensor<2x16xf32>
}
}

// -----

// Keys of sampling are computed from the filtered logits; the best keys are the
// tokens that would be picked. A sample whose noise depends on a number is the
// best of its keys.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.vocabulary @few dense<[1, 3]> : tensor<2xi32>
exec.state @sampling : memref<4x8xi32>
// CHECK-LABEL: exec.program @noise decode
// CHECK: %[[X:.*]] = exec.reshape %{{.*}} : tensor<2x3x16xf32> -> tensor<6x16xf32>
// CHECK: %[[LOGS:.*]] = exec.log_softmax %[[X]] : (tensor<6x16xf32>) -> tensor<6x16xf32>
// CHECK: exec.reshape %[[LOGS]] : tensor<6x16xf32> -> tensor<2x3x16xf32>
// CHECK: %[[P:.*]] = exec.probabilities %[[G:.*]] of %[[S:.*]] by %[[W:.*]] : (tensor<6x16xf32>, tensor<6xi32>, memref<4x8xi32>) -> tensor<6x16xf32>
// CHECK: %[[K:.*]], %[[U:.*]] = exec.sample_keys %[[G]] of %[[P]] slots %[[S]] positions %[[AT:.*]] by %[[W]] : {{.*}} -> (tensor<6x16xf32>, tensor<6x1xf32>)
// CHECK: exec.top_k %[[K]] less %[[U]] : (tensor<6x16xf32>, tensor<6x1xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>)
// CHECK: %[[Q:.*]] = exec.probabilities %[[F:.*]] of %[[S]] by %[[W2:.*]] : (tensor<6x2xf32>
// CHECK: %[[KF:.*]], %[[UF:.*]] = exec.sample_keys %[[F]] of %[[Q]] tokens %{{.*}} slots %[[S]] positions %[[AT]] numbers %{{.*}} by %[[W2]] :
// CHECK: %[[C:.*]] = exec.argmax %[[KF]] : (tensor<6x2xf32>) -> tensor<6xi32>
// CHECK: %[[T:.*]] = exec.gather_rows %{{.*}}, %[[C]]
// CHECK: exec.output "t" %[[T]]
// CHECK: exec.output "a" %[[AT]]
exec.program @noise decode k 2 n 2 to 2 {
  %l = exec.input "l" : tensor<2x3x16xf32>
  %f = exec.input "f" : tensor<6x2xf32>
  %s = exec.input "s" : tensor<6xi32>
  %at = exec.input "at" : tensor<6xi32>
  %n = exec.input "n" : tensor<6xi32>
  %rows = mtp.make_rows %s, %at : tensor<6xi32>
  %y = mtp.log_softmax %l : tensor<2x3x16xf32>
  exec.output "y" %y : tensor<2x3x16xf32>
  %b, %bl = mtp.top_k %l k 2 noise %rows : tensor<2x3x16xf32> -> tensor<2x3x2xi32>, tensor<2x3x2xf32>
  exec.output "b" %b : tensor<2x3x2xi32>
  %t = mtp.sample %f, %rows number %n tokens @few : tensor<6x2xf32>, tensor<6xi32> -> tensor<6xi32>
  exec.output "t" %t : tensor<6xi32>
  %a = mtp.row_positions %rows : tensor<6xi32>
  exec.output "a" %a : tensor<6xi32>
}
}

// -----

// The share of picks in their softmax: only the sum of the keys is subtracted.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state @sampling : memref<4x8xi32>
// CHECK-LABEL: exec.program @shares
// CHECK: %[[K:.*]], %{{.*}} = exec.sample_keys
// CHECK: exec.top_k %[[K]] : (tensor<6x16xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>)
exec.program @shares decode k 2 n 2 to 2 {
  %l = exec.input "l" : tensor<2x3x16xf32>
  %s = exec.input "s" : tensor<6xi32>
  %rows = mtp.make_rows %s, %s : tensor<6xi32>
  %b, %bl = mtp.top_k %l k 2 noise %rows {mtp.shares} : tensor<2x3x16xf32> -> tensor<2x3x2xi32>, tensor<2x3x2xf32>
  exec.output "b" %b : tensor<2x3x2xi32>
  exec.output "l" %bl : tensor<2x3x2xf32>
}
}

// -----

module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state @sampling : memref<4x8xi32>
exec.program @noise decode k 2 n 2 to 2 {
  %l = exec.input "l" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<2xi32>
  %rows = mtp.make_rows %s, %s : tensor<2xi32>
  // expected-error @+1 {{'mtp.top_k' op expected 2 rows, as slots and positions have, got 'tensor<4x16xf32>'}}
  %b, %bl = mtp.top_k %l k 2 noise %rows : tensor<4x16xf32> -> tensor<4x2xi32>, tensor<4x2xf32>
  exec.output "b" %b : tensor<4x2xi32>
}
}

// -----

// Logits in groups, as trees rank them. Kernels read the head's rows.
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
exec.state @sampling : memref<4x8xi32>
// CHECK-LABEL: exec.program @grouped
// CHECK: %[[L:.*]] = exec.linear {{.*}} role head : {{.*}} -> tensor<6x64xf32>
// CHECK-NOT: exec.reshape
// CHECK: %[[P:.*]] = exec.probabilities %[[L]] of
// CHECK: exec.sample_keys %[[L]] of %[[P]]
// CHECK: exec.top_k %[[L]] : (tensor<6x64xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>)
exec.program @grouped decode k 2 n 2 to 2 {
  %x = exec.input "x" : tensor<6x8xf32>
  %s = exec.input "s" : tensor<6xi32>
  %rows = mtp.make_rows %s, %s : tensor<6xi32>
  %head = mtp.weight "lm_head" : tensor<64x8xf32>
  %l = mtp.linear %x, %head role head : tensor<6x8xf32>, tensor<64x8xf32> -> tensor<6x64xf32>
  %groups = mtp.reshape %l : tensor<6x64xf32> -> tensor<2x3x64xf32>
  %b, %bl = mtp.top_k %groups k 2 noise %rows {mtp.shares} : tensor<2x3x64xf32> -> tensor<2x3x2xi32>, tensor<2x3x2xf32>
  exec.output "b" %b : tensor<2x3x2xi32>
  %r, %rl = mtp.top_k %groups k 2 : tensor<2x3x64xf32> -> tensor<2x3x2xi32>, tensor<2x3x2xf32>
  exec.output "r" %r : tensor<2x3x2xi32>
}
}
