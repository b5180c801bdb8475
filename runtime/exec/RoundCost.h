//===- RoundCost.h - How long a round takes ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_ROUNDCOST_H
#define MTP_RUNTIME_EXEC_ROUNDCOST_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace mtp {

/// Learns from the rounds of a session what a round of so many slots and of k
/// takes. Shapes that ran stand for themselves; others are told from them by a
/// time for a round, one for each row and one for each draft. A shape may have
/// fewer rows than its slots could have. Knows nothing of clocks and machines,
/// and decides no result.
class RoundCost {
public:
  /// What a round had to do: `rows` is how many rows may live, of all slots.
  struct Work {
    uint32_t batch = 0, k = 0, rows = 0;
  };

  /// A round took so long, more than 0.
  void add(const Work &work, double seconds);

  /// How long one should take; 0 before anything was measured.
  double seconds(const Work &work) const;
  /// By how much a row more should make a round longer.
  double secondsOfRow() const;

  bool isMeasured(uint32_t batch, uint32_t k) const;
  /// The share of it by which it may be less: more where the shape never ran,
  /// or not for long.
  double doubt(uint32_t batch, uint32_t k) const;

private:
  struct Cell {
    /// As of a machine of speed 1, and of how many rows.
    double seconds = 0, rows = 0;
    uint32_t count = 0;
    /// The last round of this shape.
    uint64_t last = 0;
  };
  using Shape = std::pair<uint32_t, uint32_t>;

  void learn(Cell &cell, double rows, double seconds);
  void fit();
  double fitted(uint32_t k, double rows) const;
  double nearby(uint32_t batch, uint32_t k) const;
  double at(const Cell &cell, double rows) const;

  std::map<Shape, Cell> cells;
  /// By what all shapes have become slower together: contexts grow, and others
  /// use the machine.
  double slowness = 1;
  /// Of a round, a row, the first draft and each draft.
  static constexpr size_t kTerms = 4, kRowTerm = 1;
  std::array<double, kTerms> terms = {};
  uint64_t rounds = 0, lastFit = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_ROUNDCOST_H
