//===- Control.cpp - Kernels that carry their body ------------------------===//
//
// A task is the control of one slot: integer work of one thread. Each thread of
// a warp has a task. If a body has loops for lanes, each block has a task: its
// first thread runs the code around the loops, and all threads run the loops.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/ControlBody.h"
#include "compiler/Codegen/GPU/ControlMath.h"
#include "compiler/Codegen/GPU/Kernels.h"
#include "dialects/Exec/IR/ControlKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Body of a task in a block
//===----------------------------------------------------------------------===//

namespace {
/// Emits the body of one task. Only the first thread knows what it computes,
/// until a loop for lanes needs the value.
class BlockBody {
public:
  BlockBody(GpuBuilder &kb, IRMapping &map)
      : kb(kb), builder(kb.mlirBuilder()), loc(kb.location()), map(map) {}

  void emit(Block &body);

private:
  void emitAlone(ArrayRef<Operation *> ops);
  void emitLoop(const exec::LaneLoop &lanes);
  void share(const exec::LaneLoop &lanes);
  Values addUp(const exec::LaneLoop &lanes);
  Values addUpSome(const exec::LaneLoop &lanes, Value first, Value end,
                   ValueRange sums);
  Values joinThreads(const exec::LaneLoop &lanes, ValueRange own);
  Value join(Operation *op, Value a, Value b);
  Value neutral(Operation *op);
  Value cast(Type type, Value value) {
    return arith::IndexCastOp::create(builder, loc, type, value);
  }
  Value isFirst() { return kb.firstLanes(1); }

  /// Number of elements that a thread loads at once.
  static constexpr int64_t kAtOnce = 8;

  GpuBuilder &kb;
  OpBuilder &builder;
  Location loc;
  IRMapping &map;
  /// Values of the body that every thread knows.
  llvm::DenseSet<Value> known;
};
} // namespace

void BlockBody::emit(Block &body) {
  known.insert(body.args_begin(), body.args_end());
  SmallVector<Operation *> alone;
  for (Operation &op : body) {
    if (isa<memref::AllocaOp>(op))
      continue;
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<exec::LaneLoop> lanes =
        loop ? exec::laneLoopOf(loop) : std::nullopt;
    if (!lanes) {
      alone.push_back(&op);
      continue;
    }
    emitAlone(alone);
    alone.clear();
    emitLoop(*lanes);
  }
  emitAlone(alone);
}

/// Emits `ops` for the first thread. Their results are 0 in the other threads.
void BlockBody::emitAlone(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 16> own(ops.begin(), ops.end());
  SmallVector<Operation *> emitted;
  SmallVector<Value> escaping;
  for (Operation *op : ops) {
    if (op->hasTrait<OpTrait::ConstantLike>()) {
      builder.clone(*op, map);
      known.insert(op->getResult(0));
      continue;
    }
    emitted.push_back(op);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !own.contains(op->getBlock()->findAncestorOpInBlock(*user));
          }))
        escaping.push_back(result);
  }
  if (emitted.empty())
    return;
  auto values = [&](llvm::function_ref<Value(Value)> of) {
    return llvm::map_to_vector<8>(escaping, of);
  };
  Values results = kb.choose(
      isFirst(),
      [&]() -> Values {
        for (Operation *op : emitted)
          builder.clone(*op, map);
        return values([&](Value value) { return map.lookup(value); });
      },
      [&]() -> Values {
        return values([&](Value value) -> Value {
          return arith::ConstantOp::create(
              builder, loc, builder.getZeroAttr(value.getType()));
        });
      });
  for (auto [value, result] : llvm::zip_equal(escaping, results))
    map.map(value, result);
}

