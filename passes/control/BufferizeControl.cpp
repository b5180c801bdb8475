//===- BufferizeControl.cpp - Small buffers for a body's tensors ----------===//
//
// All tensor ops are first written as loops over elements, so that one-shot
// bufferization sees only extracts and inserts and finds what can be done in
// place. All buffers are static and allocated at the function's entry. No
// buffer is handed from one iteration of a loop to the next: a loop's tensors
// are copied to the buffers in which they came.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/IRMapping.h"
#include "passes/control/ControlBody.h"

using namespace mlir;
using namespace mlir::mtp;

void mlir::mtp::insertControlBodyDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, bufferization::BufferizationDialect,
                  func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, tensor::TensorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
}

//===----------------------------------------------------------------------===//
// Loops over elements
//===----------------------------------------------------------------------===//

namespace {
/// Returns the element at the given indices.
using ElementFn = llvm::function_ref<Value(OpBuilder &, ValueRange)>;
} // namespace

/// Calls `body` within loops over all indices of `shape`; `carried` goes from
/// one call to the next.
static Value forIndices(OpBuilder &builder, Location loc,
                        ArrayRef<int64_t> shape, Value carried,
                        SmallVectorImpl<Value> &indices,
                        llvm::function_ref<Value(OpBuilder &, Value)> body) {
  if (indices.size() == shape.size())
    return body(builder, carried);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> inits;
  if (carried)
    inits.push_back(carried);
  auto loop = scf::ForOp::create(
      builder, loc, constant(0), constant(shape[indices.size()]), constant(1),
      inits, [&](OpBuilder &inner, Location, Value index, ValueRange args) {
        indices.push_back(index);
        Value result = forIndices(
            inner, loc, shape, args.empty() ? Value() : args[0], indices, body);
        indices.pop_back();
        scf::YieldOp::create(inner, loc,
                             result ? ValueRange(result) : ValueRange());
      });
  return carried ? loop.getResult(0) : Value();
}

/// Returns a tensor of the elements that `element` computes.
static Value makeTensor(OpBuilder &builder, Location loc, RankedTensorType type,
                        ElementFn element) {
  Value empty = tensor::EmptyOp::create(builder, loc, type, ValueRange());
  SmallVector<Value> indices;
  return forIndices(builder, loc, type.getShape(), empty, indices,
                    [&](OpBuilder &inner, Value tensor) -> Value {
                      Value value = element(inner, indices);
                      return tensor::InsertOp::create(inner, loc, value, tensor,
                                                      indices);
                    });
}

/// Replaces an op with one tensor as result by `makeTensor`.
static void replaceByElements(Operation *op, ElementFn element) {
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  op->replaceAllUsesWith(
      ValueRange(makeTensor(builder, op->getLoc(), type, element)));
  op->erase();
}

static void lowerGenerate(tensor::GenerateOp op) {
  Block &body = op.getBody().front();
  replaceByElements(op, [&](OpBuilder &builder, ValueRange indices) {
    IRMapping map;
    map.map(body.getArguments(), indices);
    for (Operation &inner : body.without_terminator())
      builder.clone(inner, map);
    return map.lookupOrDefault(body.getTerminator()->getOperand(0));
  });
}

/// Lowers an elementwise op to one scalar operation per element.
static void lowerElementwise(Operation *op) {
  replaceByElements(op, [&](OpBuilder &builder, ValueRange indices) {
    OperationState state(op->getLoc(), op->getName());
    for (Value operand : op->getOperands()) {
      bool isTensor = isa<RankedTensorType>(operand.getType());
      state.operands.push_back(
          isTensor ? tensor::ExtractOp::create(builder, op->getLoc(), operand,
                                               indices)
                         .getResult()
                   : operand);
    }
    state.addTypes(getElementTypeOrSelf(op->getResult(0).getType()));
    state.addAttributes(op->getAttrs());
    return builder.create(state)->getResult(0);
  });
}

/// Lowers constants to stores, since a kernel has no data besides its code.
static void lowerConstant(arith::ConstantOp op) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  OpBuilder builder(op);
  auto scalar = [&](Attribute value) -> Value {
    return arith::ConstantOp::create(builder, op.getLoc(),
                                     cast<TypedAttr>(value));
  };
  if (elements.isSplat()) {
    Value value = scalar(elements.getSplatValue<Attribute>());
    return replaceByElements(op,
                             [&](OpBuilder &, ValueRange) { return value; });
  }
  SmallVector<Value> values =
      llvm::map_to_vector(elements.getValues<Attribute>(), scalar);
  op.replaceAllUsesWith(
      tensor::FromElementsOp::create(builder, op.getLoc(), op.getType(), values)
          .getResult());
  op.erase();
}

