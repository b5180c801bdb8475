//===- AttentionTensorKinds.cpp - Kinds of attention in tensor cores ------===//

#include "compiler/Codegen/GPU/attention/AttentionTensorKinds.h"

#include "compiler/Codegen/GPU/attention/AttentionCombine.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

GpuLaunch codegen::launchTensor(const AttentionShape &shape) {
  TensorDivision division(shape);
  int64_t splits = shape.leavesSplits ? shape.splits : 1;
  // With three blocks on a processor, 128 columns of values still fit in
  // registers.
  bool joins = shape.split != 0 && !shape.leavesSplits;
  int64_t blocks = shape.dv <= 128 && !joins ? 3 : 1;
  return {shape.heads / division.tile * splits, 1, TensorDivision::threads,
          blocks};
}

namespace {

/// Joins the splits of a block's queries, one after another.
class TensorSplits {
public:
  TensorSplits(GpuBuilder &kb, const AttentionShape &shape,
               AttentionTensor &tensor)
      : kb(kb), shape(shape), tensor(tensor),
        before(kb.shared(TensorDivision::queries * 4)),
        behind(kb.shared(TensorDivision::queries * 4)),
        modes(kb.shared(TensorDivision::queries * 4)) {
    if (int64_t more = tensor.resultCount() - inRegisters(); more > 0)
      kept = kb.shared(more * TensorDivision::threads * 4);
  }

  Values addUp(const AttentionGroup &group);

private:
  /// Treatment of a split: skip it if the row sees none of it, take it as the
  /// first one, or join it with the sums so far.
  enum Mode { Skip, Take, Join };
  SplitSums joinQuery(const AttentionGroup &group, Value split, SplitSums sums);
  Values joinResults(ValueRange sums, ValueRange more);
  /// Returns the number of a thread's results in registers. The other results
  /// of the thread are kept in shared memory.
  int64_t inRegisters() const {
    return std::min<int64_t>(tensor.resultCount(), 24);
  }
  Value keptAt(int64_t result) {
    Value all =
        kb.at(kept, (result - inRegisters()) * TensorDivision::threads * 4);
    return kb.at(all, kb.thread(), 4);
  }

  GpuBuilder &kb;
  const AttentionShape &shape;
  AttentionTensor &tensor;
  Value before, behind, modes, kept;
};

} // namespace

/// Joins the sums of a split. Each of the first threads has one query.
SplitSums TensorSplits::joinQuery(const AttentionGroup &group, Value split,
                                  SplitSums sums) {
  Value query = kb.min(kb.thread(), kb.integer(TensorDivision::queries - 1));
  Value row = kb.min(kb.div(query, tensor.getDivision().tile),
                     kb.sub(group.count(), 1));
  auto [begin, end] = group.seenBy(row);
  Value from = kb.mul(split, shape.split), to = kb.add(from, shape.split);
  Value sees = kb.cmp(Cmp::LT, kb.max(begin, from), kb.min(end, to));
  Value isFirst = kb.cmp(Cmp::LE, from, begin);
  SplitSums joined =
      joinSums(kb, sums, {tensor.maximum(query), tensor.total(query)}, isFirst);
  auto number = [&](Mode mode) { return kb.constant(kb.i32Type(), mode); };
  Value mode = kb.select(isFirst, number(Take), number(Join));
  mode = kb.select(sees, mode, number(Skip));
  Value isMine = kb.cmp(Cmp::LT, kb.thread(), TensorDivision::queries);
  kb.storeOwn(joined.before, kb.at(before, query, 4), isMine);
  kb.storeOwn(joined.behind, kb.at(behind, query, 4), isMine);
  kb.storeOwn(mode, kb.at(modes, query, 4), isMine);
  kb.sync();
  return {kb.select(sees, joined.most, sums.most),
          kb.select(sees, joined.total, sums.total)};
}

Values TensorSplits::joinResults(ValueRange sums, ValueRange more) {
  Values joined;
  for (int64_t i = 0; i < tensor.resultCount(); ++i) {
    bool isKept = i >= inRegisters();
    Value sum = isKept ? kb.loadOwn(kb.f32Type(), keptAt(i)) : sums[i];
    Value query = tensor.queryOf(i);
    Value mode = kb.loadOwn(kb.i32Type(), kb.at(modes, query, 4));
    auto is = [&](Mode other) {
      return kb.cmp(Cmp::EQ, mode, kb.constant(kb.i32Type(), other));
    };
    Value both = joinValues(kb, sum, more[i], tensor.loadFloat(before, query),
                            tensor.loadFloat(behind, query));
    sum = kb.select(is(Take), more[i], kb.select(is(Skip), sum, both));
    if (isKept)
      kb.storeOwn(sum, keptAt(i));
    else
      joined.push_back(sum);
  }
  return joined;
}

