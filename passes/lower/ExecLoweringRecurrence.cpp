//===- ExecLoweringRecurrence.cpp - Lower recurrent layers ----------------===//
//
// A slot has three states per layer. `memory` is the recurrent state. `kept`
// holds the keys and updates of the rows that the slot ran last. `rows` holds
// the inputs that the convolution sees: the rows before the kept ones, and the
// kept ones.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
/// The states of a layer.
enum class Part { Rows, Memory, Kept };
} // namespace

static std::string stateName(llvm::StringRef memory, int64_t layer, Part part) {
  constexpr llvm::StringLiteral kNames[] = {"rows", "memory", "kept"};
  return (memory + "." + llvm::Twine(layer) + "." + kNames[size_t(part)]).str();
}

/// Returns the rows and columns of a slot's part.
static std::pair<int64_t, int64_t> shapeOf(RecurrenceOp op, Part part,
                                           int64_t kept) {
  switch (part) {
  case Part::Rows:
    return {int64_t(op.getWindow()) - 1 + kept, op.getColumns()};
  case Part::Memory:
    return {int64_t(op.getHeads()) * int64_t(op.getKeys()), op.getValues()};
  case Part::Kept:
    return {kept, op.getKeptWidth()};
  }
  llvm_unreachable("all parts have a case");
}

LogicalResult mlir::mtp::convertRecurrences(ModuleOp module) {
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  for (RecurrenceOp op : llvm::to_vector(module.getOps<RecurrenceOp>())) {
    if (!envelope)
      return op.emitOpError("expected an mtp.envelope on the module: it says "
                            "how many slots there are");
    OpBuilder builder(op);
    int64_t slots = envelope.getMaxBatch(), kept = envelope.getMaxK() + 1;
    for (int64_t layer = 0; layer < int64_t(op.getLayers()); ++layer)
      for (Part part : {Part::Rows, Part::Memory, Part::Kept}) {
        auto [rows, columns] = shapeOf(op, part, kept);
        auto state = exec::StateOp::create(
            builder, op.getLoc(), stateName(op.getSymName(), layer, part),
            MemRefType::get({slots, rows, columns}, builder.getF32Type()));
        state.setRebuild(Rebuild::Run);
      }
    op.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Returns the rows of `op` with their recurrence counts. Rows of a function
/// are run like a prompt's.
static FailureOr<RowContext> runsOf(Operation *op, Value of,
                                    LoweringContext &context) {
  RowContext rows = context.rowsOf(of);
  if (rows.pending)
    return rows;
  exec::Count count = exec::rowsOf(rows.positions);
  if (!context.isFunction() || !count.isFixed()) {
    op->emitOpError("expected rows of mtp.verify, or of mtp.run_rows, which "
                    "say which of a slot's last rows stay: a drafter has no "
                    "recurrent layers");
    return failure();
  }
  auto type = RankedTensorType::get({count.base}, context.builder.getI32Type());
  rows.pending = rows.keeps =
      context.constant(DenseElementsAttr::get(type, int32_t(1)), op->getLoc());
  return rows;
}

static Value stateOf(Operation *op, llvm::StringRef memory, int64_t layer,
                     Part part, LoweringContext &context) {
  std::string name = stateName(memory, layer, part);
  Value state = context.state(name, op->getLoc());
  if (!state)
    op->emitOpError("expected a state @") << name << ", found none";
  return state;
}

/// Packs the weight transposed, with the columns of the oldest row first.
static Value packByRow(Value weight, LoweringContext &context, Location loc) {
  auto type = cast<RankedTensorType>(weight.getType());
  exec::SourceAttr source = context.source(weight);
  auto transposed = exec::SourceAttr::get(
      source.getContext(), source.getKey(), source.getRowBegin(),
      source.getRowEnd(), source.getRowStride(), source.getColBegin(),
      source.getColEnd(), /*transpose=*/true, source.getShape());
  return context.packed({context.rawLayout(),
                         context.singles(),
                         type.getDimSize(0),
                         type.getDimSize(1),
                         1,
                         {transposed}},
                        loc);
}

static LogicalResult lowerCausalConv(CausalConvOp op,
                                     LoweringContext &context) {
  FailureOr<RowContext> rows = runsOf(op, op.getRows(), context);
  if (failed(rows))
    return failure();
  Value state =
      stateOf(op, *op.getMemory(), *op.getLayer(), Part::Rows, context);
  if (!state)
    return failure();
  int64_t window =
      cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
  context.map(op.getResult(),
              context.call<exec::CausalConvOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()),
                  packByRow(op.getWeight(), context, op.getLoc()), window,
                  state, rows->slots, rows->positions, rows->pending,
                  rows->keeps));
  return success();
}

static LogicalResult lowerDeltaRule(DeltaRuleOp op, LoweringContext &context) {
  FailureOr<RowContext> rows = runsOf(op, op.getRows(), context);
  if (failed(rows))
    return failure();
  auto state = [&](Part part) {
    return stateOf(op, *op.getMemory(), *op.getLayer(), part, context);
  };
  Value memory = state(Part::Memory), kept = state(Part::Kept);
  if (!memory || !kept)
    return failure();
  // The columns of a key head equal the rows of the state.
  int64_t heads = exec::columnsOf(op.getBeta());
  int64_t keys = cast<MemRefType>(memory.getType()).getDimSize(1) / heads;
  int64_t keyHeads = exec::columnsOf(op.getQ()) / keys;
  context.map(op.getResult(),
              context.call<exec::DeltaRuleOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getQ()),
                  context.lookup(op.getK()), context.lookup(op.getV()),
                  context.whole(op.getDecay()), context.whole(op.getBeta()),
                  toSingle(op.getScale()), keyHeads, memory, kept, rows->slots,
                  rows->positions, rows->pending, rows->keeps));
  return success();
}

/// Adds the numbers of pending and kept rows to the row context.
static LogicalResult lowerRunRows(RunRowsOp op, LoweringContext &context) {
  RowContext rows = context.rowsOf(op.getRows());
  rows.pending = context.lookup(op.getPending());
  rows.keeps = context.lookup(op.getKeeps());
  context.mapRows(op.getResult(), rows);
  return success();
}

void mlir::mtp::addRecurrenceLowerings(Lowerings &lowerings) {
  lowerings.add(lowerCausalConv);
  lowerings.add(lowerDeltaRule);
  lowerings.add(lowerRunRows);
}
