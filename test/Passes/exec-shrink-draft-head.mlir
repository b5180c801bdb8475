// RUN: mtp-opt %s --exec-shrink-draft-head=tokens=1,5,40 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARN --input-file=%t.err
// RUN: not mtp-opt %s --exec-shrink-draft-head=tokens=1,64 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not mtp-opt %s --exec-shrink-draft-head 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/decode k 2 n 1 to 1/function/' %s | not mtp-opt --exec-shrink-draft-head=tokens=1,5 2>&1 | FileCheck %s --check-prefix=NO-ROUND

// RANGE: error: 'exec.weight' op expected tokens of the draft vocabulary below 64, got 64
// NONE: error: expected tokens of the draft vocabulary, got none
// NO-ROUND: error: expected drafts that are picked from a head's logits, found none to give a smaller vocabulary

// Heads of drafts that stay large are named.
// WARN: :[[#]]:[[#]]: warning: this head drafts from the whole vocabulary, not from the draft vocabulary's 3 tokens, since it is no plain product of one weight; a head that is to draft from few tokens can have a vocabulary of its own (mtp.vocabulary)
// WARN-NEXT: residual
// WARN: warning: this head drafts from the whole vocabulary, {{.*}} since it is no plain product of one weight
// WARN-NEXT: bias
// WARN: warning: this head drafts from the whole vocabulary, {{.*}} since its logits are read by more than picks
// WARN: note: they are read here
// WARN-NEXT: exec.columns
// WARN: warning: this head drafts from the whole vocabulary, {{.*}} since its logits are read by more than picks
// WARN: note: they are read here
// WARN-NEXT: exec.copy
// An op between a head and its picks is named, too.
// WARN: warning: this head drafts from the whole vocabulary, {{.*}} since its logits are read by more than picks
// WARN: note: they are read here
// WARN-NEXT: exec.add
// WARN-NOT: warning

