//===- ExecDialect.cpp - The exec dialect and its verifiers ---------------===//

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecDialect.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/IR/ExecOps.cpp.inc"
      >();
}

void ProgramOp::build(OpBuilder &builder, OperationState &state,
                      llvm::StringRef name, llvm::StringRef kind, int64_t batch,
                      int64_t k, int64_t chunk) {
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("kind", builder.getStringAttr(kind));
  state.addAttribute("batch", builder.getI64IntegerAttr(batch));
  state.addAttribute("k", builder.getI64IntegerAttr(k));
  state.addAttribute("chunk", builder.getI64IntegerAttr(chunk));
  state.addRegion()->emplaceBlock();
}

LogicalResult KernelOp::verify() {
  if (!kernelSignature(getKind(), getConfig())) { // C1
    return emitOpError("expected a kind of the kernel catalogue, got '")
           << getKind() << "'";
  }
  return success();
}

LogicalResult WeightOp::verify() {
  llvm::StringRef layout = getLayout();
  if (layout != "raw" && layout != "linear" && layout != "swiglu") { // C1
    return emitOpError("expected layout raw, linear or swiglu, got '")
           << layout << "'";
  }
  int64_t count = 0;
  if (getK() <= 0 || getN() <= 0 || getStack() <= 0 || // C2
      __builtin_mul_overflow(int64_t(getK()), int64_t(getN()), &count) ||
      __builtin_mul_overflow(count, int64_t(getStack()), &count)) {
    return emitOpError("expected positive k, n and stack whose product fits "
                       "64 bits, got ")
           << getK() << ", " << getN() << " and " << getStack();
  }
  size_t wanted = layout == "swiglu" ? 2 : 1; // C3
  if (getSources().size() < wanted ||
      (layout == "swiglu" && getSources().size() != wanted)) {
    return emitOpError("expected ")
           << wanted << " sources for layout " << layout << ", got "
           << getSources().size();
  }
  return success();
}

LogicalResult InvokeOp::verify() {
  std::optional<KernelSignature> signature =
      kernelSignature(getKind(), getConfig());
  if (!signature) {
    return emitOpError("expected a kind of the kernel catalogue, got '")
           << getKind() << "'";
  }
  int64_t buffers = getArgs().size() + getResults().size();
  if (buffers != signature->buffers) {
    return emitOpError("expected ")
           << signature->buffers << " buffers for kind '" << getKind()
           << "', got " << buffers;
  }
  if (int64_t(getParams().size()) != signature->params) {
    return emitOpError("expected ")
           << signature->params << " params for kind '" << getKind()
           << "', got " << getParams().size();
  }
  if (getOffsets().size() != getArgs().size()) {
    return emitOpError("expected one offset per argument, got ")
           << getOffsets().size() << " for " << getArgs().size();
  }
  return success();
}

LogicalResult DispatchOp::verify() {
  if (getOffsets().size() != getBuffers().size()) { // C1
    return emitOpError("expected one offset per buffer, got ")
           << getOffsets().size() << " for " << getBuffers().size();
  }
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>( // C2
      (*this)->getParentOfType<ModuleOp>(), getKernelAttr());
  if (!kernel) {
    return emitOpError("expected an exec.kernel named '")
           << getKernel() << "', found none";
  }
  std::optional<KernelSignature> signature =
      kernelSignature(kernel.getKind(), kernel.getConfig());
  if (!signature || int64_t(getBuffers().size()) != signature->buffers ||
      int64_t(getParams().size()) != signature->params) {
    return emitOpError("expected the buffers and params of kind '")
           << kernel.getKind() << "', got " << getBuffers().size()
           << " buffers and " << getParams().size() << " params";
  }
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Exec/IR/ExecOps.cpp.inc"
