//===- IntegerFragments.h - Integers for tensor cores -----------*- C++ -*-===//
//
// The counterpart of FragmentOrder.h for integers. Within each group of a
// QuantizedPanel the words are permuted, so the size of a panel does not
// change. The scales come first, then the words of the first 16 outputs (a
// tile), then the words of the other 16. In a tile, 32 inputs form one A of
// mma.sync m16n8k32. Lane 4 g + t has outputs g and g + 8 of the tile, and
// inputs 8 t to 8 t + 7 of the 32. Integers are stored in two's complement,
// without the bias of 128 or 8. FORMAT.md describes it in prose.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_INTEGERFRAGMENTS_H
#define MTP_RUNTIME_SCHEMA_INTEGERFRAGMENTS_H

#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/QuantizedPanel.h"

namespace mtp {

struct IntegerFragments {
  /// Parameters as in QuantizedPanel.
  int64_t bits, group, k;

  static constexpr int64_t kTileOutputs = FragmentOrder::kTileOutputs,
                           kInputs = FragmentOrder::kInputs, kLanes = 32;
  /// Returns the mask that turns a stored word of a panel into integers.
  constexpr uint32_t signBits() const {
    return bits == 8 ? 0x80808080u : 0x88888888u;
  }

  /// Whether weights can be in this order: groups and inputs are whole A
  /// fragments.
  constexpr bool isPossible() const {
    return (group == 32 || group == 64 || group == 128) && k % kInputs == 0;
  }

  /// Bytes per lane for 32 inputs, and bytes of a tile for a group of `inputs`.
  constexpr int64_t laneBytes() const { return 2 * bits; }
  constexpr int64_t tileBytes(int64_t inputs) const {
    return inputs / kInputs * kLanes * laneBytes();
  }
  /// Returns the number of inputs that a lane loads at once: one A fragment of
  /// int8, two of int4.
  constexpr int64_t loadInputs() const { return 16 / laneBytes() * kInputs; }

  /// Returns the byte offset in a group of an output's scale. The scales of a
  /// lane are adjacent.
  static constexpr int64_t scaleByte(int64_t output) {
    int64_t i = output % kTileOutputs;
    return 4 * (output / kTileOutputs * kTileOutputs + 2 * (i % 8) + i / 8);
  }

  /// Returns the byte offset in a group of `inputs` of word `word` of an output
  /// in its panel. A word has four inputs of int8 or eight of int4.
  constexpr int64_t wordByte(int64_t output, int64_t word,
                             int64_t inputs) const {
    int64_t i = output % kTileOutputs, perOctet = bits == 8 ? 2 : 1;
    int64_t octet = word / perOctet, unit = octet / 4;
    int64_t lane = 4 * (i % 8) + octet % 4;
    int64_t ofLane = 4 * (i / 8 + 2 * (word % perOctet));
    // A lane has two units of int4 side by side; an odd last unit is alone.
    int64_t together = loadInputs() / kInputs,
            first = unit / together * together;
    int64_t units = inputs / kInputs - first;
    int64_t loaded = (units < together ? units : together) * laneBytes();
    return QuantizedPanel::kScaleBytes +
           output / kTileOutputs * tileBytes(inputs) +
           first * kLanes * laneBytes() + lane * loaded +
           (unit - first) * laneBytes() + ofLane;
  }
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_INTEGERFRAGMENTS_H