/// Gives all threads the values of the first thread that the loop uses, and
/// makes its stores visible to them.
void BlockBody::share(const exec::LaneLoop &lanes) {
  scf::ForOp loop = lanes.loop;
  llvm::SetVector<Value> taken(loop->operand_begin(), loop->operand_end());
  getUsedValuesDefinedAbove(loop.getRegion(), taken);
  SmallVector<std::pair<Value, Value>> places;
  for (Value value : taken)
    if (!isa<MemRefType>(value.getType()) && known.insert(value).second)
      places.push_back({value, kb.shared(8)});
  auto wordOf = [&](Value value) -> Value {
    Type type = value.getType();
    if (type.isIndex())
      return cast(kb.i64Type(), value);
    return type.isInteger(1) ? kb.extendUnsigned(value, kb.i32Type()) : value;
  };
  kb.ifThen(isFirst(), [&] {
    for (auto [value, place] : places)
      kb.storeOwn(wordOf(map.lookup(value)), place);
  });
  kb.sync();
  for (auto [value, place] : places) {
    Type type = value.getType();
    Type word = type.isIndex()      ? kb.i64Type()
                : type.isInteger(1) ? kb.i32Type()
                                    : type;
    Value loaded = kb.loadOwn(word, place);
    if (type.isIndex())
      loaded = cast(type, loaded);
    else if (type.isInteger(1))
      loaded = kb.truncate(loaded, type);
    map.map(value, loaded);
  }
}

Value BlockBody::join(Operation *op, Value a, Value b) {
  return builder
      .create(loc, op->getName().getIdentifier(), ValueRange{a, b},
              op->getResultTypes())
      ->getResult(0);
}

/// Returns the neutral element of `op`.
Value BlockBody::neutral(Operation *op) {
  Type type = op->getResult(0).getType();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  APInt value = APInt::getZero(width);
  if (isa<arith::MaxSIOp>(op))
    value = APInt::getSignedMinValue(width);
  else if (isa<arith::MinSIOp>(op))
    value = APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

/// Returns the ops in the body of a loop for lanes, without its joins, ordered
/// by the number of loads that each op waits for in turn.
static SmallVector<Operation *> byWaits(const exec::LaneLoop &lanes) {
  scf::ForOp loop = lanes.loop;
  llvm::DenseMap<Operation *, int64_t> waits;
  SmallVector<Operation *> ops;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (llvm::is_contained(lanes.joins, &op))
      continue;
    llvm::SetVector<Value> taken(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), taken);
    int64_t most = 0;
    for (Value value : taken) {
      Operation *made = value.getDefiningOp();
      if (auto own = waits.find(made); own != waits.end())
        most = std::max(most, own->second + !isMemoryEffectFree(made));
    }
    waits[&op] = most;
    ops.push_back(&op);
  }
  llvm::stable_sort(
      ops, [&](Operation *a, Operation *b) { return waits[a] < waits[b]; });
  return ops;
}

/// Joins up to kAtOnce elements of a thread, from `first` on, with `sums`.
/// Computes op by op for all elements, ops that wait for few loads first, so
/// that all loads that need not wait are in flight together.
Values BlockBody::addUpSome(const exec::LaneLoop &lanes, Value first, Value end,
                            ValueRange sums) {
  scf::ForOp loop = lanes.loop;
  SmallVector<IRMapping> maps;
  SmallVector<Value> isThere;
  for (int64_t i = 0; i < kAtOnce; ++i) {
    Value own = kb.add(first, i * kb.threads());
    isThere.push_back(kb.cmp(Cmp::LT, own, end));
    // The first element exists. Computing it again does no harm.
    Value at = kb.select(isThere.back(), own, first);
    maps.push_back(map);
    maps.back().map(loop.getInductionVar(), cast(builder.getIndexType(), at));
  }
  for (Operation *op : byWaits(lanes))
    for (IRMapping &own : maps)
      builder.clone(*op, own);
  Values result(sums.begin(), sums.end());
  for (auto [sum, op, number] :
       llvm::zip_equal(result, lanes.joins, lanes.numbers)) {
    Value none = neutral(op);
    for (auto [own, there] : llvm::zip_equal(maps, isThere))
      sum = join(op, sum, kb.select(there, own.lookupOrDefault(number), none));
  }
  return result;
}

