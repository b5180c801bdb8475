// RUN: mtp-opt %s --mtp-convert-to-exec | FileCheck %s
// RUN: mtp-opt %s --mtp-convert-to-exec '--exec-quantize-weights=head-format=int8' | FileCheck %s --check-prefix=HEAD
// RUN: mtp-opt %s --mtp-convert-to-exec '--exec-quantize-weights=format=int8 head-format=none' | FileCheck %s --check-prefix=BODY
// RUN: mtp-opt %s --mtp-convert-to-exec --exec-shrink-draft-head=tokens=1,5 2>&1 >/dev/null | FileCheck %s --check-prefix=SHRINK
// RUN: mtp-opt %s --mtp-convert-to-exec --exec-fuse-argmax 2>&1 >/dev/null | FileCheck %s --check-prefix=FUSE

// Methods that do not state the roles of projections. The roles are found by
// tracing back from picked tokens, chosen experts and logits outputs, through
// all ops on logits. Then the head is quantized, or a remark is made.

// HEAD-DAG: exec.weight @lm_head {{.*}} : <int8, group = 64>
// HEAD-DAG: exec.weight @own {{.*}} : <int8, group = 64>
// HEAD-DAG: exec.weight @part {{.*}} : <int8, group = 64>
// HEAD-DAG: exec.weight @gate {{.*}} : <bf16>{{$}}
// HEAD-DAG: exec.weight @up {{.*}} : <bf16>{{$}}
// HEAD-DAG: exec.weight @scored {{.*}} : <int8, group = 64>
// HEAD-DAG: exec.weight @said {{.*}} : <int8, group = 64>
// BODY-DAG: exec.weight @lm_head {{.*}} : <bf16>{{$}}
// BODY-DAG: exec.weight @own {{.*}} : <bf16>{{$}}
// BODY-DAG: exec.weight @part {{.*}} : <bf16>{{$}}
// BODY-DAG: exec.weight @gate {{.*}} : <bf16>{{$}}
// BODY-DAG: exec.weight @up {{.*}} : <int8, group = 64>
// BODY-DAG: exec.weight @scored {{.*}} : <bf16>{{$}}
// BODY-DAG: exec.weight @said {{.*}} : <bf16>{{$}}

// SHRINK: warning: this head drafts from the whole vocabulary, not from the draft vocabulary's 2 tokens, since its logits are read by more than picks
// SHRINK-NEXT: mtp.linear %x, %head
// SHRINK: note: they are read here
// SHRINK-NEXT: mtp.add %l, %prior

// FUSE: remark: the logits of this head are written in full and read again by a pick, since the pick does not read them as they are
// FUSE-NEXT: mtp.linear %x, %head
// FUSE: note: they are changed here
// FUSE-NEXT: mtp.add %l, %prior
// FUSE: remark: the logits of this head
// FUSE-NEXT: mtp.fused_linear %x weights(%own) residual
// FUSE-NOT: exec.add

