//===- LookupEmitter.cpp - Drafts by n-grams of the tokens so far ---------===//

#include "compiler/Import/ModelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mtp::importer {

void importLookup(ModelContext &context) {
  emitImport(context, "<lookup.mlir>", {"remember", "lookup"});
}

Drafts emitLookup(ModelContext &context) {
  mlir::OpBuilder &builder = context.builder;
  const LookupSizes &sizes = context.draft.drafter.lookup;
  mlir::Value slots = emitSlots(context);
  emitPerSlot(context, "kept", slots, {}, {}, [&](mlir::ValueRange) {
    emitCall(context, "remember", {}, {}, "kept");
    return llvm::SmallVector<mlir::Value>();
  });
  auto lookup = emitPerSlot(
      context, "drafts", slots, {}, context.grid(), [&](mlir::ValueRange) {
        auto number = [&](int64_t value, llvm::StringRef name) -> mlir::Value {
          return mlir::arith::ConstantIndexOp::create(
              builder, context.name(name), value);
        };
        mlir::Value least = number(sizes.least, "min");
        mlir::Value most = number(sizes.most, "max");
        auto call = emitCall(context, "lookup", {least, most}, context.tokens(),
                             "found");
        return llvm::SmallVector<mlir::Value>(call->getResults());
      });
  return {lookup->getResult(0), mlir::Value()};
}

} // namespace mtp::importer
