//===- RoundCost.h - How long a round takes ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_ROUNDCOST_H
#define MTP_RUNTIME_EXEC_ROUNDCOST_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace mtp {

/// Learns from the rounds of a session what a round of so many slots and drafts
/// takes. Shapes that ran stand for themselves; others are told from them by a
/// time for a round, one for each row and one for each draft. Knows nothing of
/// clocks and machines, and decides no result.
class RoundCost {
public:
  /// A round took so long, more than 0.
  void add(uint32_t batch, uint32_t k, double seconds);

  /// How long one should take; 0 before anything was measured.
  double seconds(uint32_t batch, uint32_t k) const;

  bool isMeasured(uint32_t batch, uint32_t k) const;
  /// The share of it by which it may be less: more where the shape never ran,
  /// or not for long.
  double doubt(uint32_t batch, uint32_t k) const;

private:
  struct Cell {
    /// As of a machine of speed 1.
    double seconds = 0;
    uint32_t count = 0;
    /// The last round of this shape.
    uint64_t last = 0;
  };
  using Shape = std::pair<uint32_t, uint32_t>;

  void fit();
  double fitted(uint32_t batch, uint32_t k) const;
  double nearby(uint32_t batch, uint32_t k) const;

  std::map<Shape, Cell> cells;
  /// By what all shapes have become slower together: contexts grow, and others
  /// use the machine.
  double slowness = 1;
  /// Of a round, a row, the first draft and each draft.
  static constexpr size_t kTerms = 4;
  std::array<double, kTerms> terms = {};
  uint64_t rounds = 0, lastFit = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_ROUNDCOST_H
