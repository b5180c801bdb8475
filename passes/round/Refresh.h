//===- Refresh.h - Rerun modules on verified rows ---------------*- C++ -*-===//
//
// Every round, module d = 1, 2, .. first runs over the rows that the last round
// verified and d - 1 rows before them, whose tokens were drafts when they were
// last written. Afterwards its cache only holds entries of true hidden states.
// The anchor's row gives draft d. Values that depend only on n, a and the
// window are computed in one body beforehand; values that depend on drafts
// follow the drafts.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_REFRESH_H
#define MTP_PASSES_ROUND_REFRESH_H

#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// The results of a module.
struct ModuleOutputs {
  Value logits;
  /// Null if steps take no hidden states.
  Value hidden;
};

/// Writes the refreshes of a round.
class Refresh {
public:
  /// `steps` are the modules, of which the first `count` are refreshed. `most`
  /// is the largest number of drafts that a round accepts, the length of its
  /// longest path. `input`, if given, transforms the target's hidden states for
  /// the first module.
  Refresh(Expansion &e, ArrayRef<Region *> steps, int64_t count, int64_t most,
          Region *input = nullptr);
  /// Makes the rows of one module that another op runs.
  Refresh(Expansion &e, bool takesHidden);

  /// Writes the positions that are known before the first draft. `more`
  /// computes further positions of a slot, which are returned.
  SmallVector<Value>
  writePlaces(llvm::function_ref<SmallVector<Value>(SlotBody &, Value n)> more);

  /// Runs `module` over its rows. `before` is the result of the module before,
  /// and `drafts` are all drafts so far. If drafts may be missing (-1), the
  /// rows after the anchor that depend on a missing draft are padding rows.
  ModuleOutputs run(int64_t module, Value before, ArrayRef<Value> drafts,
                    bool mayEnd = false);
  /// Runs the step of a module on any rows.
  ModuleOutputs step(int64_t module, Value tokens, Value hidden, Value rows);
  /// Returns the index of the anchor's row of `module` among the rows of all
  /// slots.
  Value anchor(int64_t module) { return rows[module - 1].anchor; }

  bool takesHidden() const { return hasHidden; }
  /// Return the inputs of the first module's rows: their tokens, the rows, and
  /// the target's hidden states of them.
  Value tokens() { return rows.front().tokens; }
  Value makeRows(int64_t module);
  Value readHidden(int64_t width);

private:
  struct Rows {
    Value tokens, slots, positions, anchor;
    /// Row a of the module before, which becomes this module's carry.
    Value carried;
  };

  int64_t rowsOf(int64_t module) { return most + module; }
  int64_t behind(int64_t module) { return takesHidden() ? module : 0; }
  Value tokensOf(SlotBody &body, int64_t module, ArrayRef<Value> known);
  void writeTokens(int64_t module, ArrayRef<Value> drafts, bool mayEnd);
  Value hiddenOf(int64_t module, Value before);

  Expansion &e;
  SmallVector<Region *> steps;
  Region *input = nullptr;
  bool hasHidden;
  int64_t most;
  SmallVector<Rows> rows;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_REFRESH_H
