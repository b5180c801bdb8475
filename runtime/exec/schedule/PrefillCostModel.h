//===- PrefillCostModel.h - How long a pass over prompts takes --*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_PREFILLCOSTMODEL_H
#define MTP_RUNTIME_EXEC_SCHEDULE_PREFILLCOSTMODEL_H

#include <cstdint>

namespace mtp {

/// Learns the cost of passes over prompts: a time for each pass and one for
/// each row. The last few passes count most, so the model follows longer
/// contexts and a machine that other processes use, too. The model decides how
/// a prompt is cut, and changes no result.
class PrefillCostModel {
public:
  /// Records that a pass of `rows`, at least 1, took `seconds`.
  void add(uint32_t rows, double seconds);

  /// Returns the most rows of a pass that should take `seconds`; 0 if not one
  /// fits, or before anything was measured.
  uint64_t rowsIn(double seconds) const;
  /// Returns the seconds that a pass of `rows` should take; 0 before anything
  /// was measured.
  double secondsOf(double rows) const;

private:
  /// A time for each pass and one for each row.
  struct Line {
    double pass = 0, row = 0;
  };
  Line line() const;

  /// Sums over passes, each weighted by its age.
  double weight = 0, rows = 0, seconds = 0, rowsRows = 0, rowsSeconds = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_PREFILLCOSTMODEL_H
