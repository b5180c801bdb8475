//===- MTPRecurrenceOps.td - Layers with a recurrent state -*- tablegen -*-===//
//
// What a slot carries from row to row is no page of a cache and no row of a
// state: it is declared by a symbol with layers, which layers of functions name
// as they name a cache's. Passes make states of it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RECURRENCE_OPS_TD
#define MTP_RECURRENCE_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_RecurrenceOp
    : MTP_Op<"recurrence", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declare what recurrent layers carry from row to row";
  let description = [{
    `layers` layers, each with a state of `keys` by `values` numbers of f32 for
    each of `heads` heads of every slot, and the `window` - 1 rows that a causal
    convolution sees in front of a row. Heads that follow each other share one
    of `key_heads` keys and queries. The convolution's columns are those of all
    queries, keys and values: 2 * key_heads * keys + heads * values. What a row
    leaves of a state is one number for each head, or, with `decays_per_key`,
    one for each of the head's keys.

    A state stands in front of the rows that its slot ran last. Which of these
    stay is known when the next program begins, and that folds them in: nothing
    is rolled back, and there is one state, not one for each draft.

    ```mlir
    mtp.recurrence @m layers 3 heads 4 keys 16 values 16 key_heads 2 window 4
    ```

    Constraints:
    - (C1) 1 <= layers <= 4096.
    - (C2) heads, keys, values and key_heads are positive, and key_heads divides
      heads.
    - (C3) 2 <= window <= 64.
    - (C4) within the module's envelope what all slots have of a layer is at
      most 2^46 numbers.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$layers,
                       I64Attr:$heads, I64Attr:$keys, I64Attr:$values,
                       I64Attr:$key_heads, I64Attr:$window,
                       UnitAttr:$decays_per_key);
  let assemblyFormat = [{
    $sym_name `layers` $layers `heads` $heads `keys` $keys `values` $values
    `key_heads` $key_heads `window` $window
    (`decays_per_key` $decays_per_key^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Columns of the convolution.
    int64_t getColumns() {
      return 2 * int64_t(getKeyHeads()) * int64_t(getKeys()) +
             int64_t(getHeads()) * int64_t(getValues());
    }
    /// Decays of a head.
    int64_t getDecays() { return getDecaysPerKey() ? int64_t(getKeys()) : 1; }
    /// Numbers of the row that the recurrence keeps for the next fold.
    int64_t getKeptWidth() {
      return int64_t(getHeads()) *
             (int64_t(getKeys()) + int64_t(getValues()) + getDecays());
    }
  }];
  let hasVerifier = 1;
}

/// Has a layer of a recurrence, which an `mtp.apply` may say.
class MTP_RecurrentOp<string mnemonic, list<Trait> traits>
    : MTP_Op<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
         MemoryEffects<[MemRead<MTP_RecurrenceResource>,
                        MemWrite<MTP_RecurrenceResource>]>], traits)>;

def MTP_CausalConvOp : MTP_RecurrentOp<"causal_conv",
    [AllTypesMatch<["x", "result"]>]> {
  let summary = "SiLU of a convolution over each column of a slot's rows";
  let description = [{
    `y[t] = silu(sum over i of weight[:, i] * x[t - window + 1 + i])`, column by
    column: a depthwise convolution over a slot's rows in their order, as
    Qwen3-Next's, whose checkpoints have the weight as
    `[columns, 1, window]`. Rows before position 0 are zeros.

    The layer is that of the application around it, or `in @memory[layer]`.

    ```mlir
    %c = mtp.causal_conv %qkv, %w, %rows : tensor<?x128xf32>, tensor<128x4xf32>
    ```

    Constraints:
    - (C1) the weight has a row for each column of x.
    - (C2) the recurrence exists and has the layer, x has its columns, and the
      weight its window.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_WeightMatrix:$weight,
                       MTP_Rows:$rows,
                       OptionalAttr<FlatSymbolRefAttr>:$memory,
                       OptionalAttr<I64Attr>:$layer);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $weight `,` $rows (`in` $memory^ `[` $layer `]`)? attr-dict
    `:` type($result) `,` type($weight)
  }];
  let hasVerifier = 1;
}

def MTP_DeltaRuleOp : MTP_RecurrentOp<"delta_rule", [
    AllTypesMatch<["q", "k"]>, AllTypesMatch<["v", "result"]>]> {
  let summary = "Run rows through the gated delta rule";
  let description = [{
    Gated DeltaNet (arXiv:2412.06464), as transformers' Qwen3-Next runs it row
    by row. Of each head, with a state S of `keys` by `values`:
    `u = beta * (v - decay * S^T k)`, `S = decay * S + k u^T`,
    `y = scale * S^T q`. Position 0 begins with zeros. Where the recurrence has
    `decays_per_key`, each row of S has a decay of its own, as in Kimi Delta
    Attention (arXiv:2510.26692): `u = beta * (v - (decay * S)^T k)`.

    Rows of a slot are run in their order, whatever k, chunk or company they
    have, so that a row's bits depend on the rows before it alone. A dead row
    changes nothing.

    ```mlir
    %o = mtp.delta_rule %q, %k, %v decay %g beta %b, %rows scale 0.25
         : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>
    ```

    Constraints:
    - (C1) the widths are static, and scale is finite and positive.
    - (C2) q, v, decay and beta have the same rows.
    - (C3) the recurrence exists and has the layer, and q, v, decay and beta
      have its columns: key_heads * keys, heads * values, heads, or heads * keys
      with decays_per_key, and heads.
  }];
  let arguments = (ins MTP_Activation:$q, MTP_Activation:$k, MTP_Activation:$v,
                       MTP_Activation:$decay, MTP_Activation:$beta,
                       MTP_Rows:$rows,
                       OptionalAttr<FlatSymbolRefAttr>:$memory,
                       OptionalAttr<I64Attr>:$layer, F64Attr:$scale);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `decay` $decay `beta` $beta `,` $rows
    (`in` $memory^ `[` $layer `]`)? `scale` $scale attr-dict
    `:` type($q) `,` type($result) `,`
    custom<GateTypes>(type($decay), type($beta))
  }];
  let hasVerifier = 1;
}

def MTP_RunRowsOp
    : MTP_Op<"run_rows", [Pure, AllTypesMatch<["pending", "keeps"]>]> {
  let summary = "Say what a recurrence does with rows of slots";
  let description = [{
    Beside its slot and position a row has two numbers of its slot: `pending` of
    the rows that the slot kept last are folded into a recurrent state before
    the slot's rows here run, and of these the last `keeps` stay for the next
    program. Both fold the anchor of the round before and the drafts that were
    accepted, behind a prompt's chunk its last row; a round keeps the whole
    window, a prompt one row. Rows of a slot follow each other in order.

    `mtp-expand-verify` writes it for the target's rows.

    ```mlir
    %runs = mtp.run_rows %rows pending %p keeps %n : tensor<?xi32>
    ```
  }];
  let arguments = (ins MTP_Rows:$rows, MTP_Tokens:$pending, MTP_Tokens:$keeps);
  let results = (outs MTP_Rows:$result);
  let assemblyFormat = [{
    $rows `pending` $pending `keeps` $keeps attr-dict `:` type($pending)
  }];
}

#endif // MTP_RECURRENCE_OPS_TD
