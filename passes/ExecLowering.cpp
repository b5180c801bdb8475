//===- ExecLowering.cpp - From mtp ops to kernel calls --------------------===//

#include "passes/ExecLowering.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Envelope.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// KernelCall
//===----------------------------------------------------------------------===//

KernelCall &KernelCall::config(llvm::StringRef key, int64_t value) {
  OpBuilder &b = lowering.builder;
  entries.push_back(b.getNamedAttr(key, b.getI64IntegerAttr(value)));
  return *this;
}

KernelCall &KernelCall::config(llvm::StringRef key, llvm::StringRef value) {
  OpBuilder &b = lowering.builder;
  entries.push_back(b.getNamedAttr(key, b.getStringAttr(value)));
  return *this;
}

KernelCall &KernelCall::config(llvm::StringRef key, double value) {
  OpBuilder &b = lowering.builder;
  entries.push_back(
      b.getNamedAttr(key, b.getF32FloatAttr(static_cast<float>(value))));
  return *this;
}

KernelCall &KernelCall::flag(llvm::StringRef key, bool value) {
  OpBuilder &b = lowering.builder;
  entries.push_back(b.getNamedAttr(key, b.getBoolAttr(value)));
  return *this;
}

KernelCall &KernelCall::dtype(Type type) {
  return config("dtype", type.isBF16() ? llvm::StringRef("bf16")
                                       : llvm::StringRef("f32"));
}

ResultRange KernelCall::emit(TypeRange results) {
  OpBuilder &b = lowering.builder;
  ++lowering.numInvokes;
  return InvokeOp::create(b, loc, results, kind, args, params, offsets,
                          b.getDictionaryAttr(entries))
      .getResults();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

ExecLowering::ExecLowering(ModuleOp module)
    : module(module), symbols(module), builder(module.getContext()),
      envelope(module->getAttrOfType<EnvelopeAttr>("mtp.envelope")) {}

ActivationView ExecLowering::view(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t width = type.getRank() == 2 ? type.getDimSize(1) : 1, begin = 0;
  while (auto slice = value.getDefiningOp<SliceOp>()) {
    begin += int64_t(slice.getBegin());
    value = slice.getX();
  }
  auto known = views.find(value);
  if (known != views.end()) {
    const ActivationView &source = known->second;
    return {source.root, source.offset + begin, source.stride, width};
  }
  type = cast<RankedTensorType>(value.getType());
  return {value, begin, type.getRank() == 2 ? type.getDimSize(1) : 1, width};
}

Value ExecLowering::whole(Value value) {
  ActivationView source = view(value);
  if (source.isWhole()) {
    return source.root;
  }
  return KernelCall(*this, "copy_cols", value.getLoc())
      .arg(source)
      .param(rowCount(value))
      .config("width", source.width)
      .config("x_stride", source.stride)
      .config("y_stride", source.width)
      .config("x_offset", int64_t(0))
      .config("y_offset", int64_t(0))
      .emit(value.getType())
      .front();
}

void ExecLowering::mapResult(Value from, Value to) {
  auto type = cast<RankedTensorType>(from.getType());
  int64_t width = type.getRank() == 2 ? type.getDimSize(1) : 1;
  views[from] = {to, 0, width, width};
}

//===----------------------------------------------------------------------===//
// Resources
//===----------------------------------------------------------------------===//

Value ExecLowering::refSymbol(Operation *symbol, Type type, int64_t layer,
                              Location loc) {
  return RefOp::create(builder, loc, type,
                       SymbolTable::getSymbolName(symbol).getValue(), layer);
}

DictionaryAttr ExecLowering::source(WeightOp weight) {
  SmallVector<NamedAttribute> entries;
  entries.push_back(builder.getNamedAttr("key", weight.getKeyAttr()));
  auto add = [&](llvm::StringRef name, IntegerAttr value) {
    if (value) {
      entries.push_back(builder.getNamedAttr(name, value));
    }
  };
  // What the tensor has: as much as the weight, where that takes all.
  auto type = cast<RankedTensorType>(weight.getResult().getType());
  SmallVector<int64_t> shape(
      type.getShape().take_back(weight.getStack() ? 2 : type.getRank()));
  if (weight.getRowBegin()) {
    shape.front() = weight.getRowCount().value_or(-1);
  }
  if (weight.getColBegin()) {
    shape.back() = weight.getColCount().value_or(-1);
  }
  entries.push_back(
      builder.getNamedAttr("shape", builder.getDenseI64ArrayAttr(shape)));
  add("row_begin", weight.getRowBeginAttr());
  add("row_end", weight.getRowEndAttr());
  add("col_begin", weight.getColBeginAttr());
  add("col_end", weight.getColEndAttr());
  return builder.getDictionaryAttr(entries);
}

/// The type of a packed weight: its bytes are exactly the packed form's.
static MemRefType packedType(llvm::StringRef layout, Type dtype, int64_t k,
                             int64_t n, int64_t stack) {
  if (layout == "raw") {
    return MemRefType::get({stack * n, k}, dtype);
  }
  // swiglu: `n` counts gate and up rows; either half is padded by itself.
  int64_t panels = layout == "swiglu" ? 2 * panelCount(n / 2) : panelCount(n);
  if (dtype.isBF16()) {
    return MemRefType::get({stack * panels, (k + 1) / 2, kPanelWidth, 2},
                           dtype);
  }
  return MemRefType::get({stack * panels, k, kPanelWidth}, dtype);
}

Value ExecLowering::packed(const Packing &packing, Location loc) {
  auto sources = builder.getArrayAttr(packing.sources);
  Attribute identity = builder.getArrayAttr(
      {builder.getStringAttr(packing.layout), TypeAttr::get(packing.dtype),
       builder.getI64ArrayAttr({packing.k, packing.n, packing.stack}),
       sources});
  Operation *&weight = declared[identity];
  if (!weight) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    auto key = cast<DictionaryAttr>(packing.sources.front())
                   .getAs<StringAttr>("key");
    llvm::StringRef name = key.getValue();
    name.consume_front("/");
    weight = exec::WeightOp::create(builder, loc, name, packing.layout,
                                    packing.k, packing.n, packing.stack,
                                    sources, packing.dtype,
                                    /*group=*/IntegerAttr(),
                                    /*picks=*/FlatSymbolRefAttr());
    symbols.insert(weight);
    ++numWeights;
  }
  return refSymbol(weight,
                   packedType(packing.layout, packing.dtype, packing.k,
                              packing.n, packing.stack),
                   /*layer=*/0, loc);
}

