//===- RoundInstance.h - The ops of a round for one k -----------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_ROUNDINSTANCE_H
#define MTP_PASSES_ROUND_ROUNDINSTANCE_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Gives the verify another result, its rows, and passes them to the accept,
/// whatever ops are between the two. Gives the accept of a tree its path, and
/// passes it to the commit.
void linkParts(Block &body);

/// Removes drafts and tree. Without drafts there is no tree, and a rule has
/// nothing to decide.
void dropDrafts(VerifyOp verify);
void dropDrafts(AcceptOp accept);
void dropDrafts(Block &body);

/// Inlines the draft operations of a round of k, or erases them at k = 0.
void placeDrafts(Block &body, int64_t k);

/// Makes `mtp.k` and `mtp.nodes` constants. Returns whether there are any.
bool setDrafts(Operation *op, int64_t k, int64_t nodes);

/// Returns the number of rows per slot in a round of k, which are the tree's
/// nodes in such a round. A static tree is an attribute of all ops that know it
/// (round_c5), or only of the drafter, if each slot verifies a tree of its own.
int64_t countNodes(RoundOp round, EnvelopeAttr envelope, int64_t k);

/// Unrolls loops and replaces conditionals by the branch taken. Bounds of an
/// inner loop may depend on an outer loop.
LogicalResult flatten(Operation *instance);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_ROUNDINSTANCE_H
