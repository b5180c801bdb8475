// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s

// The body of a private function may leave the widths of rows and weights open.
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 1, max_context = 64, prefill_chunk = 8, page = 16>} {
// CHECK-LABEL: func.func private @any
func.func private @any(%t: tensor<?xi32>, %x: tensor<?x?xf32>, %table: tensor<?x?xf32>,
    %norm: tensor<?xf32>, %w: tensor<?x?xf32>, %bias: tensor<?xf32>, %rows: !mtp.rows)
    -> (tensor<?x?xf32>, tensor<?xi32>, tensor<?x1xf32>) {
  // CHECK: mtp.embed %{{.*}} -> tensor<?x?xf32>
  %e = mtp.embed %t, %table : tensor<?xi32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x?xf32>
  // CHECK: mtp.concat {{.*}} -> tensor<?x?xf32>
  %c = mtp.concat %m, %x : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %y = mtp.linear %c, %w bias %bias : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32> -> tensor<?x?xf32>
  %n = mtp.rms_norm %y, %norm eps 1.0e-6 : tensor<?x?xf32>, tensor<?xf32>
  %a = mtp.add %n, %x : tensor<?x?xf32>
  %gt = mtp.geglu_tanh %a, %x : tensor<?x?xf32>
  %g = mtp.swiglu %gt, %x : tensor<?x?xf32>
  %s = mtp.silu %g : tensor<?x?xf32>
  %l = mtp.slice %s cols 0 to 8 : tensor<?x?xf32> -> tensor<?x8xf32>
  %r = mtp.rope %l, %rows by <dim = 4, theta = 10000.0> heads 1 of 8 : tensor<?x8xf32>
  %q = mtp.rope %s, %rows by <dim = 4, theta = 10000.0> heads 1 of 8 : tensor<?x?xf32>
  // CHECK: mtp.attention
  %at = mtp.attention %q, %q, %q, %rows heads 1 kv_heads 1 scale 1.0
        : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %p = mtp.sample %at, %rows : tensor<?x?xf32> -> tensor<?xi32>
  %o = mtp.mask_tokens %at, %p : tensor<?x?xf32>, tensor<?xi32>
  %i = mtp.argmax %o : tensor<?x?xf32> -> tensor<?xi32>
  %tr = mtp.gather_rows %o, %i : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  %cr = mtp.concat_rows %tr rows 1, %tr rows 1 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %best, %logs = mtp.top_k %cr k 4 : tensor<?x?xf32> -> tensor<?x4xi32>, tensor<?x4xf32>
  // CHECK: mtp.log_sum_exp {{.*}} : tensor<?x?xf32> -> tensor<?x1xf32>
  %lsm = mtp.log_softmax %cr : tensor<?x?xf32>
  %lse = mtp.log_sum_exp %lsm : tensor<?x?xf32> -> tensor<?x1xf32>
  return %cr, %i, %lse : tensor<?x?xf32>, tensor<?xi32>, tensor<?x1xf32>
}
}