// Drafts are the picks that the host does not get. The target's head stays
// whole. All drafts share the small head. An argmax is looked up among the
// tokens of the columns.
// CHECK: exec.constant @draft_vocabulary dense<{{\[\[}}1], [5], [40]]> : tensor<3x1xi32>
// CHECK: exec.weight @head_draft #exec.panels<32> k 8 n 3 stack 1 [#exec.source<key = "lm_head">] picks @draft_vocabulary : <f32>
// CHECK: exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.weight @head #exec.panels<32> k 8 n 64 stack 1 [#exec.source<key = "lm_head">] : <f32>
exec.state @sampling : memref<1x8xi32>
// A head with a vocabulary of its own.
// CHECK: exec.weight @reduced #exec.panels<32> k 8 n 4 stack 1
exec.weight @reduced #exec.panels<32> k 8 n 4 stack 1 [#exec.source<key = "reduced">] : <f32>
exec.constant @own dense<[[0], [3], [9], [50]]> : tensor<4x1xi32>
// CHECK-LABEL: exec.program @round
exec.program @round decode k 2 n 1 to 1 {
  %x = exec.input "x" : tensor<1x8xf32>
  %s = exec.input "s" : tensor<8xf32>
  %w = exec.ref @head : memref<2x8x32xf32>
  // CHECK: %[[W:.*]] = exec.ref @head_draft : memref<1x8x32xf32>
  // CHECK: %[[L:.*]] = exec.linear %{{.*}}, %[[W]] as <f32> role head : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x3xf32>
  // CHECK: %[[V:.*]] = exec.ref @draft_vocabulary : memref<3x1xi32>
  // CHECK: %[[P:.*]] = exec.argmax %[[L]] : (tensor<1x3xf32>)
  // CHECK: %[[T:.*]] = exec.gather_rows %[[V]], %[[P]] : (memref<3x1xi32>, tensor<1xi32>) -> tensor<1xi32>
  %l = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p = exec.argmax %l : (tensor<1x64xf32>) -> tensor<1xi32>
  // A norm before the head.
  // CHECK: exec.linear {{.*}} norm %{{.*}} role head : (tensor<1x8xf32>, tensor<8xf32>, memref<1x8x32xf32>) -> tensor<1x3xf32>
  %l2 = exec.linear %x, %w as <f32> norm %s eps 1.0e-6 role head
    : (tensor<1x8xf32>, tensor<8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p2 = exec.argmax %l2 : (tensor<1x64xf32>) -> tensor<1xi32>
  // A sampled draft: the map determines a column's noise.
  // CHECK: %[[L3:.*]] = exec.linear {{.*}} -> tensor<1x3xf32>
  // CHECK: %[[V3:.*]] = exec.ref @draft_vocabulary : memref<3x1xi32>
  // CHECK: %[[P3:.*]] = exec.sample %[[L3]] tokens %[[V3]] slots
  %at = exec.input "at" : tensor<1xi32>
  %sampling = exec.ref @sampling : memref<1x8xi32>
  %l3 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p3 = exec.sample %l3 slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  // Not shrunk: a residual and a bias have the whole vocabulary's columns, a
  // part of the columns has other numbers, and these logits have another
  // reader.
  // CHECK: exec.linear {{.*}} residual {{.*}} -> tensor<1x64xf32>
  // CHECK: exec.argmax {{.*}} : (tensor<1x64xf32>)
  %r = exec.input "r" : tensor<1x64xf32>
  %l4 = exec.linear %x, %w as <f32> residual %r role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %p4 = exec.argmax %l4 : (tensor<1x64xf32>) -> tensor<1xi32>
  // CHECK: exec.linear {{.*}} bias {{.*}} -> tensor<1x64xf32>
  // CHECK: exec.argmax {{.*}} : (tensor<1x64xf32>)
  %bias = exec.input "bias" : tensor<64xf32>
  %lb = exec.linear %x, %w as <f32> bias %bias role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>, tensor<64xf32>) -> tensor<1x64xf32>
  %pb = exec.argmax %lb : (tensor<1x64xf32>) -> tensor<1xi32>
  // CHECK: %[[L5:.*]] = exec.linear {{.*}} -> tensor<1x64xf32>
  // CHECK: %[[C5:.*]] = exec.columns %[[L5]][1 to 64]
  // CHECK: exec.argmax %[[C5]] : (tensor<1x63xf32>)
  %l5 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %l5_1 = exec.columns %l5[1 to 64] : tensor<1x64xf32>
  %p5 = exec.argmax %l5_1 : (tensor<1x63xf32>) -> tensor<1xi32>
  // CHECK: %[[L6:.*]] = exec.linear {{.*}} -> tensor<1x64xf32>
  // CHECK: exec.sample %[[L6]] slots
  %l6 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p6 = exec.sample %l6 slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  exec.output "draft_logits" %l6 : tensor<1x64xf32>
  // Siblings: each is picked from the logits left by the ones before it. The
  // excluded column is looked up by its token; a token without a column
  // excludes none.
  // CHECK: %[[L7:.*]] = exec.linear {{.*}} -> tensor<1x3xf32>
  // CHECK: %[[P7:.*]] = exec.sample %[[L7]] tokens
  // CHECK: %[[COLUMNS:.*]] = exec.ref @draft_columns : memref<64x1xi32>
  // CHECK: %[[C7:.*]] = exec.gather_rows %[[COLUMNS]], %[[P7]]
  // CHECK: %[[REST:.*]] = exec.mask_tokens %[[L7]], %[[C7]] : (tensor<1x3xf32>, tensor<1xi32>) -> tensor<1x3xf32>
  // CHECK: exec.argmax %[[REST]] : (tensor<1x3xf32>)
  // CHECK: exec.gather_rows %{{.*}} : (memref<3x1xi32>, tensor<1xi32>)
  // CHECK: exec.gather_rows %{{.*}} : (memref<64x1xi32>, tensor<1xi32>)
  // CHECK: %[[LAST:.*]] = exec.mask_tokens %[[REST]], %{{.*}} -> tensor<1x3xf32>
  // CHECK: exec.sample %[[LAST]] tokens
  %l7 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p7 = exec.sample %l7 slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  %rest = exec.mask_tokens %l7, %p7 : (tensor<1x64xf32>, tensor<1xi32>) -> tensor<1x64xf32>
  %p8 = exec.argmax %rest : (tensor<1x64xf32>) -> tensor<1xi32>
  %last = exec.mask_tokens %rest, %p8 : (tensor<1x64xf32>, tensor<1xi32>) -> tensor<1x64xf32>
  %p9 = exec.sample %last slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  // The best of a row's keys are siblings, too. Their noise is that of tokens,
  // to which the columns are mapped.
  // CHECK: %[[L8:.*]] = exec.linear {{.*}} -> tensor<1x3xf32>
  // CHECK: %[[Q8:.*]] = exec.probabilities %[[L8]] of {{.*}} -> tensor<1x3xf32>
  // CHECK: %[[V8:.*]] = exec.ref @draft_vocabulary : memref<3x1xi32>
  // CHECK: %[[K8:.*]], %[[S8:.*]] = exec.sample_keys %[[L8]] of %[[Q8]] tokens %[[V8]] slots {{.*}} -> (tensor<1x3xf32>, tensor<1x1xf32>)
  // CHECK: %[[C8:.*]], %{{.*}} = exec.top_k %[[K8]] less %[[S8]]
  // CHECK: %[[F8:.*]] = exec.reshape %[[C8]] : tensor<1x2xi32> -> tensor<2xi32>
  // CHECK: %[[T8:.*]] = exec.gather_rows %[[V8]], %[[F8]]
  // CHECK: %[[B8:.*]] = exec.reshape %[[T8]] : tensor<2xi32> -> tensor<1x2xi32>
  // CHECK: exec.reshape %[[B8]] : tensor<1x2xi32> -> tensor<2xi32>
  %l13 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %q13 = exec.probabilities %l13 of %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1x64xf32>
  %k13, %s13 = exec.sample_keys %l13 of %q13 slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>)
    -> (tensor<1x64xf32>, tensor<1x1xf32>)
  %b13, %g13 = exec.top_k %k13 less %s13
    : (tensor<1x64xf32>, tensor<1x1xf32>) -> (tensor<1x2xi32>, tensor<1x2xf32>)
  %f13 = exec.reshape %b13 : tensor<1x2xi32> -> tensor<2xi32>
  // So is the largest key alone.
  // CHECK: %[[V9:.*]] = exec.ref @draft_vocabulary : memref<3x1xi32>
  // CHECK: %[[K9:.*]], %{{.*}} = exec.sample_keys %{{.*}} tokens %[[V9]] {{.*}} numbers {{.*}} -> (tensor<1x3xf32>, tensor<1x1xf32>)
  // CHECK: %[[C9:.*]] = exec.argmax %[[K9]] : (tensor<1x3xf32>) -> tensor<1xi32>
  // CHECK: exec.gather_rows %[[V9]], %[[C9]]
  %l15 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %q15 = exec.probabilities %l15 of %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1x64xf32>
  %k15, %s15 = exec.sample_keys %l15 of %q15 slots %at positions %at numbers %at by %sampling
    : (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>)
    -> (tensor<1x64xf32>, tensor<1x1xf32>)
  %p15 = exec.argmax %k15 : (tensor<1x64xf32>) -> tensor<1xi32>
  // Keys whose best go to the host are not drafts.
  // CHECK: exec.linear {{.*}} -> tensor<1x64xf32>
  %l14 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %q14 = exec.probabilities %l14 of %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1x64xf32>
  %k14, %s14 = exec.sample_keys %l14 of %q14 slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>)
    -> (tensor<1x64xf32>, tensor<1x1xf32>)
  %b14, %g14 = exec.top_k %k14 less %s14
    : (tensor<1x64xf32>, tensor<1x1xf32>) -> (tensor<1x1xi32>, tensor<1x1xf32>)
  %f14 = exec.reshape %b14 : tensor<1x1xi32> -> tensor<1xi32>
  exec.output "best" %f14 : tensor<1xi32>
  // A pick with its probability is the best of the logits.
  // CHECK: %[[L16:.*]] = exec.linear {{.*}} -> tensor<1x3xf32>
  // CHECK: %[[V16:.*]] = exec.ref @draft_vocabulary : memref<3x1xi32>
  // CHECK: %[[C16:.*]], %[[LOG16:.*]] = exec.top_k %[[L16]] : (tensor<1x3xf32>)
  // CHECK: %[[F16:.*]] = exec.reshape %[[C16]] : tensor<1x1xi32> -> tensor<1xi32>
  // CHECK: %[[T16:.*]] = exec.gather_rows %[[V16]], %[[F16]]
  // CHECK: %[[B16:.*]] = exec.reshape %[[T16]] : tensor<1xi32> -> tensor<1x1xi32>
  // CHECK: exec.reshape %[[B16]] : tensor<1x1xi32> -> tensor<1xi32>
  // CHECK: exec.copy %[[LOG16]]
  %l16 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %b16, %g16 = exec.top_k %l16 : (tensor<1x64xf32>) -> (tensor<1x1xi32>, tensor<1x1xf32>)
  %f16 = exec.reshape %b16 : tensor<1x1xi32> -> tensor<1xi32>
  %h16 = exec.copy %g16 : (tensor<1x1xf32>) -> tensor<1x1xf32>
  // A pick that goes to the host is not a draft.
  // CHECK: exec.linear {{.*}} -> tensor<1x64xf32>
  // CHECK: exec.top_k {{.*}} : (tensor<1x64xf32>)
  %l17 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %b17, %g17 = exec.top_k %l17 : (tensor<1x64xf32>) -> (tensor<1x1xi32>, tensor<1x1xf32>)
  %f17 = exec.reshape %b17 : tensor<1x1xi32> -> tensor<1xi32>
  exec.output "likely" %f17 : tensor<1xi32>
  // Logits with a reader that does not pick stay whole.
  // CHECK: exec.linear {{.*}} -> tensor<1x64xf32>
  %l10 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p10 = exec.argmax %l10 : (tensor<1x64xf32>) -> tensor<1xi32>
  %kept = exec.copy %l10 : (tensor<1x64xf32>) -> tensor<1x64xf32>
  // So do logits to which a value is added before the pick.
  // CHECK: %[[L11:.*]] = exec.linear {{.*}} -> tensor<1x64xf32>
  // CHECK: %[[SUM:.*]] = exec.add %[[L11]]
  // CHECK: exec.argmax %[[SUM]] : (tensor<1x64xf32>)
  %l11 = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %sum = exec.add %l11, %r : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %p11 = exec.argmax %sum : (tensor<1x64xf32>) -> tensor<1xi32>
  // A product that is no head stays.
  // CHECK: exec.linear {{.*}} -> tensor<1x64xf32>
  %l12 = exec.linear %x, %w as <f32>
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %p12 = exec.argmax %l12 : (tensor<1x64xf32>) -> tensor<1xi32>
  // Heads with a vocabulary of their own stay, without a warning: the columns
  // of their picks are looked up already.
  // CHECK: %[[L18:.*]] = exec.linear {{.*}} -> tensor<1x4xf32>
  // CHECK: exec.argmax %[[L18]] : (tensor<1x4xf32>)
  %small = exec.ref @reduced : memref<1x8x32xf32>
  %own = exec.ref @own : memref<4x1xi32>
  %l18 = exec.linear %x, %small as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  %p18 = exec.argmax %l18 : (tensor<1x4xf32>) -> tensor<1xi32>
  %t18 = exec.gather_rows %own, %p18 : (memref<4x1xi32>, tensor<1xi32>) -> tensor<1xi32>
  // CHECK: %[[L19:.*]] = exec.linear {{.*}} -> tensor<1x4xf32>
  // CHECK: exec.top_k %[[L19]] : (tensor<1x4xf32>)
  %l19 = exec.linear %x, %small as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  %b19, %g19 = exec.top_k %l19 : (tensor<1x4xf32>) -> (tensor<1x2xi32>, tensor<1x2xf32>)
  %f19 = exec.reshape %b19 : tensor<1x2xi32> -> tensor<2xi32>
  %t19 = exec.gather_rows %own, %f19 : (memref<4x1xi32>, tensor<2xi32>) -> tensor<2xi32>
  // CHECK: %[[L20:.*]] = exec.linear {{.*}} -> tensor<1x4xf32>
  // CHECK: exec.probabilities %[[L20]] of
  %l20 = exec.linear %x, %small as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  %q20 = exec.probabilities %l20 of %at by %sampling
    : (tensor<1x4xf32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1x4xf32>
  %k20, %s20 = exec.sample_keys %l20 of %q20 tokens %own slots %at positions %at by %sampling
    : (tensor<1x4xf32>, tensor<1x4xf32>, memref<4x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>)
    -> (tensor<1x4xf32>, tensor<1x1xf32>)
  %p20 = exec.argmax %k20 : (tensor<1x4xf32>) -> tensor<1xi32>
  // CHECK: %[[L21:.*]] = exec.linear {{.*}} -> tensor<1x4xf32>
  // CHECK: exec.sample %[[L21]] tokens
  %l21 = exec.linear %x, %small as <f32> role head
    : (tensor<1x8xf32>, memref<1x8x32xf32>) -> tensor<1x4xf32>
  %p21 = exec.sample %l21 tokens %own slots %at positions %at by %sampling
    : (tensor<1x4xf32>, memref<4x1xi32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  // The target's pick goes to the host, so its head is not a draft's, even if
  // its logits do not go to the host.
  // CHECK: exec.linear {{.*}} -> tensor<1x64xf32>
  // CHECK: exec.sample {{.*}} : (tensor<1x64xf32>
  %t = exec.linear %x, %w as <f32> role head
    : (tensor<1x8xf32>, memref<2x8x32xf32>) -> tensor<1x64xf32>
  %tp = exec.sample %t slots %at positions %at by %sampling
    : (tensor<1x64xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x8xi32>) -> tensor<1xi32>
  exec.output "picks" %tp : tensor<1xi32>
}
