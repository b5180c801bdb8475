//===- AttentionShape.h - Sizes of attention on a GPU -----------*- C++ -*-===//
//
// Parameters of an attention kernel, and the division of its work among blocks
// and threads.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONSHAPE_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONSHAPE_H

#include "compiler/Codegen/AttentionParams.h"

namespace mtp::codegen {

struct AttentionShape {
  explicit AttentionShape(const AttentionParams &params);

  int64_t heads, kvHeads, dk, dv;
  float scale;
  DType dtype;
  int64_t bytes;
  /// Layout of keys and values in pages.
  CacheLayout cache;
  int64_t keysAt, valuesAt;
  int64_t window, slots;
  int64_t qStride, yStride;
  /// Number of positions that are added up apart from others, starting at a
  /// multiple of `split`; 0 if all positions are added up together.
  int64_t split;
  /// Maximum number of splits of a row, and the number of floats from one split
  /// to the next, if the sums of splits are left for another kernel to join.
  int64_t splits, splitStride;
  bool leavesSplits;
  bool isTree;

  /// Returns the number of query heads that share a key head.
  int64_t group() const { return heads / kvHeads; }

  // Distances in bytes: from one page to the next, from one position's key to
  // the next, and from one head's key or value to the next. Then the offsets of
  // the first key and the first value in a page.
  int64_t pageBytes() const { return cache.pageBytes(bytes); }
  int64_t positionBytes() const { return cache.share() * bytes; }
  int64_t headBytes(int64_t width) const {
    return (cache.heads > 1 ? cache.headStride() : width) * bytes;
  }
  int64_t keyOffset() const { return keysAt / cache.heads * bytes; }
  bool hasIntegers() const { return dtype == DType::I8; }
  /// Returns the bytes from a head's share of integers to the scale of the keys
  /// or values that begin at `offset` of the share.
  int64_t scaleOffset(int64_t offset) const {
    return cache.scaleOffset(offset);
  }
  /// Returns the columns of an integer key that have the scale of the values;
  /// the other columns have the second scale. 0 if a key has one scale.
  int64_t latentColumns() const {
    return hasIntegers() && keysAt == valuesAt && dv < dk ? dv : 0;
  }
  int64_t valueOffset() const { return valuesAt / cache.heads * bytes; }
  /// Returns the largest number of elements, up to 16 bytes, in which `width`
  /// columns of all heads at `offset` bytes can be loaded.
  int64_t elementsPerLoad(int64_t width, int64_t offset) const;

  // Layout of the sums of a split, in floats: the maxima of all heads, their
  // totals, and their sums of values.
  int64_t maximaAt() const { return 0; }
  int64_t totalsAt() const { return heads; }
  int64_t sumsAt() const { return 2 * heads; }
  int64_t splitFloats() const { return heads * (dv + 2); }
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONSHAPE_H
