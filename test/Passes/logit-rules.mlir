// RUN: mtp-opt %s --mtp-instantiate-rounds --mtp-expand-draft-chain --mtp-expand-verify --mtp-expand-accept | FileCheck %s --check-prefix=MARKS
// RUN: mtp-opt %s --mtp-instantiate-rounds --mtp-expand-draft-chain --mtp-expand-verify --mtp-expand-accept --mtp-expand-commit --mtp-repeat-rounds --mtp-fuse-per-slot --mtp-merge-prefill --mtp-specialize-shapes --mtp-sink-unpack --mtp-outline-control --mtp-place-cache-writes --mtp-convert-to-exec | FileCheck %s

// Picks of drafts and of verified rows are told apart. Drafts have no masks. A
// slot with penalties keeps the tokens and parents of its window. The host's
// drafts are verified if the slot has masks.
// MARKS-DAG: mtp.state @logit_path[4] : i32
// MARKS-DAG: mtp.state @host_drafts[2] : i32
// MARKS-LABEL: mtp.round @generate_k1 k 1
// MARKS: mtp.sample {{.*}} {mtp.picks_drafts}
// MARKS: mtp.await_host
// MARKS: %[[HAS:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i32
// MARKS: %[[OWN:.*]] = tensor.extract
// MARKS: %[[HOSTS:.*]] = mtp.load @host_drafts[%{{.*}}] : i32
// MARKS: arith.select %[[HAS]], %[[HOSTS]], %[[OWN]] : i32
// MARKS: mtp.load @logit_rules[
// MARKS: scf.if
// MARKS: mtp.store %{{.*}}, @logit_path[
// MARKS: mtp.store %{{.*}}, @logit_path[
// MARKS: mtp.sample {{.*}} {mtp.picks_window}

// The round without drafts has the path of the anchor, which is empty.
// CHECK-LABEL: exec.program @decode_k0
// CHECK: %[[Y:.*]] = exec.process_logits %{{.*}} slots %{{.*}} positions %{{.*}} path(%{{.*}}, %{{.*}}) depth 1 by({{.*}}) masks %{{.*}} :
// CHECK: exec.sample %[[Y]]
// CHECK-LABEL: exec.program @decode_k1
// CHECK: %[[D:.*]] = exec.process_logits draft %{{.*}} slots %[[S:.*]] positions %[[P:.*]] by({{[^)]*}}) :
// CHECK: exec.sample %[[D]] slots %[[S]] positions %[[P]]
// CHECK: %[[V:.*]] = exec.process_logits %{{.*}} path({{.*}} masks %
// CHECK: exec.sample %[[V]]
module attributes {mtp.envelope = #mtp.envelope<max_k = 1, max_batch = 2, max_context = 64, prefill_chunk = 8, page = 16>} {
mtp.weights files []
mtp.state @logit_rules[256] : i32
mtp.state @token_counts[32] : i32
mtp.state @logit_bias[64] : i32
mtp.state @logit_masks[2, 2] : i32
mtp.round @generate {
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %table = mtp.weight "bigrams" : tensor<64x64xf32>
    %l = mtp.embed %t, %table : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l : tensor<?x64xf32>
  } : tensor<?x?xi32>
  mtp.await_host %drafts : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %table = mtp.weight "table" : tensor<64x64xf32>
    %l = mtp.embed %t, %table : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    mtp.yield %l, %l : tensor<?x64xf32>, tensor<?x64xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x64xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x64xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x64xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x64xf32>
}
}
