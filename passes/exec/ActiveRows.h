//===- ActiveRows.h - Active rows of calls ----------------------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_ACTIVEROWS_H
#define MTP_PASSES_EXEC_ACTIVEROWS_H

#include "dialects/Exec/IR/ExecOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::mtp {

/// Finds the calls of a program in value form that work on packed rows
/// (`exec.pack`), of which only the first ones are active.
class ActiveRows {
public:
  explicit ActiveRows(exec::ProgramOp program);

  /// Returns the number of active rows of a call, a result of `exec.pack`; null
  /// if all rows are active.
  Value of(exec::KernelOpInterface call) const {
    return calls.lookup(call.getOperation());
  }

private:
  void add(exec::KernelOpInterface call);
  Value numberFor(exec::KernelOpInterface call);

  /// A number, and the rows that it counts. A value may have a multiple of
  /// these rows.
  struct ActiveCount {
    Value number;
    exec::Count rows;
  };

  llvm::DenseMap<Operation *, Value> calls;
  llvm::DenseMap<Value, ActiveCount> values;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_ACTIVEROWS_H
