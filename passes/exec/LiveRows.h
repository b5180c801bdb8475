//===- LiveRows.h - How many rows of calls live -----------------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_LIVEROWS_H
#define MTP_PASSES_EXEC_LIVEROWS_H

#include "dialects/Exec/IR/ExecOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mtp {

/// Which calls of a program in value form go by rows of which only the first
/// ones live, as `exec.pack` leaves them.
class LiveRows {
public:
  explicit LiveRows(exec::ProgramOp program);

  /// The number of rows that live of a call, which `exec.pack` gives; null
  /// where all do.
  Value of(exec::KernelOpInterface call) const {
    return calls.lookup(call.getOperation());
  }

private:
  void add(exec::KernelOpInterface call);
  Value numberFor(exec::KernelOpInterface call);

  /// A number, and the rows that it counts. A value may have a multiple of
  /// them.
  struct Live {
    Value number;
    exec::Count rows;
  };

  llvm::DenseMap<Operation *, Value> calls;
  llvm::DenseMap<Value, Live> values;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_LIVEROWS_H
