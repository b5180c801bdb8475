// RUN: mtp-opt %s --mtp-outline-control --mtp-convert-to-exec | FileCheck %s
// RUN: mtp-opt %s --mtp-outline-control --mtp-convert-to-exec --exec-fuse-argmax 2>&1 >/dev/null | FileCheck %s --check-prefix=FUSE

// A body of control that caps the logits: the projection before it is a head,
// and the pick after it, which reads all logits, gets a remark.
// FUSE: remark: the logits of this head are written in full
// FUSE-NEXT: mtp.linear
// FUSE: note: they are changed here
// FUSE-NEXT: mtp.per_slot
module attributes {mtp.envelope = #mtp.envelope<max_k = 2, max_batch = 4, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: exec.program @capped
exec.program @capped function {
  %slots = exec.input "slots" : tensor<2xi32>
  %x = exec.input "x" : tensor<2x8xf32>
  %w = mtp.weight "lm_head" : tensor<64x8xbf16>
  // CHECK: %[[L:.*]] = exec.linear {{.*}} role head :
  // CHECK: %[[C:.*]] = exec.control {{.*}}(%[[L]])
  // CHECK: exec.argmax %[[C]]
  %l = mtp.linear %x, %w : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  %capped = mtp.per_slot %slots(%l) {
  ^bb0(%index: index, %slot: i32, %row: tensor<64xf32>):
    %y = tensor.generate {
    ^bb0(%i: index):
      %a = tensor.extract %row[%i] : tensor<64xf32>
      %t = math.tanh %a : f32
      tensor.yield %t : f32
    } : tensor<64xf32>
    mtp.yield %y : tensor<64xf32>
  } : (tensor<2xi32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %p = mtp.argmax %capped : tensor<2x64xf32> -> tensor<2xi32>
  exec.output "p" %p : tensor<2xi32>
}
}
