//===- ExecAttentionOps.td - Attention over a cache --------*- tablegen -*-===//

#ifndef EXEC_ATTENTION_OPS
#define EXEC_ATTENTION_OPS

include "dialects/Exec/IR/ExecCacheOps.td"
include "dialects/Exec/IR/ExecCallOps.td"

/// What reads the entries of its rows' slots: `heads` of queries, of which
/// equal groups share one of `kv_heads`.
class Exec_ReadsEntriesOp<string mnemonic, list<Trait> traits = []>
    : Exec_CallOp<mnemonic, traits # [
        Exec_SameRows<["q", "slots", "positions"]>]> {
  dag place = (ins Exec_Rows:$q, Exec_Numbers:$slots, Exec_Numbers:$positions,
                   Exec_NumberRows:$page_table, Exec_Pages:$pages);
  dag shape = (ins I64Attr:$heads, I64Attr:$kv_heads,
                   DefaultValuedAttr<I64Attr, "0">:$keys_at,
                   DefaultValuedAttr<I64Attr, "0">:$values_at,
                   DefaultValuedAttr<F32Attr, "1.0f">:$scale,
                   DefaultValuedAttr<I64Attr, "1">:$cache_heads,
                   OptionalAttr<I64Attr>:$part,
                   DefaultValuedAttr<I64Attr, "0">:$window);
  string placeSyntax = [{
    $q `in` $pages (`divided` `by` $cache_heads^)? `slots` $slots
    `positions` $positions `pages` $page_table
  }];
  string shapeSyntax = [{
    `heads` $heads `kv_heads` $kv_heads (`keys_at` $keys_at^)?
    (`values_at` $values_at^)? (`scale` $scale^)? (`part` $part^)?
    (`window` $window^)?
  }];
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
  let hasVerifier = 1;
}

def Exec_AttentionOp : Exec_ReadsEntriesOp<"attention",
    [Exec_SameRows<["q", "y"]>]> {
  let summary = "Attend to the entries before and at each row's position";
  let description = [{
    A head of queries meets as many columns of an entry, from those of its key
    head on; of values it takes y's columns per head. Positions are added up in
    parts from multiples of `part` on, all together without. `window` is how
    many positions a row sees, 0 for all. With `tree`, a mask for each row,
    `positions` are the places of the rows' windows: a row sees what is before
    its window and, of the window, the places whose bits are set, the first
    one's being bit 0.

    Example:
    ```mlir
    %y = exec.attention %q in %layer slots %s positions %p pages %table
        heads 4 kv_heads 2 values_at 16 scale 0.25
        : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>,
           memref<?x16x32xbf16>) -> tensor<4x32xf32>
    ```
    - (C1) q, slots and positions have the same rows, and so does y.
    - (C2) kv_heads divides heads; heads divides the columns of q and y.
    - (C3) a tree has a mask for each row.
  }];
  let inputs = !con(place, (ins Optional<Exec_Operand<[I64], [1],
                                  "masks of i64">>:$tree), shape);
  let results = (outs Exec_RowsResult:$y);
  let syntax = placeSyntax # " (`tree` $tree^)? "
             # shapeSyntax;
}

def Exec_AttentionPartsOp : Exec_ReadsEntriesOp<"attention_parts",
    [Exec_SameRows<["q", "left"]>]> {
  let summary = "Attend to parts of the positions";
  let description = [{
    `exec.attention`, but that it leaves what it added up of every part, of
    which there are `parts`, for `exec.attention_join`. For one group of eight
    rows there are `splits` tasks for each tile of heads, which share its parts.
    More groups have as many each, but positions are divided by `splits` /
    groups, two at least, and several tasks have one share of them. So `splits`
    is how many workers there are for a tile, whatever the rows. `values` is
    the width of a head's values.

    Example:
    ```mlir
    %left = exec.attention_parts %q in %layer slots %s positions %p pages %table
        values 16 parts 5 splits 4 heads 8 kv_heads 2 part 512
        : (tensor<1x80xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x160xi32>,
           memref<?x16x54xf32>) -> tensor<1x1600xf32>
    ```
    - (C1) q, slots and positions have the same rows, and so does the result.
    - (C2) kv_heads divides heads; heads divides the columns of q, and parts
      those of the result.
  }];
  let inputs = !con(place, shape, (ins I64Attr:$values, I64Attr:$parts,
                                       I64Attr:$splits));
  let results = (outs Exec_RowsResult:$left);
  let syntax = placeSyntax
      # " `values` $values `parts` $parts `splits` $splits "
             # shapeSyntax;
}

def Exec_AttentionJoinOp : Exec_CallOp<"attention_join",
    [Exec_SameRows<["positions", "left", "y"]>, Exec_Whole<"left">]> {
  let summary = "Join what parts of the positions gave";
  let description = [{
    Attributes are those of the `exec.attention_parts` that left it; `as` is the
    cache's element type.

    Example:
    ```mlir
    %y = exec.attention_join %left positions %p parts 5 heads 8 kv_heads 2
        part 512 as f32
        : (tensor<1xi32>, tensor<1x1600xf32>) -> tensor<1x128xf32>
    ```
    - (C1) all have the same rows.
    - (C2) left is no view.
  }];
  let inputs = (ins Exec_Numbers:$positions, Exec_Rows:$left, I64Attr:$parts,
                    I64Attr:$heads, I64Attr:$kv_heads, I64Attr:$part,
                    DefaultValuedAttr<I64Attr, "0">:$window,
                    Exec_ElementAttr:$dtype);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $left `positions` $positions `parts` $parts `heads` $heads
    `kv_heads` $kv_heads `part` $part (`window` $window^)? `as` $dtype
  }];
}

#endif // EXEC_ATTENTION_OPS
