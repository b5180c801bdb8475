//===- RoundCostModel.cpp - How long a round takes ------------------------===//

#include "runtime/exec/schedule/RoundCostModel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace mtp;

/// Number of first rounds of a shape; only the fastest of them counts.
static constexpr uint32_t kSettling = 3;

/// Rounds that a shape remembers, at first and later: its first rounds may not
/// be typical.
static constexpr double kFirstMemory = 8, kMemory = 24;

/// The factor to which a deviation is cut. A larger one means that other
/// processes had the machine.
static constexpr double kOutlier = 1.4;

/// The part of a deviation that all shapes share.
static constexpr double kCommon = 0.02;

/// Rounds that a shape with measured times remembers, and the part of its
/// deviations that all shapes share. Times were measured in alternation, so a
/// deviation rather shows other processes than an error of one shape.
static constexpr double kBegunMemory = 100, kBegunCommon = 0.05;

/// The doubt about a shape that hardly ran, about one with few rounds, and
/// about one that did not run for `kLong` rounds.
static constexpr double kNeverRan = 0.2, kFew = 0.25, kLongAgo = 0.06,
                        kLong = 2000;

/// Rounds between two fits.
static constexpr uint32_t kFitEvery = 16;

/// Assumed times while nothing else is known, in shares of a round: a row, the
/// first draft, each draft. Positions are assumed to cost nothing, and have
/// their unit here. `kTrust` is the weight of an assumption, in rounds.
static constexpr std::array<double, 6> kAssumed = {1,    0.02, 0.05,
                                                   0.05, 2e-5, 2e-5};
static constexpr double kTrust = 0.0005;

/// The weight of a change within a shape, in rounds of a shape, and one round
/// later. A change is of one round only, which may have been disturbed.
static constexpr double kChange = 0.1, kChangeMemory = 0.998,
                        kChangeOutlier = 1.1;
/// Rounds of the mean with which a change is compared.
static constexpr double kLongMemory = 400;

/// The weight of a round for the cost of rows in its shape, one round later.
/// The deviation above which it is cut, and the usual deviation, in shares of
/// the round. The least cost of a row, as such a share, and as a share of the
/// prediction.
static constexpr double kRowMemory = 0.98, kRowOutlier = 0.06, kRowNoise = 0.15,
                        kLeastRow = 0.005, kLeastOfRow = 0.25;

/// Turns in which measured costs are fitted, and the number of rounds for which
/// a measured cost of rows stands.
static constexpr int kBeginTurns = 3, kBeginWeight = 8;

/// The least spread of contexts that tells how the cost of rows grows with
/// them.
static constexpr double kLeastSpread = 0.05;

/// Points of a curve for each doubling of the positions.
static constexpr double kPointsOfDoubling = 1;

/// The least share of a shape's time that fewer rows leave.
static constexpr double kLeastShare = 0.2;

/// Returns the amounts of a round. A padding slot counts as a row, as a slot
/// without drafts does, and has no positions.
RoundCostModel::Terms RoundCostModel::termsOf(const Work &work) {
  double rows = work.rows + work.padding, positions = double(work.positions);
  return {1,
          rows,
          work.k > 0 ? 1.0 : 0.0,
          double(work.k),
          positions,
          positions * rows / std::max(work.batch + work.padding, 1u)};
}

/// Returns the cell that predicts a shape; null if there is none. While a shape
/// with padding has not settled, the larger shape without padding stands for
/// it, or else its own without padding.
const RoundCostModel::Cell *RoundCostModel::cellOf(const Work &work) const {
  uint32_t slots = work.batch + work.padding;
  for (Shape shape :
       {shapeOf(work), Shape{slots, work.k, 0}, Shape{work.batch, work.k, 0}})
    if (auto found = cells.find(shape);
        found != cells.end() && found->second.count >= kSettling)
      return &found->second;
  auto own = cells.find(shapeOf(work));
  return own == cells.end() ? nullptr : &own->second;
}

