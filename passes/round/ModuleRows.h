//===- ModuleRows.h - Trees on modules behind the first ---------*- C++ -*-===//
//
// Module d of several stands d - 1 positions behind the first: its last entry
// of a true row is at n - d, that of the anchor's token. What a tree's nodes
// are told here are their rows in the first module (roots at n - 1), by slot.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_MODULEROWS_H
#define MTP_PASSES_ROUND_MODULEROWS_H

#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// Nodes of one depth. All are numbers of each slot, `count` of them.
struct NodeRows {
  int64_t count;
  Value positions, roots, places, masks, slots;
  /// For a run over true rows and nodes: what the nodes are, and of each the
  /// row of its parent among those of a slot that the module before ran.
  Value tokens, parents;
};

/// What a module runs over, and where to look for what it makes.
struct ModuleRun {
  Value tokens, rows, hidden;
  /// Indices of the anchor's row, and of the rows of the last nodes.
  Value anchor, last;
};

/// Writes what module `module` >= 2 of a round runs over, in which the first
/// one's refresh has rows for `most` drafts.
class ModuleRows {
public:
  ModuleRows(Expansion &e, int64_t module, int64_t most)
      : e(e), module(module), most(most) {}

  /// The rows of nodes alone.
  Value move(const NodeRows &nodes);

  /// The true rows, and behind them those of nodes, depth by depth. `before` is
  /// what the module before handed on, of as many rows for each slot; what the
  /// next round needs of it is kept.
  ModuleRun join(Value before, int64_t rowsBefore, ArrayRef<NodeRows> nodes);

private:
  Value readHidden(Value before, int64_t rowsBefore, Value from, Value carried);

  Expansion &e;
  const int64_t module, most;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_MODULEROWS_H
