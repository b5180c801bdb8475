//===- ProgramState.h - What rounds hand on to rounds -----------*- C++ -*-===//
//
// The state of a slot between programs, by name. The names and shapes are part
// of the artifact's contract with the runtime, which writes some of them
// (admissions, page tables, sampling parameters) and reads others (the tokens
// of a round); runtime/schema/FORMAT.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_PROGRAMSTATE_H
#define MTP_PASSES_PROGRAMSTATE_H

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// The sizes that every program of a model shares.
struct ProgramShape {
  EnvelopeAttr envelope;
  /// Drafter modules.
  int64_t modules;
  /// Width of the hidden state that the target hands to the drafter.
  int64_t hidden;
  /// Columns of the logits.
  int64_t vocab;

  /// Rows of a slot in the widest round.
  int64_t windowRows() const { return envelope.getMaxK() + 1; }
  int64_t draftColumns() const {
    return std::max<int64_t>(envelope.getMaxK(), 1);
  }
  /// The prefill chunks that get programs, largest first: a short prompt should
  /// not pay for a long chunk.
  llvm::SmallVector<int64_t> prefillChunks() const;
};

/// Declares all states of a model at the builder's insertion point.
void declareStates(OpBuilder &builder, Location loc, const ProgramShape &shape);

/// Declares the memory of `state` at the builder's insertion point, under its
/// name; the module is valid when `state` is gone.
exec::StateOp declareState(OpBuilder &builder, StateOp state,
                           EnvelopeAttr envelope);

/// Returns a reference to a declared state.
Value refState(OpBuilder &builder, Location loc, ModuleOp module,
               llvm::StringRef name);

} // namespace mlir::mtp

#endif // MTP_PASSES_PROGRAMSTATE_H
