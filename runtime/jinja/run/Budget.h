//===- Budget.h - Limits of one rendering -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_RUN_BUDGET_H
#define MTP_RUNTIME_JINJA_RUN_BUDGET_H

#include "mtp/render_options.h"
#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// Counts the steps, bytes and levels of one rendering. All functions fail with
/// ResourceExhausted beyond a limit.
class Budget {
public:
  explicit Budget(const RenderOptions &options) : options(options) {}

  /// Counts work: 1 for a node of the tree.
  Status charge(uint64_t work);
  /// Counts the memory of a value that was made.
  Status chargeFor(const Value &made);
  /// Counts output. Fails if `size` bytes do not fit after `written` bytes.
  Status chargeOutput(size_t written, size_t size);

  /// One level of evaluation, from construction to destruction.
  class Level {
  public:
    explicit Level(Budget &budget) : budget(budget) { ++budget.depth; }
    ~Level() { --budget.depth; }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;

    /// Counts the level as 1 step.
    Status enter();

  private:
    Budget &budget;
  };

private:
  const RenderOptions &options;
  uint64_t steps = 0;
  uint64_t madeBytes = 0;
  uint32_t depth = 0;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_BUDGET_H
