//===- ProcessLogits_test.cpp - The rules of a slot's logits --------------===//

#include "harness/Harness.h"

#include "runtime/schema/LogitRules.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int kSlots = 3, kNodes = 6, kRows = 7, kParts = 3;
/// Rows of masks of a slot; a window has fewer nodes.
constexpr int kMasks = 8;

/// The rules of all slots, and a window with a tree in each.
struct Rules {
  explicit Rules(int width)
      : words(kSlots * kRuleWords), counts(size_t(kSlots) * width),
        halves(kSlots * countWords(width)), bias(size_t(kSlots) * width),
        path(kSlots * 2 * kNodes), length{10, 20, 30},
        masks(kSlots * kMasks * maskWords(width)) {
    for (size_t i = 0; i < masks.size(); ++i)
      masks[i] = int32_t(0x9e3779b9u * uint32_t(i + 1));
    auto bits = [](float value) { return std::bit_cast<int32_t>(value); };
    for (int slot = 0; slot < kSlots; ++slot) {
      int32_t *own = &words[slot * kRuleWords];
      // Slot 2 has no rules, and memory that must not be read.
      own[kRuleFlags] = slot == 0 ? kRulePenalties | kRuleMasksEnds
                        : slot == 1
                            ? kRulePenalties | kRuleBias | kRuleTokenMasks
                            : 0;
      own[kRuleRepetition] = bits(slot == 0 ? 1.25f : 0.75f);
      own[kRulePresence] = bits(slot == 0 ? 0.5f : -0.25f);
      own[kRuleFrequency] = bits(slot == 0 ? -0.125f : 0.375f);
      own[kRuleEndsFrom] = 13;
      own[kRuleEndCount] = 3;
      for (int i = 0; i < 3; ++i)
        own[kRuleEnds + i] = int32_t(i * (width / 3 + 1));
      for (int token = 0; token < width; ++token) {
        int32_t count = slot == 2        ? 0xffff
                        : token % 5 == 1 ? 1 + 2 * (token % 3)
                                         : token % 4;
        counts[slot * width + token] = count;
        halves[slot * countWords(width) + token / 2] |=
            int32_t(uint32_t(count) << (token % 2 * 16));
        bias[slot * width + token] =
            slot == 1 && token % 3 == 0 ? bits(token % 2 ? -kInf : 1.5f) : 0;
      }
      // Nodes 1 and 2 follow the anchor, and node n the node n - 2.
      for (int node = 1; node < kNodes; ++node) {
        path[slot * 2 * kNodes + node] = node % 3 == 0 ? 1 : (node * 7) % width;
        path[slot * 2 * kNodes + kNodes + node] = std::max(node - 2, 0);
      }
    }
  }

  /// Returns the logit of a row after all rules.
  float ruled(float logit, int width, int slot, int position, int node,
              int token) const {
    const int32_t *own = &words[slot * kRuleWords];
    auto number = [&](int word) { return std::bit_cast<float>(own[word]); };
    if (own[kRuleFlags] == 0)
      return logit;
    if (own[kRuleFlags] & kRuleMasksEnds && position + 1 < own[kRuleEndsFrom])
      for (int i = 0; i < own[kRuleEndCount]; ++i)
        if (own[kRuleEnds + i] == token)
          logit = -kInf;
    if (own[kRuleFlags] & kRuleTokenMasks &&
        !isAllowed(width, slot, node, token))
      logit = -kInf;
    if (own[kRuleFlags] & kRuleBias)
      logit += std::bit_cast<float>(bias[slot * width + token]);
    int32_t word = counts[slot * width + token];
    int output = word / kCountOfOutput;
    for (; node > 0; node = path[slot * 2 * kNodes + kNodes + node])
      output += path[slot * 2 * kNodes + node] == token;
    if (word % 2 || output > 0)
      logit = logit > 0 ? logit / number(kRuleRepetition)
                        : logit * number(kRuleRepetition);
    logit -= number(kRuleFrequency) * float(output);
    return output > 0 ? logit - number(kRulePresence) : logit;
  }

  bool isAllowed(int width, int slot, int node, int token) const {
    size_t row = slot * kMasks + node;
    int32_t word = masks[row * maskWords(width) + token / 32];
    return uint32_t(word) >> (token % 32) & 1;
  }

  /// `counts` has an element for each token.
  Ints words, counts, halves, bias, path, length, masks;
};

/// Rows of all slots, a padding row among them.
struct Rows {
  Rows(int width, bool isPlaced) : width(width), isPlaced(isPlaced) {
    // A row at place p has a rotary position of its own in a tree.
    position = isPlaced ? Ints{10, 12, 23, 20, 31, -1, 22} : place;
    for (int i = 0; i < kRows * width; ++i)
      x.push_back(float(i * 37 % 101 - 50) / 8);
  }

