//===- ExpertPlan.cpp - Assignment of pairs to experts --------------------===//
//
// A pair is (row, j), the j-th expert of a row, and has the number row * top_k
// + j. A thread has an expert and a stretch of the pairs. It counts the pairs
// of its expert in the stretch. The counts are added up in the order of experts
// and stretches, and tell the thread where its pairs go. So the pairs of an
// expert stay in order, as in the CPU's plan.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"

using namespace mtp::codegen;

/// Number of threads in a block. If there are more experts than threads, a
/// single thread makes the plan.
static constexpr int64_t kPlanThreads = 512;

namespace {

class ExpertPlan {
public:
  ExpertPlan(GpuBuilder &kb, exec::MoePlanKernelAttr kernel);

  void emit();
  /// Return the number of threads for experts, and number of stretches of
  /// pairs.
  static int64_t lanesOf(exec::MoePlanKernelAttr kernel) {
    return llvm::alignTo(kernel.getExperts(), kWarp);
  }
  static int64_t stretchesOf(exec::MoePlanKernelAttr kernel) {
    return kPlanThreads / lanesOf(kernel);
  }

private:
  Values forPairs(ValueRange inits,
                  llvm::function_ref<Values(Value, Value, ValueRange)> body);
  Value loadExpert(Value place);
  void addUp(Value count);

  GpuBuilder &kb;
  const int64_t experts, topK, lanes, stretches;
  /// Expert and stretch (i64) of this thread.
  Value expert, stretch;
  Value pairs, perStretch;
  /// In shared memory: experts of pairs of each stretch; number of pairs before
  /// each thread's own, [expert][stretch]; sums of warps.
  Value loaded, offsets, warpSums;
};

} // namespace

ExpertPlan::ExpertPlan(GpuBuilder &kb, exec::MoePlanKernelAttr kernel)
    : kb(kb), experts(kernel.getExperts()), topK(kernel.getTopK()),
      lanes(lanesOf(kernel)), stretches(stretchesOf(kernel)) {
  expert = kb.rem(kb.thread(), kb.integer(lanes));
  stretch = kb.div(kb.thread(), lanes);
  pairs = kb.mul(kb.param(0), topK);
  perStretch = kb.div(kb.add(pairs, stretches - 1), stretches);
  loaded = kb.shared(kb.threads() * 4);
  offsets = kb.shared(kb.threads() * 4);
  warpSums = kb.shared(kb.warps() * 4);
}

/// Returns the expert of the thread's pair at `place` of its stretch, or -1 if
/// there is no pair or its row is a padding row.
Value ExpertPlan::loadExpert(Value place) {
  Value pair = kb.add(kb.mul(stretch, perStretch), place);
  Value isPair = kb.bitAnd(kb.cmp(Cmp::LT, place, perStretch),
                           kb.cmp(Cmp::LT, pair, pairs));
  Value none = kb.constant(kb.i32Type(), -1);
  return kb.choose(
      isPair,
      [&] {
        Value position = kb.loadI32(kb.buffer(0), kb.div(pair, topK));
        Value index = kb.clampIndex(kb.loadI32(kb.buffer(1), pair), experts);
        return Values{kb.select(kb.cmp(Cmp::GE, position, 0),
                                kb.truncate(index, kb.i32Type()), none)};
      },
      [&] { return Values{none}; })[0];
}

/// Goes over the pairs of the thread's stretch in order. `body` gets a pair,
/// whether it belongs to the thread's expert, and the state.
Values ExpertPlan::forPairs(
    ValueRange inits,
    llvm::function_ref<Values(Value, Value, ValueRange)> body) {
  constexpr int64_t atOnce = 4;
  Value own = kb.truncate(expert, kb.i32Type());
  Value from = kb.at(loaded, stretch, lanes * 4);
  return kb.forRange(
      kb.integer(0), perStretch, lanes, inits,
      [&](Value first, ValueRange state) {
        kb.sync();
        kb.storeOwn(loadExpert(kb.add(first, expert)),
                    kb.at(loaded, kb.thread(), 4));
        kb.sync();
        Value count = kb.min(kb.sub(perStretch, first), kb.integer(lanes));
        Value start = kb.add(kb.mul(stretch, perStretch), first);
        return kb.forRange(kb.integer(0), count, atOnce, state,
                           [&](Value place, ValueRange in) {
                             Values four =
                                 kb.loadWords(kb.at(from, place, 4), atOnce);
                             Values next(in.begin(), in.end());
                             for (int64_t i = 0; i < atOnce; ++i)
                               next = body(kb.add(kb.add(start, place), i),
                                           kb.cmp(Cmp::EQ, four[i], own), next);
                             return next;
                           });
      });
}

