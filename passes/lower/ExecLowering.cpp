//===- ExecLowering.cpp - Lower mtp ops to kernel calls -------------------===//

#include "passes/lower/ExecLowering.h"
#include "passes/support/Envelope.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

LoweringContext::LoweringContext(ModuleOp module, int64_t panelWidth)
    : builder(module.getContext()),
      envelope(module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr)),
      panelWidth(panelWidth), symbols(module) {}

void LoweringContext::enter(exec::ProgramOp entered) {
  program = entered;
  values.clear();
  rowContexts.clear();
}

void LoweringContext::leave() {
  for (Operation &view :
       llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
    if (isa<exec::ColumnsOp, exec::ReshapeOp>(view) && view.use_empty())
      view.erase();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value LoweringContext::whole(Value value) {
  Value known = lookup(value);
  return exec::isWhole(known)
             ? known
             : call<exec::CopyOp>(value.getLoc(), value.getType(), known)
                   .getY();
}

Value LoweringContext::columns(Value value, int64_t begin, int64_t end,
                               Location loc) {
  exec::ColumnView view = exec::viewOf(lookup(value));
  begin += view.offset;
  end += view.offset;
  if (begin == 0 && end == view.stride)
    return view.root;
  return exec::ColumnsOp::create(builder, loc, view.root,
                                 builder.getI64IntegerAttr(begin),
                                 builder.getI64IntegerAttr(end));
}

const RowContext *LoweringContext::findRows(Value rows) const {
  auto known = rowContexts.find(rows);
  return known == rowContexts.end() ? nullptr : &known->second;
}

//===----------------------------------------------------------------------===//
// Resources
//===----------------------------------------------------------------------===//

Value LoweringContext::refSymbol(Operation *symbol, Type type, int64_t layer,
                                 Location loc) {
  return exec::RefOp::create(
      builder, loc, type, SymbolTable::getSymbolName(symbol).getValue(), layer);
}

exec::SourceAttr LoweringContext::source(Value value) {
  auto weight = value.getDefiningOp<WeightOp>();
  // The tensor's shape equals the weight's, unless the weight takes a range.
  auto type = cast<RankedTensorType>(weight.getResult().getType());
  SmallVector<int64_t> shape(
      type.getShape().take_back(weight.getStack() ? 2 : type.getRank()));
  int64_t begin = weight.getRowBegin().value_or(0);
  int64_t end = weight.getRowEnd().value_or(-1), stride = 0;
  if (weight.getRowBegin())
    shape.front() = weight.getRowCount().value_or(-1);
  if (weight.getColBegin())
    shape.back() = weight.getColCount().value_or(-1);
  // The matrices of one tensor are stored one after the other.
  if (weight.getStack() && !weight.getKey().contains("{}")) {
    stride = shape.front();
    end = end < 0 ? stride : end;
    shape.front() *= int64_t(*weight.getStack());
  }
  return exec::SourceAttr::get(
      builder.getContext(), weight.getKey(), begin, end, stride,
      weight.getColBegin().value_or(0), weight.getColEnd().value_or(-1),
      /*transpose=*/false, builder.getDenseI64ArrayAttr(shape));
}

/// Returns how often a weight takes its range of rows: once in each equal block
/// of the tensor.
static int64_t countBlocks(WeightOp weight) {
  if (!weight.getRowBegin() || weight.getStack())
    return 1;
  auto type = cast<RankedTensorType>(weight.getResult().getType());
  return type.getDimSize(0) / (*weight.getRowEnd() - *weight.getRowBegin());
}

void LoweringContext::addSources(Value value,
                                 SmallVectorImpl<Attribute> &sources) {
  auto weight = value.getDefiningOp<WeightOp>();
  exec::SourceAttr first = source(value);
  int64_t blocks = countBlocks(weight);
  int64_t distance = blocks > 1 ? *weight.getRowCount() / blocks : 0;
  for (int64_t i = 0; i < blocks; ++i)
    sources.push_back(exec::SourceAttr::get(
        builder.getContext(), first.getKey(),
        first.getRowBegin() + i * distance,
        blocks > 1 ? first.getRowEnd() + i * distance : first.getRowEnd(),
        first.getRowStride(), first.getColBegin(), first.getColEnd(),
        first.getTranspose(), first.getShape()));
}

exec::PanelsAttr LoweringContext::panels() {
  return exec::PanelsAttr::get(builder.getContext(), panelWidth,
                               /*fragments=*/false);
}

exec::GatedPanelsAttr LoweringContext::gatedPanels() {
  return exec::GatedPanelsAttr::get(builder.getContext(), panelWidth,
                                    /*fragments=*/false);
}

exec::RawLayoutAttr LoweringContext::rawLayout() {
  return exec::RawLayoutAttr::get(builder.getContext());
}

Value LoweringContext::packed(const Packing &packing, Location loc) {
  auto sources = builder.getArrayAttr(packing.sources);
  Attribute identity = builder.getArrayAttr(
      {packing.layout, packing.format,
       builder.getI64ArrayAttr({packing.k, packing.n, packing.stack}),
       sources});
  Operation *&weight = declared[identity];
  if (!weight) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    llvm::StringRef name =
        cast<exec::SourceAttr>(packing.sources.front()).getTensor();
    weight = exec::WeightOp::create(builder, loc, name, packing.layout,
                                    packing.k, packing.n, packing.stack,
                                    sources, packing.format,
                                    /*picks=*/FlatSymbolRefAttr());
    symbols.insert(weight);
    ++numWeights;
  }
  return refSymbol(weight, cast<exec::WeightOp>(weight).getPackedType(),
                   /*layer=*/0, loc);
}

exec::FormatAttr LoweringContext::singles() {
  return exec::FormatAttr::get(builder.getF32Type());
}

exec::FormatAttr LoweringContext::formatOf(Value weight) {
  return exec::FormatAttr::get(cast<FloatType>(getElementTypeOrSelf(weight)));
}

Value LoweringContext::packedRaw(ValueRange weights, exec::FormatAttr format,
                                 Location loc) {
  Packing packing{rawLayout(), format, 0, 0, 1, {}};
  for (Value weight : weights) {
    auto type = cast<RankedTensorType>(weight.getType());
    addSources(weight, packing.sources);
    if (type.getRank() == 1) {
      packing.k += type.getDimSize(0);
      packing.n = 1;
    } else {
      packing.k = type.getDimSize(1);
      packing.n += type.getDimSize(0);
    }
  }
  return packed(packing, loc);
}

Value LoweringContext::ropeTable(RopeAttr rope, Location loc) {
  int64_t positions = envelope.getMaxContext();
  Operation *&table = declared[rope];
  if (!table) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    table =
        exec::RopeTableOp::create(builder, loc, "rope_table", rope, positions);
    symbols.insert(table);
  }
  return refSymbol(table,
                   MemRefType::get({positions, int64_t(rope.getDim())},
                                   builder.getF32Type()),
                   /*layer=*/0, loc);
}

