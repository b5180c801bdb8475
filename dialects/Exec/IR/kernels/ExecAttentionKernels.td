//===- ExecAttentionKernels.td - Kinds of attention --------*- tablegen -*-===//

#ifndef EXEC_ATTENTION_KERNELS
#define EXEC_ATTENTION_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

/// Parameters of an attention's reads: `q_heads` query heads, equal groups of
/// which share one of `kv_heads`, and a layer's entries with keys from
/// `k_offset` and values from `v_offset` on, divided among `cache_heads`.
defvar Exec_entries = (ins
    Exec_Size:$q_heads, Exec_Size:$kv_heads, Exec_Size:$dk, Exec_Size:$dv,
    Exec_Size:$page, Exec_Size:$entry_width, Exec_SizeOrOne:$cache_heads,
    Exec_Begin:$k_offset, Exec_Begin:$v_offset, Exec_CacheElements:$dtype,
    Exec_Real:$scale, Exec_Stride:$q_stride, Exec_RowLimit:$slots);

def Exec_AttentionKernel : Exec_Kernel<"Attention", "attention", 2, "Other",
    !con(Exec_entries, (ins Exec_SizeOrNone:$split, Exec_SizeOrNone:$window,
                            Exec_Stride:$y_stride))> {
  let summary = "attention to the positions up to each row's own";
  let description = [{
    Buffers: q, slots, positions, page table, a layer's pages, y. Sums are made
    per split of `split` positions, a multiple of 64, and then joined; with 0
    there is one split. A row sees `window` positions, or with 0 all of them. A
    padding row gets zeros.
  }];
  let hasRules = true;
}

def Exec_AttentionTreeKernel
    : Exec_Kernel<"AttentionTree", "attention_tree", 2, "Other",
    !con(Exec_entries, (ins Exec_SizeOrNone:$split, Exec_SizeOrNone:$window,
                            Exec_Stride:$y_stride))> {
  let summary = "attention of rows that see some rows of a window";
  let description = [{
    Buffers: q, slots, places of the windows' first rows, page table, a layer's
    pages, masks, y. A row sees all places before its window, and place j of the
    window if bit j of its mask is set. It has the bits of `attention` over
    these places as if they were consecutive, and `window` counts them so. A row
    that sees a place beyond the end of its slot's pages is a padding row.
  }];
  let hasRules = true;
}

def Exec_AttentionSplitKvKernel
    : Exec_Kernel<"AttentionSplitKv", "attention_split_kv", 2, "Other",
    !con(Exec_entries, (ins Exec_Size:$split, Exec_SizeOrNone:$window,
                            Exec_Size:$splits, Exec_Size:$split_stride,
                            Exec_Size:$tasks_per_tile))> {
  let summary = "attention to splits of the positions";
  let description = [{
    Buffers: q, slots, positions, page table, a layer's pages, partial results
    of every split. The partial results of a split of a row are the maxima and
    sums of every tile, and the values of every head. `split_stride` is at least
    q_heads / tile * 32 + q_heads * dv, with dv rounded up to 16. A split that
    the row does not see is neither written nor read. For a group of eight rows
    `tasks_per_tile` workers share the splits of a tile.
  }];
  let hasRules = true;
}

def Exec_AttentionCombineKernel
    : Exec_Kernel<"AttentionCombine", "attention_combine", 1, "Other", (ins
    Exec_Size:$q_heads, Exec_Size:$kv_heads, Exec_Size:$dv,
    Exec_CacheElements:$dtype, Exec_Size:$split, Exec_SizeOrNone:$window,
    Exec_Size:$splits, Exec_Size:$split_stride, Exec_Stride:$y_stride)> {
  let summary = "sum of the partial results of attention splits";
  let description = "Buffers: positions, partial results of every split, y.";
  let hasRules = true;
}

#endif // EXEC_ATTENTION_KERNELS
