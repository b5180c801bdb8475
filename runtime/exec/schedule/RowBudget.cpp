//===- RowBudget.cpp - Which rows of a round's slots are verified ---------===//

#include "runtime/exec/schedule/RowBudget.h"

#include <algorithm>

using namespace mtp;

std::vector<uint32_t> mtp::trimRows(std::span<const uint32_t> wanted,
                                    uint64_t budget) {
  std::vector<uint32_t> shares(wanted.size(), 0);
  // Windows have few rows: each slot that wants more gets one more row, in
  // turns.
  for (bool isAny = true; isAny && budget > 0;) {
    isAny = false;
    for (size_t i = 0; i < wanted.size() && budget > 0; ++i) {
      if (shares[i] >= wanted[i])
        continue;
      ++shares[i];
      --budget;
      isAny = true;
    }
  }
  return shares;
}
