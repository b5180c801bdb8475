//===- MTPRecurrenceOps.td - Layers with a recurrent state -*- tablegen -*-===//
//
// The recurrent state of a slot is no page of a cache and no row of an
// mtp.state. A symbol with layers declares it, and functions name a layer of it
// as they name a layer of a cache. Passes turn it into states.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RECURRENCE_OPS_TD
#define MTP_RECURRENCE_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_RecurrenceOp
    : MTP_Op<"recurrence", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declare the state of recurrent layers";
  let description = [{
    There are `layers` layers. Each slot has for each layer a state of `keys` by
    `values` numbers of f32 per head, and the `window` - 1 rows that a causal
    convolution sees before a row. Consecutive heads share one of `key_heads`
    keys and queries. The convolution's columns are all queries, keys and
    values: 2 * key_heads * keys + heads * values. The decay of a state is one
    number for each head, or with `decays_per_key` one number for each of the
    head's keys.

    The state stands before the rows that its slot ran last. The next program
    knows which of these rows stay, and folds them in first. So nothing is
    rolled back, and there is one state instead of one per draft.

    ```mlir
    mtp.recurrence @m layers 3 heads 4 keys 16 values 16 key_heads 2 window 4
    ```

    Constraints:
    - (C1) 1 <= layers <= 4096.
    - (C2) heads, keys, values and key_heads are positive, and key_heads divides
      heads.
    - (C3) 2 <= window <= 64.
    - (C4) within the module's envelope all slots together have at most 2^46
      numbers per layer.
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
    /// Returns the number of columns of the convolution.
    int64_t getColumns() {
      return 2 * int64_t(getKeyHeads()) * int64_t(getKeys()) +
             int64_t(getHeads()) * int64_t(getValues());
    }
    /// Returns the number of decays of a head.
    int64_t getDecays() { return getDecaysPerKey() ? int64_t(getKeys()) : 1; }
    /// Returns how many numbers of a row the recurrence keeps for the next
    /// fold.
    int64_t getKeptWidth() {
      return int64_t(getHeads()) *
             (int64_t(getKeys()) + int64_t(getValues()) + getDecays());
    }
  }];
  let hasVerifier = 1;
}

/// An op with a layer of a recurrence, given by the op or by an `mtp.apply`.
class MTP_RecurrentOp<string mnemonic, list<Trait> traits>
    : MTP_Op<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
         MemoryEffects<[MemRead<MTP_RecurrenceResource>,
                        MemWrite<MTP_RecurrenceResource>]>], traits)>;

def MTP_CausalConvOp : MTP_RecurrentOp<"causal_conv",
    [AllTypesMatch<["x", "result"]>]> {
  let summary = "Convolve each column over a slot's rows, and apply the SiLU";
  let description = [{
    `y[t] = silu(sum over i of weight[:, i] * x[t - window + 1 + i])`, column by
    column: a depthwise convolution over a slot's rows in order, as in
    Qwen3-Next, whose checkpoints store the weight as `[columns, 1, window]`.
    Rows before position 0 are zeros.

    The surrounding `mtp.apply` gives the layer, or `in @memory[layer]` does.

    ```mlir
    %c = mtp.causal_conv %qkv, %w, %rows : tensor<?x128xf32>, tensor<128x4xf32>
    ```

    Constraints:
    - (C1) the weight has a row for each column of x.
    - (C2) the recurrence exists and has the layer; x has its columns, and the
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
    Gated DeltaNet (arXiv:2412.06464), run row by row as in transformers'
    Qwen3-Next. Each head has a state S of `keys` by `values`: `u = beta * (v -
    decay * S^T k)`, `S = decay * S + k u^T`, `y = scale * S^T q`. Position 0
    begins with zeros. With `decays_per_key` each row of S has its own decay, as
    in Kimi Delta Attention (arXiv:2510.26692): `u = beta * (v - (decay * S)^T
    k)`.

    The rows of a slot run in order. The bits of a row depend only on earlier
    rows of the slot, not on k, the chunk or other sequences. A padding row
    changes nothing.

    ```mlir
    %o = mtp.delta_rule %q, %k, %v decay %g beta %b, %rows scale 0.25
         : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>
    ```

    Constraints:
    - (C1) the widths are static, and scale is finite and positive.
    - (C2) q, v, decay and beta have the same number of rows.
    - (C3) the recurrence exists and has the layer. The columns of q are
      key_heads * keys, of v heads * values, of decay heads, or heads * keys
      with decays_per_key, and of beta heads.
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
  let summary = "Say which rows a recurrence folds and keeps";
  let description = [{
    Adds two numbers of its slot to each row. Before the slot's rows here run,
    the first `pending` of the rows that the slot kept last are folded into the
    recurrent state. The last `keeps` of the rows here are kept for the next
    program. After a round, `pending` counts its anchor and the accepted drafts;
    after a prompt's chunk it counts the chunk's last row. A round keeps its
    whole window, a prompt one row. Rows of a slot follow each other in order.

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
