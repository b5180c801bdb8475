//===- IntegerFragments.h - Integers in the order of tensor cores -*- C++ -*-=//
//
// What FragmentOrder.h is for bf16: within each group of a QuantizedPanel the
// words change places, so that a panel has as many bytes. Behind the scales
// lie the words of the first 16 outputs, a tile, and then those of the others.
// Of a tile 32 inputs are one A of mma.sync m16n8k32, and lane 4 g + t has of
// them outputs g and g + 8 and inputs 8 t to 8 t + 7. Integers are as they are,
// not 128 or 8 larger. FORMAT.md is the prose.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_INTEGERFRAGMENTS_H
#define MTP_RUNTIME_SCHEMA_INTEGERFRAGMENTS_H

#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/QuantizedPanel.h"

namespace mtp {

struct IntegerFragments {
  /// As in QuantizedPanel.
  int64_t bits, group, k;

  static constexpr int64_t kTileOutputs = FragmentOrder::kTileOutputs,
                           kInputs = FragmentOrder::kInputs, kLanes = 32;
  /// What turns a stored word of a panel into integers.
  constexpr uint32_t signBits() const {
    return bits == 8 ? 0x80808080u : 0x88888888u;
  }

  /// Whether weights can be in this order: groups and inputs are whole A.
  constexpr bool isPossible() const {
    return (group == 32 || group == 64 || group == 128) && k % kInputs == 0;
  }

  /// Bytes of a lane of 32 inputs, and of a tile of a group of `inputs`.
  constexpr int64_t laneBytes() const { return 2 * bits; }
  constexpr int64_t tileBytes(int64_t inputs) const {
    return inputs / kInputs * kLanes * laneBytes();
  }
  /// What a lane loads at once: int8 an A, int4 two.
  constexpr int64_t loadInputs() const { return 16 / laneBytes() * kInputs; }

  /// Byte in a group of an output's scale: those of a lane are neighbours.
  static constexpr int64_t scaleByte(int64_t output) {
    int64_t i = output % kTileOutputs;
    return 4 * (output / kTileOutputs * kTileOutputs + 2 * (i % 8) + i / 8);
  }

  /// Byte in a group of `inputs` of an output's word of that number in its
  /// panel: four inputs of int8, eight of int4.
  constexpr int64_t wordByte(int64_t output, int64_t word,
                             int64_t inputs) const {
    int64_t i = output % kTileOutputs, perOctet = bits == 8 ? 2 : 1;
    int64_t octet = word / perOctet, unit = octet / 4;
    int64_t lane = 4 * (i % 8) + octet % 4;
    int64_t ofLane = 4 * (i / 8 + 2 * (word % perOctet));
    // Lanes have two units of int4 side by side; a last one is alone.
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
