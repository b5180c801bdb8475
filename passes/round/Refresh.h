//===- Refresh.h - A module's run over what was verified last ---*- C++ -*-===//
//
// Every round, module d = 1, 2, .. first runs over the rows that the last round
// verified and d - 1 rows before them, whose tokens were drafts when they were
// last written: its cache then holds entries of true hidden states alone. The
// anchor's row gives draft d. What depends on n, a and the window only is
// computed in one body beforehand; what depends on drafts follows them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_REFRESH_H
#define MTP_PASSES_ROUND_REFRESH_H

#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// What a module computed.
struct ModuleOutputs {
  Value logits;
  /// Null where steps take no hidden states.
  Value hidden;
};

/// Writes the refreshes of a round.
class Refresh {
public:
  /// `steps` are the modules; the first `count` are refreshed. A round accepts
  /// `most` drafts at most, as many as there are in a row. `input`, where it is
  /// one, makes the first module's hidden states of the target's.
  Refresh(Expansion &e, ArrayRef<Region *> steps, int64_t count, int64_t most,
          Region *input = nullptr);
  /// The rows of one module that somebody else runs.
  Refresh(Expansion &e, bool takesHidden);

  /// Writes what is known before the first draft; `more` adds positions of a
  /// slot, which are returned.
  SmallVector<Value>
  writePlaces(llvm::function_ref<SmallVector<Value>(SlotBody &, Value n)> more);

  /// Runs `module` over its rows. `before` is what the module before gave, and
  /// `drafts` are all so far. Where drafts may be none (-1) the rows behind the
  /// anchor that such a draft leads to are dead.
  ModuleOutputs run(int64_t module, Value before, ArrayRef<Value> drafts,
                    bool mayEnd = false);
  /// Runs the step of a module on any rows.
  ModuleOutputs step(int64_t module, Value tokens, Value hidden, Value rows);
  /// The anchor's row among those of `module`, as an index of all rows.
  Value anchor(int64_t module) { return rows[module - 1].anchor; }

  bool takesHidden() const { return hasHidden; }
  /// What the first module's rows are made of: their tokens, the rows, and the
  /// target's hidden states of them.
  Value tokens() { return rows.front().tokens; }
  Value makeRows(int64_t module);
  Value readHidden(int64_t width);

private:
  struct Rows {
    Value tokens, slots, positions, anchor;
    /// Row a of the module before, which this module's carry becomes.
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
