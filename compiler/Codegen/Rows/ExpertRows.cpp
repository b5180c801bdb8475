//===- ExpertRows.cpp - Rows between a router and the experts -------------===//
//
// A pair is (row, j): expert number j of a row, with number row * top_k + j.
// Pairs are sorted by expert. A step reads an expert's weights once for any
// number of rows, and not at all if the expert has no rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp::codegen;

/// Emits a counting sort. Buffers: positions, index, expert start, pairs.
/// Params: M.
static void emitMoePlan(KernelBuilder &kb, exec::MoePlanKernelAttr kernel) {
  int64_t experts = kernel.getExperts(), topK = kernel.getTopK();
  Value start = kb.buffer(2), zero = kb.integer(0);
  Value pairs = kb.mul(kb.param(0), topK);
  auto forPairs = [&](llvm::function_ref<void(Value, Value)> body) {
    kb.forRange(zero, kb.param(0), 1, [&](Value row) {
      kb.ifThen(kb.cmp(Cmp::GE, kb.loadI32(kb.buffer(0), row), 0), [&] {
        kb.forRange(zero, kb.integer(topK), 1, [&](Value j) {
          Value pair = kb.add(kb.mul(row, topK), j);
          body(pair, kb.clampIndex(kb.loadI32(kb.buffer(1), pair), experts));
        });
      });
    });
  };
  auto sort = [&] {
    // start[e + 1] first counts the pairs of e. Then it is the place of the
    // next pair of e. At the end it is the end of e and the start of e + 1.
    kb.forRange(zero, kb.integer(experts + 1), 1,
                [&](Value e) { kb.storeI32(zero, start, e); });
    forPairs([&](Value, Value expert) {
      Value next = kb.add(expert, 1);
      kb.storeI32(kb.add(kb.loadI32(start, next), 1), start, next);
    });
    kb.forRange(zero, kb.integer(experts), 1, {zero},
                [&](Value e, ValueRange sum) {
                  Value next = kb.add(e, 1);
                  Value count = kb.loadI32(start, next);
                  kb.storeI32(sum[0], start, next);
                  return Values{kb.add(sum[0], count)};
                });
    forPairs([&](Value pair, Value expert) {
      Value next = kb.add(expert, 1), place = kb.loadI32(start, next);
      kb.storeI32(pair, kb.buffer(3), kb.clampIndex(place, pairs));
      kb.storeI32(kb.add(place, 1), start, next);
    });
  };
  kb.forTasks([&](Value) { kb.alone(sort); });
}

/// Emits moe_combine. Buffers: positions, weight, down, [residual], [shared],
/// y. Params: M.
static void emitMoeCombine(KernelBuilder &kb,
                           exec::MoeCombineKernelAttr kernel) {
  int64_t width = kernel.getWidth(), topK = kernel.getTopK();
  int64_t next = 3;
  Value residual = kernel.getResidual() ? kb.buffer(next++) : Value();
  Value shared = kernel.getShared() ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next);
  kb.forTasks([&](Value row) {
    Value live = kb.cmp(Cmp::GE, kb.loadI32(kb.buffer(0), row), 0);
    // A padding row has no pairs, so no product was written for it.
    Value count = kb.select(live, kb.integer(topK), kb.integer(0));
    Value pairs = kb.mul(row, topK);
    auto rowAt = [&](Value base) { return kb.at(base, row, width * 4); };
    kb.forChunks(width, [&](Value first, Value mask) {
      auto load = [&](Value base) {
        return kb.loadLanes(kb.f32Type(), kb.at(base, first, 4), mask);
      };
      Value sum = kb.constant(kb.f32Lanes(), 0);
      if (residual)
        sum = load(rowAt(residual));
      if (shared)
        sum = residual ? kb.add(sum, load(rowAt(shared))) : load(rowAt(shared));
      sum = kb.forRange(
          kb.integer(0), count, 1, {sum}, [&](Value j, ValueRange in) {
            Value pair = kb.add(pairs, j);
            Value weight =
                kb.loadOne(kb.f32Type(), kb.at(kb.buffer(1), pair, 4));
            Value down = load(kb.at(kb.buffer(2), pair, width * 4));
            return Values{kb.fma(kb.splat(weight), down, in[0])};
          })[0];
      kb.storeLanes(sum, kb.at(rowAt(y), first, 4), mask);
    });
  });
}

static TaskItems combineItems(exec::MoeCombineKernelAttr kernel) {
  return TaskItems::elements(kernel.getWidth());
}

static const RowKernel kinds[] = {
    rowKernel(emitMoePlan),
    rowKernel(emitMoeCombine, /*scratch=*/nullptr, combineItems)};

llvm::ArrayRef<RowKernel> mtp::codegen::expertRowKernels() { return kinds; }
