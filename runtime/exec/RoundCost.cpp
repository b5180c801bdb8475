//===- RoundCost.cpp - How long a round takes -----------------------------===//

#include "runtime/exec/RoundCost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace mtp;

/// Of the first rounds of a shape the fastest counts.
static constexpr uint32_t kSettling = 3;

/// Rounds that a shape remembers: it takes none of its first for all.
static constexpr double kFirstMemory = 8, kMemory = 24;

/// A round that takes so many times what it should is taken for this: others
/// had the machine.
static constexpr double kOutlier = 1.4;

/// What of a deviation all shapes share.
static constexpr double kCommon = 0.04;

/// The doubt about a shape that hardly ran, about one with few rounds for each
/// of them, and about one that did not run for so many.
static constexpr double kNeverRan = 0.2, kFew = 0.25, kLongAgo = 0.06,
                        kLong = 2000;

/// Rounds between two fits.
static constexpr uint32_t kFitEvery = 16;

/// What is assumed as long as nothing else is known, in times of the round: a
/// row, the first draft, each draft. How much one assumption weighs, in rounds.
static constexpr std::array<double, 4> kAssumed = {1, 0.02, 0.05, 0.05};
static constexpr double kTrust = 0.0005;

/// Of what a shape takes at all rows, the least that fewer leave of it.
static constexpr double kLeastShare = 0.2;

static std::array<double, 4> termsOf(uint32_t k, double rows) {
  return {1, rows, k > 0 ? 1.0 : 0.0, double(k)};
}

static double product(const std::array<double, 4> &a,
                      const std::array<double, 4> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// What a shape takes at so many rows, by what it took at others.
double RoundCost::at(const Cell &cell, double rows) const {
  double other = cell.seconds + terms[kRowTerm] * (rows - cell.rows);
  return std::max(other, kLeastShare * cell.seconds);
}

double RoundCost::secondsOfRow() const { return terms[kRowTerm] * slowness; }

/// Takes in a round more of a shape.
void RoundCost::learn(Cell &cell, double rows, double seconds) {
  if (cell.count == 0) {
    cell.seconds = seconds;
    cell.rows = rows;
    return;
  }
  double ratio = seconds / at(cell, rows);
  if (cell.count < kSettling) {
    cell.seconds *= std::min(ratio, 1.0);
    return;
  }
  ratio = std::clamp(ratio, 1 / kOutlier, kOutlier);
  slowness *= std::pow(ratio, kCommon);
  double memory = std::clamp<double>(cell.count, kFirstMemory, kMemory);
  cell.seconds *= std::pow(ratio, 1 / memory);
  double moved = cell.rows + (rows - cell.rows) / memory;
  cell.seconds = at(cell, moved);
  cell.rows = moved;
}

void RoundCost::add(const Work &work, double measured) {
  if (!(measured > 0))
    return;
  Cell &cell = cells[{work.batch, work.k}];
  bool isNew = cell.count < kSettling;
  learn(cell, work.rows, measured / slowness);
  ++cell.count;
  cell.last = ++rounds;
  if (isNew || rounds - lastFit >= kFitEvery)
    fit();
}

/// Least squares of relative errors, drawn to the assumptions.
void RoundCost::fit() {
  lastFit = rounds;
  double scale = 0;
  for (const auto &[shape, cell] : cells)
    scale += cell.seconds / product(kAssumed, termsOf(shape.second, cell.rows));
  scale /= double(cells.size());
  // In units of what is assumed of each term, the unknowns are about 1.
  double matrix[kTerms][kTerms + 1] = {};
  for (size_t i = 0; i < kTerms; ++i)
    matrix[i][i] = matrix[i][kTerms] = kTrust;
  for (const auto &[shape, cell] : cells) {
    std::array<double, kTerms> of = termsOf(shape.second, cell.rows);
    for (size_t i = 0; i < kTerms; ++i)
      of[i] *= kAssumed[i] * scale / cell.seconds;
    for (size_t i = 0; i < kTerms; ++i) {
      for (size_t j = 0; j < kTerms; ++j)
        matrix[i][j] += of[i] * of[j];
      matrix[i][kTerms] += of[i];
    }
  }
  // The matrix is positive definite: no pivots are needed.
  for (size_t i = 0; i < kTerms; ++i)
    for (size_t row = 0; row < kTerms; ++row) {
      double factor = row == i ? 0 : matrix[row][i] / matrix[i][i];
      for (size_t j = i; factor != 0 && j <= kTerms; ++j)
        matrix[row][j] -= factor * matrix[i][j];
    }
  for (size_t i = 0; i < kTerms; ++i)
    terms[i] =
        std::max(matrix[i][kTerms] / matrix[i][i], 0.0) * kAssumed[i] * scale;
}

double RoundCost::fitted(uint32_t k, double rows) const {
  return product(terms, termsOf(k, rows));
}

/// What the nearest shape that ran takes over what the fit says of it: those of
/// the same batch first.
double RoundCost::nearby(uint32_t batch, uint32_t k) const {
  double ratio = 1;
  uint64_t least = UINT64_MAX;
  for (const auto &[shape, cell] : cells) {
    uint64_t distance =
        1000 * uint64_t(std::abs(int(shape.first) - int(batch))) +
        uint64_t(std::abs(int(shape.second) - int(k)));
    if (distance >= least)
      continue;
    least = distance;
    ratio = cell.seconds / std::max(fitted(shape.second, cell.rows), 1e-12);
  }
  return ratio;
}

double RoundCost::seconds(const Work &work) const {
  auto found = cells.find({work.batch, work.k});
  bool hasRun = found != cells.end();
  if (hasRun && found->second.count >= kSettling)
    return at(found->second, work.rows) * slowness;
  if (cells.empty())
    return 0;
  double seconds = fitted(work.k, work.rows) * nearby(work.batch, work.k);
  if (hasRun)
    seconds = std::min(seconds, at(found->second, work.rows));
  // Fewer slots and drafts take no longer, whatever a few rounds say.
  for (const auto &[shape, cell] : cells)
    if (shape.first >= work.batch && shape.second >= work.k &&
        cell.rows >= work.rows)
      seconds = std::min(seconds, cell.seconds);
  return seconds * slowness;
}

bool RoundCost::isMeasured(uint32_t batch, uint32_t k) const {
  auto found = cells.find({batch, k});
  return found != cells.end() && found->second.count >= kSettling;
}

double RoundCost::doubt(uint32_t batch, uint32_t k) const {
  auto found = cells.find({batch, k});
  if (found == cells.end() || found->second.count < kSettling)
    return kNeverRan;
  const Cell &cell = found->second;
  return kFew / (1 + cell.count) +
         kLongAgo * std::min(1.0, double(rounds - cell.last) / kLong);
}
