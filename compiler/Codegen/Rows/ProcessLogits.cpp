//===- ProcessLogits.cpp - The rules of a slot's logits -------------------===//
//
// A row in order: end tokens, and tokens without a bit in the row's mask,
// become -infinity. Then the bias is added, and the repetition, frequency and
// presence penalties apply. Columns of a drafter's own vocabulary have the
// counts and biases of the tokens that they stand for. vLLM has this order and
// these formulas. Every column depends on its own logit only, so a row has the
// same bits in any batch.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Argmax.h"
#include "compiler/Codegen/Rows/MaskedColumns.h"
#include "runtime/schema/LogitRules.h"
#include <limits>

using namespace mtp::codegen;

/// The bits of -infinity.
static constexpr int64_t kMinusInfinity = 0xff800000;

namespace {
/// The buffers of a task's row, and what its slot asks for.
class RuledRow {
public:
  RuledRow(KernelBuilder &kb, exec::ProcessLogitsKernelAttr kernel, Value row);

  /// Applies the rules of the row's slot, if it has any.
  void processIfRuled() {
    Value isRuled =
        kb.bitAnd(kb.cmp(Cmp::NE, flags, 0), kb.cmp(Cmp::GE, position, 0));
    kb.ifThen(isRuled, [&] { process(); });
  }

private:
  void process();
  Value word(int64_t index) { return kb.loadI32(at.rules, kb.integer(index)); }
  Value number(int64_t index) {
    return kb.loadOne(kb.f32Type(), kb.at(at.rules, index * 4));
  }
  /// Returns all bits of i32 lanes if the slot has a flag, else none.
  Value maskOf(int64_t flag) {
    Value has = kb.cmp(Cmp::NE, kb.bitAnd(flags, kb.integer(flag)), 0);
    return kb.splat(kb.select(has, kb.constant(kb.i32Type(), -1),
                              kb.constant(kb.i32Type(), 0)));
  }
  void maskEnds();
  void maskToken(Value token);
  Value tokensOf(Value first, Value mask);
  Value countsOf(Value first, Value tokens, Value mask);
  Value biasOf(Value first, Value tokens, Value mask);
  void maskTokens();
  Value node();
  Values tokensOfPath();
  Value ruled(Value value, Value tokens, Value counts, Value bias);
  void replaceBest(Best best);

  /// The row's part of each buffer, or the part of its slot.
  struct Parts {
    Value best, columns, x, path, rules, counts, bias, masks, tokens;
  };

  KernelBuilder &kb;
  exec::ProcessLogitsKernelAttr kernel;
  Parts at;
  Value position, place, length, flags;
  /// Penalties, as lanes.
  Value repetition, presence, frequency;
  /// The drafts that lead to the row, as lanes.
  Values before;
};
} // namespace

RuledRow::RuledRow(KernelBuilder &kb, exec::ProcessLogitsKernelAttr kernel,
                   Value row)
    : kb(kb), kernel(kernel) {
  int64_t next = 0, width = kernel.getWidth();
  int64_t parts = kernel.getParts(), nodes = kernel.getNodes();
  int64_t vocab = kernel.getVocab() > 0 ? kernel.getVocab() : width;
  auto rowOf = [&](Value index, int64_t words) {
    return kb.at(kb.buffer(next++), index, words * 4);
  };
  if (parts > 0) {
    at.best = rowOf(row, parts);
    at.columns = rowOf(row, parts);
  }
  at.x = rowOf(row, width);
  Value slot =
      kb.clampIndex(kb.loadI32(kb.buffer(next++), row), kernel.getSlots());
  position = kb.loadI32(kb.buffer(next++), row);
  place = kernel.getPlaced() ? kb.loadI32(kb.buffer(next++), row) : position;
  if (nodes > 0) {
    at.path = rowOf(slot, 2 * nodes);
    length = kb.loadI32(kb.buffer(next++), slot);
  }
  at.rules = rowOf(slot, ::mtp::kRuleWords);
  at.counts = rowOf(slot, int64_t(::mtp::countWords(uint64_t(vocab))));
  at.bias = rowOf(slot, vocab);
  if (kernel.getMasks() > 0)
    at.masks = rowOf(slot, kernel.getMasks() *
                               int64_t(::mtp::maskWords(uint64_t(width))));
  if (kernel.getVocab() > 0)
    at.tokens = kb.buffer(next++);
  flags = word(::mtp::kRuleFlags);
}

