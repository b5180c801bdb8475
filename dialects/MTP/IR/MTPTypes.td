//===- MTPTypes.td - Types and type constraints ------------*- tablegen -*-===//

#ifndef MTP_TYPES_TD
#define MTP_TYPES_TD

include "dialects/MTP/IR/MTPDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"

class MTP_Type<string name, string typeMnemonic> : TypeDef<MTP_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def MTP_Rows : MTP_Type<"Rows", "rows"> {
  let summary = "rows of an activation: slot, position and visibility";
  let description = [{
    One value describes all rows of the activations that it goes with. A padding
    row has position -1: it attends to nothing and writes to the dummy page.
    Rows of `mtp.tree_rows` and `mtp.make_tree_rows` also carry which rows see
    which.
  }];
}

/// Activations: one row per token.
def MTP_Activation : 2DTensorOf<[F32]>;
/// Token ids, one per row; also row indices.
def MTP_Tokens : 1DTensorOf<[I32]>;
/// Token ids or counts per slot and depth.
def MTP_TokenGrid : 2DTensorOf<[I32]>;
/// One set of rows per row, as bits.
def MTP_Masks : 1DTensorOf<[I64]>;
/// Logits per slot and depth.
def MTP_LogitsGrid : 3DTensorOf<[F32]>;
/// Weights are always static.
def MTP_WeightVector : 1DTensorOf<[F32, BF16]>;
def MTP_WeightMatrix : 2DTensorOf<[F32, BF16]>;
def MTP_WeightStack : 3DTensorOf<[F32, BF16]>;
def MTP_AnyWeight : TensorRankOf<[F32, BF16], [1, 2, 3]>;

#endif // MTP_TYPES_TD
