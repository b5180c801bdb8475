//===- AttentionSums.cpp - Running sums of attention ----------------------===//
//
// The sums of a row over some positions are maxima, weights and weighted
// values. The sums over two ranges of positions combine into the sums over both
// as in "FlashAttention" (Dao et al., 2022). The result does not depend on
// which worker made them or where they lie. A row's bits therefore do not
// depend on the number of workers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/attention/AttentionBlock.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

void AttentionBlock::empty(Value sums) {
  double lowest = -std::numeric_limits<double>::infinity();
  kb.store(kb.constant(kb.f32Vector(), lowest), kb.at(sums, layout.sumsMax()));
  Value zero = kb.constant(kb.f32Vector(), 0);
  kb.forRange(kb.integer(layout.sumsTotal() / 4),
              kb.integer(layout.sumsBytes() / 4), lanes(),
              [&](Value first) { kb.store(zero, kb.at(sums, first, 4)); });
}

void AttentionBlock::copy(Value sums, Value to) {
  kb.forRange(kb.integer(0), kb.integer(layout.sumsBytes() / 4), lanes(),
              [&](Value first) {
                Value vector = kb.load(kb.f32Vector(), kb.at(sums, first, 4));
                kb.store(vector, kb.at(to, first, 4));
              });
}

void AttentionBlock::add(Value sums, Value more, Value first) {
  kb.ifElse(first, [&] { copy(more, sums); }, [&] { join(sums, more); });
}

void AttentionBlock::join(Value sums, Value more) {
  auto load = [&](Value from, int64_t offset) {
    return kb.load(kb.f32Vector(), kb.at(from, offset));
  };
  Value before = load(sums, layout.sumsMax());
  Value behind = load(more, layout.sumsMax());
  Value now = kb.max(before, behind);
  kb.store(now, kb.at(sums, layout.sumsMax()));
  Value alpha = emitPowerOfTwo(kb, kb.sub(before, now));
  Value beta = emitPowerOfTwo(kb, kb.sub(behind, now));
  auto add = [&](Value to, Value from, Value alpha, Value beta) {
    Value scaled = kb.mul(kb.load(kb.f32Vector(), from), beta);
    kb.store(kb.fma(kb.load(kb.f32Vector(), to), alpha, scaled), to);
  };
  add(kb.at(sums, layout.sumsTotal()), kb.at(more, layout.sumsTotal()), alpha,
      beta);
  for (int64_t head = 0; head < tile(); ++head) {
    int64_t values = layout.sumsValues() + head * layout.paddedColumns() * 4;
    Value ofSums = ofHead(alpha, head), ofMore = ofHead(beta, head);
    kb.forRange(kb.integer(0), kb.integer(layout.paddedColumns()), lanes(),
                [&](Value column) {
                  add(kb.at(kb.at(sums, values), column, 4),
                      kb.at(kb.at(more, values), column, 4), ofSums, ofMore);
                });
  }
}

/// Stores `columns` columns (at most a chunk) in column order.
void AttentionBlock::storeColumns(Value y, ValueRange vectors,
                                  int64_t columns) {
  bool ordered =
      columns <= lanes() || (columns < layout.chunk() && !layout.dot);
  for (int64_t first = 0; first < columns; first += lanes()) {
    int64_t count = std::min(columns - first, lanes());
    Value mask = count < lanes() ? kb.prefixMask(count, lanes()) : Value();
    Value vector = vectors[first / lanes()];
    if (!ordered) {
      SmallVector<int64_t> order;
      for (int64_t i = 0; i < lanes(); ++i)
        order.push_back(layout.laneOf(first + i));
      vector = kb.shuffle(vectors[0], vectors[1], order);
    }
    kb.store(vector, kb.at(y, first * 4), mask);
  }
}

void AttentionBlock::close(Value sums, Value y) {
  Value zero = kb.constant(kb.f32Vector(), 0);
  Value total = kb.load(kb.f32Vector(), kb.at(sums, layout.sumsTotal()));
  Value one = kb.constant(kb.f32Vector(), 1);
  Value inverses =
      kb.select(kb.cmp(Cmp::EQ, total, zero), zero, kb.div(one, total));
  for (int64_t head = 0; head < tile(); ++head) {
    Value inverse = ofHead(inverses, head);
    Value values =
        kb.at(sums, layout.sumsValues() + head * layout.paddedColumns() * 4);
    auto store = [&](Value first, int64_t columns) {
      Values vectors;
      for (int64_t at = 0; at < columns; at += lanes()) {
        Value from = kb.at(kb.at(values, first, 4), at * 4);
        vectors.push_back(kb.mul(kb.load(kb.f32Vector(), from), inverse));
      }
      Value to = kb.at(kb.at(y, head * layout.dv * 4), first, 4);
      storeColumns(to, vectors, columns);
    };
    kb.forRange(kb.integer(0), kb.integer(layout.chunked()), layout.chunk(),
                [&](Value first) { store(first, layout.chunk()); });
    if (layout.restColumns())
      store(kb.integer(layout.chunked()), layout.restColumns());
  }
}