Value ExecLowering::packedRaw(ValueRange weights, Type dtype, Location loc) {
  Packing packing{"raw", dtype, 0, 0, 1, {}};
  for (Value weight : weights) {
    auto type = cast<RankedTensorType>(weight.getType());
    packing.sources.push_back(source(weight.getDefiningOp<mtp::WeightOp>()));
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

Value ExecLowering::ropeTable(RopeAttr rope, Location loc) {
  int64_t positions = positionCount(envelope);
  Operation *&table = declared[rope];
  if (!table) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    table = RopeTableOp::create(builder, loc, "rope_table", rope, positions);
    symbols.insert(table);
  }
  return refSymbol(table,
                   MemRefType::get({positions, int64_t(rope.getDim())},
                                   builder.getF32Type()),
                   /*layer=*/0, loc);
}

Value ExecLowering::constant(DenseElementsAttr value, Location loc) {
  Operation *&constant = declared[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(program);
    constant = ConstantOp::create(builder, loc, "constant", value);
    symbols.insert(constant);
  }
  return refSymbol(constant,
                   MemRefType::get(value.getType().getShape(),
                                   value.getElementType()),
                   /*layer=*/0, loc);
}

Value ExecLowering::pageTable(Location loc) {
  if (program.getKind() != "function") {
    auto state = symbols.lookup<exec::StateOp>("page_table");
    if (!state) {
      emitError(loc, "expected a state @page_table, which a ")
          << program.getKind() << " program reads, found none";
      return Value();
    }
    return refSymbol(state, state.getType(), /*layer=*/0, loc);
  }
  // A function has no slots of its own: it uses the pool from page 1 on, which
  // is why it may only run while no sequence holds pages.
  SmallVector<int32_t> pages(envelope.getMaxBatch() * pagesPerSlot(envelope));
  for (auto [index, page] : llvm::enumerate(pages)) {
    page = static_cast<int32_t>(index) + 1;
  }
  auto type = RankedTensorType::get({envelope.getMaxBatch(), pagesPerSlot(envelope)},
                                    builder.getI32Type());
  return constant(DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(pages)),
                  loc);
}

Value ExecLowering::cacheLayer(llvm::StringRef name, int64_t layer,
                               Location loc) {
  auto cache = symbols.lookup<exec::CacheOp>(name);
  auto type = MemRefType::get({ShapedType::kDynamic, int64_t(cache.getPage()),
                               int64_t(cache.getEntry())},
                              cache.getDtype());
  return refSymbol(cache, type, layer, loc);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The operands of `op` that a kernel streams as packed weights.
static SmallVector<Value> weightOperands(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](EmbedOp o) { return SmallVector<Value>{o.getTable()}; })
      .Case([](RmsNormOp o) { return SmallVector<Value>{o.getWeight()}; })
      .Case([](HeadLinearOp o) { return SmallVector<Value>{o.getWeight()}; })
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