/// Returns each thread's result for its elements.
Values BlockBody::addUp(const exec::LaneLoop &lanes) {
  scf::ForOp loop = lanes.loop;
  int64_t step = kb.threads() * kAtOnce;
  Value begin = cast(kb.i64Type(), map.lookup(loop.getLowerBound()));
  Value end = cast(kb.i64Type(), map.lookup(loop.getUpperBound()));
  // Leaves room for one step above `end`: the loop's counter must not overflow.
  Value most = arith::ConstantOp::create(
      builder, loc,
      builder.getI64IntegerAttr(std::numeric_limits<int64_t>::max() - step));
  end = kb.min(end, most);
  Values none = llvm::map_to_vector<8>(
      lanes.joins, [&](Operation *op) { return neutral(op); });
  // If the range is empty, `begin` may be so large that adding the thread's
  // number overflows.
  Value first = kb.add(kb.min(begin, end), kb.thread());
  return kb.forRange(first, end, step, none, [&](Value at, ValueRange sums) {
    return addUpSome(lanes, at, end, sums);
  });
}

/// Joins the results of all threads, in words of 32 bits.
Values BlockBody::joinThreads(const exec::LaneLoop &lanes, ValueRange own) {
  Value half = kb.integer(32);
  auto split = [&](ValueRange values) {
    Values words;
    for (Value value : values) {
      if (value.getType().isInteger(32)) {
        words.push_back(value);
        continue;
      }
      Value wide =
          value.getType().isIndex() ? cast(kb.i64Type(), value) : value;
      words.push_back(kb.truncate(wide, kb.i32Type()));
      words.push_back(kb.truncate(kb.shiftRight(wide, half), kb.i32Type()));
    }
    return words;
  };
  auto together = [&](ValueRange words) {
    Values values;
    size_t next = 0;
    for (Operation *op : lanes.joins) {
      Type type = op->getResult(0).getType();
      Value value = words[next++];
      if (!type.isInteger(32)) {
        Value low = kb.extendUnsigned(value, kb.i64Type());
        Value high = kb.extendUnsigned(words[next++], kb.i64Type());
        value = kb.bitOr(low, kb.shiftLeft(high, half));
        value = type.isIndex() ? cast(type, value) : value;
      }
      values.push_back(value);
    }
    return values;
  };
  auto joinAll = [&](ValueRange a, ValueRange b) {
    Values values;
    for (auto [op, left, right] :
         llvm::zip_equal(lanes.joins, together(a), together(b)))
      values.push_back(join(op, left, right));
    return split(values);
  };
  return together(kb.reduceLanes(split(own), joinAll));
}

void BlockBody::emitLoop(const exec::LaneLoop &lanes) {
  share(lanes);
  Values all = joinThreads(lanes, addUp(lanes));
  scf::ForOp loop = lanes.loop;
  for (auto [result, op, init, sum] : llvm::zip_equal(
           loop.getResults(), lanes.joins, loop.getInitArgs(), all)) {
    map.map(result, join(op, map.lookup(init), sum));
    known.insert(result);
  }
}

LogicalResult codegen::emitGpuControl(GpuBuilder &kb, Region &body) {
  OpBuilder &builder = kb.mlirBuilder();
  Location loc = body.getLoc();
  // Local buffers of the body are in the thread's memory, so all buffers get
  // generic pointers.
  auto generic = LLVM::LLVMPointerType::get(builder.getContext());
  IRMapping map;
  Value tasks = kb.param(0);
  for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front())) {
    Value pointer =
        LLVM::AddrSpaceCastOp::create(builder, loc, generic, kb.buffer(i));
    map.map(argument, asBuffer(builder, loc, pointer,
                               cast<MemRefType>(argument.getType()), tasks));
  }
  for (auto alloca : body.getOps<memref::AllocaOp>())
    builder.clone(*alloca, map);
  bool byBlock = exec::hasLaneLoop(body);
  Value task = byBlock ? kb.block()
                       : kb.add(kb.mul(kb.block(), kb.threads()), kb.thread());
  map.map(body.getArgument(0),
          arith::IndexCastOp::create(builder, loc, builder.getIndexType(), task)
              .getResult());
  if (byBlock)
    BlockBody(kb, map).emit(body.front());
  else
    kb.ifThen(kb.cmp(Cmp::LT, task, tasks), [&] {
      for (Operation &op : body.front())
        if (!isa<memref::AllocaOp>(op))
          builder.clone(op, map);
    });
  Operation *function = builder.getInsertionBlock()->getParentOp();
  expandClampTasks(function, tasks);
  if (failed(expandMath(function)))
    return failure();
  replaceLibraryMath(function);
  return success();
}
