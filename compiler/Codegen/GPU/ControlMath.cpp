//===- ControlMath.cpp - Math of bodies without a library -----------------===//
//
// The lowering to NVVM turns many operations into calls of CUDA's libdevice,
// and lowers some operations not at all. LLVM's intrinsics are instructions on
// every GPU. They are called by name, because the lowering also matches LLVM's
// own math operations. `test/Codegen/ControlMath_test.cpp` checks that every
// operation that a body may hold is covered.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/ControlMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mtp;
using namespace mlir;

/// Returns the intrinsic for an operation, or an empty name if there is none.
static StringRef intrinsicOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::MaxNumFOp) { return "llvm.maxnum"; })
      .Case([](arith::MinNumFOp) { return "llvm.minnum"; })
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::AbsIOp) { return "llvm.abs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::CountLeadingZerosOp) { return "llvm.ctlz"; })
      .Case([](math::CountTrailingZerosOp) { return "llvm.cttz"; })
      .Case([](math::CtPopOp) { return "llvm.ctpop"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::RoundOp) { return "llvm.round"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Case([](math::TruncOp) { return "llvm.trunc"; })
      .Default(StringRef());
}

/// Returns true if the intrinsic has a flag that makes its result undefined for
/// one input: 0, or the least number. The flag is set to false.
static bool asksForDefined(Operation *op) {
  return isa<math::AbsIOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp>(op);
}

static void replace(Operation *op, StringRef intrinsic) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  // LLVM has no index type.
  auto cast = [&](Type type, Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, type, value);
  };
  Type type = op->getResult(0).getType();
  Type word = type.isIndex() ? builder.getI64Type() : type;
  SmallVector<Value> operands(op->getOperands());
  if (type.isIndex())
    for (Value &operand : operands)
      operand = cast(word, operand);
  if (asksForDefined(op))
    operands.push_back(LLVM::ConstantOp::create(
        builder, loc, builder.getI1Type(), builder.getBoolAttr(false)));
  Value result =
      LLVM::CallIntrinsicOp::create(builder, loc, word,
                                    builder.getStringAttr(intrinsic), operands)
          ->getResult(0);
  if (type.isIndex())
    result = cast(type, result);
  op->replaceAllUsesWith(ValueRange(result));
  op->erase();
}

void codegen::replaceLibraryMath(Operation *function) {
  function->walk([](Operation *op) {
    if (StringRef intrinsic = intrinsicOf(op); !intrinsic.empty())
      replace(op, intrinsic);
  });
}
