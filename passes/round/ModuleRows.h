//===- ModuleRows.h - Rows of trees on later modules ------------*- C++ -*-===//
//
// Module d runs at positions d - 1 below the first module's: its last entry of
// a committed row is at n - d, for the anchor's token. A tree's nodes are
// described here by their rows in the first module (roots at n - 1), per slot.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_MODULEROWS_H
#define MTP_PASSES_ROUND_MODULEROWS_H

#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// Nodes of one depth: `count` numbers per slot each.
struct NodeRows {
  int64_t count;
  Value positions, roots, places, masks, slots;
  /// The nodes' tokens, and for each node the row of its parent among the
  /// slot's rows of the module before. Only for a run over committed rows and
  /// nodes.
  Value tokens, parents;
};

/// The operands of a module's run, and the rows of its results.
struct ModuleRun {
  Value tokens, rows, hidden;
  /// Indices of the anchor's row, and of the rows of the last nodes.
  Value anchor, last;
};

/// Writes the rows of module `module` >= 2 of a round. The first module's
/// refresh has rows for `most` drafts.
class ModuleRows {
public:
  ModuleRows(Expansion &e, int64_t module, int64_t most)
      : e(e), module(module), most(most) {}

  /// Returns the rows of nodes only.
  Value move(const NodeRows &nodes);

  /// Returns the committed rows, followed by the rows of nodes, depth by depth.
  /// `before` is the result of the module before, with `rowsBefore` rows per
  /// slot; the part that the next round needs is kept.
  ModuleRun join(Value before, int64_t rowsBefore, ArrayRef<NodeRows> nodes);

private:
  Value readHidden(Value before, int64_t rowsBefore, Value from, Value carried);

  Expansion &e;
  const int64_t module, most;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_MODULEROWS_H
