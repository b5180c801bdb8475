//===- RoundCostModel.h - How long a round takes ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_ROUNDCOSTMODEL_H
#define MTP_RUNTIME_EXEC_SCHEDULE_ROUNDCOSTMODEL_H

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mtp {

/// Online cost model. A shape that ran uses its own mean. Other shapes are
/// predicted from a time for a round, for each row, for each draft and for the
/// cached positions, which grow from round to round. A shape may have fewer
/// rows than its slots could have. The cost of a row is the shape's own as soon
/// as some of its rounds had more rows than others. Rounds with padding slots
/// are shapes of their own. Until such a shape has run, the larger shape
/// without padding stands for it. The model knows no clock and no machine, and
/// changes no result.
class RoundCostModel {
public:
  /// The work of a round: at most `rows` active rows, and `positions` in the
  /// caches, of all slots together. `padding` more slots fill the batch.
  struct Work {
    uint32_t batch = 0, k = 0, rows = 0;
    uint64_t positions = 0;
    uint32_t padding = 0;
  };

  /// Records that a round took `seconds`, more than 0.
  void add(const Work &work, double seconds);

  /// The typical time of a round, which was measured before.
  struct Measured {
    Work work;
    double seconds = 0;
    /// Number of rounds that it stands for.
    double weight = 1;
  };
  /// Starts from measured times, before any add(). All count as settled. Times
  /// of one shape with other rows or positions show what these cost.
  void begin(std::span<const Measured> measured);

  /// Returns the predicted time of a round; 0 before anything was measured.
  double seconds(const Work &work) const;
  /// Returns the time by which one more row should make a round longer.
  double secondsOfRow(const Work &work) const;

  bool isEmpty() const { return cells.empty(); }
  /// Whether rounds of the shape ran, or of one that stands for it.
  bool isMeasured(uint32_t batch, uint32_t k, uint32_t padding = 0) const;
  /// Returns the share by which the prediction may be too high. It is larger if
  /// the shape never ran, or not for long.
  double doubt(uint32_t batch, uint32_t k, uint32_t padding = 0) const;

private:
  /// The terms: a round, a row, the first draft, each draft, a position, and a
  /// position for each row of its slot.
  static constexpr size_t kTerms = 6, kRowTerm = 1, kPositionTerm = 4;
  using Terms = std::array<double, kTerms>;

  struct Cell {
    /// Seconds on a machine of speed 1, and the amount of each term.
    double seconds = 0;
    Terms has = {};
    /// Means over many more rounds.
    double longSeconds = 0;
    Terms longHas = {};
    /// The time of a row beyond the prediction of all shapes, and the sums by
    /// which it is estimated from rounds with more or fewer rows.
    double ownRow = 0, rowRows = 0, rowSeconds = 0;
    /// The time of a row without positions, and for each position, if begin()
    /// had several numbers of rows of the shape.
    std::optional<std::pair<double, double>> rowLine;
    /// The times of the shape by positions, ascending, if begin() had several
    /// contexts of it. Times between two points are on a line.
    std::vector<std::pair<double, double>> curve;
    uint32_t count = 0;
    /// Whether begin() had times of the shape.
    bool isBegun = false;
    /// The number of the shape's last round.
    uint64_t last = 0;
  };
  struct Shape {
    /// Slots, padding slots among them.
    uint32_t slots = 0, k = 0, padding = 0;

    auto operator<=>(const Shape &) const = default;
  };
  /// A shape, and a round of it, while begin() runs.
  struct Begun;
  struct Known;

  static Shape shapeOf(const Work &work) {
    return {work.batch + work.padding, work.k, work.padding};
  }
  const Cell *cellOf(const Work &work) const;
  static Terms termsOf(const Work &work);
  static Terms withRows(const Terms &has, double rows);
  void learn(Cell &cell, const Terms &has, double seconds);
  void learnRows(Cell &cell, const Terms &has, double seconds);
  void learnChange(Cell &cell, const Terms &has, double seconds);
  void addChange(const Cell &cell, const Terms &has, double seconds);
  std::vector<Known> group(std::span<const Measured> measured,
                           std::map<Shape, Begun> &shapes);
  void setRows(std::span<const Known> all, std::map<Shape, Begun> &shapes);
  void setCurves(std::span<const Known> all, std::map<Shape, Begun> &shapes);
  void fit();
  double fitted(const Terms &has) const;
  double nearby(const Shape &of) const;
  double at(const Cell &cell, const Terms &has) const;
  double rowIn(const Terms &has) const;
  double rowIn(const Cell &cell, const Terms &has) const;
  double secondsOfStep(const Work &work) const;

  std::map<Shape, Cell> cells;
  /// The factor by which all shapes have become slower together because other
  /// processes use the machine.
  double slowness = 1;
  Terms terms = {};
  /// Sums over changes within a shape: products of the growth of two terms, and
  /// of a term and the time, in shares of the time. The last rounds count most.
  std::array<Terms, kTerms> changes = {};
  Terms slower = {};
  uint64_t rounds = 0, lastFit = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_ROUNDCOSTMODEL_H
