//===- MTPCacheOps.td - Cache operations -------------------*- tablegen -*-===//
//
// Caches are symbols. The model's attention says what it appends and sees; the
// cache phase makes both explicit.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CACHE_OPS_TD
#define MTP_CACHE_OPS_TD

include "dialects/MTP/IR/MTPOpBase.td"

def MTP_CacheOp : MTP_Op<"cache", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Declare a paged cache";
  let description = [{
    `layers` layers of one entry of `entry` elements per slot and position.

    ```mlir
    mtp.cache @target layers 4 entry 80 : bf16
    ```

    Constraints:
    - (C1) 1 <= layers <= 4096 and 1 <= entry <= 2^20.
    - (C2) elements are f32 or bf16.
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
    Row r goes to its slot's page at its position, columns `[at, at + width)` of
    the entry, converted to the cache's element type. Dead rows go to the dummy
    page.

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
    head g columns `[values_at + g * values, ... + values)`; the two may overlap
    (absorbed MLA).

    ```mlir
    %y = mtp.cached_attention %q, %rows in @target[0] heads 4 kv_heads 1
         keys 80 at 0 values 64 at 0 scale 0.144
         : tensor<?x320xf32> -> tensor<?x256xf32>
    ```

    Constraints:
    - (C1) the cache exists and has the layer.
    - (C2) heads, kv_heads, keys and values are positive; kv_heads divides
      heads.
    - (C3) q width = heads * keys, result width = heads * values, same rows.
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
    HasParent<"::mlir::mtp::RoundOp">,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>,
                   MemWrite<MTP_CacheResource>]>]> {
  let summary = "Advance the slots by what was accepted";
  let description = [{
    Every slot's length grows by count + 1, its window becomes the picks, its
    hidden states the verified rows'. Entries of rejected rows lie past the new
    length and are overwritten by the next round, so nothing is rolled back.

    ```mlir
    mtp.commit %count, %picks, %hidden
               : tensor<?xi32>, tensor<?x?xi32>, tensor<?x192xf32>
    ```

    Constraints:
    - (C1) count and picks have the same rows (slots).
  }];
  let arguments = (ins MTP_Tokens:$count, MTP_TokenGrid:$picks,
                       MTP_Activation:$hidden);
  let assemblyFormat = [{
    $count `,` $picks `,` $hidden attr-dict
    `:` type($count) `,` type($picks) `,` type($hidden)
  }];
  let hasVerifier = 1;
}

def MTP_RollbackOp : MTP_Op<"rollback", [
    HasParent<"::mlir::mtp::RoundOp">,
    MemoryEffects<[MemRead<MTP_SlotResource>, MemWrite<MTP_SlotResource>]>]> {
  let summary = "Shorten every slot";
  let description = [{
    Takes the last `count` committed tokens of every slot back. Pages stay
    with the slot.

    ```mlir
    mtp.rollback %count : tensor<?xi32>
    ```

    Constraints: none beyond the types.
  }];
  let arguments = (ins MTP_Tokens:$count);
  let assemblyFormat = "$count attr-dict `:` type($count)";
}

def MTP_CacheMoveOp : MTP_CacheUserOp<"cache_move",
    [MemoryEffects<[MemRead<MTP_CacheResource>, MemRead<MTP_SlotResource>,
                    MemWrite<MTP_CacheResource>]>]> {
  let summary = "Move an accepted tree path's entries into place";
  let description = [{
    For every slot and layer, entry `length + path[i]` goes to `length + i` for
    i = 0 to count, in ascending order; a path's nodes ascend, so nothing is
    read after it was overwritten.

    ```mlir
    mtp.cache_move %path, %count in @target : tensor<?x4xi32>, tensor<?xi32>
    ```

    Constraints:
    - (C1) the cache exists.
    - (C2) path and count have the same rows (slots).
  }];
  let arguments = (ins MTP_TokenGrid:$path, MTP_Tokens:$count,
                       FlatSymbolRefAttr:$cache);
  let assemblyFormat = [{
    $path `,` $count `in` $cache attr-dict `:` type($path) `,` type($count)
  }];
  let hasVerifier = 1;
}

#endif // MTP_CACHE_OPS_TD
