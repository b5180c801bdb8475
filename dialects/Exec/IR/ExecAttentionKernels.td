//===- ExecAttentionKernels.td - Kinds of attention --------*- tablegen -*-===//

#ifndef EXEC_ATTENTION_KERNELS
#define EXEC_ATTENTION_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

/// What attention reads, and how it looks: heads of queries, of which equal
/// groups share one of `kv_heads`, and a layer's entries with keys from
/// `k_offset` and values from `v_offset` on, divided among `cache_heads`.
defvar Exec_entries = (ins
    Exec_Size:$q_heads, Exec_Size:$kv_heads, Exec_Size:$dk, Exec_Size:$dv,
    Exec_Size:$page, Exec_Size:$entry_width, Exec_SizeOrOne:$cache_heads,
    Exec_Begin:$k_offset, Exec_Begin:$v_offset, Exec_CacheElements:$dtype,
    Exec_Real:$scale, Exec_Stride:$q_stride, Exec_RowLimit:$slots);

def Exec_AttentionKernel : Exec_Kernel<"Attention", "attention", 2, "Other",
    !con(Exec_entries, (ins Exec_SizeOrNone:$part, Exec_SizeOrNone:$window,
                            Exec_Stride:$y_stride))> {
  let summary = "attention to the positions before and at each row's";
  let description = [{
    Buffers: q, slots, positions, page table, a layer's pages, y. Positions are
    added up in parts from multiples of `part` on, a multiple of 64; all
    together where it is 0. A row sees `window` positions, all where it is 0. A
    dead row gets zeros.
  }];
  let hasRules = true;
}

def Exec_AttentionTreeKernel
    : Exec_Kernel<"AttentionTree", "attention_tree", 2, "Other",
    !con(Exec_entries, (ins Exec_SizeOrNone:$part, Exec_SizeOrNone:$window,
                            Exec_Stride:$y_stride))> {
  let summary = "attention of rows that see some rows of a window";
  let description = [{
    Buffers: q, slots, places of the windows' first rows, page table, a layer's
    pages, masks, y. A row sees all places before its window and, where bit j of
    its mask is set, the place j places behind the window's first. It has the
    bits of `attention` over these places as if they followed each other;
    `window` counts them so. A row that sees a place behind the end of its
    slot's pages is dead.
  }];
  let hasRules = true;
}

def Exec_AttentionPartsKernel
    : Exec_Kernel<"AttentionParts", "attention_parts", 2, "Other",
    !con(Exec_entries, (ins Exec_Size:$part, Exec_SizeOrNone:$window,
                            Exec_Size:$parts, Exec_Size:$part_stride,
                            Exec_Size:$splits))> {
  let summary = "attention to parts of the positions";
  let description = [{
    Buffers: q, slots, positions, page table, a layer's pages, what is left of
    every part. `part_stride` is at least q_heads / tile * 32 + q_heads * dv, dv
    rounded up to 16: of each part of a row the maxima and sums of every tile
    and the values of every head. A part that the row does not see is neither
    written nor read. For a group of eight rows `splits` workers share a tile's
    parts.
  }];
  let hasRules = true;
}

def Exec_AttentionJoinKernel
    : Exec_Kernel<"AttentionJoin", "attention_join", 1, "Other", (ins
    Exec_Size:$q_heads, Exec_Size:$kv_heads, Exec_Size:$dv,
    Exec_CacheElements:$dtype, Exec_Size:$part, Exec_SizeOrNone:$window,
    Exec_Size:$parts, Exec_Size:$part_stride, Exec_Stride:$y_stride)> {
  let summary = "joins what parts of the positions gave";
  let description = "Buffers: positions, what is left of every part, y.";
  let hasRules = true;
}

#endif // EXEC_ATTENTION_KERNELS