Value LoweringContext::constant(DenseElementsAttr value, Location loc) {
  Operation *&constant = declared[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    constant = exec::ConstantOp::create(builder, loc, "constant", value);
    symbols.insert(constant);
  }
  return refSymbol(
      constant,
      MemRefType::get(value.getType().getShape(), value.getElementType()),
      /*layer=*/0, loc);
}

Value LoweringContext::state(llvm::StringRef name, Location loc) {
  auto state = symbols.lookup<exec::StateOp>(name);
  return state ? refSymbol(state, state.getType(), /*layer=*/0, loc) : Value();
}

Value LoweringContext::numbers(llvm::StringRef name, std::optional<int64_t> row,
                               exec::Count count, Location loc) {
  if (!symbols.lookup<exec::StateOp>(name)) {
    emitError(loc, "expected a state @") << name << ", found none";
    return Value();
  }
  bool isFixed = count.isFixed();
  return exec::RefOp::create(
      builder, loc,
      MemRefType::get({isFixed ? count.base : ShapedType::kDynamic},
                      builder.getI32Type()),
      name, /*layer=*/0, row ? builder.getI64IntegerAttr(*row) : IntegerAttr(),
      isFixed ? exec::CountAttr()
              : exec::CountAttr::get(builder.getContext(), count));
}

Value LoweringContext::pageTable(Location loc) {
  if (Value table = state("page_table", loc))
    return table;
  if (program.getKind() != exec::ProgramKind::Function) {
    emitError(loc, "expected a state @page_table, which a ")
        << stringifyEnum(program.getKind()) << " program reads, found none";
    return Value();
  }
  // A module without the state has no sequences. Its functions use the pool
  // from page 1 on.
  SmallVector<int32_t> pages(envelope.getMaxBatch() * pagesPerSlot(envelope));
  for (auto [index, page] : llvm::enumerate(pages))
    page = static_cast<int32_t>(index) + 1;
  auto type = RankedTensorType::get(
      {envelope.getMaxBatch(), pagesPerSlot(envelope)}, builder.getI32Type());
  return constant(DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(pages)),
                  loc);
}

