//===- FragmentOrder.h - Weights in the order of tensor cores ---*- C++ -*-===//
//
// A block is 32 inputs of a panel of 32 outputs in bf16, 2 KiB: a tile of the
// first 16 outputs, then a tile of the other 16. A tile is two A fragments of
// mma.sync m16n8k16, one after the other, each stored lane by lane. Lane 4 g +
// t has outputs g and g + 8 and inputs 8 t to 8 t + 7 of a tile, so a lane
// needs eight adjacent inputs of a row. FORMAT.md describes it in prose.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_FRAGMENTORDER_H
#define MTP_RUNTIME_SCHEMA_FRAGMENTORDER_H

#include <cstdint>

namespace mtp {

struct FragmentOrder {
  /// Outputs of a panel and of a tile, and inputs of a block.
  static constexpr int64_t kOutputs = 32, kTileOutputs = 16, kInputs = 32;
  /// Bytes per lane in a fragment, and bytes of a fragment, a tile and a block.
  static constexpr int64_t kLaneBytes = 16, kFragmentBytes = 32 * kLaneBytes,
                           kTileBytes = 2 * kFragmentBytes,
                           kBlockBytes = 2 * kTileBytes;

  /// Returns the byte offset in a panel of the weight of an output and an
  /// input.
  static constexpr int64_t byteOf(int64_t output, int64_t input) {
    int64_t i = output % kTileOutputs, e = input % kInputs;
    int64_t lane = 4 * (i % 8) + e / 8, fragment = e % 8 / 4;
    int64_t word = i / 8 + 2 * (e % 4 / 2);
    return input / kInputs * kBlockBytes + output / kTileOutputs * kTileBytes +
           fragment * kFragmentBytes + lane * kLaneBytes + word * 4 + e % 2 * 2;
  }
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_FRAGMENTORDER_H
