//===- StateTable.h - Writers of the states with known names ----*- C++ -*-===//
//
// The one table of the states that the host or the readable ops of a round know
// by name. The writer of a state decides whether output can depend on the
// state, so verifiers ask this table whether a program may store to it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_MTP_IR_STATETABLE_H
#define MTP_DIALECTS_MTP_IR_STATETABLE_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

enum class StateWriter {
  /// The host alone, before a launch, a prompt or a sequence.
  Host,
  /// The host, and code that mtpc adds to every round.
  Launch,
  /// mtp.commit. Code writes the state only in a round or prefill without one.
  Commit,
  /// The program.
  Program,
};

/// The extent of a state that the host shares.
struct SharedExtent {
  ExtentUnit unit;
  int64_t offset = 0;
  /// Any extent is allowed.
  bool isFree = false;

  bool matches(ExtentAttr extent) const {
    return extent.getUnit() == unit && (isFree || extent.getOffset() == offset);
  }
};

/// A state with a known name.
struct SharedState {
  StringLiteral name;
  StateWriter writer;
  /// The host reads or writes the state, in every module and in this form.
  /// Otherwise the readable ops do, and a module without them may declare
  /// another state of this name.
  bool isHosts;
  bool isForAll = false;
  int64_t rank = 0;
  SharedExtent extents[2] = {};
  /// Elements are f32, otherwise i32.
  bool isFloat = false;
};

/// Returns all known states.
llvm::ArrayRef<SharedState> allSharedStates();

/// Returns the state of this name; null if only the program knows the state.
const SharedState *findSharedState(StringRef name);

/// Returns the declaration of `state` that the host expects, for a diagnostic.
std::string describe(const SharedState &state);

/// Returns an mtp.commit in the module, or null.
Operation *findCommit(Operation *module);

/// Checks that `op` may write the state of this name (store_c5,
/// write_state_c5).
LogicalResult verifyWriter(Operation *op, StringRef name);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_STATETABLE_H