Value LoweringContext::cacheLayer(exec::CacheOp cache, int64_t layer,
                                  Location loc) {
  auto type = MemRefType::get({ShapedType::kDynamic, int64_t(cache.getPage()),
                               int64_t(cache.getEntry())},
                              cache.getDtype());
  return refSymbol(cache, type, layer, loc);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Returns the operands of `op` that a kernel streams as packed weights.
static SmallVector<Value> weightOperands(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](EmbedOp o) { return SmallVector<Value>{o.getTable()}; })
      .Case([](RmsNormOp o) { return SmallVector<Value>{o.getWeight()}; })
      .Case([](HeadLinearOp o) { return SmallVector<Value>{o.getWeight()}; })
      .Case([](DecayOp o) {
        return SmallVector<Value>{o.getRate(), o.getBias()};
      })
      .Case([](CausalConvOp o) { return SmallVector<Value>{o.getWeight()}; })
      .Case([](MoeRouteOp o) { return SmallVector<Value>{o.getBias()}; })
      .Case([](LinearOp o) {
        return SmallVector<Value>{o.getWeight(), o.getBias()};
      })
      .Case([](MoeExpertsOp o) {
        return SmallVector<Value>{o.getGate(), o.getUp(), o.getDown()};
      })
      .Case([](FusedLinearOp o) {
        SmallVector<Value> weights(o.getWeights());
        llvm::append_range(weights, o.getBiases());
        weights.push_back(o.getNorm());
        return weights;
      })
      .Default(SmallVector<Value>());
}

/// Checks that activations have the row counts of their slots and positions,
/// which kernels take for granted.
static LogicalResult checkRows(Operation *op, const LoweringContext &lowering) {
  for (Value operand : op->getOperands()) {
    if (!isa<RowsType>(operand.getType()))
      continue;
    const RowContext *context = lowering.findRows(operand);
    if (!context) {
      return op->emitOpError("expected rows that mtp.make_rows or "
                             "mtp.tree_rows made");
    }
    exec::Count rows = exec::rowsOf(context->positions);
    auto activation = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    // Rows may be in groups.
    int64_t each =
        activation && activation.getRank() == 3 ? activation.getDimSize(1) : 1;
    if (activation && exec::rowsOf(op->getOperand(0)) * each != rows) {
      return op->emitOpError("expected ")
             << rows << " rows, as slots and positions have, got "
             << activation;
    }
  }
  return success();
}

/// Checks the assumptions of the lowerings: weights come from mtp.weight, and
/// activations do not.
static LogicalResult checkOperands(Operation *op,
                                   const LoweringContext &context) {
  SmallVector<Value> weights = weightOperands(op);
  for (Value weight : weights) {
    if (weight && !weight.getDefiningOp<mlir::mtp::WeightOp>()) {
      return op->emitOpError("expected weights that mtp.weight defines: they "
                             "are packed into the artifact");
    }
  }
  auto heads = dyn_cast<HeadLinearOp>(op);
  if (heads && countBlocks(heads.getWeight().getDefiningOp<WeightOp>()) != 1)
    return op->emitOpError("expected the rows of a weight in one block");
  for (Value operand : op->getOperands()) {
    if (operand.getDefiningOp<mlir::mtp::WeightOp>() &&
        !llvm::is_contained(weights, operand)) {
      return op->emitOpError("expected an activation, got a weight; it has no "
                             "kernel that reads it");
    }
  }
  return checkRows(op, context);
}

LogicalResult Lowerings::lower(Operation *op, LoweringContext &context) const {
  auto known = table.find(op->getName().getStringRef());
  if (known == table.end())
    return op->emitOpError("has no kernel on this target; programs may hold "
                           "only ops that the cache phase leaves");
  return known->second(op, context);
}

LogicalResult mlir::mtp::lowerProgram(exec::ProgramOp program,
                                      const Lowerings &lowerings,
                                      LoweringContext &context) {
  context.enter(program);
  SmallVector<Operation *> lowered;
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
    if (failed(checkOperands(&op, context)))
      return failure();
    context.builder.setInsertionPoint(&op);
    if (isa<exec::ExecDialect>(op.getDialect())) {
      // Calls of control kernels, and outputs, read whole buffers.
      for (OpOperand &operand : op.getOpOperands())
        if (isa<RankedTensorType>(operand.get().getType()))
          operand.set(context.whole(operand.get()));
      continue;
    }
    if (failed(lowerings.lower(&op, context)))
      return failure();
    lowered.push_back(&op);
  }
  for (Operation *op : llvm::reverse(lowered))
    op->erase();
  context.leave();
  return success();
}
