//===- LdMatrix.cpp - Matrices from shared memory to fragments ------------===//
//
// ldmatrix loads matrices of 8 x 8 elements of 16 bits. Lanes 8 i to 8 i + 7
// hold the addresses of the rows of matrix i. Lane l gets elements 2 (l % 4)
// and 2 (l % 4) + 1 of row l / 4 of each matrix, or of column l / 4 if
// transposed.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Calls.h"
#include "Collectives.h"
#include <cstring>

using namespace mtp::gpusim;

static constexpr uint32_t kSharedRead = kRead | 3 << kSpaceShift;

static const char *rowOf(const Lanes &lanes, int row) {
  const char *address;
  std::memcpy(&address, lanes.lane[row]->arguments, sizeof address);
  return address;
}

template <int count, bool transposed>
static void loadMatrices(const Lanes &lanes) {
  // A lane gets data from rows of other lanes. These accesses need an order,
  // too. They are checked in the lane that arrived last.
  for (int row = 0; row < 8 * count; ++row)
    checkAccess(rowOf(lanes, row), 16, kSharedRead, 16);
  for (int matrix = 0; matrix < count; ++matrix)
    for (int l = 0; l < 32; ++l) {
      uint16_t pair[2];
      for (int e = 0; e < 2; ++e) {
        int row = l / 4, column = 2 * (l % 4) + e;
        if (transposed)
          std::swap(row, column);
        std::memcpy(&pair[e], rowOf(lanes, 8 * matrix + row) + 2 * column, 2);
      }
      std::memcpy(static_cast<char *>(lanes.lane[l]->result) + 4 * matrix, pair,
                  sizeof pair);
    }
}

/// Loads matrices for the lanes of a warp. If a lane's own address is wrong,
/// the message names that lane.
template <int count, bool transposed>
static void load(const char *name, void *result, const void *arguments) {
  if (running->self().id % 32 < 8 * count) {
    const void *address;
    std::memcpy(&address, arguments, sizeof address);
    checkAccess(address, 16, kSharedRead, 16);
  }
  meet(name, kFullWarp, result, arguments, loadMatrices<count, transposed>);
}

#define MTP_LDMATRIX(count)                                                    \
  void calls::ldmatrix_sync_aligned_m8n8_x##count##_b16_p3(                    \
      void *result, const void *arguments) {                                   \
    load<count, false>("ldmatrix.x" #count, result, arguments);                \
  }                                                                            \
  void calls::ldmatrix_sync_aligned_m8n8_x##count##_trans_b16_p3(              \
      void *result, const void *arguments) {                                   \
    load<count, true>("ldmatrix.x" #count ".trans", result, arguments);        \
  }
MTP_LDMATRIX(1)
MTP_LDMATRIX(2)
MTP_LDMATRIX(4)
#undef MTP_LDMATRIX
