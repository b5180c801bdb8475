//===- AttentionCombine.cpp - Joining splits of attention -----------------===//

#include "compiler/Codegen/GPU/attention/AttentionCombine.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include "runtime/schema/Tunables.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Number of threads in a block that joins the splits of one head.
static constexpr int64_t joinThreads = 128;
static constexpr int64_t splitsAhead = tunable::kSplitsAhead.value;
static constexpr int64_t maxSplits = 2048;

SplitSums codegen::joinSums(GpuBuilder &kb, SplitSums sums, SplitSums more,
                            Value first) {
  Value most = kb.max(sums.most, more.most);
  Value before = emitExp(kb, kb.sub(sums.most, most));
  Value behind = emitExp(kb, kb.sub(more.most, most));
  Value total = joinValues(kb, sums.total, more.total, before, behind);
  return {kb.select(first, more.most, most),
          kb.select(first, more.total, total), before, behind};
}

Value codegen::joinValues(GpuBuilder &kb, Value sum, Value more, Value before,
                          Value behind) {
  return kb.fma(sum, before, kb.mul(more, behind));
}

Value codegen::closeValue(GpuBuilder &kb, Value value, Value total) {
  // If nothing was added up, the value may be NaN: see AttentionTensor.
  Value zero = kb.f32(0);
  return kb.select(kb.cmp(Cmp::EQ, total, zero), zero,
                   kb.mul(value, kb.div(kb.f32(1), total)));
}

SplitFactors::SplitFactors(GpuBuilder &kb, int64_t tile)
    : kb(kb), tile(tile), before(kb.shared(tile * 4)),
      behind(kb.shared(tile * 4)) {}

void SplitFactors::store(const SplitSums &sums, Value head) {
  Value isMine = kb.cmp(Cmp::LT, kb.thread(), tile);
  kb.storeOwn(sums.before, kb.at(before, head, 4), isMine);
  kb.storeOwn(sums.behind, kb.at(behind, head, 4), isMine);
  kb.sync();
}

Value SplitFactors::join(Value sum, Value more, Value head) {
  return joinValues(kb, sum, more,
                    kb.loadOwn(kb.f32Type(), kb.at(before, head, 4)),
                    kb.loadOwn(kb.f32Type(), kb.at(behind, head, 4)));
}

//===----------------------------------------------------------------------===//
// attention_combine
//===----------------------------------------------------------------------===//

LogicalResult codegen::verifyLeft(const AttentionShape &shape,
                                  EmitError emitError) {
  if (shape.splits != 0 && shape.splitStride < shape.splitFloats())
    return emitError() << "expected split_stride to be at least "
                       << shape.splitFloats() << ", got " << shape.splitStride;
  if (shape.splits > maxSplits)
    return emitError() << "expected at most " << maxSplits << " splits, got "
                       << shape.splits;
  return success();
}

LogicalResult codegen::verifyJoin(exec::AttentionCombineKernelAttr kernel,
                                  EmitError emitError) {
  return verifyLeft(AttentionShape{AttentionParams(kernel)}, emitError);
}

GpuLaunch codegen::launchJoin(exec::AttentionCombineKernelAttr kernel) {
  return {kernel.getQHeads(), 1, joinThreads};
}

namespace {

/// Joins the splits of one head of a row in one block. The factors depend on
/// the maxima alone, so they are computed for all splits at once. They equal
/// the factors of joining the splits one by one.
class HeadJoin {
public:
  HeadJoin(GpuBuilder &kb, const AttentionShape &shape)
      : kb(kb), shape(shape), maxima(kb.shared(shape.splits * 4)),
        totals(kb.shared(shape.splits * 4)),
        before(kb.shared(shape.splits * 4)),
        behind(kb.shared(shape.splits * 4)) {}

  void emit(Value row, Value head);

private:
  void load(Value left, Value head);
  void makeFactors();
  Value joinColumn(Value column);
  Value joinTotals();
  void forSplits(llvm::function_ref<void(Value)> body);

  Value at(Value base, Value split) {
    return kb.loadOwn(kb.f32Type(), kb.at(base, split, 4));
  }
  Value joinAt(Value split, Value sum, Value more) {
    return joinValues(kb, sum, more, at(before, split), at(behind, split));
  }

  GpuBuilder &kb;
  const AttentionShape &shape;
  Value maxima, totals, before, behind;
  /// Address of the first split, and number of splits.
  Value left, count;
};

} // namespace

/// Runs `body` for each split, one split per thread.
void HeadJoin::forSplits(llvm::function_ref<void(Value)> body) {
  kb.forRange(kb.thread(), count, joinThreads, body);
}

