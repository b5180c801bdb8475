//===- ControlBody.cpp - Helpers for kernels that carry a body ------------===//

#include "compiler/Codegen/ControlBody.h"

#include "dialects/Exec/IR/ExecOps.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

Value codegen::asBuffer(OpBuilder &builder, Location loc, Value pointer,
                        MemRefType type, Value rows) {
  LLVMTypeConverter converter(builder.getContext());
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  descriptor.setConstantOffset(builder, loc, 0);
  int64_t stride = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    descriptor.setConstantStride(builder, loc, i, stride);
    if (type.isDynamicDim(i)) {
      descriptor.setSize(builder, loc, i, rows);
      break;
    }
    descriptor.setConstantSize(builder, loc, i, type.getDimSize(i));
    stride *= type.getDimSize(i);
  }
  return UnrealizedConversionCastOp::create(builder, loc, type,
                                            ValueRange(Value(descriptor)))
      .getResult(0);
}

void codegen::expandClampTasks(Operation *function, Value tasks) {
  function->walk([&](exec::ClampTaskOp op) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value count =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), tasks);
    Value last = arith::SubIOp::create(builder, loc, count, constant(1));
    Value least = arith::MinSIOp::create(builder, loc, op.getIndex(), last);
    op.replaceAllUsesWith(
        arith::MaxSIOp::create(builder, loc, least, constant(0)).getResult());
    op.erase();
  });
}

/// Replaces operations that have two results and index operands by operations
/// on i64. LLVM's lowering takes the pair of results apart and leaves an index
/// there.
static void replaceIndexPairs(Operation *function) {
  function->walk([](Operation *op) {
    if (!isa<arith::AddUIExtendedOp, arith::MulSIExtendedOp,
             arith::MulUIExtendedOp>(op) ||
        !op->getOperand(0).getType().isIndex())
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Type word = builder.getI64Type(), index = builder.getIndexType();
    auto cast = [&](Type type, Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, type, value);
    };
    SmallVector<Type> types =
        llvm::map_to_vector(op->getResultTypes(), [&](Type type) {
          return type.isIndex() ? word : type;
        });
    SmallVector<Value> operands = llvm::map_to_vector(
        op->getOperands(), [&](Value value) { return cast(word, value); });
    Operation *wide =
        builder.create(loc, op->getName().getIdentifier(), operands, types);
    for (auto [old, made] :
         llvm::zip_equal(op->getResults(), wide->getResults()))
      old.replaceAllUsesWith(old.getType().isIndex() ? cast(index, made)
                                                     : made);
    op->erase();
  });
}

LogicalResult codegen::expandMath(Operation *function) {
  replaceIndexPairs(function);
  auto needsLibrary = [](Operation *op) {
    return isa<math::CosOp, math::ExpOp, math::LogOp, math::Log2Op, math::SinOp,
               math::TanhOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  if (!function->walk(needsLibrary).wasInterrupted())
    return success();
  RewritePatternSet patterns(function->getContext());
  populateMathPolynomialApproximationPatterns(patterns);
  return applyPatternsGreedily(function, std::move(patterns));
}