/// Returns the results over all positions. The totals are in shared memory.
Values TensorSplits::addUp(const AttentionGroup &group) {
  int64_t count = inRegisters(), results = tensor.resultCount();
  for (int64_t i = count; i < results; ++i)
    kb.storeOwn(kb.f32(0), keptAt(i));
  Values inits(count + 2, kb.f32(0));
  Value first = kb.div(group.begin, shape.split);
  Value end = kb.div(kb.add(group.end, shape.split - 1), shape.split);
  Values sums =
      kb.forRange(first, end, 1, inits, [&](Value split, ValueRange in) {
        Value from = kb.mul(split, shape.split);
        Values more =
            tensor.addUp(group, kb.max(group.begin, from),
                         kb.min(group.end, kb.add(from, shape.split)));
        SplitSums joined = joinQuery(group, split, {in[count], in[count + 1]});
        Values next = joinResults(in.take_front(count), more);
        next.append({joined.most, joined.total});
        return next;
      });
  kb.sync();
  tensor.setTotal(sums[count + 1]);
  kb.sync();
  sums.truncate(count);
  for (int64_t i = count; i < results; ++i)
    sums.push_back(kb.loadOwn(kb.f32Type(), keptAt(i)));
  return sums;
}

namespace {

/// Rows, heads and split of a block.
struct BlockPlace {
  BlockPlace(GpuBuilder &kb, const AttentionShape &shape, int64_t tile,
             int64_t splits) {
    int64_t tiles = shape.heads / tile;
    row = kb.div(kb.block(), tiles * splits);
    split = kb.rem(kb.div(kb.block(), tiles), kb.integer(splits));
    head = kb.mul(kb.rem(kb.block(), kb.integer(tiles)), tile);
    q = kb.at(kb.buffer(0), row, shape.qStride * 4);
    q = kb.at(q, head, shape.dk * 4);
  }

  Value row, split, head, q;
};

} // namespace

void codegen::emitTensorAttention(GpuBuilder &kb, const AttentionShape &shape,
                                  float scale, bool tree) {
  AttentionTensor tensor(kb, shape, scale, tree);
  const TensorDivision &division = tensor.getDivision();
  std::optional<TensorSplits> splits;
  if (shape.split)
    splits.emplace(kb, shape, tensor);
  kb.begin();
  BlockPlace place(kb, shape, division.tile, 1);
  AttentionGroup group(kb, shape, place.row, division.rows, tree);
  kb.ifThen(group.isFirst(), [&] {
    group.open();
    tensor.open(group, place.q, place.head);
    Values sums = splits ? splits->addUp(group)
                         : tensor.addUp(group, group.begin, group.end);
    Value y = kb.at(kb.buffer(tree ? 6 : 5), place.row, shape.yStride * 4);
    y = kb.at(y, place.head, shape.dv * 4);
    Value tile = kb.integer(division.tile);
    tensor.forResults(group, [&](int64_t i, Value query, Value column) {
      Value to = kb.at(y, kb.div(query, tile), shape.yStride * 4);
      to = kb.at(to, kb.rem(query, tile), shape.dv * 4);
      kb.storeOwn(closeValue(kb, sums[i], tensor.total(query)),
                  kb.at(to, column, 4));
    });
  });
}

void codegen::emitTensorSplits(GpuBuilder &kb, const AttentionShape &shape,
                               float scale) {
  AttentionTensor tensor(kb, shape, scale, /*tree=*/false);
  const TensorDivision &division = tensor.getDivision();
  kb.begin();
  BlockPlace place(kb, shape, division.tile, shape.splits);
  AttentionGroup group(kb, shape, place.row, division.rows, /*tree=*/false);
  kb.ifThen(group.isFirst(), [&] {
    group.open();
    Value from = kb.mul(place.split, shape.split);
    Value begin = kb.max(group.begin, from);
    Value end = kb.min(group.end, kb.add(from, shape.split));
    kb.ifThen(kb.cmp(Cmp::LT, begin, end), [&] {
      tensor.open(group, place.q, place.head);
      Values sums = tensor.addUp(group, begin, end);
      int64_t rowBytes = shape.splits * shape.splitStride * 4;
      Value left = kb.at(kb.buffer(5), place.row, rowBytes);
      left = kb.at(left, place.split, shape.splitStride * 4);
      Value tile = kb.integer(division.tile);
      auto ofQuery = [&](Value query, int64_t at, int64_t floats) {
        Value head = kb.add(place.head, kb.rem(query, tile));
        Value ofRow = kb.at(left, kb.div(query, tile), rowBytes);
        return kb.at(kb.at(ofRow, at * 4), head, floats * 4);
      };
      tensor.forResults(group, [&](int64_t i, Value query, Value column) {
        Value to = ofQuery(query, shape.sumsAt(), shape.dv);
        kb.storeOwn(sums[i], kb.at(to, column, 4));
      });
      Value used = kb.mul(group.count(), division.tile);
      kb.ifThen(kb.cmp(Cmp::LT, kb.thread(), used), [&] {
        kb.storeOwn(tensor.maximum(kb.thread()),
                    ofQuery(kb.thread(), shape.maximaAt(), 1));
        kb.storeOwn(tensor.total(kb.thread()),
                    ofQuery(kb.thread(), shape.totalsAt(), 1));
      });
    });
  });
}
