//===- ControlBody.cpp - Writes bodies as functions on buffers ------------===//
//
// Loads and stores of states become memref ops at the slot's row. Rows of the
// operands are read at their uses. Results are written at the end, element by
// element. A loop whose iterations may run in any order becomes an ordinary
// loop that is marked so.
//
//===----------------------------------------------------------------------===//

#include "passes/control/ControlBody.h"

#include "dialects/Exec/IR/ControlKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// Writes one function. Buffers are numbered in the order of its arguments.
class FunctionWriter {
public:
  FunctionWriter(OpBuilder &builder, PerSlotOp op, const ControlInputs &inputs,
                 const ControlStates &states, int64_t slots)
      : builder(builder), loc(op.getLoc()), op(op), inputs(inputs),
        states(states), slots(slots) {}

  func::FuncOp write();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  void declare();
  void readSlot();
  /// Replaces an argument of the body by row `task` of its buffer.
  void replaceInput(BlockArgument argument, const ControlInput &input);
  Value loadInput(OpBuilder &at, const ControlInput &input,
                  ArrayRef<Value> indices);
  Value loadPacked(OpBuilder &at, const ControlInput &input,
                   ArrayRef<Value> indices);
  /// Returns the buffer of an operand of the call.
  Value bufferOf(size_t operand) { return function.getArgument(2 + operand); }
  void replaceAccesses();
  void writeOutput(Value value, Value buffer);
  /// Calls `body` with all indices of a tensor of this shape.
  void forElements(ArrayRef<int64_t> shape,
                   llvm::function_ref<void(ArrayRef<Value>)> body);

  OpBuilder &builder;
  Location loc;
  PerSlotOp op;
  const ControlInputs &inputs;
  const ControlStates &states;
  int64_t slots;
  func::FuncOp function;
  Value task, slot;
  IRMapping map;
  /// The buffer of every state.
  llvm::DenseMap<StringAttr, std::pair<exec::StateOp, Value>> buffers;
};
} // namespace

/// Returns the type of a buffer with one row like `tensor` per task.
static MemRefType rowsType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = ShapedType::kDynamic;
  return MemRefType::get(shape, type.getElementType());
}

void FunctionWriter::declare() {
  SmallVector<Type> types{builder.getIndexType(),
                          rowsType(op.getSlots().getType())};
  for (Type input : inputs.types)
    types.push_back(rowsType(input));
  for (ArrayRef<exec::StateOp> group :
       {ArrayRef(states.read), ArrayRef(states.updated)})
    for (exec::StateOp state : group)
      types.push_back(state.getType());
  for (Type output : op.getResultTypes())
    types.push_back(rowsType(output));
  function = func::FuncOp::create(builder, loc, "control",
                                  builder.getFunctionType(types, {}));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  task = function.getArgument(0);
}

void FunctionWriter::readSlot() {
  Value read =
      memref::LoadOp::create(builder, loc, function.getArgument(1), task);
  Value index =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), read);
  // Clamp the slot to the rows of a state, whatever wrote it.
  index = arith::MinSIOp::create(builder, loc, index, constant(slots - 1));
  slot = arith::MaxSIOp::create(builder, loc, index, constant(0));
  map.map(op.getIndexArgument(), task);
  map.map(op.getSlotArgument(),
          arith::IndexCastOp::create(builder, loc, builder.getI32Type(), slot)
              .getResult());
}

void FunctionWriter::forElements(
    ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<Value>)> body) {
  OpBuilder::InsertionGuard guard(builder);
  Value zero = constant(0), one = constant(1);
  SmallVector<Value> bounds = llvm::map_to_vector(
      shape, [&](int64_t extent) { return constant(extent); });
  SmallVector<Value> indices;
  for (Value bound : bounds) {
    auto loop = scf::ForOp::create(builder, loc, zero, bound, one);
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  body(indices);
}

/// Loads an element of a packed row. A padding row gives 0, or -1 for integers.
Value FunctionWriter::loadPacked(OpBuilder &at, const ControlInput &input,
                                 ArrayRef<Value> indices) {
  Value buffer = bufferOf(input.operand);
  auto type = cast<MemRefType>(buffer.getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(at, loc, value);
  };
  Value read = memref::LoadOp::create(at, loc, bufferOf(*input.places),
                                      ValueRange{task, indices.front()});
  Value place = arith::IndexCastOp::create(at, loc, at.getIndexType(), read);
  Value isActive = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::sge,
                                         place, constant(0));
  // Packed rows are numbered consecutively; the buffer has them in groups.
  Value row = arith::MaxSIOp::create(at, loc, place, constant(0));
  Value each = constant(type.getDimSize(1));
  SmallVector<Value> all{
      exec::ClampTaskOp::create(
          at, loc, arith::DivUIOp::create(at, loc, row, each).getResult()),
      arith::RemUIOp::create(at, loc, row, each)};
  llvm::append_range(all, indices.drop_front());
  // The row of a padding row may never have been written.
  auto branch = scf::IfOp::create(
      at, loc, isActive,
      [&](OpBuilder &then, Location) {
        Value element = memref::LoadOp::create(then, loc, buffer, all);
        scf::YieldOp::create(then, loc, element);
      },
      [&](OpBuilder &otherwise, Location) {
        Type element = type.getElementType();
        TypedAttr none = otherwise.getZeroAttr(element);
        if (element.isInteger())
          none = otherwise.getIntegerAttr(element, -1);
        scf::YieldOp::create(
            otherwise, loc,
            arith::ConstantOp::create(otherwise, loc, none).getResult());
      });
  return branch.getResult(0);
}