void HeadJoin::load(Value left, Value head) {
  forSplits([&](Value split) {
    Value from = kb.at(kb.at(left, split, shape.splitStride * 4), head, 4);
    auto load = [&](int64_t floats) {
      return kb.loadOwn(kb.f32Type(), kb.at(from, floats * 4));
    };
    kb.storeOwn(load(shape.maximaAt()), kb.at(maxima, split, 4));
    kb.storeOwn(load(shape.totalsAt()), kb.at(totals, split, 4));
  });
  kb.sync();
}

void HeadJoin::makeFactors() {
  forSplits([&](Value split) {
    Value most =
        kb.forRange(kb.integer(1), split, 1, Values{at(maxima, kb.integer(0))},
                    [&](Value i, ValueRange in) {
                      return Values{kb.max(in[0], at(maxima, i))};
                    })[0];
    SplitSums none{most, kb.f32(0)}, own{at(maxima, split), kb.f32(0)};
    SplitSums sums = joinSums(kb, none, own, kb.boolean(false));
    kb.storeOwn(sums.before, kb.at(before, split, 4));
    kb.storeOwn(sums.behind, kb.at(behind, split, 4));
  });
  kb.sync();
}

Value HeadJoin::joinTotals() {
  return kb.forRange(kb.integer(1), count, 1, Values{at(totals, kb.integer(0))},
                     [&](Value split, ValueRange in) {
                       return Values{joinAt(split, in[0], at(totals, split))};
                     })[0];
}

/// Joins the values at `column` of all splits.
Value HeadJoin::joinColumn(Value column) {
  auto valueOf = [&](Value split) {
    return kb.loadOwn(kb.f32Type(),
                      kb.at(column, split, shape.splitStride * 4));
  };
  auto join = [&](Value first, int64_t ahead, Value sum) {
    Values more;
    for (int64_t i = 0; i < ahead; ++i)
      more.push_back(valueOf(kb.add(first, i)));
    for (int64_t i = 0; i < ahead; ++i)
      sum = joinAt(kb.add(first, i), sum, more[i]);
    return sum;
  };
  Value one = kb.integer(1), ahead = kb.integer(splitsAhead);
  Value rest = kb.sub(count, kb.rem(kb.sub(count, one), ahead));
  Values sum{valueOf(kb.integer(0))};
  sum =
      kb.forRange(one, rest, splitsAhead, sum, [&](Value first, ValueRange in) {
        return Values{join(first, splitsAhead, in[0])};
      });
  return kb.forRange(rest, count, 1, sum, [&](Value first, ValueRange in) {
    return Values{join(first, 1, in[0])};
  })[0];
}

void HeadJoin::emit(Value row, Value head) {
  Value zero = kb.integer(0), split = kb.integer(shape.split);
  Value end = kb.min(kb.add(kb.loadI32(kb.buffer(0), row), 1),
                     kb.integer(shape.splits * shape.split));
  end = kb.max(end, zero);
  Value begin = shape.window ? kb.max(kb.sub(end, shape.window), zero) : zero;
  Value first = kb.div(begin, split);
  count = kb.sub(kb.div(kb.add(end, shape.split - 1), split), first);
  left = kb.at(kb.buffer(1), row, shape.splits * shape.splitStride * 4);
  left = kb.at(left, first, shape.splitStride * 4);
  Value y = kb.at(kb.buffer(2), row, shape.yStride * 4);
  y = kb.at(y, head, shape.dv * 4);
  kb.ifElse(
      kb.cmp(Cmp::LT, zero, count),
      [&] {
        load(left, head);
        makeFactors();
        Value total = joinTotals();
        Value sums = kb.at(kb.at(left, shape.sumsAt() * 4), head, shape.dv * 4);
        kb.forRange(
            kb.thread(), kb.integer(shape.dv), joinThreads, [&](Value column) {
              Value sum = joinColumn(kb.at(sums, column, 4));
              kb.storeOwn(closeValue(kb, sum, total), kb.at(y, column, 4));
            });
      },
      [&] {
        kb.forRange(
            kb.thread(), kb.integer(shape.dv), joinThreads,
            [&](Value column) { kb.storeOwn(kb.f32(0), kb.at(y, column, 4)); });
      });
}

void codegen::emitJoin(GpuBuilder &kb,
                       exec::AttentionCombineKernelAttr kernel) {
  AttentionShape shape{AttentionParams(kernel)};
  HeadJoin join(kb, shape);
  kb.begin();
  join.emit(kb.div(kb.block(), shape.heads),
            kb.rem(kb.block(), kb.integer(shape.heads)));
}
