//===- MoeRoute.cpp - Choice of experts -----------------------------------===//
//
// DeepSeek-V3's router (sigmoid scores, a bias that only affects the choice,
// groups of experts) and Qwen3-MoE's softmax router. Ties go to the lowest
// index.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Argmax.h"
#include "compiler/Codegen/Rows/MathApprox.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

namespace {

class Router {
public:
  Router(KernelBuilder &kb, exec::MoeRouteKernelAttr kernel)
      : kb(kb), kernel(kernel), experts(kernel.getExperts()),
        topK(kernel.getTopK()), groups(kernel.getNGroup()),
        scores(kb.scratch()),
        choice(kb.at(kb.scratch(), llvm::alignTo(experts, 16) * 4)),
        groupScores(kb.at(kb.scratch(), llvm::alignTo(experts, 16) * 8)) {}

  void emitRow(Value row);
  static int64_t scratch(exec::MoeRouteKernelAttr kernel);

private:
  void emitSigmoid(Value logits);
  void emitSoftmax(Value logits);
  void dropGroups();
  Value takeLargest(Value values, int64_t width);

  Value loadAt(Value base, Value index) {
    return kb.loadOne(kb.f32Type(), kb.at(base, index, 4));
  }

  KernelBuilder &kb;
  exec::MoeRouteKernelAttr kernel;
  const int64_t experts, topK, groups;
  /// Score of each expert, its choice value, and the choice value of each
  /// group.
  const Value scores, choice, groupScores;
};

} // namespace

int64_t Router::scratch(exec::MoeRouteKernelAttr kernel) {
  return (llvm::alignTo(kernel.getExperts(), 16) * 2 + kernel.getNGroup()) * 4;
}

void Router::emitSigmoid(Value logits) {
  kb.forChunks(experts, [&](Value first, Value mask) {
    Value logit = kb.loadLanes(kb.f32Type(), kb.at(logits, first, 4), mask);
    Value score = codegen::emitSigmoid(kb, logit);
    kb.storeLanes(score, kb.at(scores, first, 4), mask);
    if (kernel.getBias())
      score = kb.add(score, kb.loadLanes(kb.f32Type(),
                                         kb.at(kb.buffer(1), first, 4), mask));
    kb.storeLanes(score, kb.at(choice, first, 4), mask);
  });
}

void Router::emitSoftmax(Value logits) {
  Value most = loadAt(logits, emitArgmax(kb, logits, experts));
  Values sums = kb.forChunks(
      experts, {kb.constant(kb.f32Lanes(), 0)},
      [&](Value first, Value mask, ValueRange in) {
        Value logit = kb.loadLanes(kb.f32Type(), kb.at(logits, first, 4), mask);
        Value power = emitExp(kb, kb.sub(logit, kb.splat(most)));
        kb.storeLanes(power, kb.at(scores, first, 4), mask);
        Value sum = kb.add(in[0], power);
        return Values{mask ? kb.select(mask, sum, in[0]) : sum};
      });
  Value sum = kb.splat(kb.reduceAdd(sums[0]));
  kb.forChunks(experts, [&](Value first, Value mask) {
    Value power = kb.loadLanes(kb.f32Type(), kb.at(scores, first, 4), mask);
    Value score = kb.div(power, sum);
    kb.storeLanes(score, kb.at(scores, first, 4), mask);
    if (kernel.getBias())
      score = kb.add(score, kb.loadLanes(kb.f32Type(),
                                         kb.at(kb.buffer(1), first, 4), mask));
    kb.storeLanes(score, kb.at(choice, first, 4), mask);
  });
}

/// Returns the index of the largest value, and sets the value so that it cannot
/// win again.
Value Router::takeLargest(Value values, int64_t width) {
  Value index = emitArgmax(kb, values, width);
  kb.storeOne(kb.f32(std::numeric_limits<double>::quiet_NaN()),
              kb.at(values, index, 4));
  kb.sync();
  return index;
}

