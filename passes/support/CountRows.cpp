//===- CountRows.cpp - Rows of a program's values -------------------------===//
//
// The program states how many rows slots and prompts have. Values computed from
// them have a multiple, a fraction or a sum of that number. All of these
// numbers are counts, base + step * n.
//
//===----------------------------------------------------------------------===//

#include "passes/support/CountRows.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "passes/support/SameRows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;
using exec::Count;

/// Returns the number of the operand's elements divided by the elements of one
/// group of the result.
static std::optional<Count> reshapedRows(ReshapeOp op) {
  std::optional<Count> numbers = exec::elementsOf(op.getX());
  if (!numbers)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op.getType());
  return divide(*numbers,
                ShapedType::getNumElements(type.getShape().drop_front()));
}

static Count packedRows(PackOp op, Value result, const ProgramRows &program) {
  Count own = exec::rowsOf(op.getTokens());
  if (result == op.getPlaces())
    return own;
  Value prompts = op.getPromptTokens();
  Count theirs = prompts ? exec::rowsOf(prompts) : Count();
  if (result == op.getPromptPlaces())
    return theirs;
  // A budget trims either all batches of a program or none.
  if (op.getAtMost() && own.at(program.points.most) > int64_t(*op.getAtMost()))
    own = Count(*op.getAtMost());
  return own + theirs;
}

/// Returns the rows of a result. Most ops have one row per row of their first
/// operand.
static std::optional<Count> resultRows(Operation *op, Value result,
                                       const ProgramRows &program) {
  using Rows = std::optional<Count>;
  return llvm::TypeSwitch<Operation *, Rows>(op)
      .Case([&](SlotsOp op) {
        return op.getPrompts() ? program.sequences : program.slots;
      })
      .Case([&](PromptRowsOp) { return program.chunk; })
      .Case([](ReshapeOp op) { return reshapedRows(op); })
      .Case([](RowSlotsOp op) -> Rows {
        Value slots = countedRows(op.getRows());
        return slots ? Rows(exec::rowsOf(slots)) : std::nullopt;
      })
      .Case([](RowPositionsOp op) -> Rows {
        Value slots = countedRows(op.getRows());
        return slots ? Rows(exec::rowsOf(slots)) : std::nullopt;
      })
      .Case([](ReadStateOp op) {
        return exec::rowsOf(op.getSlots()) * int64_t(op.getRows());
      })
      .Case([](ConcatRowsOp op) {
        return exec::rowsOf(op.getHead()) + exec::rowsOf(op.getTail());
      })
      .Case([](GatherRowsOp op) { return exec::rowsOf(op.getIndex()); })
      .Case([&](PackOp op) { return packedRows(op, result, program); })
      .Case([](UnpackOp op) { return exec::rowsOf(op.getPlaces()); })
      .Case([](GatherOp op) { return exec::rowsOf(op.getColumns()); })
      .Case([](SampleResidualOp op) { return exec::rowsOf(op.getUniform()); })
      .Default([](Operation *op) -> Rows {
        if (op->getNumOperands() == 0 ||
            !isa<RankedTensorType>(op->getOperand(0).getType()))
          return std::nullopt;
        return exec::rowsOf(op->getOperand(0));
      });
}

LogicalResult mlir::mtp::countRows(Operation *op, const ProgramRows &program) {
  if (failed(checkSameRows(op)))
    return failure();
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || type.getRank() == 0 || !type.isDynamicDim(0))
      continue;
    std::optional<Count> rows = resultRows(op, result, program);
    if (!rows || *rows == Count())
      return op->emitOpError("expected a number of rows that follows from the "
                             "slots of a round or the rows of a chunk, got ")
             << type << " of " << op->getOperandTypes();
    result.setType(exec::withRows(type, *rows));
  }
  return success();
}
