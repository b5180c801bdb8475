//===- ProgramWriter.h - Writes the programs of a round ---------*- C++ -*-===//
//
// Turns the parts of an `mtp.round` into static programs. dialects/MTP/README.md
// describes the round; the comments in the implementation say which step of it a
// piece of code writes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_PROGRAMWRITER_H
#define MTP_PASSES_PROGRAMWRITER_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/ProgramState.h"

namespace mlir::mtp {

/// The regions that a round is made of, and its sizes.
struct RoundParts {
  /// One step per drafter module: (tokens, hidden, rows) -> (logits, hidden).
  llvm::SmallVector<Block *> modules;
  /// The target: (tokens, rows) -> (logits, hidden).
  Block *target;
  /// From logits to picks: (logits, rows) -> tokens.
  Block *pick;
  ProgramShape shape;
  ModuleOp module;
  Location loc;

  /// Finds the parts; an incomplete round is an error at the round.
  static FailureOr<RoundParts> get(RoundOp round);
};

class ProgramWriter {
public:
  ProgramWriter(OpBuilder &builder, const RoundParts &parts)
      : builder(builder), parts(parts), loc(parts.loc) {}

  /// Writes the round of `batch` slots and `k` drafts.
  void writeDecode(int64_t batch, int64_t k);
  /// Writes the prefill of one chunk; the drafter's caches are filled where
  /// `withModules` says so.
  void writePrefill(int64_t chunk, bool withModules);
  /// Writes the function that gives the target's logits of `rows` rows.
  void writePromptLogits(int64_t rows);

private:
  /// Row context and tokens of a set of rows.
  struct Rows {
    Value tokens;
    Value slots;
    Value positions;
    Value rows;
  };
  /// What a module or the target computed.
  struct Outputs {
    Value logits;
    Value hidden;
  };

  void writeRefresh(int64_t batch, int64_t k, int64_t module, Outputs &last);
  void writeChain(int64_t batch, int64_t depth, Outputs &last);
  void writeVerify(int64_t batch, int64_t k);
  void putDraft(int64_t batch, int64_t depth, Value logits);
  Outputs runTarget(const Rows &rows, int64_t count);
  Outputs runModule(int64_t module, const Rows &rows, Value hidden,
                    int64_t count);

  /// Clones a body for `rows` static rows and returns what it yields.
  llvm::SmallVector<Value> clone(Block &body, ValueRange args, int64_t rows);
  /// Calls a kernel on states and tensors.
  ValueRange invoke(llvm::StringRef kind, ValueRange args,
                    llvm::ArrayRef<int64_t> params, TypeRange results,
                    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> config);
  Value state(llvm::StringRef name) {
    return refState(builder, loc, parts.module, name);
  }
  Type ints(int64_t count);
  Type floats(int64_t rows);
  Rows bindRows(ValueRange tokensSlotsPositions);

  OpBuilder &builder;
  const RoundParts &parts;
  Location loc;
};

/// Writes the program of an exported function of static shapes.
LogicalResult writeFunctionProgram(func::FuncOp function);

} // namespace mlir::mtp

#endif // MTP_PASSES_PROGRAMWRITER_H
