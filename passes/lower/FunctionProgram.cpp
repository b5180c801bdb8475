//===- FunctionProgram.cpp - Programs of exported functions ---------------===//

#include "passes/lower/FunctionProgram.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/schema/InputNames.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

/// Checks that every argument and result type of `function` is a static tensor.
static LogicalResult checkSignature(func::FuncOp function) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                            function.getResultTypes())) {
    if (!isStatic(type)) {
      return function.emitOpError("expected static tensors at the border of an "
                                  "exported function, got ")
             << type << "; make it private or give its shapes";
    }
  }
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected an exported function with one block");
  return success();
}

/// Returns the name by which callers know an argument.
static std::string nameOf(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, kNameAttr);
  return name ? name.str() : ("arg" + llvm::Twine(argument)).str();
}

/// Checks that arguments whose names mark them as distributions have a suitable
/// type.
static LogicalResult checkNames(func::FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    std::string name = nameOf(function, unsigned(index));
    auto tensor = cast<RankedTensorType>(type);
    if (::mtp::holdsDistributions(name) &&
        (!tensor.getElementType().isF32() || tensor.getRank() == 0))
      return function.emitOpError("expected rows of f32 by the name ")
             << '"' << name << "\", got " << type;
  }
  return success();
}

LogicalResult mlir::mtp::writeFunctionProgram(func::FuncOp function) {
  if (failed(checkSignature(function)) || failed(checkNames(function)))
    return failure();
  OpBuilder builder(function);
  Location loc = function.getLoc();
  auto program = ProgramOp::create(builder, loc, function.getSymName(),
                                   ProgramKind::Function);
  builder.setInsertionPointToStart(&program.getBody().front());
  IRMapping mapping;
  for (BlockArgument arg : function.getArguments())
    mapping.map(arg, InputOp::create(builder, loc, arg.getType(),
                                     nameOf(function, arg.getArgNumber())));
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr);
    std::string fallback = ("result" + llvm::Twine(index)).str();
    exec::OutputOp::create(builder, loc, name ? name.getValue() : fallback,
                           mapping.lookup(value), /*of=*/OutputRowsAttr());
  }
  return success();
}