// CHECK-LABEL: exec.program @round
// CHECK: exec.linear {{.*}} as <bf16> role head : {{.*}} -> tensor<2x64xf32>
// CHECK: exec.add
// CHECK: exec.argmax
// CHECK: exec.linear {{.*}} residual %{{.*}} role head :
// CHECK: exec.argmax
// CHECK: exec.linear {{.*}} as <bf16> role head : {{.*}} -> tensor<2x128xf32>
// CHECK: exec.argmax
// CHECK: exec.linear {{.*}} as <bf16> role head : {{.*}} -> tensor<2x64xf32>
// CHECK: exec.argmax
exec.program @round decode k 2 n 2 to 2 {
  %x = exec.input "x" : tensor<2x8xf32>
  %prior = exec.input "prior" : tensor<2x64xf32>
  %table = mtp.weight "table" : tensor<64x8xbf16>
  // A value is added.
  %head = mtp.weight "lm_head" : tensor<64x8xbf16>
  %l = mtp.linear %x, %head : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  %sum = mtp.add %l, %prior : tensor<2x64xf32>
  %p = mtp.argmax %sum : tensor<2x64xf32> -> tensor<2xi32>
  %again = mtp.embed %p, %table : tensor<2xi32>, tensor<64x8xbf16> -> tensor<2x8xf32>
  // The addition in one op.
  %own = mtp.weight "own" : tensor<64x8xbf16>
  %f = mtp.fused_linear %x weights(%own) residual %prior
       : (tensor<2x8xf32>, tensor<64x8xbf16>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %pf = mtp.argmax %f : tensor<2x64xf32> -> tensor<2xi32>
  exec.output "drafts" %pf : tensor<2xi32>
  // A part of the columns.
  %part = mtp.weight "part" : tensor<128x8xbf16>
  %both = mtp.linear %x, %part : tensor<2x8xf32>, tensor<128x8xbf16> -> tensor<2x128xf32>
  %cols = mtp.slice %both cols 64 to 128 : tensor<2x128xf32> -> tensor<2x64xf32>
  %pc = mtp.argmax %cols : tensor<2x64xf32> -> tensor<2xi32>
  exec.output "others" %pc : tensor<2xi32>
  // The last head is like the first, and no op follows it.
  %ld = mtp.linear %again, %head : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  %pd = mtp.argmax %ld : tensor<2x64xf32> -> tensor<2xi32>
  %e = mtp.embed %pd, %table : tensor<2xi32>, tensor<64x8xbf16> -> tensor<2x8xf32>
  exec.output "e" %e : tensor<2x8xf32>
}

// A router before a bias. The projection that feeds a router is none, and
// neither is one that feeds a head. Logits that leave the program are a head's.
// A given role stays.
// CHECK-LABEL: exec.program @scores
// CHECK: exec.linear {{.*}} as <bf16> activation swiglu :
// CHECK: exec.linear {{.*}} as <bf16> role router :
// CHECK: exec.add
// CHECK: exec.moe_route
// CHECK: exec.linear {{.*}} as <bf16> role head :
// CHECK: exec.rms_norm
// CHECK: exec.output "logits"
// CHECK: exec.linear {{.*}} as <bf16> role head :
// CHECK: exec.output "hidden"
exec.program @scores function {
  %x = exec.input "x" : tensor<2x8xf32>
  %bias = exec.input "bias" : tensor<2x4xf32>
  %up = mtp.weight "up" : tensor<8x8xbf16>
  %h = mtp.fused_linear %x weights(%up, %up) activation swiglu
       : (tensor<2x8xf32>, tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<2x8xf32>
  %gate = mtp.weight "gate" : tensor<4x8xbf16>
  %r = mtp.linear %h, %gate : tensor<2x8xf32>, tensor<4x8xbf16> -> tensor<2x4xf32>
  %b = mtp.add %r, %bias : tensor<2x4xf32>
  %i, %s = mtp.moe_route %b softmax top_k 2 : tensor<2x4xf32> -> tensor<2x2xi32>, tensor<2x2xf32>
  exec.output "experts" %i : tensor<2x2xi32>
  %w = mtp.weight "scored" : tensor<64x8xbf16>
  %n = mtp.weight "n" : tensor<64xf32>
  %l = mtp.linear %h, %w : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  %normed = mtp.rms_norm %l, %n eps 1.0e-6 : tensor<2x64xf32>, tensor<64xf32>
  exec.output "logits" %normed : tensor<2x64xf32>
  %said = mtp.weight "said" : tensor<64x8xbf16>
  %k = mtp.linear %h, %said role head : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  exec.output "hidden" %k : tensor<2x64xf32>
}

// The best column alone is a pick like an argmax; the best of several may be of
// anything.
// CHECK-LABEL: exec.program @likely
// CHECK: exec.linear {{.*}} as <bf16> role head :
// CHECK: exec.linear {{.*}} as <bf16> :
exec.program @likely function {
  %x = exec.input "x" : tensor<2x8xf32>
  %few = mtp.weight "few" : tensor<64x8xbf16>
  %l = mtp.linear %x, %few : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  %b, %g = mtp.top_k %l k 1 : tensor<2x64xf32> -> tensor<2x1xi32>, tensor<2x1xf32>
  exec.output "logs" %g : tensor<2x1xf32>
  %any = mtp.weight "any" : tensor<64x8xbf16>
  %s = mtp.linear %x, %any : tensor<2x8xf32>, tensor<64x8xbf16> -> tensor<2x64xf32>
  %c, %h = mtp.top_k %s k 2 : tensor<2x64xf32> -> tensor<2x2xi32>, tensor<2x2xf32>
  exec.output "scores" %h : tensor<2x2xf32>
}
