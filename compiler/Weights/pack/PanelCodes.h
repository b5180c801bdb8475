//===- PanelCodes.h - Integers and scales of a panel ------------*- C++ -*-===//
//
// The form between sources of integers (tensors with blocks, a quantiser) and
// the bytes of a panel.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_PACK_PANELCODES_H
#define MTP_COMPILER_WEIGHTS_PACK_PANELCODES_H

#include "compiler/Weights/GgufBlocks.h"
#include "runtime/schema/WeightFormat.h"

namespace mtp {

/// Integers and scales of 32 outputs and up to 256 inputs. Integers are signed
/// for formats without offsets. Group g has inputs from g * group on, with the
/// group of the panel's format. With two levels all groups of an output have
/// one `scale` and one `least`.
struct PanelCodes {
  static constexpr int64_t kInputs = kMostBlockElements;

  int16_t q[QuantizedPanel::kOutputs][kInputs];
  GroupCodes groups[QuantizedPanel::kOutputs][kMostBlockGroups];
};

/// Returns the elements that hold integers of `bits` bits.
WeightElements integersOfBits(int64_t bits, int64_t group);

/// Returns the bits of integers that hold the integers of a format.
int64_t integerBits(const WeightFormat &format);

/// Returns the smallest format that represents both exactly.
WeightFormat commonFormat(const WeightFormat &a, const WeightFormat &b);

/// Writes the block that begins at input `first` of `codes` and has `inputs`.
/// Returns false if a scale or an integer does not fit the format exactly; the
/// output is then unspecified.
bool writeBlock(const WeightFormat &format, const PanelCodes &codes,
                int64_t first, int64_t inputs, uint8_t *out);

/// Reorders a block of one group of `inputs` from its order in a panel to the
/// order of fragments.
void orderGroup(const IntegerFragments &order, const uint8_t *from,
                int64_t inputs, uint8_t *out);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_PACK_PANELCODES_H
