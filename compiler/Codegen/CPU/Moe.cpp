//===- Moe.cpp - Mixtures of experts --------------------------------------===//
//
// A pair is (row, j): row's j-th expert, numbered row * top_k + j. Pairs are
// sorted by expert, so that an expert's weights are read once per step however
// many rows it has, and not at all when it has none.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"
#include "compiler/Codegen/CPU/PanelMatmul.h"

using namespace mtp::codegen;

/// A counting sort. buffers: positions, index, expert start, pairs. params: M.
static void emitMoePlan(KernelBuilder &kb, const KernelConfig &config) {
  int64_t experts = config.integer("experts"), topK = config.integer("top_k");
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
  kb.forTasks([&](Value) {
    // First start[e + 1] counts the pairs of e, then it is where the next pair
    // of e goes; at last that is the end of e and the start of e + 1.
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
  });
}

/// The pairs of the experts as rows of a panel matmul.
static void emitExperts(KernelBuilder &kb, PanelMatmulSpec &spec, int64_t topK,
                        Value expertStart, Value pairs,
                        llvm::function_ref<Value(Value)> rowOf, Value y,
                        int64_t yStride) {
  // Starts and pairs are numbers in memory: they stay among the pairs.
  Value count = kb.mul(kb.param(0), topK);
  auto startAt = [&](Value expert) {
    return kb.clampIndex(kb.loadI32(expertStart, expert), kb.add(count, 1));
  };
  auto pairAt = [&](Value expert, Value row) {
    Value place = kb.clampIndex(kb.add(startAt(expert), row), count);
    return kb.clampIndex(kb.loadI32(pairs, place), count);
  };
  auto rowCount = [&](Value expert) {
    return kb.sub(startAt(kb.add(expert, 1)), startAt(expert));
  };
  auto rowPointer = [&](Value expert, Value row) {
    return rowOf(pairAt(expert, row));
  };
  auto store = [&](Value expert, Value row,
                   llvm::ArrayRef<OutputVector> outputs) {
    Value to = kb.at(y, pairAt(expert, row), yStride * 4);
    for (const OutputVector &output : outputs)
      kb.store(output.values, kb.at(to, output.column, 4), output.mask);
  };
  spec.taskSpansGroups = true;
  spec.rowCount = rowCount;
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitPanelMatmul(kb, spec);
}

/// buffers: x, W, expert start, pairs, act. params: M.
static void emitMoeGateUp(KernelBuilder &kb, const KernelConfig &config) {
  int64_t k = config.integer("k"), inter = config.integer("inter");
  int64_t xStride = config.integer("x_stride", k);
  PanelMatmulSpec spec;
  spec.k = k;
  spec.n = 2 * inter;
  spec.format = config.weightFormat();
  spec.gated = true;
  spec.groups = config.integer("experts");
  spec.weights = kb.buffer(1);
  auto rowOf = [&](Value pair) {
    Value row = kb.div(pair, config.integer("top_k"));
    return kb.at(kb.buffer(0), row, xStride * 4);
  };
  emitExperts(kb, spec, config.integer("top_k"), kb.buffer(2), kb.buffer(3),
              rowOf, kb.buffer(4), inter);
}

/// buffers: act, W, expert start, pairs, down. params: M.
static void emitMoeDown(KernelBuilder &kb, const KernelConfig &config) {
  int64_t k = config.integer("k"), n = config.integer("n");
  PanelMatmulSpec spec;
  spec.k = k;
  spec.n = n;
  spec.format = config.weightFormat();
  spec.groups = config.integer("experts");
  spec.weights = kb.buffer(1);
  auto rowOf = [&](Value pair) { return kb.at(kb.buffer(0), pair, k * 4); };
  emitExperts(kb, spec, config.integer("top_k"), kb.buffer(2), kb.buffer(3),
              rowOf, kb.buffer(4), n);
}

/// buffers: positions, weight, down, (residual), (shared), y. params: M.
static void emitMoeCombine(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), topK = config.integer("top_k");
  int64_t next = 3;
  Value residual = config.flag("residual") ? kb.buffer(next++) : Value();
  Value shared = config.flag("shared") ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next);
  kb.forTasks([&](Value row) {
    Value live = kb.cmp(Cmp::GE, kb.loadI32(kb.buffer(0), row), 0);
    // A dead row has no pairs, so nothing was written for it.
    Value count = kb.select(live, kb.integer(topK), kb.integer(0));
    Value pairs = kb.mul(row, topK);
    auto rowAt = [&](Value base) { return kb.at(base, row, width * 4); };
    kb.forChunks(width, [&](Value first, Value mask) {
      auto load = [&](Value base) {
        return kb.load(kb.f32Vector(), kb.at(base, first, 4), mask);
      };
      Value sum = kb.constant(kb.f32Vector(), 0);
      if (residual)
        sum = load(rowAt(residual));
      if (shared)
        sum = residual ? kb.add(sum, load(rowAt(shared))) : load(rowAt(shared));
      sum = kb.forRange(
          kb.integer(0), count, 1, {sum}, [&](Value j, ValueRange in) {
            Value pair = kb.add(pairs, j);
            Value weight = kb.load(kb.f32Type(), kb.at(kb.buffer(1), pair, 4));
            Value down = load(kb.at(kb.buffer(2), pair, width * 4));
            return Values{kb.fma(kb.splat(weight), down, in[0])};
          })[0];
      kb.store(sum, kb.at(rowAt(y), first, 4), mask);
    });
  });
}

static int64_t scratchBytes(const KernelConfig &config,
                            const TargetDesc &target) {
  return panelScratchBytes(config.integer("k"), config.weightFormat(), target);
}

static constexpr ConfigKey planKeys[] = {{"experts", ConfigKey::Int, true},
                                         {"top_k", ConfigKey::Int, true}};

static constexpr ConfigKey gateUpKeys[] = {
    {"experts", ConfigKey::Int, true},
    {"k", ConfigKey::Int, true},
    {"inter", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"group", ConfigKey::Int, false},
    {"top_k", ConfigKey::Int, true},
    {"x_stride", ConfigKey::Int, false}};

static constexpr ConfigKey downKeys[] = {
    {"experts", ConfigKey::Int, true},
    {"k", ConfigKey::Int, true},
    {"n", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"group", ConfigKey::Int, false},
    {"top_k", ConfigKey::Int, true}};

static constexpr ConfigKey combineKeys[] = {
    {"width", ConfigKey::Int, true},
    {"top_k", ConfigKey::Int, true},
    {"residual", ConfigKey::Bool, false},
    {"shared", ConfigKey::Bool, false}};

static const KernelEmitter kinds[] = {
    {"moe_plan", planKeys, emitMoePlan},
    {"moe_gate_up", gateUpKeys, emitMoeGateUp, scratchBytes,
     verifyWeightFormat},
    {"moe_down", downKeys, emitMoeDown, scratchBytes, verifyWeightFormat},
    {"moe_combine", combineKeys, emitMoeCombine}};

llvm::ArrayRef<KernelEmitter> mtp::codegen::moeKernels() { return kinds; }
