//===- ExecCacheKernels.td - Kinds that rotate and append --*- tablegen -*-===//

#ifndef EXEC_CACHE_KERNELS
#define EXEC_CACHE_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_RopeKernel : Exec_Kernel<"Rope", "rope", 1, "Rows", (ins
    Exec_Size:$heads, Exec_Rotation:$rotation, Exec_Stride:$head_stride,
    Exec_SizeOrNone:$copy_width, Exec_Stride:$x_stride, Exec_Stride:$y_stride,
    Exec_RowLimit:$positions)> {
  let summary = "rotated heads";
  let description = [{
    Buffers: x, table of angles, rotary positions, y (may be x). Writes
    `copy_width` columns of each head, or with 0 all of them; heads have the
    same distance in y as in x.
  }];
  let hasRules = true;
  let methods = [{
    int64_t getHead() const {
      return getHeadStride() ? getHeadStride() : getRotation().getDim();
    }
    int64_t getCopied() const {
      return ::mlir::exec::strideOr(getCopyWidth(), getHead());
    }
  }];
}

def Exec_KvAppendKernel
    : Exec_Kernel<"KvAppend", "kv_append", 2, "Rows", (ins
    Exec_Size:$width, Exec_CacheElements:$dtype, Exec_Size:$page,
    Exec_SizeOrNone:$entry_width, Exec_Begin:$entry_offset,
    Exec_SizeOrOne:$cache_heads, Exec_Stride:$x_stride,
    Exec_RowLimit:$slots)> {
  let summary = "rows written to columns of their entries";
  let description = [{
    Buffers: x, slots, positions, page table, a layer's pages. A padding row,
    and a position beyond its slot's pages, has no entry.
  }];
  let hasRules = true;
  let methods = [{
    int64_t getEntry() const {
      return ::mlir::exec::strideOr(getEntryWidth(), getWidth());
    }
  }];
}

/// Rotated keys, with their values, in an entry.
defvar Exec_rotatedEntry = (ins
    Exec_Size:$k_heads, Exec_Rotation:$rotation, Exec_Stride:$head_stride,
    Exec_Size:$v_width, Exec_Begin:$k_offset, Exec_Begin:$v_offset,
    Exec_CacheElements:$dtype, Exec_Size:$page, Exec_SizeOrNone:$entry_width,
    Exec_SizeOrOne:$cache_heads, Exec_Stride:$k_stride, Exec_Stride:$v_stride,
    Exec_RowLimit:$slots, Exec_RowLimit:$positions);

class Exec_RopeAppend<string name, string kind, dag queries>
    : Exec_Kernel<name, kind, 2, "Rows", !con(queries, Exec_rotatedEntry)> {
  let hasRules = true;
  let methods = [{
    int64_t getHead() const {
      return getHeadStride() ? getHeadStride() : getRotation().getDim();
    }
    /// Returns the columns of all keys of a row.
    int64_t getKeyWidth() const { return getKHeads() * getHead(); }
    int64_t getEntry() const {
      return getEntryWidth() ? getEntryWidth() : getKeyWidth() + getVWidth();
    }
  }];
}

def Exec_RopeKvAppendKernel
    : Exec_RopeAppend<"RopeKvAppend", "rope_kv_append", (ins)> {
  let summary = "rotated keys, and values, written to their entries";
  let description = [{
    Buffers: k, v, table of angles, rotary positions, slots, positions, page
    table, a layer's pages. Values may be the latent that an absorbed MLA
    attends to. Rotary positions equal `positions`, except in a tree.
  }];
}

def Exec_RopeQkvAppendKernel
    : Exec_RopeAppend<"RopeQkvAppend", "rope_qkv_append", (ins
        Exec_Size:$q_heads, Exec_Stride:$q_stride, Exec_Stride:$y_stride)> {
  let summary = "`rope_kv_append` and rotated queries";
  let description = [{
    Buffers: q, those of `rope_kv_append`, y. Query heads have the shape of key
    heads.
  }];
}

def Exec_KvMoveKernel : Exec_Kernel<"KvMove", "kv_move", 3, "Slots", (ins
    Exec_Size:$entry_width, Exec_CacheElements:$dtype, Exec_Size:$page,
    Exec_SizeOrOne:$cache_heads, Exec_RowLimit:$slots)> {
  let summary = "entries moved to other positions of their slots";
  let description = [{
    Buffers: slots, from, to, page table, a layer's pages. The third param is
    the number of entries that move for each slot.
  }];
  let hasRules = true;
}

#endif // EXEC_CACHE_KERNELS