LogicalResult ExecLowering::checkOperands(Operation *op) {
  SmallVector<Value> weights = weightOperands(op);
  for (Value weight : weights) {
    if (weight && !weight.getDefiningOp<mtp::WeightOp>()) {
      return op->emitOpError("expected weights that mtp.weight defines: they "
                             "are packed into the artifact");
    }
  }
  for (Value operand : op->getOperands()) {
    if (operand.getDefiningOp<mtp::WeightOp>() &&
        !llvm::is_contained(weights, operand)) {
      return op->emitOpError("expected an activation, got a weight; it has no "
                             "kernel that reads it");
    }
  }
  return checkRows(op);
}

/// Kernels take an activation's number of rows for that of the slots and
/// positions.
LogicalResult ExecLowering::checkRows(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (!isa<RowsType>(operand.getType())) {
      continue;
    }
    auto context = rowContexts.find(operand);
    if (context == rowContexts.end()) {
      return op->emitOpError("expected rows that mtp.make_rows or "
                             "mtp.tree_rows made");
    }
    int64_t rows = rowCount(context->second.positions);
    auto activation = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    if (activation && activation.getDimSize(0) != rows) {
      return op->emitOpError("expected ")
             << rows << " rows, as slots and positions have, got "
             << activation;
    }
  }
  return success();
}

LogicalResult ExecLowering::lowerOp(Operation *op) {
  builder.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<mtp::WeightOp, SliceOp>([](auto) { return success(); })
      .Case<EmbedOp>([&](auto o) { return lowerEmbed(o); })
      .Case<MaskFirstOp>([&](auto o) { return lowerMaskFirst(o); })
      .Case<RmsNormOp>([&](auto o) { return lowerNorm(o); })
      .Case<ConcatOp>([&](auto o) { return lowerConcat(o); })
      .Case<LinearOp>([&](auto o) { return lowerLinear(o); })
      .Case<FusedLinearOp>([&](auto o) { return lowerFusedLinear(o); })
      .Case<AddOp>([&](auto o) { return lowerPair(o, "add"); })
      .Case<SwigluOp>([&](auto o) { return lowerPair(o, "swiglu"); })
      .Case<ArgmaxOp>([&](auto o) { return lowerArgmax(o); })
      .Case<TakeRowsOp>([&](auto o) { return lowerTakeRows(o); })
      .Case<SampleOp>([&](auto o) { return lowerSample(o); })
      .Case<MakeRowsOp>([&](auto o) { return lowerMakeRows(o); })
      .Case<TreeRowsOp>([&](auto o) { return lowerTreeRows(o); })
      .Case<RopeOp>([&](auto o) { return lowerRope(o); })
      .Case<HeadLinearOp>([&](auto o) { return lowerHeadLinear(o); })
      .Case<CacheAppendOp>([&](auto o) { return lowerAppend(o); })
      .Case<CachedAttentionOp>([&](auto o) { return lowerAttention(o); })
      .Case<MoeRouteOp>([&](auto o) { return lowerRoute(o); })
      .Case<MoeExpertsOp>([&](auto o) { return lowerExperts(o); })
      .Case<AcceptTokensOp>([&](auto o) { return lowerAcceptTokens(o); })
      .Case<AcceptTreeOp>([&](auto o) { return lowerAcceptTree(o); })
      .Default([](Operation *other) {
        return other->emitOpError("has no kernel on this target; programs may "
                                  "hold only ops that the cache phase leaves");
      });
}

LogicalResult ExecLowering::lower(ProgramOp target) {
  program = target;
  views.clear();
  rowContexts.clear();
  SmallVector<Operation *> lowered;
  for (Operation &op :
       llvm::make_early_inc_range(program.getBody().front())) {
    if (failed(checkOperands(&op))) {
      return failure();
    }
    if (isa<exec::ExecDialect>(op.getDialect())) {
      // Calls of control kernels and outputs read whole buffers.
      builder.setInsertionPoint(&op);
      for (OpOperand &operand : op.getOpOperands()) {
        if (isa<RankedTensorType>(operand.get().getType())) {
          operand.set(whole(operand.get()));
        }
      }
      continue;
    }
    if (failed(lowerOp(&op))) {
      return failure();
    }
    lowered.push_back(&op);
  }
  for (Operation *op : llvm::reverse(lowered)) {
    op->erase();
  }
  return success();
}
