//===- RoundNumbers.cpp - A round's numbers per slot ----------------------===//
//
// Masks, sizes and bounds that library functions take as one number per slot.
// One per-slot body at the beginning of a round computes all of them, so that
// each is one line.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/emitters/FolderEmitter.h"
#include "compiler/Import/rounds/StepRound.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mtp::importer {

RoundNumber constantNumber(ModelContext &context, llvm::StringRef name,
                           mlir::TypedAttr value) {
  return {name, value.getType(), [&context, name, value]() -> mlir::Value {
            return mlir::arith::ConstantOp::create(context.builder,
                                                   context.name(name), value);
          }};
}

std::vector<RoundNumber> roundNumbers(ModelContext &context) {
  std::vector<RoundNumber> numbers;
  const DrafterFolder *folder = context.draft.folder;
  if (folder && folder->isBlock())
    addBlockNumbers(context, numbers);
  if (isParallel(context))
    addParallelNumbers(context, numbers);
  addBeamNumbers(context, numbers);
  addRuleNumbers(context, numbers);
  return numbers;
}

void emitNumbers(ModelContext &context,
                 const std::vector<RoundNumber> &numbers) {
  llvm::SmallVector<mlir::Type> types;
  for (const RoundNumber &number : numbers)
    types.push_back(
        mlir::RankedTensorType::get({mlir::ShapedType::kDynamic}, number.type));
  auto body = [&](mlir::ValueRange) {
    emitRemember(context);
    llvm::SmallVector<mlir::Value> values;
    for (const RoundNumber &number : numbers)
      values.push_back(number.make());
    return values;
  };
  auto made = emitPerSlot(context, numbers.empty() ? "kept" : "numbers",
                          emitSlots(context), {}, types, body);
  for (auto [number, value] : llvm::zip_equal(numbers, made->getResults()))
    context.numbers[number.name] = value;
}

} // namespace mtp::importer
