// A weight that stands in the round and is used in the regions of drafter and target:
// prefill and scoring have it, too, and drafts change nothing.
//
// RUN: mtpc %s --random-weights -o %t.bin
// RUN: mtp-dump %t.bin | FileCheck %s
// RUN: mtp-run %t.bin --ids 3,1,4,1,5 -n 12 -k 0 > %t.plain
// RUN: mtp-run %t.bin --ids 3,1,4,1,5 -n 12 -k 3 > %t.drafted
// RUN: diff %t.plain %t.drafted
//
// CHECK: weight outer
// CHECK: program prompt_logits
module attributes {mtp.envelope = #mtp.envelope<max_k = 3, max_batch = 2, max_context = 64, prefill_chunk = 32, page = 16>} {
mtp.weights files []
mtp.round @generate {
  %outer = mtp.weight "outer" : tensor<8x8xf32>
  %drafts = mtp.draft_chain {
  ^bb0(%t: tensor<?xi32>, %h: tensor<?x8xf32>, %rows: !mtp.rows):
    %w = mtp.weight "head" : tensor<16x8xf32>
    %g = mtp.linear %h, %outer : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %g, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %g : tensor<?x16xf32>, tensor<?x8xf32>
  } : tensor<?x?xi32>
  %logits, %hidden = mtp.verify %drafts {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "embed" : tensor<16x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<16x8xf32> -> tensor<?x8xf32>
    %z = mtp.linear %e, %outer : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %l = mtp.linear %z, %w : tensor<?x8xf32>, tensor<16x8xf32> -> tensor<?x16xf32>
    mtp.yield %l, %e : tensor<?x16xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x16xf32>, tensor<?x8xf32>)
  %count, %picks = mtp.accept %drafts, %logits exact {
  ^bb0(%l: tensor<?x16xf32>, %rows: !mtp.rows):
    %s = mtp.sample %l, %rows : tensor<?x16xf32> -> tensor<?xi32>
    mtp.yield %s : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x16xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %count, %picks, %hidden : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
