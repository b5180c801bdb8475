//===- Cholesky.cpp - Factors of a symmetric matrix -----------------------===//
//
// Blocks of columns from left to right. After a block is factored, its columns
// are subtracted from all columns to their right. This takes nearly all the
// time, so its rows are shared by the threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Quantize/Cholesky.h"
#include "compiler/Quantize/Lanes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace mtp {

namespace {

constexpr int64_t kBlock = 64;
/// Rows and columns of a tile that is kept in registers.
constexpr int64_t kTileRows = 4, kTileColumns = 16;
/// Rows that a thread takes at a time.
constexpr int64_t kTaskRows = 32;

typedef double Wide __attribute__((vector_size(64)));
constexpr int64_t kWide = 8;

MTP_LANES_INLINE Wide loadWide(const double *from) {
  Wide wide;
  std::memcpy(&wide, from, sizeof(wide));
  return wide;
}

/// A matrix with one block of columns factored.
struct Trailing {
  double *matrix;
  int64_t n;
  /// First column after the block.
  int64_t begin;
  /// First column of the block.
  int64_t block;
  /// The block's columns below it, transposed, padded to whole tiles.
  std::vector<double> transposed;
  int64_t pitch;
};

/// Subtracts the block's columns from a tile.
MTP_LANES_INLINE void updateTile(const Trailing &t, int64_t row, int64_t rows,
                                 int64_t column) {
  Wide sums[kTileRows][2] = {};
  int64_t depth = t.begin - t.block;
  for (int64_t k = 0; k < depth; ++k) {
    const double *right = t.transposed.data() + k * t.pitch + column - t.begin;
    Wide first = loadWide(right), second = loadWide(right + kWide);
    for (int64_t r = 0; r < kTileRows; ++r) {
      double left = t.transposed[size_t(k * t.pitch + row + r - t.begin)];
      sums[r][0] += left * first;
      sums[r][1] += left * second;
    }
  }
  int64_t columns = std::min(kTileColumns, t.n - column);
  for (int64_t r = 0; r < rows; ++r) {
    double line[kTileColumns];
    std::memcpy(line, sums[r], sizeof(line));
    double *to = t.matrix + (row + r) * t.n + column;
    for (int64_t c = 0; c < columns; ++c)
      to[c] -= line[c];
  }
}

/// Factors the block's rows on the diagonal. Returns false if a pivot is not
/// positive.
bool factorDiagonal(double *matrix, int64_t n, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) {
    double *row = matrix + j * n;
    for (int64_t i = begin; i < j; ++i) {
      double sum = row[i];
      for (int64_t k = begin; k < i; ++k)
        sum -= row[k] * matrix[i * n + k];
      row[i] = sum / matrix[i * n + i];
    }
    double sum = row[j];
    for (int64_t k = begin; k < j; ++k)
      sum -= row[k] * row[k];
    if (!(sum > 0) || !std::isfinite(sum))
      return false;
    row[j] = std::sqrt(sum);
  }
  return true;
}

/// Runs task(row) for the rows from `begin` to `end` in steps, on all threads.
template <typename TaskT>
void forRows(int64_t begin, int64_t end, unsigned threads, TaskT task) {
  std::atomic<int64_t> next = begin;
  auto work = [&] {
    for (int64_t row; (row = next.fetch_add(kTaskRows)) < end;)
      task(row);
  };
  std::vector<std::jthread> helpers;
  int64_t tasks = (end - begin + kTaskRows - 1) / kTaskRows;
  for (int64_t t = 1; t < std::min<int64_t>(threads, tasks); ++t)
    helpers.emplace_back(work);
  work();
}

} // namespace

/// Subtracts the block's columns from some rows, up to the diagonal.
MTP_LANES_CLONES void updateRows(const Trailing &t, int64_t begin,
                                 int64_t end) {
  for (int64_t row = begin; row < end; row += kTileRows)
    for (int64_t column = t.begin; column < std::min(row + kTileRows, end);
         column += kTileColumns)
      updateTile(t, row, std::min(kTileRows, end - row), column);
}

/// Solves the block's columns of some rows below it.
static void solveRows(const Trailing &t, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    double *row = t.matrix + r * t.n;
    for (int64_t i = t.block; i < t.begin; ++i) {
      double sum = row[i];
      for (int64_t k = t.block; k < i; ++k)
        sum -= row[k] * t.matrix[i * t.n + k];
      row[i] = sum / t.matrix[i * t.n + i];
    }
  }
}

static void transpose(Trailing &t) {
  t.pitch = t.n - t.begin + kTileColumns;
  t.transposed.assign(size_t((t.begin - t.block) * t.pitch), 0);
  for (int64_t r = t.begin; r < t.n; ++r)
    for (int64_t k = t.block; k < t.begin; ++k)
      t.transposed[size_t((k - t.block) * t.pitch + r - t.begin)] =
          t.matrix[r * t.n + k];
}

bool factorLower(std::vector<double> &matrix, int64_t n, unsigned threads) {
  Trailing t{matrix.data(), n, 0, 0, {}, 0};
  for (; t.begin < n;) {
    t.block = t.begin;
    t.begin = std::min(n, t.block + kBlock);
    if (!factorDiagonal(t.matrix, n, t.block, t.begin))
      return false;
    auto span = [&](int64_t row) { return std::min(n, row + kTaskRows); };
    forRows(t.begin, n, threads,
            [&](int64_t row) { solveRows(t, row, span(row)); });
    transpose(t);
    forRows(t.begin, n, threads,
            [&](int64_t row) { updateRows(t, row, span(row)); });
  }
  return true;
}

} // namespace mtp