/// Masks the end tokens of a slot that must not end yet.
void RuledRow::maskEnds() {
  Value isMasked = kb.bitAnd(
      kb.cmp(Cmp::NE, kb.bitAnd(flags, kb.integer(::mtp::kRuleMasksEnds)), 0),
      kb.cmp(Cmp::LT, kb.add(position, 1), word(::mtp::kRuleEndsFrom)));
  kb.ifThen(isMasked, [&] {
    Value count = kb.clampIndex(word(::mtp::kRuleEndCount),
                                kb.integer(::mtp::kMostRuleEnds + 1));
    kb.forRange(kb.integer(0), count, 1, [&](Value i) {
      maskToken(kb.loadI32(at.rules, kb.add(i, ::mtp::kRuleEnds)));
    });
    kb.sync();
  });
}

/// Masks a token, if it has a column.
void RuledRow::maskToken(Value token) {
  if (!at.tokens)
    return kb.alone([&] {
      Value isColumn = kb.bitAnd(kb.cmp(Cmp::GE, token, 0),
                                 kb.cmp(Cmp::LT, token, kernel.getWidth()));
      kb.ifThen(isColumn,
                [&] { kb.storeI32(kb.integer(kMinusInfinity), at.x, token); });
    });
  Value lanes = kb.splat(kb.truncate(token, kb.i32Type()));
  Value none =
      kb.constant(kb.f32Lanes(), -std::numeric_limits<double>::infinity());
  kb.forChunks(kernel.getWidth(), [&](Value first, Value mask) {
    Value place = kb.at(at.x, first, 4);
    Value is = kb.cmp(Cmp::EQ, tokensOf(first, mask), lanes);
    kb.storeLanes(kb.select(is, none, kb.loadLanes(kb.f32Type(), place, mask)),
                  place, mask);
  });
}

/// Returns the tokens of some columns.
Value RuledRow::tokensOf(Value first, Value mask) {
  if (!at.tokens)
    return kb.add(kb.laneNumbers(), kb.splat(kb.truncate(first, kb.i32Type())));
  Value tokens = kb.loadLanes(kb.i32Type(), kb.at(at.tokens, first, 4), mask);
  Value last = kb.constant(kb.i32Lanes(), kernel.getVocab() - 1);
  return kb.max(kb.min(tokens, last), kb.constant(kb.i32Lanes(), 0));
}

/// Returns the counts of the tokens of some columns.
Value RuledRow::countsOf(Value first, Value tokens, Value mask) {
  if (!at.tokens)
    return kb.extendUnsigned(
        kb.loadLanes(kb.i16Type(), kb.at(at.counts, first, 2), mask),
        kb.i32Lanes());
  Value one = kb.constant(kb.i32Lanes(), 1);
  Value words = kb.gatherLanes(at.counts, kb.shiftRight(tokens, one), mask);
  Value bits =
      kb.shiftLeft(kb.bitAnd(tokens, one), kb.constant(kb.i32Lanes(), 4));
  return kb.bitAnd(kb.shiftRight(words, bits),
                   kb.constant(kb.i32Lanes(), ::mtp::kCountValues - 1));
}

/// Returns the bits of the biases of the tokens of some columns.
Value RuledRow::biasOf(Value first, Value tokens, Value mask) {
  return at.tokens ? kb.gatherLanes(at.bias, tokens, mask)
                   : kb.loadLanes(kb.i32Type(), kb.at(at.bias, first, 4), mask);
}

/// Returns the row's node in its window.
Value RuledRow::node() {
  return at.path ? kb.clampIndex(kb.sub(place, length), kernel.getNodes())
                 : kb.integer(0);
}

/// Masks the tokens without a bit in the mask of the row's node.
void RuledRow::maskTokens() {
  if (!at.masks)
    return;
  Value hasMask =
      kb.cmp(Cmp::NE, kb.bitAnd(flags, kb.integer(::mtp::kRuleTokenMasks)), 0);
  kb.ifThen(hasMask, [&] {
    int64_t width = kernel.getWidth();
    Value row = kb.clampIndex(node(), kernel.getMasks());
    Value words =
        kb.at(at.masks, row, int64_t(::mtp::maskWords(uint64_t(width))) * 4);
    emitMaskedColumns(kb, words, at.x, at.x, width);
    kb.sync();
  });
}