static void lowerToElements(func::FuncOp function) {
  function.walk([](tensor::ExtractOp extract) {
    auto splat = extract.getTensor().getDefiningOp<tensor::SplatOp>();
    if (!splat)
      return;
    extract.replaceAllUsesWith(splat.getInput());
    extract.erase();
  });
  function.walk([](Operation *op) {
    if (op->getNumResults() != 1 ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      lowerConstant(constant);
    else if (auto splat = dyn_cast<tensor::SplatOp>(op))
      replaceByElements(
          op, [&](OpBuilder &, ValueRange) { return splat.getInput(); });
    else if (auto generate = dyn_cast<tensor::GenerateOp>(op))
      lowerGenerate(generate);
    else if (op->hasTrait<OpTrait::Elementwise>())
      lowerElementwise(op);
  });
}

/// Copies the elements of `value` to a new tensor.
static Value copyOf(OpBuilder &builder, Location loc, Value value) {
  return makeTensor(builder, loc, cast<RankedTensorType>(value.getType()),
                    [&](OpBuilder &inner, ValueRange indices) -> Value {
                      return tensor::ExtractOp::create(inner, loc, value,
                                                       indices);
                    });
}

/// Copies the initial tensors of a loop that is nested in another loop. The
/// inner loop may write tensors that the outer loop carries and still hands on.
static void copyInits(scf::ForOp loop) {
  if (!loop->getParentOfType<scf::ForOp>())
    return;
  OpBuilder builder(loop);
  for (OpOperand &init : loop.getInitArgsMutable())
    if (isa<RankedTensorType>(init.get().getType()) &&
        !isa_and_nonnull<tensor::GenerateOp, tensor::SplatOp,
                         tensor::FromElementsOp>(init.get().getDefiningOp()))
      init.set(copyOf(builder, loop.getLoc(), init.get()));
}

/// Makes every loop hand on its tensors in the buffers in which it received
/// them. A carried tensor may be the next value of another one, so all are
/// copied before the first is overwritten.
static void keepLoopBuffers(func::FuncOp function) {
  function.walk([](scf::ForOp loop) {
    copyInits(loop);
    Operation *yield = loop.getBody()->getTerminator();
    OpBuilder builder(yield);
    Location loc = yield->getLoc();
    SmallVector<OpOperand *> tensors;
    for (OpOperand &operand : yield->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        tensors.push_back(&operand);
    if (tensors.size() > 1)
      for (OpOperand *operand : tensors)
        operand->set(copyOf(builder, loc, operand->get()));
    for (OpOperand *operand : tensors) {
      Value kept = loop.getRegionIterArg(operand->getOperandNumber());
      operand->set(bufferization::MaterializeInDestinationOp::create(
                       builder, loc, operand->get(), kept)
                       .getResult());
    }
  });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Lowers copies element by element; a copy of a buffer to itself is dropped.
static void lowerCopy(memref::CopyOp copy) {
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  Value from = copy.getSource(), to = copy.getTarget();
  SmallVector<Value> indices;
  if (from != to)
    forIndices(builder, loc, cast<MemRefType>(from.getType()).getShape(),
               Value(), indices, [&](OpBuilder &inner, Value) {
                 Value value =
                     memref::LoadOp::create(inner, loc, from, indices);
                 memref::StoreOp::create(inner, loc, value, to, indices);
                 return Value();
               });
  copy.erase();
}

static LogicalResult runBufferization(func::FuncOp function) {
  bufferization::OneShotBufferizationOptions options;
  options.allocationFn = [&](OpBuilder &builder, Location loc, MemRefType type,
                             ValueRange, unsigned) -> FailureOr<Value> {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    return memref::AllocaOp::create(builder, loc, type).getResult();
  };
  bufferization::BufferizationState state;
  if (failed(bufferization::runOneShotBufferize(function, options, state)))
    return failure();
  function.walk(lowerCopy);
  return success();
}

/// Checks that everything is lowered and that the buffers do not exceed
/// `kControlBytes`.
static LogicalResult checkLowered(func::FuncOp function) {
  int64_t bytes = 0;
  WalkResult result = function.walk([&](Operation *op) -> WalkResult {
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      bytes += exec::bufferBytes(alloca.getType()).value_or(kControlBytes + 1);
    auto isTensor = [](Type type) { return isa<TensorType>(type); };
    if (llvm::any_of(op->getOperandTypes(), isTensor) ||
        llvm::any_of(op->getResultTypes(), isTensor))
      return op->emitOpError("has no lowering to buffers");
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (bytes > kControlBytes)
    return function.emitError("expected at most ")
           << kControlBytes << " bytes of tensors in the body of mtp.per_slot, "
           << "got " << bytes;
  return success();
}

LogicalResult mlir::mtp::bufferizeControl(func::FuncOp function) {
  keepLoopBuffers(function);
  lowerToElements(function);
  return success(succeeded(runBufferization(function)) &&
                 succeeded(checkLowered(function)));
}