template <typename T>
static double product(const T &a, const T &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Returns the value of a curve of two or more points at `x`. Beyond its ends
/// the line through the two nearest points goes on, but does not fall.
static double valueAt(const std::vector<std::pair<double, double>> &curve,
                      double x) {
  size_t i = 1;
  while (i + 1 < curve.size() && x > curve[i].first)
    ++i;
  auto [x0, y0] = curve[i - 1];
  auto [x1, y1] = curve[i];
  double slope = (y1 - y0) / (x1 - x0);
  if (x < x0 || x > x1)
    slope = std::max(slope, 0.0);
  return x > x1 ? y1 + slope * (x - x1) : y0 + slope * (x - x0);
}

/// Predicts the time of a shape with other rows and positions from its own.
double RoundCostModel::at(const Cell &cell, const Terms &has) const {
  double rows = cell.has[kRowTerm];
  double more = has[kRowTerm] - rows;
  double other = cell.seconds + cell.ownRow * more;
  other += cell.rowLine ? rowIn(cell, has) * more
                        : fitted(has) - fitted(withRows(has, rows));
  if (cell.curve.empty())
    other += fitted(withRows(has, rows)) - fitted(cell.has);
  else
    other += valueAt(cell.curve, has[kPositionTerm]) -
             valueAt(cell.curve, cell.has[kPositionTerm]);
  return std::max(other, kLeastShare * cell.seconds);
}

/// Returns the time of one more row as a profile has it for the shape, or as
/// all shapes predict it.
double RoundCostModel::rowIn(const Cell &cell, const Terms &has) const {
  if (!cell.rowLine)
    return rowIn(has);
  auto [first, slope] = *cell.rowLine;
  return std::max(first + slope * has[kPositionTerm], 0.0);
}

/// Returns the time of one more row, as all shapes predict it.
double RoundCostModel::rowIn(const Terms &has) const {
  return fitted(withRows(has, has[kRowTerm] + 1)) - fitted(has);
}

/// Returns the time of a round of k = 0 with the batch and the positions of
/// `work`, on a machine of speed 1; 0 if it is not known.
double RoundCostModel::secondsOfStep(const Work &work) const {
  Work step{work.batch, 0, work.batch, work.positions, work.padding};
  const Cell *cell = cellOf(step);
  return cell && cell->count >= kSettling ? at(*cell, termsOf(step)) : 0;
}

double RoundCostModel::secondsOfRow(const Work &work) const {
  Work some = work;
  some.rows = std::max(work.rows, 1u);
  Terms has = termsOf(some);
  const Cell *found = cellOf(work);
  if (!found)
    return std::max(rowIn(has), 0.0) * slowness;
  const Cell &cell = *found;
  double row = std::max(rowIn(cell, has) + cell.ownRow, 0.0);
  // All rows of drafts together take at most the time of the round minus the
  // time of a step.
  double rows = cell.has[kRowTerm], step = secondsOfStep(work);
  double slots = work.batch + work.padding;
  if (work.k > 0 && step > 0 && rows > slots)
    row = std::min(row, std::max(at(cell, withRows(has, rows)) - step, 0.0) /
                            (rows - slots));
  return row * slowness;
}

/// Learns the cost of a row from a round with more or fewer rows than the
/// rounds of its shape before: least squares, drawn to the prediction of all
/// shapes.
void RoundCostModel::learnRows(Cell &cell, const Terms &has, double seconds) {
  double more = has[kRowTerm] - cell.has[kRowTerm];
  double rest = seconds - at(cell, has) + cell.ownRow * more;
  double row = rowIn(cell, has);
  double most = std::max(kRowOutlier * cell.seconds, row * std::abs(more));
  cell.rowRows = cell.rowRows * kRowMemory + more * more;
  cell.rowSeconds =
      cell.rowSeconds * kRowMemory + more * std::clamp(rest, -most, most);
  double rows = kRowNoise / std::max(row / cell.seconds, kLeastRow);
  cell.ownRow = std::max(cell.rowSeconds / (cell.rowRows + rows * rows),
                         (kLeastOfRow - 1) * row);
}

/// Returns the terms for another number of rows.
RoundCostModel::Terms RoundCostModel::withRows(const Terms &has, double rows) {
  Terms other = has;
  other[kRowTerm] = rows;
  other[kPositionTerm + 1] *= rows / has[kRowTerm];
  return other;
}

/// Learns the cost of positions that were added since earlier rounds of the
/// shape. There growing terms differ from constant terms. The cost of
/// rows is taken as known: up to some number they may be free.
void RoundCostModel::learnChange(Cell &cell, const Terms &has, double seconds) {
  for (size_t i = 0; i < kTerms; ++i) {
    slower[i] *= kChangeMemory;
    for (double &value : changes[i])
      value *= kChangeMemory;
  }
  double normal = at(cell, has);
  seconds =
      std::clamp(seconds, normal / kChangeOutlier, normal * kChangeOutlier);
  addChange(cell, has, seconds);
  double memory = std::clamp<double>(cell.count, kFirstMemory, kLongMemory);
  cell.longSeconds += (seconds - cell.longSeconds) / memory;
  for (size_t i = 0; i < kTerms; ++i)
    cell.longHas[i] += (has[i] - cell.longHas[i]) / memory;
}

/// Adds the difference between a round and the mean of its shape to the sums
/// over changes.
void RoundCostModel::addChange(const Cell &cell, const Terms &has,
                               double seconds) {
  Terms same = withRows(has, cell.longHas[kRowTerm]);
  double ratio = (seconds + fitted(same) - fitted(has)) / cell.longSeconds - 1;
  Terms more = {};
  for (size_t i = kPositionTerm; i < kTerms; ++i)
    more[i] = (same[i] - cell.longHas[i]) / cell.longSeconds;
  for (size_t i = kPositionTerm; i < kTerms; ++i) {
    slower[i] += kChange * more[i] * ratio;
    for (size_t j = 0; j < kTerms; ++j)
      changes[i][j] += kChange * more[i] * more[j];
  }
}

/// Adds a round to its shape.
void RoundCostModel::learn(Cell &cell, const Terms &has, double seconds) {
  if (cell.count == 0) {
    cell.seconds = cell.longSeconds = seconds;
    cell.has = cell.longHas = has;
    return;
  }
  double ratio = seconds / at(cell, has);
  if (cell.count < kSettling) {
    cell.seconds *= std::min(ratio, 1.0);
    cell.longSeconds = cell.seconds;
    return;
  }
  learnRows(cell, has, seconds);
  learnChange(cell, has, seconds);
  ratio = std::clamp(ratio, 1 / kOutlier, kOutlier);
  slowness *= std::pow(ratio, cell.isBegun ? kBegunCommon : kCommon);
  double memory = std::clamp<double>(cell.count, kFirstMemory, kMemory);
  cell.seconds *= std::pow(ratio, 1 / (cell.isBegun ? kBegunMemory : memory));
  Terms moved = cell.has;
  for (size_t i = 0; i < kTerms; ++i)
    moved[i] += (has[i] - moved[i]) / memory;
  cell.seconds = at(cell, moved);
  cell.has = moved;
}

void RoundCostModel::add(const Work &work, double measured) {
  if (!(measured > 0))
    return;
  Cell &cell = cells[shapeOf(work)];
  bool isNew = cell.count < kSettling;
  learn(cell, termsOf(work), measured / slowness);
  ++cell.count;
  cell.last = ++rounds;
  if (isNew || rounds - lastFit >= kFitEvery)
    fit();
}

namespace {
/// Means of the measured rounds of a shape in near contexts.
struct Context {
  double count = 0, rows = 0, positions = 0, seconds = 0;
  /// A point of the shape's curve, in which rounds have their weights.
  double weight = 0, pointPositions = 0, pointSeconds = 0;
};

/// Sums for the time of a row, as a line over positions.
struct RowSums {
  double rows = 0, both = 0, positions = 0, seconds = 0, product = 0;

  void add(double more, double at, double time) {
    rows += more * more;
    both += more * more * at;
    positions += more * more * at * at;
    seconds += more * time;
    product += more * at * time;
  }
  /// Returns the time without positions and for each position. The time does
  /// not fall with positions.
  std::pair<double, double> line() const {
    double determinant = rows * positions - both * both, slope = 0;
    if (determinant > kLeastSpread * rows * positions)
      slope = std::max((rows * product - both * seconds) / determinant, 0.0);
    return {(seconds - slope * both) / rows, slope};
  }
};
} // namespace

struct RoundCostModel::Begun {
  Cell &cell;
  double weight = 0;
  /// By the logarithm of a slot's positions.
  std::map<int, Context> contexts;
  /// Whether rows differ between rounds, and whether they differ in a context.
  bool hasRows = false, hasLine = false;
  RowSums rowSums;

  /// Whether learnRows() tells the cost of a row: all rounds with equal rows
  /// tell nothing, and a line tells more.
  bool learnsRows() const { return hasRows && !hasLine; }
};

struct RoundCostModel::Known {
  const Measured &of;
  Terms has;
  Begun &shape;
  Context &context;
};

/// Sorts measured rounds into shapes and contexts, and starts the shapes' cells
/// with the means of their rounds.
std::vector<RoundCostModel::Known>
RoundCostModel::group(std::span<const Measured> measured,
                      std::map<Shape, Begun> &shapes) {
  std::vector<Known> all;
  all.reserve(measured.size());
  for (const Measured &one : measured) {
    Shape shape = shapeOf(one.work);
    auto found = shapes.find(shape);
    if (found == shapes.end())
      found = shapes.emplace(shape, Begun{cells[shape]}).first;
    Begun &begun = found->second;
    Terms has = termsOf(one.work);
    double share = one.weight / (begun.weight += one.weight);
    begun.cell.seconds += (one.seconds - begun.cell.seconds) * share;
    for (size_t i = 0; i < kTerms; ++i)
      begun.cell.has[i] += (has[i] - begun.cell.has[i]) * share;
    double positions = has[kPositionTerm];
    Context &context = begun.contexts[int(
        kPointsOfDoubling * std::log2(1 + positions / one.work.batch))];
    share = 1 / ++context.count;
    context.rows += (has[kRowTerm] - context.rows) * share;
    context.positions += (positions - context.positions) * share;
    all.push_back({one, has, begun, context});
  }
  for (const Known &one : all) {
    double rows = one.has[kRowTerm];
    one.shape.hasRows |= rows != one.shape.cell.has[kRowTerm];
    one.shape.hasLine |= rows != one.context.rows;
  }
  return all;
}

void RoundCostModel::begin(std::span<const Measured> measured) {
  std::map<Shape, Begun> shapes;
  std::vector<Known> all = group(measured, shapes);
  if (all.empty())
    return;
  for (auto &[shape, cell] : cells) {
    cell.count = uint32_t(kMemory);
    cell.isBegun = true;
    cell.longSeconds = cell.seconds;
    cell.longHas = cell.has;
  }
  fit();
  // Costs of rows and of positions are estimated from each other.
  for (int turn = 0; turn < kBeginTurns; ++turn) {
    changes = {};
    slower = {};
    for (const Known &one : all)
      addChange(one.shape.cell, one.has, one.of.seconds);
    for (int weight = 0; weight < kBeginWeight; ++weight)
      for (const Known &one : all)
        if (one.shape.learnsRows())
          learnRows(one.shape.cell, one.has, one.of.seconds);
    fit();
  }
  setRows(all, shapes);
  setCurves(all, shapes);
}

/// Sets the cost of rows of shapes that were measured with several numbers of
/// rows, by least squares over equal contexts. Rows of longer contexts cost
/// more.
void RoundCostModel::setRows(std::span<const Known> all,
                             std::map<Shape, Begun> &shapes) {
  // The time at the mean context of the group.
  auto secondsOf = [&](const Known &one) {
    Work same = one.of.work;
    same.positions = uint64_t(one.context.positions);
    return one.of.seconds + fitted(termsOf(same)) - fitted(one.has);
  };
  for (const Known &one : all)
    if (one.shape.hasLine)
      one.context.seconds += secondsOf(one) / one.context.count;
  for (const Known &one : all)
    if (one.shape.hasLine)
      one.shape.rowSums.add(one.has[kRowTerm] - one.context.rows,
                            one.context.positions,
                            secondsOf(one) - one.context.seconds);
  for (auto &[shape, begun] : shapes) {
    if (!begun.hasLine)
      continue;
    Cell &cell = begun.cell;
    cell.rowLine = begun.rowSums.line();
    cell.ownRow = cell.rowRows = cell.rowSeconds = 0;
  }
}

/// Sets the curves of shapes that were measured at several contexts. A point is
/// the mean of near contexts, as if all had the shape's mean rows.
void RoundCostModel::setCurves(std::span<const Known> all,
                               std::map<Shape, Begun> &shapes) {
  for (const Known &one : all) {
    const Cell &cell = one.shape.cell;
    const Terms &has = one.has;
    Terms mean = withRows(has, cell.has[kRowTerm]);
    double more = mean[kRowTerm] - has[kRowTerm];
    double seconds = one.of.seconds + cell.ownRow * more;
    seconds +=
        cell.rowLine ? rowIn(cell, has) * more : fitted(mean) - fitted(has);
    Context &point = one.context;
    double share = one.of.weight / (point.weight += one.of.weight);
    point.pointPositions += (has[kPositionTerm] - point.pointPositions) * share;
    point.pointSeconds += (seconds - point.pointSeconds) * share;
  }
  for (auto &[shape, begun] : shapes) {
    if (begun.contexts.size() < 2)
      continue;
    Cell &cell = begun.cell;
    for (const auto &[bucket, point] : begun.contexts)
      cell.curve.emplace_back(point.pointPositions, point.pointSeconds);
    cell.seconds = valueAt(cell.curve, cell.has[kPositionTerm]);
    cell.longSeconds = cell.seconds;
  }
}

/// Fits the terms by least squares of relative errors, drawn to the
/// assumptions.
void RoundCostModel::fit() {
  lastFit = rounds;
  double scale = 0;
  for (const auto &[shape, cell] : cells)
    scale += cell.seconds / product(kAssumed, cell.has);
  scale /= double(cells.size());
  // In units of what is assumed of each term, the unknowns are about 1.
  double matrix[kTerms][kTerms + 1] = {};
  for (size_t i = 0; i < kTerms; ++i) {
    double unit = kAssumed[i] * scale;
    for (size_t j = 0; j < kTerms; ++j)
      matrix[i][j] = changes[i][j] * unit * kAssumed[j] * scale;
    matrix[i][i] += kTrust;
    matrix[i][kTerms] = slower[i] * unit + (i < kPositionTerm ? kTrust : 0);
  }
  for (const auto &[shape, cell] : cells) {
    Terms of = cell.has;
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

double RoundCostModel::fitted(const Terms &has) const {
  return product(terms, has);
}

/// Returns the time of the nearest shape that ran in relation to the fit.
/// Shapes of equal batch are nearest.
double RoundCostModel::nearby(const Shape &of) const {
  double ratio = 1;
  uint64_t least = UINT64_MAX;
  for (const auto &[shape, cell] : cells) {
    uint64_t distance =
        1000 * uint64_t(std::abs(int(shape.slots) - int(of.slots))) +
        uint64_t(std::abs(int(shape.k) - int(of.k)));
    if (distance >= least)
      continue;
    least = distance;
    ratio = cell.seconds / std::max(fitted(cell.has), 1e-12);
  }
  return ratio;
}

double RoundCostModel::seconds(const Work &work) const {
  const Cell *found = cellOf(work);
  Terms has = termsOf(work);
  if (found && found->count >= kSettling) {
    const Cell &cell = *found;
    double own = at(cell, has);
    // A round with fewer rows than the cell's rounds takes at least the time of
    // a step, or of the cell's round if that is shorter.
    if (work.k > 0 && has[kRowTerm] < cell.has[kRowTerm])
      own =
          std::max(own, std::min(secondsOfStep(work),
                                 at(cell, withRows(has, cell.has[kRowTerm]))));
    return own * slowness;
  }
  if (cells.empty())
    return 0;
  Shape own = shapeOf(work);
  double seconds = fitted(has) * nearby(own);
  if (found)
    seconds = std::min(seconds, at(*found, has));
  // Fewer slots and drafts take no longer, whatever a few rounds say.
  for (const auto &[shape, cell] : cells) {
    if (shape.padding > 0 || shape.slots < own.slots || shape.k < work.k ||
        cell.has[kRowTerm] < has[kRowTerm])
      continue;
    Work whole{shape.slots, shape.k, uint32_t(cell.has[kRowTerm]),
               work.positions};
    seconds = std::min(seconds, at(cell, termsOf(whole)));
  }
  return seconds * slowness;
}

bool RoundCostModel::isMeasured(uint32_t batch, uint32_t k,
                                uint32_t padding) const {
  const Cell *cell = cellOf({batch, k, 0, 0, padding});
  return cell && cell->count >= kSettling;
}

double RoundCostModel::doubt(uint32_t batch, uint32_t k,
                             uint32_t padding) const {
  const Cell *cell = cellOf({batch, k, 0, 0, padding});
  if (!cell || cell->count < kSettling)
    return kNeverRan;
  return kFew / (1 + cell->count) +
         kLongAgo * std::min(1.0, double(rounds - cell->last) / kLong);
}