/// Returns the drafts that lead to the row, as lanes of i32; -1 for none.
Values RuledRow::tokensOfPath() {
  Values tokens;
  if (!at.path)
    return tokens;
  int64_t nodes = kernel.getNodes();
  Value node = this->node();
  for (int64_t depth = 0; depth < kernel.getDepth(); ++depth) {
    Value isDraft = kb.cmp(Cmp::GT, node, 0);
    Value token = kb.loadI32(at.path, node);
    tokens.push_back(kb.splat(
        kb.truncate(kb.select(isDraft, token, kb.integer(-1)), kb.i32Type())));
    Value parent =
        kb.clampIndex(kb.loadI32(at.path, kb.add(node, nodes)), nodes);
    node = kb.select(isDraft, parent, kb.integer(0));
  }
  return tokens;
}

/// Returns the logits of some tokens after bias and penalties.
Value RuledRow::ruled(Value value, Value tokens, Value counted, Value added) {
  Value zero = kb.constant(kb.i32Lanes(), 0),
        one = kb.constant(kb.i32Lanes(), 1);
  Value biased = kb.add(value, kb.bitcast(added, kb.f32Lanes()));
  Value seen = counted, output = kb.shiftRight(counted, one);
  for (Value token : before) {
    Value isIt = kb.select(kb.cmp(Cmp::EQ, tokens, token), one, zero);
    output = kb.add(output, isIt);
    seen = kb.bitOr(seen, isIt);
  }
  Value none = kb.constant(kb.f32Lanes(), 0);
  Value repeated =
      kb.select(kb.cmp(Cmp::GT, biased, none), kb.div(biased, repetition),
                kb.mul(biased, repetition));
  Value result = kb.select(kb.cmp(Cmp::NE, seen, zero), repeated, biased);
  result = kb.sub(result, kb.mul(frequency, kb.toFloat(output)));
  Value present = kb.select(kb.cmp(Cmp::GT, output, zero), presence, none);
  return kb.sub(result, present);
}

/// Makes the first panel's best the best of the row, and others -infinity.
void RuledRow::replaceBest(Best found) {
  int64_t parts = kernel.getParts();
  Value others = kb.at(at.best, 4);
  kb.forChunks(parts - 1, [&](Value first, Value mask) {
    kb.storeLanes(
        kb.constant(kb.f32Lanes(), -std::numeric_limits<double>::infinity()),
        kb.at(others, first, 4), mask);
  });
  kb.storeOne(found.value, at.best);
  kb.storeOne(kb.truncate(bestIndex(kb, found), kb.i32Type()), at.columns);
}

void RuledRow::process() {
  maskEnds();
  maskTokens();
  repetition = kb.splat(number(::mtp::kRuleRepetition));
  presence = kb.splat(number(::mtp::kRulePresence));
  frequency = kb.splat(number(::mtp::kRuleFrequency));
  Value hasCounts = maskOf(::mtp::kRulePenalties);
  Value hasBias = maskOf(::mtp::kRuleBias);
  before = tokensOfPath();
  Best start = noBest(kb, kb.f32Lanes(), kb.i32Lanes());
  Values found = kb.forChunks(
      kernel.getWidth(), {start.value, start.index},
      [&](Value first, Value mask, ValueRange in) {
        Value column = kb.add(kb.laneNumbers(),
                              kb.splat(kb.truncate(first, kb.i32Type())));
        Value token = tokensOf(first, mask);
        Value value = kb.loadLanes(kb.f32Type(), kb.at(at.x, first, 4), mask);
        value = ruled(value, token,
                      kb.bitAnd(countsOf(first, token, mask), hasCounts),
                      kb.bitAnd(biasOf(first, token, mask), hasBias));
        kb.storeLanes(value, kb.at(at.x, first, 4), mask);
        Best best = betterOf(kb, {value, column}, {in[0], in[1]}, mask);
        return Values{best.value, best.index};
      });
  if (kernel.getParts() > 0)
    replaceBest(bestLane(kb, {found[0], found[1]}));
}

/// Emits process_logits. Buffers: [values, columns], logits, slots, positions,
/// [places], [path, length], rules, counts, bias, [masks], [tokens]. Params: M.
static void emitProcessLogits(KernelBuilder &kb,
                              exec::ProcessLogitsKernelAttr kernel) {
  kb.forTasks([&](Value index) {
    RuledRow row(kb, kernel, index);
    row.processIfRuled();
  });
}

static const RowKernel kinds[] = {rowKernel(emitProcessLogits)};

llvm::ArrayRef<RowKernel> mtp::codegen::logitRuleKernels() { return kinds; }