  /// Runs the kernel, and keeps the logits and the best of each part.
  void run(const TestTarget &target, const Rules &rules) {
    Kernel kernel(target, "process_logits",
                  "width = " + std::to_string(width) +
                      ", parts = 3, nodes = 6, depth = 3" +
                      (isPlaced ? ", placed = true" : "") +
                      ", masks = 8, slots = 3");
    Guarded<float> best(Floats(kRows * kParts, 100.0f)), logits(x);
    Guarded<int32_t> columns(Ints(kRows * kParts, 1)), slots(slot),
        positions(position), places(place), path(rules.path),
        length(rules.length), words(rules.words), counts(rules.halves),
        bias(rules.bias), masks(rules.masks);
    std::vector<void *> buffers{best.data(), columns.data(), logits.data(),
                                slots.data(), positions.data()};
    if (isPlaced)
      buffers.push_back(places.data());
    for (Guarded<int32_t> *each :
         {&path, &length, &words, &counts, &bias, &masks})
      buffers.push_back(each->data());
    kernel.run(buffers, {kRows}, Split::Random);
    y = logits.values();
    winners = best.values();
    winnerColumns = columns.values();
  }

  void expectRow(int row, const Rules &rules) const {
    bool isRuled = position[row] >= 0 && slot[row] != 2;
    int winner = 0;
    for (int token = 0; token < width; ++token) {
      float was = x[row * width + token], is = y[row * width + token];
      float want =
          isRuled ? rules.ruled(was, width, slot[row], position[row],
                                place[row] - rules.length[slot[row]], token)
                  : was;
      // A GPU may round a product and its difference once.
      if (std::isinf(want))
        ASSERT_EQ(is, want) << width << " " << row << " " << token;
      else
        ASSERT_NEAR(is, want, 1e-6f) << width << " " << row << " " << token;
      if (is > y[row * width + winner])
        winner = token;
    }
    EXPECT_EQ(winners[row * kParts],
              isRuled ? y[row * width + winner] : 100.0f);
    EXPECT_EQ(winnerColumns[row * kParts], isRuled ? winner : 1);
    for (int part = 1; part < kParts; ++part)
      EXPECT_EQ(winners[row * kParts + part], isRuled ? -kInf : 100.0f);
  }

  int width;
  bool isPlaced;
  Ints slot{0, 0, 1, 1, 2, 0, 1}, place{10, 13, 25, 20, 31, -1, 23}, position;
  Floats x, y, winners;
  Ints winnerColumns;
};

} // namespace

// Columns of a drafter's own vocabulary stand for other tokens.
TEST(ProcessLogits, MapsColumnsToTokens) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    for (int width : {5, 31, 100}) {
      int vocab = 2 * width + 3;
      Rules rules(vocab);
      rules.words[kRuleWords + kRuleFlags] &= ~kRuleTokenMasks;
      Ints map;
      for (int column = 0; column < width; ++column)
        map.push_back((7 * column + 3) % vocab);
      Rows rows(width, /*isPlaced=*/false);
      Kernel kernel(target, "process_logits",
                    "width = " + std::to_string(width) +
                        ", vocab = " + std::to_string(vocab) + ", slots = 3");
      Guarded<float> logits(rows.x);
      Guarded<int32_t> slots(rows.slot), positions(rows.position),
          words(rules.words), counts(rules.halves), bias(rules.bias),
          tokens(map);
      kernel.run({logits.data(), slots.data(), positions.data(), words.data(),
                  counts.data(), bias.data(), tokens.data()},
                 {kRows}, Split::Random);
      Floats y = logits.values();
      for (int i = 0; i < kRows * width; ++i) {
        int row = i / width, slot = rows.slot[row];
        float want =
            rows.position[row] < 0
                ? rows.x[i]
                : rules.ruled(rows.x[i], vocab, slot, rows.position[row],
                              /*node=*/0, map[i % width]);
        if (std::isinf(want))
          ASSERT_EQ(y[i], want) << width << " " << i;
        else
          ASSERT_NEAR(y[i], want, 1e-6f) << width << " " << i;
      }
    }
  }
}

TEST(ProcessLogits, AppliesTheRulesOfEachSlot) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    for (int width : {5, 31, 64, 112, 1031})
      for (bool isPlaced : {false, true}) {
        Rules rules(width);
        Rows rows(width, isPlaced);
        rows.run(target, rules);
        for (int row = 0; row < kRows; ++row)
          rows.expectRow(row, rules);
      }
  }
}
