//===- Bufferize.cpp - Give every tensor of a program a buffer ------------===//
//
// Programs are straight lines of kernel calls in value form, and each result is
// written exactly once. So bufferization needs no analysis: a result is a fresh
// range of the arena, and the memory plan decides afterwards which ranges may
// share an address.
//
// exec.process_logits is the exception: its results are its operands' buffers,
// which no later call reads by their old values.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/exec/ActiveRows.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_BUFFERIZEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

struct BufferizePass
    : public mlir::mtp::impl::BufferizePassBase<BufferizePass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (ProgramOp program :
         llvm::to_vector(getOperation().getOps<ProgramOp>())) {
      if (failed(bufferize(program, symbols)))
        return signalPassFailure();
    }
    numKernels += kernels.size();
  }

private:
  LogicalResult bufferize(ProgramOp program, SymbolTable &symbols);
  Value allocate(OpBuilder &builder, Location loc, Value tensor,
                 StringAttr input);
  LogicalResult updateInPlace(ProcessLogitsOp op);
  void lowerCall(KernelOpInterface op, Value live, SymbolTable &symbols);
  FlatSymbolRefAttr kernelFor(KernelOpInterface op, SymbolTable &symbols);

  llvm::MapVector<Attribute, FlatSymbolRefAttr> kernels;
  llvm::StringMap<int64_t> numOfKind;
  /// The buffer of every tensor of the current program.
  IRMapping buffers;
};

} // namespace

/// Returns the buffer type of a tensor type.
static MemRefType bufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

Value BufferizePass::allocate(OpBuilder &builder, Location loc, Value tensor,
                              StringAttr input) {
  Count rows = rowsOf(tensor);
  Value buffer = AllocOp::create(
      builder, loc, bufferType(tensor.getType()), /*offset=*/CountAttr(),
      rows.isFixed() ? CountAttr() : CountAttr::get(&getContext(), rows),
      input);
  buffers.map(tensor, buffer);
  return buffer;
}

FlatSymbolRefAttr BufferizePass::kernelFor(KernelOpInterface op,
                                           SymbolTable &symbols) {
  // A control kernel exists already, and its body clamps indices.
  if (auto control = dyn_cast<ControlOp>(op.getOperation()))
    return control.getKernelAttr();
  KernelAttrInterface attr = op.makeKernel();
  FlatSymbolRefAttr &symbol = kernels[attr];
  if (symbol)
    return symbol;
  // A builtin keeps the name that the runtime knows.
  std::string name = attr.getKind().str();
  if (!attr.isBuiltin()) {
    name += '_';
    name += llvm::utostr(numOfKind[attr.getKind()]++);
  }
  OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
  auto kernel = KernelOp::create(builder, op.getLoc(), name, attr);
  return symbol = FlatSymbolRefAttr::get(symbols.insert(kernel));
}

/// Gives the results of `op` the buffers of its operands. No later call may
/// read the old values.
LogicalResult BufferizePass::updateInPlace(ProcessLogitsOp op) {
  for (Value operand : op->getOperands()) {
    Value result = op.getResultFor(operand);
    if (!result)
      continue;
    for (Operation *user : operand.getUsers())
      if (isa<KernelOpInterface>(user) && op->isBeforeInBlock(user))
        return user->emitOpError("expected no read of logits that "
                                 "exec.process_logits has changed");
    buffers.map(result, buffers.lookup(operand));
  }
  return success();
}

void BufferizePass::lowerCall(KernelOpInterface op, Value live,
                              SymbolTable &symbols) {
  OpBuilder builder(op);
  bool isInPlace = isa<ProcessLogitsOp>(op);
  SmallVector<Value> operands;
  SmallVector<int64_t> offsets;
  for (const KernelOperand &operand : op.getKernelOperands()) {
    operands.push_back(buffers.lookupOrDefault(operand.value));
    offsets.push_back(operand.offset);
  }
  for (Value result : op->getResults()) {
    if (isInPlace)
      continue;
    operands.push_back(allocate(builder, op.getLoc(), result, StringAttr()));
    offsets.push_back(0);
  }
  SmallVector<Attribute> params;
  for (Count param : op.getKernelParams())
    params.push_back(CountAttr::get(&getContext(), param));
  DispatchOp::create(builder, op.getLoc(), kernelFor(op, symbols).getValue(),
                     operands, live ? buffers.lookup(live) : Value(),
                     builder.getArrayAttr(params), offsets,
                     isInPlace ? 0 : op->getNumResults());
  ++numDispatches;
}

LogicalResult BufferizePass::bufferize(ProgramOp program,
                                       SymbolTable &symbols) {
  buffers.clear();
  mlir::mtp::ActiveRows live(program);
  SmallVector<Operation *> lowered;
  for (Operation &op : program.getBody().front()) {
    if (auto call = dyn_cast<KernelOpInterface>(op)) {
      if (auto process = dyn_cast<ProcessLogitsOp>(op))
        if (failed(updateInPlace(process)))
          return failure();
      lowerCall(call, live.of(call), symbols);
      lowered.push_back(call);
    } else if (isa<ColumnsOp, ReshapeOp>(op)) {
      // Its users refer to the underlying buffer.
      lowered.push_back(&op);
    } else if (auto input = dyn_cast<InputOp>(op)) {
      OpBuilder builder(input);
      allocate(builder, input.getLoc(), input.getResult(), input.getNameAttr());
      lowered.push_back(input);
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      Value value = output.getValue();
      while (auto reshape = value.getDefiningOp<ReshapeOp>())
        value = reshape.getX();
      output.getValueMutable().assign(buffers.lookupOrDefault(value));
    } else if (!isa<RefOp, AllocOp, DispatchOp, ScheduleOp, AwaitHostOp,
                    OnRequestOp>(op)) {
      return op.emitOpError("expected only exec ops in a program, is "
                            "mtp-convert-to-exec missing before this pass?");
    }
  }
  for (Operation *op : llvm::reverse(lowered))
    op->erase();
  return success();
}
