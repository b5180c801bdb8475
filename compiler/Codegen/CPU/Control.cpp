//===- Control.cpp - Kernels that carry their body ------------------------===//
//
// A body sees memrefs. They are made from the pointers of the kernel's ABI,
// with the extents of their types; the first extent of a buffer of rows is not
// known to the body, and nothing asks for it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mtp::codegen;
using namespace mlir;

/// `pointer` as a buffer of `type`, of which only the first extent is dynamic.
static Value asBuffer(OpBuilder &builder, Location loc, Value pointer,
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

/// Replaces functions of f32 by polynomials: the image has no library, and
/// their bits are the same on every instruction set.
static LogicalResult expandMath(Operation *function) {
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

LogicalResult mtp::codegen::emitControl(OpBuilder &builder, CpuBuilder &kb,
                                        Region &body) {
  Location loc = body.getLoc();
  IRMapping map;
  for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front()))
    map.map(argument,
            asBuffer(builder, loc, kb.buffer(i),
                     cast<MemRefType>(argument.getType()), kb.param(0)));
  // A body's own buffers are there once, not once for each task.
  for (auto alloca : body.getOps<memref::AllocaOp>())
    builder.clone(*alloca, map);
  kb.forTasks([&](Value task) {
    map.map(body.getArgument(0), arith::IndexCastOp::create(
                                     builder, loc, builder.getIndexType(), task)
                                     .getResult());
    for (Operation &op : body.front())
      if (!isa<memref::AllocaOp>(op))
        builder.clone(op, map);
  });
  return expandMath(builder.getInsertionBlock()->getParentOp());
}
