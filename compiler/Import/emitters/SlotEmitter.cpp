//===- SlotEmitter.cpp - Regions and per-slot bodies ----------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

#include "dialects/MTP/IR/SlotTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mtp::importer {

mlir::Block *enterRegion(ModelContext &context, mlir::Region &region,
                         llvm::ArrayRef<Argument> arguments) {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Location> names;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    names.push_back(context.name(argument.name));
  }
  return context.builder.createBlock(&region, {}, types, names);
}

void emitYield(ModelContext &context, mlir::ValueRange values) {
  mlir::mtp::YieldOp::create(context.builder, context.builder.getUnknownLoc(),
                             values);
}

void emitImport(ModelContext &context, llvm::StringRef file,
                llvm::ArrayRef<llvm::StringRef> functions) {
  mlir::OpBuilder &builder = context.builder;
  llvm::SmallVector<mlir::Attribute> names;
  for (llvm::StringRef function : functions)
    names.push_back(
        mlir::FlatSymbolRefAttr::get(builder.getContext(), function));
  mlir::mtp::ImportOp::create(builder, builder.getUnknownLoc(), file,
                              builder.getArrayAttr(names));
}

mlir::Value emitSlots(ModelContext &context) {
  if (!context.slots)
    context.slots = mlir::mtp::SlotsOp::create(
        context.builder, context.name("slots"), context.tokens());
  return context.slots;
}

mlir::Value emitIndex(ModelContext &context, int64_t value,
                      llvm::StringRef name) {
  return mlir::arith::ConstantIndexOp::create(context.builder,
                                              context.name(name), value);
}

mlir::mtp::PerSlotOp emitPerSlot(
    ModelContext &context, llvm::StringRef name, mlir::Value slots,
    mlir::ValueRange inputs, mlir::TypeRange results,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body) {
  mlir::OpBuilder &builder = context.builder;
  auto op = mlir::mtp::PerSlotOp::create(builder, context.name(name), results,
                                         slots, inputs);
  mlir::OpBuilder::InsertionGuard guard(builder);
  llvm::SmallVector<Argument> arguments = {{"index", builder.getIndexType()},
                                           {"slot", builder.getI32Type()}};
  for (mlir::Value input : inputs)
    arguments.push_back({"own", mlir::mtp::typeOfRow(input.getType())});
  mlir::Block *block = enterRegion(context, op.getBodyRegion(), arguments);
  emitYield(context,
            body(mlir::ValueRange(block->getArguments()).drop_front(2)));
  return op;
}

mlir::Operation *emitCall(ModelContext &context, llvm::StringRef callee,
                          mlir::ValueRange inputs, mlir::TypeRange results,
                          llvm::StringRef name) {
  return mlir::func::CallOp::create(context.builder, context.name(name), callee,
                                    results, inputs);
}

} // namespace mtp::importer