/// Sets the choice values of all experts outside the best groups to -infinity,
/// because a bias may make all choice values negative. A group's value is the
/// sum of its two best experts' values.
void Router::dropGroups() {
  int64_t perGroup = experts / groups;
  Value none = kb.f32(std::numeric_limits<double>::quiet_NaN());
  kb.forRange(kb.integer(0), kb.integer(groups), 1, [&](Value group) {
    Value values = kb.at(choice, group, perGroup * 4);
    Value first = emitArgmax(kb, values, perGroup);
    Value best = loadAt(values, first);
    Value sum = best;
    if (perGroup > 1) {
      kb.sync();
      kb.storeOne(none, kb.at(values, first, 4));
      kb.sync();
      sum = kb.add(best, loadAt(values, emitArgmax(kb, values, perGroup)));
      kb.sync();
      kb.storeOne(best, kb.at(values, first, 4));
    }
    kb.storeOne(sum, kb.at(groupScores, group, 4));
    kb.sync();
  });
  // Marks the groups to keep: takeLargest sets their values to NaN.
  kb.forRange(kb.integer(0), kb.integer(kernel.getKeptGroups()), 1,
              [&](Value) { takeLargest(groupScores, groups); });
  Value dropped =
      kb.constant(kb.f32Lanes(), -std::numeric_limits<double>::infinity());
  kb.forRange(kb.integer(0), kb.integer(groups), 1, [&](Value group) {
    Value score = loadAt(groupScores, group);
    kb.ifThen(kb.cmp(Cmp::EQ, score, score), [&] {
      Value values = kb.at(choice, group, perGroup * 4);
      kb.forChunks(perGroup, [&](Value first, Value mask) {
        kb.storeLanes(dropped, kb.at(values, first, 4), mask);
      });
    });
  });
  kb.sync();
}

void Router::emitRow(Value row) {
  Value logits =
      kb.at(kb.buffer(0), row, strideOr(kernel.getXStride(), experts) * 4);
  if (kernel.getScoring() == mlir::mtp::Scoring::Sigmoid)
    emitSigmoid(logits);
  else
    emitSoftmax(logits);
  kb.sync();
  if (groups > 1)
    dropGroups();

  int64_t next = kernel.getBias() ? 2 : 1;
  Value indices = kb.at(kb.buffer(next), row, topK * 4);
  Value weights = kb.at(kb.buffer(next + 1), row, topK * 4);
  Value sum = kb.forRange(kb.integer(0), kb.integer(topK), 1, {kb.f32(0)},
                          [&](Value j, ValueRange in) {
                            Value index = takeLargest(choice, experts);
                            Value score = loadAt(scores, index);
                            kb.storeI32(index, indices, j);
                            kb.storeOne(score, kb.at(weights, j, 4));
                            return Values{kb.add(in[0], score)};
                          })[0];
  kb.sync();
  // The addend prevents a division by zero if all weights are zero.
  if (kernel.getScoring() == mlir::mtp::Scoring::Sigmoid)
    sum = kb.add(sum, kb.f32(1e-20));
  Value scale = kb.constant(kb.f32Lanes(), valueOf(kernel.getScale(), 1.0f));
  kb.forChunks(topK, [&](Value first, Value mask) {
    Value to = kb.at(weights, first, 4);
    Value weight = kb.loadLanes(kb.f32Type(), to, mask);
    if (kernel.getNormTopk())
      weight = kb.div(weight, kb.splat(sum));
    kb.storeLanes(kb.mul(weight, scale), to, mask);
  });
}

/// Emits moe_route. Buffers: logits, [bias], index, weight. Params: M.
static void emitMoeRoute(KernelBuilder &kb, exec::MoeRouteKernelAttr kernel) {
  Router router(kb, kernel);
  kb.forTasks([&](Value row) { router.emitRow(row); });
}

static const RowKernel kinds[] = {rowKernel(emitMoeRoute, Router::scratch)};

llvm::ArrayRef<RowKernel> codegen::moeRouteKernels() { return kinds; }
