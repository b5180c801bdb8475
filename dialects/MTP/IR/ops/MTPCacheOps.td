//===- MTPCacheOps.td - Cache operations -------------------*- tablegen -*-===//
//
// Caches are symbols. The model's attention implies what it appends and sees;
// the cache phase writes both as operations.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CACHE_OPS_TD
#define MTP_CACHE_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_CacheOp : MTP_Op<"cache", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declare a paged cache";
  let description = [{
    The cache has `layers` layers. Each layer has an entry of `entry` elements
    for every slot and position. Elements of i8 are integers of -127 to 127,
    which a scale in f32 multiplies. Each append of a row writes one scale for
    each key head.

    ```mlir
    mtp.cache @target layers 4 entry 80 : bf16
    ```

    Constraints:
    - (C1) 1 <= layers <= 4096 and 1 <= entry <= 2^20.
    - (C2) elements are f32, bf16 or i8.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$layers,
                       I64Attr:$entry, TypeAttr:$element_type);
  let assemblyFormat = [{
    $sym_name `layers` $layers `entry` $entry `:` $element_type attr-dict
  }];
  let hasVerifier = 1;
}

class MTP_CacheUserOp<string mnemonic, list<Trait> traits>
    : MTP_Op<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def MTP_CacheAppendOp : MTP_CacheUserOp<"cache_append",
    [MemoryEffects<[MemWrite<MTP_CacheResource>]>]> {
  let summary = "Write rows into their slots' pages";
  let description = [{
    Writes row r to the page of its slot and position: columns `[at, at +
    width)` of the entry, converted to the cache's element type. Padding rows go
    to the dummy page.

    ```mlir
    mtp.cache_append %c, %rows into @target[0] at 0 : tensor<?x64xf32>
    ```

    Constraints:
    - (C1) the cache exists and has the layer.
    - (C2) at >= 0 and at + width <= the cache's entry width.
  }];
  let arguments = (ins MTP_Activation:$x, MTP_Rows:$rows,
                       FlatSymbolRefAttr:$cache, I64Attr:$layer, I64Attr:$at);
  let assemblyFormat = [{
    $x `,` $rows `into` $cache `[` $layer `]` `at` $at attr-dict `:` type($x)
  }];
}

def MTP_CachedAttentionOp : MTP_CacheUserOp<"cached_attention",
    [MemoryEffects<[MemRead<MTP_CacheResource>]>]> {
  let summary = "Attend to a cache's entries";
  let description = [{
    Key head g is columns `[keys_at + g * keys, ... + keys)` of an entry, value
    head g is columns `[values_at + g * values, ... + values)`. The two ranges
    may overlap (absorbed MLA).

    ```mlir
    %y = mtp.cached_attention %q, %rows in @target[0] heads 4 kv_heads 1
         keys 80 at 0 values 64 at 0 scale 0.144
         : tensor<?x320xf32> -> tensor<?x256xf32>
    ```

    Constraints:
    - (C1) the cache exists and has the layer.
    - (C2) heads, kv_heads, keys and values are positive; kv_heads divides
      heads.
    - (C3) q width = heads * keys, result width = heads * values, same number of
      rows.
    - (C4) keys and values lie within the cache's entry.
    - (C5) scale is finite and positive; window is positive.
  }];
  let arguments = (ins MTP_Activation:$q, MTP_Rows:$rows,
                       FlatSymbolRefAttr:$cache, I64Attr:$layer,
                       I64Attr:$heads, I64Attr:$kv_heads,
                       I64Attr:$keys, I64Attr:$keys_at,
                       I64Attr:$values, I64Attr:$values_at,
                       F64Attr:$scale, OptionalAttr<I64Attr>:$window);
  let results = (outs MTP_Activation:$result);
  let assemblyFormat = [{
    $q `,` $rows `in` $cache `[` $layer `]` `heads` $heads `kv_heads` $kv_heads
    `keys` $keys `at` $keys_at `values` $values `at` $values_at
    `scale` $scale (`window` $window^)? attr-dict
    `:` type($q) `->` type($result)
  }];
  let hasVerifier = 1;
}

def MTP_CommitOp : MTP_Op<"commit", [
    ParentOneOf<["::mlir::mtp::RoundOp", "::mlir::mtp::PrefillOp"]>,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>,
                   MemWrite<MTP_CacheResource>]>]> {
  let summary = "Advance the slots by their accepted tokens";
  let description = [{
    Every slot's length grows by count + 1, its window becomes the picks, and
    its hidden states become those of the verified rows. Entries of rejected
    rows lie beyond the new length, and the next round overwrites them, so
    nothing is rolled back.

    With a `path` through a tree the hidden states are those of the path. The
    entries of the path move into place in every cache that tree rows are
    written to, except for rows that are `refreshed`.

    ```mlir
    mtp.commit %count, %picks, %hidden
               : tensor<?xi32>, tensor<?x?xi32>, tensor<?x192xf32>
    ```

    Constraints:
    - (C1) count, picks and path have the same number of rows (slots).
  }];
  let arguments = (ins MTP_Tokens:$count, MTP_TokenGrid:$picks,
                       MTP_Activation:$hidden, Optional<MTP_TokenGrid>:$path);
  let assemblyFormat = [{
    $count `,` $picks `,` $hidden (`along` $path^)? attr-dict
    `:` type($count) `,` type($picks) `,` type($hidden) (`,` type($path)^)?
  }];
  let hasVerifier = 1;
}

def MTP_CacheMoveOp : MTP_CacheUserOp<"cache_move",
    [AllTypesMatch<["from", "to"]>, MemoryEffects<[MemRead<MTP_CacheResource>,
                    MemWrite<MTP_CacheResource>]>]> {
  let summary = "Move entries of slots to other positions";
  let description = [{
    For every slot, in all layers, moves the entry at position `from[i]` to
    position `to[i]`, for ascending i. If either position is negative, nothing
    is moved. A commit moves the entries of an accepted path through a tree this
    way. The nodes of a path ascend, so no entry is read after it was
    overwritten.

    ```mlir
    mtp.cache_move %from to %to of %slots in @target
                   : tensor<?x4xi32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) the cache exists.
    - (C2) from and to have a row for each slot.
  }];
  let arguments = (ins MTP_TokenGrid:$from, MTP_TokenGrid:$to,
                       MTP_Tokens:$slots, FlatSymbolRefAttr:$cache);
  let assemblyFormat = [{
    $from custom<MovedTo>($to) `of` $slots `in` $cache attr-dict
    `:` type($from) `,` type($slots)
  }];
  let hasVerifier = 1;
}

#endif // MTP_CACHE_OPS_TD
