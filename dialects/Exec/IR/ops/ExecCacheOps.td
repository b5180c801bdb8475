//===- ExecCacheOps.td - Rotations and cache writes --------*- tablegen -*-===//

#ifndef EXEC_CACHE_OPS
#define EXEC_CACHE_OPS

include "dialects/Exec/IR/ExecAttrs.td"
include "dialects/Exec/IR/ops/ExecCallOps.td"

/// One layer of a cache.
def Exec_Pages : ConfinedType<MemRefRankOf<[F32, BF16, I8], [3]>, [],
                              "the pages of a cache's layer">;

def Exec_RopeOp : Exec_CallOp<"rope", [
    Exec_SameShape<["x", "y"]>, Exec_SameRows<["x", "angles"]>]> {
  let summary = "Rotate columns of every head by the angles of its row";
  let description = [{
    The other columns are copied. `angles` are the positions of the rows in the
    table.

    Example:
    ```mlir
    %y = exec.rope %x heads 2 <dim = 8> by %table at %positions
        : (tensor<4x16xf32>, memref<64x8xf32>, tensor<4xi32>)
          -> tensor<4x16xf32>
    ```
    - (C1) y has x's shape.
    - (C2) `angles` has one position per row.
    - (C3) heads divides the columns, and a head has the rotation's columns.
  }];
  let inputs = (ins Exec_Rows:$x, Exec_Rows:$table, Exec_Numbers:$angles,
                    I64Attr:$heads, Exec_RotationAttr:$rotation);
  let results = (outs Exec_RowsResult:$y);
  let syntax = "$x `heads` $heads $rotation `by` $table `at` $angles";
  let methods = "bool readsAnyRow(size_t index);";
  let hasVerifier = 1;
}

/// A call that writes rows to entries of a cache: slots, positions, the page
/// table and the layer's pages locate the entries.
class Exec_WritesEntriesOp<string mnemonic, list<Trait> traits = []>
    : Exec_CallOp<mnemonic, traits # [
        Exec_EntryWriterOpInterface]> {
  dag place = (ins Exec_Numbers:$slots, Exec_Numbers:$positions,
                   Exec_NumberRows:$page_table, Exec_Pages:$pages,
                   DefaultValuedAttr<I64Attr, "1">:$cache_heads);
  string placeSyntax = [{
    `into` $pages (`divided` `by` $cache_heads^)? `slots` $slots
    `positions` $positions `pages` $page_table
  }];
  code placeMethods = [{
    ::llvm::SmallVector<::mlir::exec::Count> getKernelParams();
    bool readsAnyRow(size_t index);
    bool updatesSameRowsAs(::mlir::exec::KernelOpInterface other) {
      return ::mlir::exec::writesSameEntries(*this, other);
    }
  }];
}

def Exec_KvAppendOp : Exec_WritesEntriesOp<"kv_append", [
    Exec_SameRows<["x", "slots", "positions"]>]> {
  let summary = "Write rows to the entries of their slots and positions";
  let description = [{
    Writes to the columns from `at` on. `divided by` is the number of heads that
    the cache divides a page's entries among.

    Example:
    ```mlir
    exec.kv_append %x at 16 into %layer slots %s positions %p pages %table
        : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>,
           memref<?x16x32xbf16>) -> ()
    ```
    - (C1) x, slots and positions have the same number of rows.
    - (C2) the columns lie in an entry.
  }];
  let inputs = !con((ins Exec_Rows:$x), place,
                    (ins DefaultValuedAttr<I64Attr, "0">:$at));
  let syntax = "$x (`at` $at^)? " # placeSyntax;
  let methods = placeMethods;
  let hasVerifier = 1;
}

def Exec_RopeAppendOp : Exec_WritesEntriesOp<"rope_append", [
    Exec_Together<["queries", "rotated"]>,
    Exec_SameRows<["keys", "values", "angles", "slots", "positions"]>,
    Exec_OptionalLike<"queries", "rotated">]> {
  let summary = "Rotate keys, write them and values to entries; rotate queries";
  let description = [{
    Computes `exec.rope` and two `exec.kv_append`. Rotated keys go to the
    columns from `keys_at` on, values, which are not rotated, to the columns
    from `values_at` on. Queries rotate by the same angles; their heads are as
    wide as key heads.

    Example:
    ```mlir
    %r = exec.rope_append keys %k, values %v queries %q heads 2 <dim = 8>
        by %table at %angles keys_at 0 values_at 16
        into %layer slots %s positions %p pages %pages
        : (tensor<4x32xf32>, tensor<4x16xf32>, tensor<4x16xf32>,
           memref<64x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>,
           memref<1x4xi32>,
           memref<?x16x32xbf16>) -> tensor<4x32xf32>
    ```
    - (C1) queries and their rotation are given together.
    - (C2) all have the same number of rows.
    - (C3) the rotated queries have the queries' shape.
    - (C4) heads divides the columns of keys, and a head has the rotation's
      columns; the columns of keys and values lie in an entry.
  }];
  let inputs = !con(
      (ins Optional<Exec_Rows>:$queries, Exec_Rows:$keys, Exec_Rows:$values,
           Exec_Rows:$table, Exec_Numbers:$angles), place,
      (ins I64Attr:$heads, Exec_RotationAttr:$rotation, I64Attr:$keys_at,
           I64Attr:$values_at));
  let results = (outs Optional<Exec_RowsResult>:$rotated);
  let syntax = [{
    `keys` $keys `,` `values` $values (`queries` $queries^)? `heads` $heads
    $rotation `by` $table `at` $angles `keys_at` $keys_at `values_at` $values_at
  }] # placeSyntax;
  let methods = placeMethods;
  let hasVerifier = 1;
}

#endif // EXEC_CACHE_OPS