Value FunctionWriter::loadInput(OpBuilder &at, const ControlInput &input,
                                ArrayRef<Value> indices) {
  if (input.places)
    return loadPacked(at, input, indices);
  SmallVector<Value> all{task};
  llvm::append_range(all, indices);
  return memref::LoadOp::create(at, loc, bufferOf(input.operand), all);
}

void FunctionWriter::replaceInput(BlockArgument argument,
                                  const ControlInput &input) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  builder.setInsertionPointToEnd(&function.getBody().front());
  if (!type) {
    map.map(argument, loadInput(builder, input, {}));
    return;
  }
  Value row = tensor::GenerateOp::create(
      builder, loc, type, ValueRange(),
      [&](OpBuilder &inner, Location, ValueRange indices) {
        tensor::YieldOp::create(
            inner, loc, loadInput(inner, input, SmallVector<Value>(indices)));
      });
  map.map(argument, row);
}

void FunctionWriter::replaceAccesses() {
  auto place = [&](StringAttr name, ValueRange indices) {
    auto [state, buffer] = buffers.lookup(name);
    SmallVector<Value> all;
    if (!state.getShared())
      all.push_back(slot);
    llvm::append_range(all, indices);
    return std::make_pair(buffer, all);
  };
  function.walk([&](LoadOp load) {
    auto [buffer, indices] =
        place(load.getStateAttr().getAttr(), load.getIndices());
    OpBuilder at(load);
    load.replaceAllUsesWith(
        memref::LoadOp::create(at, load.getLoc(), buffer, indices).getResult());
    load.erase();
  });
  function.walk([&](StoreOp store) {
    auto [buffer, indices] =
        place(store.getStateAttr().getAttr(), store.getIndices());
    OpBuilder at(store);
    memref::StoreOp::create(at, store.getLoc(), store.getValue(), buffer,
                            indices);
    store.erase();
  });
}

void FunctionWriter::writeOutput(Value value, Value buffer) {
  auto store = [&](Value element, ArrayRef<Value> indices) {
    SmallVector<Value> all{task};
    llvm::append_range(all, indices);
    memref::StoreOp::create(builder, loc, element, buffer, all);
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return store(value, {});
  auto elements = value.getDefiningOp<tensor::FromElementsOp>();
  if (elements && type.getRank() == 1) {
    for (auto [i, element] : llvm::enumerate(elements.getElements()))
      store(element, {constant(i)});
    return;
  }
  forElements(type.getShape(), [&](ArrayRef<Value> indices) {
    store(tensor::ExtractOp::create(builder, loc, value, indices), indices);
  });
}

/// Lowers a parallel loop to one that combines its values in iteration order.
static void lowerParallel(scf::ParallelOp parallel) {
  OpBuilder builder(parallel);
  Location loc = parallel.getLoc();
  auto loop =
      scf::ForOp::create(builder, loc, parallel.getLowerBound().front(),
                         parallel.getUpperBound().front(),
                         parallel.getStep().front(), parallel.getInitVals());
  loop->setAttr(exec::kLanesAttr, builder.getUnitAttr());
  Block *from = parallel.getBody(), *to = loop.getBody();
  from->getArgument(0).replaceAllUsesWith(loop.getInductionVar());
  auto reduce = cast<scf::ReduceOp>(from->getTerminator());
  to->getOperations().splice(to->begin(), from->getOperations(), from->begin(),
                             reduce->getIterator());
  if (parallel.getNumResults() == 0)
    return parallel.erase();
  builder.setInsertionPointToEnd(to);
  SmallVector<Value> joined;
  for (auto [region, carried, number] :
       llvm::zip_equal(reduce.getReductions(), loop.getRegionIterArgs(),
                       reduce.getOperands())) {
    Block &join = region.front();
    IRMapping map;
    map.map(join.getArgument(0), carried);
    map.map(join.getArgument(1), number);
    for (Operation &op : join.without_terminator())
      builder.clone(op, map);
    joined.push_back(map.lookup(join.getTerminator()->getOperand(0)));
  }
  scf::YieldOp::create(builder, loc, joined);
  parallel.replaceAllUsesWith(loop.getResults());
  parallel.erase();
}

func::FuncOp FunctionWriter::write() {
  OpBuilder::InsertionGuard guard(builder);
  declare();
  readSlot();
  for (auto [argument, input] :
       llvm::zip_equal(op.getInputArguments(), inputs.byArgument))
    replaceInput(argument, input);
  auto arguments = function.getArguments().drop_front(2 + inputs.types.size());
  for (ArrayRef<exec::StateOp> group :
       {ArrayRef(states.read), ArrayRef(states.updated)})
    for (exec::StateOp state : group) {
      buffers[state.getSymNameAttr()] = {state, arguments.front()};
      arguments = arguments.drop_front();
    }
  builder.setInsertionPointToEnd(&function.getBody().front());
  for (Operation &inner : op.getBody()->without_terminator())
    builder.clone(inner, map);
  for (auto [value, buffer] :
       llvm::zip_equal(op.getYield().getValues(), arguments))
    writeOutput(map.lookup(value), buffer);
  func::ReturnOp::create(builder, loc);
  replaceAccesses();
  function.walk(lowerParallel);
  return function;
}

func::FuncOp mlir::mtp::writeControlFunction(OpBuilder &builder, PerSlotOp op,
                                             const ControlInputs &inputs,
                                             const ControlStates &states,
                                             int64_t slots) {
  return FunctionWriter(builder, op, inputs, states, slots).write();
}
