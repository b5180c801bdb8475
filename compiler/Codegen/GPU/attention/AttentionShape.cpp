//===- AttentionShape.cpp - Sizes of attention on a GPU -------------------===//

#include "compiler/Codegen/GPU/attention/AttentionShape.h"

#include <numeric>

using namespace mtp::codegen;

AttentionShape::AttentionShape(const AttentionParams &params)
    : heads(params.qHeads), kvHeads(params.kvHeads), dk(params.dk),
      dv(params.dv), scale(params.scale), dtype(params.dtype),
      bytes(byteWidth(dtype)), cache(params.cache), keysAt(params.kOffset),
      valuesAt(params.vOffset), window(params.window), slots(params.slots),
      qStride(params.qStride), yStride(params.yStride), split(params.split),
      splits(params.splits), splitStride(params.splitStride),
      leavesSplits(params.tasksPerTile != 0), isTree(params.isTree) {}

int64_t AttentionShape::elementsPerLoad(int64_t width, int64_t offset) const {
  // Every term of an address must be a multiple of the load.
  int64_t step = 16 / bytes;
  for (int64_t elements : {width, offset / bytes, cache.share(),
                           headBytes(width) / bytes, pageBytes() / bytes})
    step = std::gcd(step, elements);
  return step;
}
