// RUN: mtp-opt %s --mtp-convert-to-exec | FileCheck %s

// Gates of recurrent layers; vectors are packed unchanged, in f32.
// CHECK-DAG: exec.weight @rate #exec.raw k 2 n 1 stack 1 [#exec.source<key = "rate", shape = [2]>] : <f32>
// CHECK-LABEL: exec.program @gates
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[G:.*]] = exec.input "g"
// CHECK: %[[S:.*]] = exec.sigmoid %[[X]] :
// CHECK: %[[H:.*]] = exec.sigmoid_gate %[[S]] by %[[G]] :
// CHECK: %[[N:.*]] = exec.l2_norm %[[H]] groups 2 eps 9.99999997E-7 :
// CHECK: %[[D:.*]] = exec.decay %[[G]] rate %{{.*}} bias %{{.*}} :
// CHECK: %[[E:.*]] = exec.decay %[[G]] rate %{{.*}} bias %{{.*}} linear :
// CHECK: exec.output "n" %[[N]]
// CHECK: exec.output "d" %[[D]]
// CHECK: exec.output "e" %[[E]]
exec.program @gates function {
  %x = exec.input "x" : tensor<4x8xf32>
  %g = exec.input "g" : tensor<4x2xf32>
  %rate = mtp.weight "rate" : tensor<2xbf16>
  %bias = mtp.weight "bias" : tensor<2xf32>
  %s = mtp.sigmoid %x : tensor<4x8xf32>
  %h = mtp.sigmoid_gate %s by %g : tensor<4x8xf32>, tensor<4x2xf32>
  %n = mtp.l2_norm %h groups 2 eps 1.0e-6 : tensor<4x8xf32>
  %d = mtp.decay %g rate %rate bias %bias : tensor<4x2xf32>, tensor<2xbf16>, tensor<2xf32>
  %e = mtp.decay %g rate %rate bias %bias linear : tensor<4x2xf32>, tensor<2xbf16>, tensor<2xf32>
  exec.output "n" %n : tensor<4x8xf32>
  exec.output "d" %d : tensor<4x2xf32>
  exec.output "e" %e : tensor<4x2xf32>
}
