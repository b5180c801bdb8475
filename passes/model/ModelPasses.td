//===- ModelPasses.td - Passes over the model --------------*- tablegen -*-===//
//
// The passes of the phases input and fuse: they read and write mtp alone.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_MODEL_PASSES
#define MTP_MODEL_PASSES

include "mlir/Pass/PassBase.td"

def VerifyWiringPass : Pass<"mtp-verify-wiring", "mlir::ModuleOp"> {
  let summary = "Check how drafter, target and caches are wired";
  let description = [{
    What no single operation can see. A mistake here costs acceptance and
    nothing else, so it is an error of the compiler:

    - (W1) A module with an envelope has a round, or the programs that were made
      of one, and no module holds what no pass reads.
    - (W2) The drafter's embedding table has the target's vocabulary.
    - (W3) A function with `mtp.wiring` projects the concatenation of embedding
      and hidden state, in the order that it claims.
    - (W4) Each half of that concatenation has the carried hidden state's width.
    - (W5) The embedding at position 0 is masked exactly if claimed.
    - (W6) The hidden state handed on stands before or after the head's norm, as
      claimed.
    - (W7) Attention is applied with a cache whose entries have its width.
    - (W8) Every layer of every cache is used by the round. (What several uses
      of one must be is checked by `mtp-verify-entries`.)
    - (W9) What runs on rows that it is given, the region of a draft, verify or
      accept, uses no rows of the round around it.
    - (W10) Query and key of an attention are rotated alike, by the rows that
      attend.
  }];
  let statistics = [
    Statistic<"numDrafters", "drafters-checked",
              "functions whose claimed wiring was compared">,
    Statistic<"numCacheUses", "cache-layers-checked",
              "applications of attention to a layer of a cache">
  ];
}

def VerifyEntriesPass : Pass<"mtp-verify-entries", "mlir::ModuleOp"> {
  let summary = "Check that layers which several rows use hold true entries";
  let description = [{
    A layer of a cache may be used by several rows, one after the other, as a
    drafter that steps does. When all is inlined it is checked that

    - (E1) no two attentions give the same rows entries in one layer: the second
      would overwrite what the first attended to;
    - (E2) entries that the target has committed stay: beside the region of
      `mtp.verify`, a layer that it uses is written at positions from the slot's
      length on, which verify writes again before it reads them, or with what
      the target writes there. The latter holds where keys and values are made
      of tokens and rows by the same ops of the same weights, and a token stands
      at its own position: tokens and rows are those of a draft step without
      hidden states, of `mtp.refresh` without them, or of `mtp.prompt_rows`.

    A round without `mtp.verify` does not say what its target is, and is not
    checked for E2, but for what `mtp.cache_append` writes to layers that the
    target uses in another round or prefill. Beside an `mtp.commit` no
    `mtp.cache_move` moves entries of the target.

    Of recurrent layers it is checked that

    - (E3) a round or prefill uses each layer once;
    - (E4) its rows are those of `mtp.verify`, or of `mtp.run_rows`: rows that
      are run again, as a drafter's, would be in the state twice;
    - (E5) these are no tree;
    - (E6) every round and prefill runs all layers that are declared: one that
      left some out would leave them behind.
  }];
  let statistics = [
    Statistic<"numShared", "layers-shared",
              "attentions beside the target's on a layer of the target">
  ];
}

def InlineLayersPass : Pass<"mtp-inline-layers", "mlir::ModuleOp"> {
  let summary = "Inline layer functions into the round";
  let description = [{
    Inlines every `mtp.apply` and `func.call` of the round and of exported
    functions. Weight keys become absolute, without the slash; attention gets
    the cache and layer of the innermost application that names one, and
    recurrent ops get their memory so. Private functions are erased. Afterwards
    the round's regions are flat. Widths that a function leaves open follow from
    the operands of its call.
  }];
  let statistics = [
    Statistic<"numInlined", "layers-inlined", "applications inlined">,
    Statistic<"numErased", "functions-erased", "private functions erased">
  ];
}

def FuseConcatProjectionPass
    : Pass<"mtp-fuse-concat-projection", "mlir::ModuleOp"> {
  let summary = "Split projections of concatenations by column";
  let description = [{
    `linear(concat(a, b), W)` becomes `a Wa^T`, and `b Wb^T` with the former as
    its residual, where Wa and Wb are the columns of W that belong to a and b.
    Nothing is concatenated any more. Norms of the parts stay where they are, so
    that `mtp-fuse-norm-linear` finds them before a projection.
  }];
  let statistics = [
    Statistic<"numSplit", "projections-split", "projections split by column">
  ];
}

def FuseProjectionsPass : Pass<"mtp-fuse-projections", "mlir::ModuleOp"> {
  let summary = "Merge projections with their siblings and what follows them";
  let description = [{
    - SwiGLU of two projections of one value becomes one projection.
    - Projections of one value (q, k and v; MLA's q_a and kv_a) become one, with
      slices of its result.
    - A sum with a projection's or the experts' result becomes their residual.
    - What is left becomes `mtp.fused_linear` as it is.
  }];
  let statistics = [
    Statistic<"numSwiglu", "swiglu-fused", "gated pairs fused">,
    Statistic<"numMerged", "projections-merged",
              "projections merged with a sibling">,
    Statistic<"numResiduals", "residuals-fused", "sums fused">
  ];
}

def FuseNormLinearPass : Pass<"mtp-fuse-norm-linear", "mlir::ModuleOp"> {
  let summary = "Normalise inside the projections that follow";
  let description = [{
    An ungrouped `mtp.rms_norm` that only projections read becomes their norm.
  }];
  let statistics = [
    Statistic<"numFused", "norms-fused", "norms moved into projections">
  ];
}

def AbsorbMLAPass : Pass<"mtp-absorb-mla", "mlir::ModuleOp"> {
  let summary = "Attend to latents instead of expanded keys and values";
  let description = [{
    Multiplies kv_b's key rows into the query and its value rows into the result
    of attention, head by head. What remains is attention with one key head (the
    latent and the shared rotated part) whose values are the latent, so a cache
    entry is as wide as both and no wider.
  }];
  let statistics = [
    Statistic<"numAbsorbed", "attentions-absorbed", "attentions rewritten">
  ];
}

#endif // MTP_MODEL_PASSES
