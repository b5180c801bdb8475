//===- AttentionJoin.cpp - Joining parts of attention ---------------------===//

#include "compiler/Codegen/GPU/attention/AttentionJoin.h"

#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Number of threads in a block that joins the parts of one head, and number of
/// parts whose values are loaded at once.
static constexpr int64_t joinThreads = 128, partsAhead = 4;
static constexpr int64_t maxParts = 2048;

PartSums codegen::joinSums(GpuBuilder &kb, PartSums sums, PartSums more,
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

PartFactors::PartFactors(GpuBuilder &kb, int64_t tile)
    : kb(kb), tile(tile), before(kb.shared(tile * 4)),
      behind(kb.shared(tile * 4)) {}

void PartFactors::store(const PartSums &sums, Value head) {
  Value isMine = kb.cmp(Cmp::LT, kb.thread(), tile);
  kb.storeOwn(sums.before, kb.at(before, head, 4), isMine);
  kb.storeOwn(sums.behind, kb.at(behind, head, 4), isMine);
  kb.sync();
}

Value PartFactors::join(Value sum, Value more, Value head) {
  return joinValues(kb, sum, more,
                    kb.loadOwn(kb.f32Type(), kb.at(before, head, 4)),
                    kb.loadOwn(kb.f32Type(), kb.at(behind, head, 4)));
}

//===----------------------------------------------------------------------===//
// attention_join
//===----------------------------------------------------------------------===//

LogicalResult codegen::verifyLeft(const AttentionShape &shape,
                                  EmitError emitError) {
  if (shape.parts != 0 && shape.partStride < shape.partFloats())
    return emitError() << "expected part_stride to be at least "
                       << shape.partFloats() << ", got " << shape.partStride;
  if (shape.parts > maxParts)
    return emitError() << "expected at most " << maxParts << " parts, got "
                       << shape.parts;
  return success();
}

LogicalResult codegen::verifyJoin(exec::AttentionJoinKernelAttr kernel,
                                  EmitError emitError) {
  return verifyLeft(AttentionShape{AttentionParams(kernel)}, emitError);
}

GpuLaunch codegen::launchJoin(exec::AttentionJoinKernelAttr kernel) {
  return {kernel.getQHeads(), 1, joinThreads};
}

namespace {

/// Joins the parts of one head of a row in one block. The factors depend on the
/// maxima alone, so they are computed for all parts at once. They equal the
/// factors of joining the parts one by one.
class HeadJoin {
public:
  HeadJoin(GpuBuilder &kb, const AttentionShape &shape)
      : kb(kb), shape(shape), maxima(kb.shared(shape.parts * 4)),
        totals(kb.shared(shape.parts * 4)), before(kb.shared(shape.parts * 4)),
        behind(kb.shared(shape.parts * 4)) {}

  void emit(Value row, Value head);

private:
  void load(Value left, Value head);
  void makeFactors();
  Value joinColumn(Value column);
  Value joinTotals();
  void forParts(llvm::function_ref<void(Value)> body);

  Value at(Value base, Value part) {
    return kb.loadOwn(kb.f32Type(), kb.at(base, part, 4));
  }
  Value joinAt(Value part, Value sum, Value more) {
    return joinValues(kb, sum, more, at(before, part), at(behind, part));
  }

  GpuBuilder &kb;
  const AttentionShape &shape;
  Value maxima, totals, before, behind;
  /// Address of the first part, and number of parts.
  Value left, count;
};

} // namespace

/// Runs `body` for each part, one part per thread.
void HeadJoin::forParts(llvm::function_ref<void(Value)> body) {
  kb.forRange(kb.thread(), count, joinThreads, body);
}

void HeadJoin::load(Value left, Value head) {
  forParts([&](Value part) {
    Value from = kb.at(kb.at(left, part, shape.partStride * 4), head, 4);
    auto load = [&](int64_t floats) {
      return kb.loadOwn(kb.f32Type(), kb.at(from, floats * 4));
    };
    kb.storeOwn(load(shape.maximaAt()), kb.at(maxima, part, 4));
    kb.storeOwn(load(shape.totalsAt()), kb.at(totals, part, 4));
  });
  kb.sync();
}

void HeadJoin::makeFactors() {
  forParts([&](Value part) {
    Value most =
        kb.forRange(kb.integer(1), part, 1, Values{at(maxima, kb.integer(0))},
                    [&](Value i, ValueRange in) {
                      return Values{kb.max(in[0], at(maxima, i))};
                    })[0];
    PartSums none{most, kb.f32(0)}, own{at(maxima, part), kb.f32(0)};
    PartSums sums = joinSums(kb, none, own, kb.boolean(false));
    kb.storeOwn(sums.before, kb.at(before, part, 4));
    kb.storeOwn(sums.behind, kb.at(behind, part, 4));
  });
  kb.sync();
}

Value HeadJoin::joinTotals() {
  return kb.forRange(kb.integer(1), count, 1, Values{at(totals, kb.integer(0))},
                     [&](Value part, ValueRange in) {
                       return Values{joinAt(part, in[0], at(totals, part))};
                     })[0];
}

/// Joins the values at `column` of all parts.
Value HeadJoin::joinColumn(Value column) {
  auto valueOf = [&](Value part) {
    return kb.loadOwn(kb.f32Type(), kb.at(column, part, shape.partStride * 4));
  };
  auto join = [&](Value first, int64_t ahead, Value sum) {
    Values more;
    for (int64_t i = 0; i < ahead; ++i)
      more.push_back(valueOf(kb.add(first, i)));
    for (int64_t i = 0; i < ahead; ++i)
      sum = joinAt(kb.add(first, i), sum, more[i]);
    return sum;
  };
  Value one = kb.integer(1), ahead = kb.integer(partsAhead);
  Value rest = kb.sub(count, kb.rem(kb.sub(count, one), ahead));
  Values sum{valueOf(kb.integer(0))};
  sum =
      kb.forRange(one, rest, partsAhead, sum, [&](Value first, ValueRange in) {
        return Values{join(first, partsAhead, in[0])};
      });
  return kb.forRange(rest, count, 1, sum, [&](Value first, ValueRange in) {
    return Values{join(first, 1, in[0])};
  })[0];
}

void HeadJoin::emit(Value row, Value head) {
  Value zero = kb.integer(0), part = kb.integer(shape.part);
  Value end = kb.min(kb.add(kb.loadI32(kb.buffer(0), row), 1),
                     kb.integer(shape.parts * shape.part));
  end = kb.max(end, zero);
  Value begin = shape.window ? kb.max(kb.sub(end, shape.window), zero) : zero;
  Value first = kb.div(begin, part);
  count = kb.sub(kb.div(kb.add(end, shape.part - 1), part), first);
  left = kb.at(kb.buffer(1), row, shape.parts * shape.partStride * 4);
  left = kb.at(left, first, shape.partStride * 4);
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

void codegen::emitJoin(GpuBuilder &kb, exec::AttentionJoinKernelAttr kernel) {
  AttentionShape shape{AttentionParams(kernel)};
  HeadJoin join(kb, shape);
  kb.begin();
  join.emit(kb.div(kb.block(), shape.heads),
            kb.rem(kb.block(), kb.integer(shape.heads)));
}
