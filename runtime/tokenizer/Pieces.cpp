//===- Pieces.cpp - The text of every id ----------------------------------===//

#include "runtime/tokenizer/Pieces.h"
#include "runtime/schema/Limits.h"

#include <string>

using namespace mtp;

Status mtp::verifyPieces(const schema::Tokenizer &tables) {
  const flatbuffers::Vector<uint32_t> &offsets = *tables.piece_offsets();
  if (offsets.size() < 2 || offsets.size() - 1 > kMostIds)
    return outOfRange("expected piece_offsets for 1 to " +
                      std::to_string(kMostIds) + " ids, got " +
                      std::to_string(offsets.size()) + " offsets");
  uint32_t previous = 0;
  for (uint32_t i = 0; i < offsets.size(); ++i) {
    uint32_t offset = offsets.Get(i);
    if (offset < previous || (i == 0 && offset != 0))
      return dataLoss("expected ascending offsets from 0, got piece_offsets[" +
                      std::to_string(i) + "] = " + std::to_string(offset));
    previous = offset;
  }
  if (previous != tables.piece_bytes()->size())
    return dataLoss("expected piece_offsets to end at " +
                    std::to_string(tables.piece_bytes()->size()) + ", got " +
                    std::to_string(previous));
  return okStatus();
}
