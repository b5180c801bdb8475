//===- ModelPasses.td - Passes over the model --------------*- tablegen -*-===//
//
// The passes of the phases input and fuse. They read and write only mtp.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_MODEL_PASSES
#define MTP_MODEL_PASSES

include "mlir/Pass/PassBase.td"

def VerifyWiringPass : Pass<"mtp-verify-wiring", "mlir::ModuleOp"> {
  let summary = "Check how drafter, target and caches are wired";
  let description = [{
    Checks rules that no single operation can verify. A violation would only
    lower acceptance, and not fail later, so it is a compile error:

    - (W1) A module with an envelope has a round, or the programs that were made
      from one. The module contains nothing that no pass reads.
    - (W2) The drafter's embedding table has the target's vocabulary.
    - (W3) A function with `mtp.wiring` projects the concatenation of embedding
      and hidden state, in the order that it claims.
    - (W4) Each half of that concatenation has the carried hidden state's width.
    - (W5) The embedding at position 0 is masked exactly if claimed.
    - (W6) The hidden state handed on is taken before or after the head's norm,
      as claimed.
    - (W7) Attention is applied with a cache whose entries have its width.
    - (W8) The round uses every layer of every cache. (`mtp-verify-entries`
      checks several uses of one layer.)
    - (W9) The region of a draft, verify or accept runs on the rows that it is
      given, and uses no rows of the round around it.
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
  let summary = "Check that shared cache layers hold valid entries";
  let description = [{
    Input: a module whose functions are inlined. Several ops may use a layer of
    a cache, one after the other, for example a drafter that steps. The pass
    checks that

    - (E1) no two attentions write entries for the same rows in one layer: the
      second would overwrite the entries to which the first attended;
    - (E2) entries that the target has committed stay valid. Outside the region
      of `mtp.verify`, a layer that the target uses is written only at positions
      from the slot's length on, or with the values that the target writes
      there. Verify rewrites positions from the length on before it reads them.
      Values are equal if keys and values are made of tokens and rows by the
      same ops with the same weights, and each token is at its own position.
      This holds for tokens and rows of a draft step without hidden states, of
      `mtp.refresh` without them, or of `mtp.prompt_rows`.

    A round without `mtp.verify` does not say what its target is. For it, E2 is
    checked only for `mtp.cache_append` to layers that the target uses in
    another round or prefill. In a round with `mtp.commit`, no `mtp.cache_move`
    moves entries of the target.

    For recurrent layers the pass checks that

    - (E3) a round or prefill uses each layer once;
    - (E4) its rows are rows of `mtp.verify` or of `mtp.run_rows`: rows that are
      run again, as a drafter's, would enter the state twice;
    - (E5) the rows are no tree;
    - (E6) every round and prefill runs all declared layers: a skipped layer
      would miss the rows of that round.
  }];
  let statistics = [
    Statistic<"numShared", "layers-shared",
              "attentions other than the target's on a layer of the target">
  ];
}

def InlineLayersPass : Pass<"mtp-inline-layers", "mlir::ModuleOp"> {
  let summary = "Inline layer functions into the round";
  let description = [{
    Inlines every `mtp.apply` and `func.call` of the round and of exported
    functions. Weight keys become absolute, without the slash. Attention gets
    the cache and layer of the innermost application that names one; recurrent
    ops get their memory in the same way. Private functions are erased.
    Afterwards the round's regions are flat. Widths that a function leaves open
    follow from the operands of its call.
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
    `linear(concat(a, b), W)` becomes two projections, `a Wa^T`, and `b Wb^T`
    with the first as its residual. Wa and Wb are the columns of W that belong
    to a and b. The concatenation disappears. Norms of the parts stay in place,
    so that `mtp-fuse-norm-linear` finds them before a projection.
  }];
  let statistics = [
    Statistic<"numSplit", "projections-split", "projections split by column">
  ];
}

def FuseProjectionsPass : Pass<"mtp-fuse-projections", "mlir::ModuleOp"> {
  let summary = "Merge projections with siblings and with following ops";
  let description = [{
    - SwiGLU of two projections of one value becomes one projection.
    - Projections of one value (q, k and v; MLA's q_a and kv_a) become one, with
      slices of its result.
    - A value added to a projection's or the experts' result becomes its
      residual.
    - Every remaining `mtp.linear` becomes `mtp.fused_linear`.
  }];
  let statistics = [
    Statistic<"numGates", "gates-fused", "gated pairs fused">,
    Statistic<"numMerged", "projections-merged",
              "projections merged with a sibling">,
    Statistic<"numResiduals", "residuals-fused", "sums fused">
  ];
}

def FuseNormLinearPass : Pass<"mtp-fuse-norm-linear", "mlir::ModuleOp"> {
  let summary = "Fuse norms into the projections that follow";
  let description = [{
    Moves an ungrouped `mtp.rms_norm` that only projections read into these
    projections.
  }];
  let statistics = [
    Statistic<"numFused", "norms-fused", "norms moved into projections">
  ];
}

def AbsorbMLAPass : Pass<"mtp-absorb-mla", "mlir::ModuleOp"> {
  let summary = "Attend to latents instead of expanded keys and values";
  let description = [{
    Multiplies kv_b's key rows into the query and its value rows into the result
    of attention, head by head. The remaining attention has one key head (the
    latent and the shared rotated part), and its values are the latent. So a
    cache entry holds only the latent and the rotated part.
  }];
  let statistics = [
    Statistic<"numAbsorbed", "attentions-absorbed", "attentions rewritten">
  ];
}

#endif // MTP_MODEL_PASSES
