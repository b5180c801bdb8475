//===- MTPAttentionOps.td - Attention and positions --------*- tablegen -*-===//
//
// Operations of the model family that depend on positions and on other rows.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_ATTENTION_OPS_TD
#define MTP_ATTENTION_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

/// Attention appends its rows to a cache before it reads the cache. An op with
/// an unused result is therefore not dead: a prefill runs the drafter only for
/// its cache entries.
class MTP_CachingAttentionOp<string mnemonic, list<Trait> traits = []>
    : MTP_Op<mnemonic, !listconcat(
        [MemoryEffects<[MemRead<MTP_CacheResource>,
                        MemWrite<MTP_CacheResource>]>], traits)>;

def MTP_RopeOp : MTP_Op<"rope", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Rotate part of every head by the row's position";
  let description = [{
    Rotates columns `[offset, offset + dim)` of every head and keeps the other
    columns.

    ```mlir
    %r = mtp.rope %q, %rows by <dim = 16, theta = 10000.0, layout = interleaved>
         heads 4 of 48 offset 32 : tensor<?x192xf32>
    ```

    Constraints:
    - (C1) heads and head width are positive; heads * head width = row width.
    - (C2) offset >= 0 and offset + dim <= head width.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_Rows:$rows,
                       I64Attr:$heads, I64Attr:$head_dim,
                       DefaultValuedAttr<I64Attr, "0">:$offset,
                       MTP_RopeAttr:$rope);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $x `,` $rows `by` $rope `heads` $heads `of` $head_dim (`offset` $offset^)?
    attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def MTP_AttentionOp : MTP_CachingAttentionOp<"attention", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Attend to the positions of the slot up to the row's own";
  let description = [{
    Softmax attention with `heads` query heads in groups over `kv_heads` key and
    value heads. A row sees the positions of its slot up to its own, including
    those that other rows of the pass append. With `window` it sees only the
    last `window` of these positions. Without a value operand the values are the
    first `values` columns of every key head (absorbed MLA). `mtp-inline-layers`
    sets `cache`.

    ```mlir
    %y = mtp.attention %q, %k, %v, %rows heads 4 kv_heads 2 scale 0.125
         : tensor<?x256xf32>, tensor<?x128xf32>, tensor<?x128xf32>
         -> tensor<?x256xf32>
    %z = mtp.attention %p, %c, %rows heads 4 kv_heads 1 values 64 scale 0.144
         cache @target[0]
         : tensor<?x320xf32>, tensor<?x80xf32> -> tensor<?x256xf32>
    ```

    Constraints:
    - (C1) heads and kv_heads are positive, kv_heads divides heads.
    - (C2) all operands have the result's number of rows.
    - (C3) query and key heads have one width: q width / heads = k width /
      kv_heads, without remainder.
    - (C4) exactly one of a value operand and `values` is given; kv_heads
      divides the width of the value operand, and `values` <= the key head
      width.
    - (C5) the result's width is heads * value head width.
    - (C6) scale is finite and positive; window is positive.
    - (C7) the cache exists and has the layer, and its entries hold the row's
      keys and values.
  }];
  let arguments = (ins MTP_Activation:$q, MTP_Activation:$k,
                       Optional<MTP_Activation>:$v, MTP_Rows:$rows,
                       I64Attr:$heads, I64Attr:$kv_heads,
                       OptionalAttr<I64Attr>:$value_prefix, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$window,
                       OptionalAttr<FlatSymbolRefAttr>:$cache,
                       OptionalAttr<I64Attr>:$layer);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    custom<AttentionOperands>($q, $k, $v, $rows)
    `heads` $heads `kv_heads` $kv_heads (`values` $value_prefix^)?
    `scale` $scale (`window` $window^)? (`cache` $cache^ `[` $layer `]`)?
    attr-dict
    `:` type($q) `,` type($k) (`,` type($v)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the columns of one key head.
    int64_t getKeyDim();
    /// Returns the columns of one value head.
    int64_t getValueDim();
    /// Returns the columns that one row keeps in the cache.
    int64_t getEntryWidth();
  }];
}

def MTP_MlaAttentionOp : MTP_CachingAttentionOp<"mla_attention", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run multi-head latent attention";
  let description = [{
    Every query head is `nope` columns followed by `rope` columns, which are
    already rotated. `c` is the normalised latent, `k_pe` the rotated key part
    that all heads share. `kv_b` expands the latent: for every head, `nope` rows
    of key followed by `value` rows of value. `mtp-absorb-mla` multiplies `kv_b`
    into the query and the result, so that the cache holds latents.

    ```mlir
    %y = mtp.mla_attention %q, %c, %kpe, %kvb, %rows
         heads 4 nope 32 rope 16 value 32 scale 0.144
         : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>,
           tensor<256x64xbf16> -> tensor<?x128xf32>
    ```

    Constraints:
    - (C1) heads, nope, rope and value are positive.
    - (C2) all activations have the result's number of rows.
    - (C3) q width = heads * (nope + rope); k_pe width = rope.
    - (C4) kv_b is [heads * (nope + value), c width].
    - (C5) the result's width is heads * value.
    - (C6) scale is finite and positive; window is positive.
    - (C7) the cache exists, has the layer, and its entries are as wide as c and
      k_pe together.
  }];
  let arguments = (ins MTP_Activation:$q, MTP_Activation:$c,
                       MTP_Activation:$k_pe, MTP_WeightMatrix:$kv_b,
                       MTP_Rows:$rows, I64Attr:$heads, I64Attr:$nope,
                       I64Attr:$rope, I64Attr:$value, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$window,
                       OptionalAttr<FlatSymbolRefAttr>:$cache,
                       OptionalAttr<I64Attr>:$layer);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $q `,` $c `,` $k_pe `,` $kv_b `,` $rows
    `heads` $heads `nope` $nope `rope` $rope `value` $value `scale` $scale
    (`window` $window^)? (`cache` $cache^ `[` $layer `]`)? attr-dict
    `:` type($q) `,` type($c) `,` type($k_pe) `,` type($kv_b)
    `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the columns that one row keeps in the cache: the latent and the
    /// shared key.
    int64_t getEntryWidth();
  }];
}

#endif // MTP_ATTENTION_OPS_TD
