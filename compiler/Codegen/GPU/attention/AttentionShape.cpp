//===- AttentionShape.cpp - Sizes of attention on a GPU -------------------===//

#include "compiler/Codegen/GPU/attention/AttentionShape.h"

#include <numeric>

using namespace mtp::codegen;

AttentionShape::AttentionShape(const KernelConfig &config)
    : heads(config.integer("q_heads")), kvHeads(config.integer("kv_heads")),
      dk(config.integer("dk")), dv(config.integer("dv")), dtype(config.dtype()),
      bytes(byteWidth(dtype)), cache(config, config.integer("entry_width")),
      keysAt(config.integer("k_offset")), valuesAt(config.integer("v_offset")),
      window(config.integer("window")), slots(config.integer("slots")),
      treeBlock(config.integer("block")),
      qStride(config.integer("q_stride", heads * dk)),
      yStride(config.integer("y_stride", heads * dv)),
      part(config.integer("part")), parts(config.integer("parts")),
      partStride(config.integer("part_stride")),
      leavesParts(config.integer("splits") != 0) {}

int64_t AttentionShape::elementsPerLoad(int64_t width, int64_t offset) const {
  // All that is added up to make an address.
  int64_t step = 16 / bytes;
  for (int64_t elements : {width, offset / bytes, cache.share(),
                           headBytes(width) / bytes, pageBytes() / bytes})
    step = std::gcd(step, elements);
  return step;
}
