//===- SpecializeShapes.cpp - One program per point of the envelope -------===//
//
// Drives the writing of programs: reads the sizes of the model from the IR,
// declares the state, and asks the program writers for every decode round,
// prefill chunk and exported function.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/ProgramWriter.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SPECIALIZESHAPESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {

/// Rows whose products take as long as reading the weights, and no more.
constexpr int64_t kMostScoredRows = 32;

/// Ops by their symbols, in the module's order.
using Names = llvm::MapVector<StringRef, Operation *>;

struct SpecializeShapesPass
    : public mtp::impl::SpecializeShapesPassBase<SpecializeShapesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult writeRound(RoundOp round);
  LogicalResult checkNames(const Names &taken);
  LogicalResult writeFunctions();
};

} // namespace

/// What the module names by itself and keeps.
static Names findNames(ModuleOp module) {
  Names names;
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (isa<RoundOp>(op) || (function && function.isPrivate())) {
      continue;
    }
    if (StringAttr name = SymbolTable::getSymbolName(&op)) {
      names[name.getValue()] = &op;
    }
  }
  return names;
}

/// The runtime knows states and programs by names that the file format gives
/// them, so that nothing else may have these.
LogicalResult SpecializeShapesPass::checkNames(const Names &taken) {
  for (Operation &op : *getOperation().getBody()) {
    if (!isa<exec::StateOp, exec::ProgramOp>(op)) {
      continue;
    }
    llvm::StringRef name = SymbolTable::getSymbolName(&op).getValue();
    Operation *other = taken.lookup(name);
    if (other && other != &op) {
      return other->emitError("expected a name other than '")
             << name << "', which a " << (isa<exec::StateOp>(op) ? "state"
                                                                 : "program")
             << " of the round has; rename it";
    }
  }
  return success();
}

LogicalResult SpecializeShapesPass::writeRound(RoundOp round) {
  FailureOr<RoundParts> parts = RoundParts::get(round);
  if (failed(parts)) {
    return failure();
  }
  OpBuilder builder(round);
  Names taken = findNames(getOperation());
  declareStates(builder, round.getLoc(), parts->shape);
  if (failed(checkNames(taken))) {
    return failure();
  }
  ProgramWriter writer(builder, *parts);
  EnvelopeAttr envelope = parts->shape.envelope;
  for (int64_t batch = 1; batch <= envelope.getMaxBatch(); ++batch) {
    for (int64_t k = 0; k <= envelope.getMaxK(); ++k) {
      writer.writeDecode(batch, k);
      ++numPrograms;
    }
  }
  for (int64_t chunk : parts->shape.prefillChunks()) {
    writer.writePrefill(chunk, /*withModules=*/false);
    ++numPrograms;
    if (parts->shape.modules > 0) {
      writer.writePrefill(chunk, /*withModules=*/true);
      ++numPrograms;
    }
  }
  // Logits of more rows would be most of the arena.
  writer.writePromptLogits(
      std::min<int64_t>(envelope.getPrefillChunk(), kMostScoredRows));
  ++numPrograms;
  if (failed(checkNames(taken))) {
    return failure();
  }
  // The artifact states these sizes; programs hold them only implicitly.
  getOperation()->setAttr(
      "exec.model",
      builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "modules", builder.getI64IntegerAttr(parts->shape.modules)),
           builder.getNamedAttr(
               "vocab", builder.getI64IntegerAttr(parts->shape.vocab))}));
  round.erase();
  return success();
}

LogicalResult SpecializeShapesPass::writeFunctions() {
  for (auto function :
       llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
    if (function.isPublic()) {
      if (failed(writeFunctionProgram(function))) {
        return failure();
      }
      ++numPrograms;
    }
    function.erase();
  }
  return success();
}

/// Kernels of the runtime's own keep their names.
static LogicalResult checkPrefixes(ModuleOp module) {
  for (auto &[name, op] : findNames(module)) {
    if (name.starts_with(exec::kBuiltinPrefix) && !isa<exec::KernelOp>(op)) {
      return op->emitError("expected a name that does not begin with '")
             << exec::kBuiltinPrefix << "', as the runtime's kernels do, got '"
             << name << "'";
    }
  }
  return success();
}

void SpecializeShapesPass::runOnOperation() {
  if (failed(checkPrefixes(getOperation()))) {
    return signalPassFailure();
  }
  for (RoundOp round : llvm::to_vector(getOperation().getOps<RoundOp>())) {
    if (failed(writeRound(round))) {
      return signalPassFailure();
    }
  }
  if (failed(writeFunctions())) {
    return signalPassFailure();
  }
}