/// Stores the sum of all earlier counts for each thread in `offsets`.
void ExpertPlan::addUp(Value count) {
  Value place = kb.add(kb.mul(expert, stretches), stretch);
  kb.storeOwn(count, kb.at(offsets, place, 4));
  kb.sync();
  Value own = kb.loadOwn(kb.i32Type(), kb.at(offsets, kb.thread(), 4));
  Value lane = kb.laneOfWarp(), sum = own;
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value before = kb.truncate(kb.sub(lane, distance), kb.i32Type());
    Value other =
        kb.shuffleFrom(sum, kb.max(before, kb.constant(kb.i32Type(), 0)));
    sum = kb.select(kb.cmp(Cmp::GE, lane, distance), kb.add(sum, other), sum);
  }
  kb.storeOwn(sum, kb.at(warpSums, kb.warp(), 4),
              kb.cmp(Cmp::EQ, lane, kWarp - 1));
  kb.sync();
  Value before = kb.sub(sum, own);
  for (int64_t warp = 0; warp + 1 < kb.warps(); ++warp) {
    Value all = kb.loadOwn(kb.i32Type(), kb.at(warpSums, warp * 4));
    before = kb.select(kb.cmp(Cmp::GT, kb.warp(), warp), kb.add(before, all),
                       before);
  }
  kb.storeOwn(before, kb.at(offsets, kb.thread(), 4));
  kb.sync();
}

void ExpertPlan::emit() {
  Value zero = kb.constant(kb.i32Type(), 0), one = kb.constant(kb.i32Type(), 1);
  Value count = forPairs({zero}, [&](Value, Value isOwn, ValueRange in) {
    return Values{kb.select(isOwn, kb.add(in[0], one), in[0])};
  })[0];
  addUp(count);
  Value place = kb.add(kb.mul(expert, stretches), stretch);
  Value first = kb.loadOwn(kb.i32Type(), kb.at(offsets, place, 4));
  Value starts = kb.buffer(2), order = kb.buffer(3);
  kb.storeOwn(
      first, kb.at(starts, expert, 4),
      kb.bitAnd(kb.cmp(Cmp::EQ, stretch, 0), kb.cmp(Cmp::LT, expert, experts)));
  Value end = forPairs({first}, [&](Value pair, Value isOwn, ValueRange in) {
    Value to = kb.clampIndex(kb.extend(in[0], kb.i64Type()), pairs);
    kb.storeOwn(kb.truncate(pair, kb.i32Type()), kb.at(order, to, 4), isOwn);
    return Values{kb.select(isOwn, kb.add(in[0], one), in[0])};
  })[0];
  kb.storeOwn(end, kb.at(starts, experts * 4),
              kb.bitAnd(kb.cmp(Cmp::EQ, stretch, stretches - 1),
                        kb.cmp(Cmp::EQ, expert, experts - 1)));
}

static bool fitsBlock(exec::MoePlanKernelAttr kernel) {
  return ExpertPlan::lanesOf(kernel) <= kPlanThreads;
}

static GpuLaunch planLaunch(exec::MoePlanKernelAttr kernel) {
  int64_t threads =
      ExpertPlan::lanesOf(kernel) * ExpertPlan::stretchesOf(kernel);
  return {/*blocks=*/1, /*rowsPerGroup=*/0,
          fitsBlock(kernel) ? threads : kRowThreads};
}

/// Emits moe_plan. Buffers: positions, index, expert start, pairs. Params: M.
static void emitMoePlan(GpuBuilder &kb, exec::MoePlanKernelAttr kernel) {
  kb.begin();
  if (!fitsBlock(kernel))
    return findRowKernel(kernel)->emit(kb, kernel);
  ExpertPlan(kb, kernel).emit();
}

static const GpuEmitter kinds[] = {gpuEmitter(planLaunch, emitMoePlan)};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuPlanKernels() { return kinds; }
