//===- SplitProgram.cpp - Split a program's range of n --------------------===//

#include "passes/exec/SplitProgram.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns the name before splits: decode_k2 for `decode_k2_from9`.
static llvm::StringRef wholeName(llvm::StringRef name) {
  auto [whole, from] = name.rsplit("_from");
  unsigned number;
  return from.getAsInteger(10, number) ? name : whole;
}

exec::ProgramOp mlir::mtp::splitProgram(exec::ProgramOp program, int64_t at,
                                        SymbolTable &symbols) {
  exec::Points points = program.getPoints();
  assert(at > points.least && at <= points.most && "expected a part of both");
  auto rest = cast<exec::ProgramOp>(program->clone());
  rest.setPoints({at, points.most});
  program.setPoints({points.least, at - 1});
  rest.setSymName(
      (wholeName(program.getSymName()) + "_from" + llvm::Twine(at)).str());
  symbols.insert(rest, std::next(program->getIterator()));
  return rest;
}
