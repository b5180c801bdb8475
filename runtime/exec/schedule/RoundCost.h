//===- RoundCost.h - How long a round takes ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_ROUNDCOST_H
#define MTP_RUNTIME_EXEC_SCHEDULE_ROUNDCOST_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace mtp {

/// Learns from the rounds of a session what a round of so many slots and of k
/// takes. Shapes that ran stand for themselves; others are told from them by a
/// time for a round, one for each row and one for each draft, and times for the
/// positions in the caches, which grow from round to round. A shape may have
/// fewer rows than its slots could have; what a row takes it says itself as
/// soon as some rounds had more than others. Knows nothing of clocks and
/// machines, and decides no result.
class RoundCost {
public:
  /// What a round had to do: `rows` is how many rows may live, and `positions`
  /// how many the caches have, of all slots together.
  struct Work {
    uint32_t batch = 0, k = 0, rows = 0;
    uint64_t positions = 0;
  };

  /// A round took so long, more than 0.
  void add(const Work &work, double seconds);

  /// How long one should take; 0 before anything was measured.
  double seconds(const Work &work) const;
  /// By how much a row more should make a round longer.
  double secondsOfRow(const Work &work) const;

  bool isEmpty() const { return cells.empty(); }
  bool isMeasured(uint32_t batch, uint32_t k) const;
  /// The share of it by which it may be less: more where the shape never ran,
  /// or not for long.
  double doubt(uint32_t batch, uint32_t k) const;

private:
  /// Of a round, a row, the first draft, each draft, a position, and a position
  /// for each row of its slot.
  static constexpr size_t kTerms = 6, kRowTerm = 1, kPositionTerm = 4;
  using Terms = std::array<double, kTerms>;

  struct Cell {
    /// As of a machine of speed 1, with so much of each term.
    double seconds = 0;
    Terms has = {};
    /// The same of many more rounds.
    double longSeconds = 0;
    Terms longHas = {};
    /// What a row takes more than all shapes together say, and the sums by
    /// which that is told: rounds have more rows than others, or fewer.
    double ownRow = 0, rowRows = 0, rowSeconds = 0;
    uint32_t count = 0;
    /// The last round of this shape.
    uint64_t last = 0;
  };
  using Shape = std::pair<uint32_t, uint32_t>;

  static Terms termsOf(const Work &work);
  static Terms withRows(const Terms &has, double rows);
  void learn(Cell &cell, const Terms &has, double seconds);
  void learnRows(Cell &cell, const Terms &has, double seconds);
  void learnChange(Cell &cell, const Terms &has, double seconds);
  void fit();
  double fitted(const Terms &has) const;
  double nearby(uint32_t batch, uint32_t k) const;
  double at(const Cell &cell, const Terms &has) const;
  double rowIn(const Terms &has) const;

  std::map<Shape, Cell> cells;
  /// By what all shapes have become slower together: others use the machine.
  double slowness = 1;
  Terms terms = {};
  /// Products of what a shape had more than before with that, and with what it
  /// took more, in shares of what it took; the last rounds most.
  std::array<Terms, kTerms> changes = {};
  Terms slower = {};
  uint64_t rounds = 0, lastFit = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_ROUNDCOST_H
