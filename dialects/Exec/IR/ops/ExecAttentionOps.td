//===- ExecAttentionOps.td - Attention over a cache --------*- tablegen -*-===//

#ifndef EXEC_ATTENTION_OPS
#define EXEC_ATTENTION_OPS

include "dialects/Exec/IR/ops/ExecCacheOps.td"
include "dialects/Exec/IR/ops/ExecCallOps.td"

/// A call that reads the entries of its rows' slots, with `heads` query heads,
/// equal groups of which share one of `kv_heads`.
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
                   OptionalAttr<I64Attr>:$split,
                   DefaultValuedAttr<I64Attr, "0">:$window);
  string placeSyntax = [{
    $q `in` $pages (`divided` `by` $cache_heads^)? `slots` $slots
    `positions` $positions `pages` $page_table
  }];
  string shapeSyntax = [{
    `heads` $heads `kv_heads` $kv_heads (`keys_at` $keys_at^)?
    (`values_at` $values_at^)? (`scale` $scale^)? (`split` $split^)?
    (`window` $window^)?
  }];
  let methods = "::llvm::SmallVector<::mlir::exec::Count> getKernelParams();";
  let hasVerifier = 1;
}

def Exec_AttentionOp : Exec_ReadsEntriesOp<"attention",
    [Exec_SameRows<["q", "y"]>]> {
  let summary = "Attend to the entries up to each row's position";
  let description = [{
    A query head reads the columns of its key head in an entry; the width of the
    values is y's columns per head. Sums are made per split of `split` positions
    and then joined; without `split` there is one split. `window` is the number
    of positions that a row sees, 0 for all. With `tree`, a mask for each row,
    `positions` are the places of the rows' windows. A row sees all places
    before its window, and in the window the places whose bits are set, the
    first place being bit 0.

    Example:
    ```mlir
    %y = exec.attention %q in %layer slots %s positions %p pages %table
        heads 4 kv_heads 2 values_at 16 scale 0.25
        : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>,
           memref<?x16x32xbf16>) -> tensor<4x32xf32>
    ```
    - (C1) q, slots, positions and y have the same number of rows.
    - (C2) kv_heads divides heads; heads divides the columns of q and y.
    - (C3) a tree has one mask per row.
  }];
  let inputs = !con(place, (ins Optional<Exec_Operand<[I64], [1],
                                  "masks of i64">>:$tree), shape);
  let results = (outs Exec_RowsResult:$y);
  let syntax = placeSyntax # " (`tree` $tree^)? "
             # shapeSyntax;
}

def Exec_AttentionSplitKvOp : Exec_ReadsEntriesOp<"attention_split_kv",
    [Exec_SameRows<["q", "left"]>]> {
  let summary = "Attend to splits of the positions";
  let description = [{
    Computes `exec.attention`, but returns the partial results of each of the
    `splits` splits for `exec.attention_combine`. One group of eight rows has
    `tasks_per_tile` tasks for each tile of heads, which share its splits. With
    several groups the positions are divided by max(2, `tasks_per_tile` /
    groups), and several tasks share each division. Each group still has
    `tasks_per_tile` tasks per tile, so `tasks_per_tile` is the number of
    workers for a tile, whatever the number of rows. `values` is the width of a
    head's values.

    Example:
    ```mlir
    %left = exec.attention_split_kv %q in %layer slots %s positions %p
        pages %table values 16 splits 5 tasks_per_tile 4
        heads 8 kv_heads 2 split 512
        : (tensor<1x80xf32>, tensor<1xi32>, tensor<1xi32>, memref<1x160xi32>,
           memref<?x16x54xf32>) -> tensor<1x1600xf32>
    ```
    - (C1) q, slots, positions and the result have the same number of rows.
    - (C2) kv_heads divides heads; heads divides the columns of q, and splits
      the columns of the result.
  }];
  let inputs = !con(place, shape, (ins I64Attr:$values, I64Attr:$splits,
                                       I64Attr:$tasks_per_tile));
  let results = (outs Exec_RowsResult:$left);
  let syntax = placeSyntax
      # " `values` $values `splits` $splits `tasks_per_tile` $tasks_per_tile "
             # shapeSyntax;
}

def Exec_AttentionCombineOp : Exec_CallOp<"attention_combine",
    [Exec_SameRows<["positions", "left", "y"]>, Exec_Whole<"left">]> {
  let summary = "Join the partial results of attention splits";
  let description = [{
    The attributes are those of the `exec.attention_split_kv` that made the
    operand; `as` is the cache's element type.

    Example:
    ```mlir
    %y = exec.attention_combine %left positions %p splits 5 heads 8 kv_heads 2
        split 512 as f32
        : (tensor<1xi32>, tensor<1x1600xf32>) -> tensor<1x128xf32>
    ```
    - (C1) all have the same number of rows.
    - (C2) left is no view.
  }];
  let inputs = (ins Exec_Numbers:$positions, Exec_Rows:$left, I64Attr:$splits,
                    I64Attr:$heads, I64Attr:$kv_heads, I64Attr:$split,
                    DefaultValuedAttr<I64Attr, "0">:$window,
                    Exec_ElementAttr:$dtype);
  let results = (outs Exec_RowsResult:$y);
  let syntax = [{
    $left `positions` $positions `splits` $splits `heads` $heads
    `kv_heads` $kv_heads `split` $split (`window` $window^)? `as` $dtype
  }];
}

#endif // EXEC_ATTENTION_OPS
