//===- Recurrence_test.cpp - Gates, convolutions and the delta rule -------===//
//
// Compares with plain loops in the order that the kernels promise, to the bit.
// The result of a row must not depend on the borders of chunks and rounds, on
// rejected drafts, or on other slots.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

namespace {

/// Runs `body` for every target of this machine.
void forTargets(const std::function<void(const TestTarget &)> &body) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    body(target);
  }
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

TEST(Sigmoid, IsTheLogisticFunction) {
  forTargets([](const TestTarget &target) {
    const int width = 37, stride = 40;
    Kernel kernel(target, "sigmoid", "width = 37, x_stride = 40");
    Floats x = randomFloats(9 * stride, 1, 8.0f);
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(
          Floats(x.begin() + first * stride,
                 x.begin() + first * stride + (count - 1) * stride + width));
      Guarded<float> out(size_t(count) * width);
      kernel.run({in.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(9, width, run, 4);
    Floats y = run(0, 9, Split::Whole);
    for (int r = 0; r < 9; ++r)
      for (int i = 0; i < width; ++i)
        EXPECT_NEAR(y[r * width + i],
                    1 / (1 + std::exp(-double(x[r * stride + i]))), 2e-7);
  });
}

class SigmoidGateOf : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Gates, SigmoidGateOf, testing::Values(1, 3, 36),
                         testing::PrintToStringParamName());

TEST_P(SigmoidGateOf, GatesGroupsOfColumns) {
  const int gates = GetParam(), width = 36, rows = 7;
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "sigmoid_gate",
                  "width = 36, gates = " + std::to_string(gates));
    Floats x = randomFloats(rows * width, 1),
           g = randomFloats(size_t(rows) * gates, 2, 5.0f);
    Guarded<float> in(x), by(g), out(rows * width);
    kernel.run({in.data(), by.data(), out.data()}, {rows}, Split::Random);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < width; ++i) {
        double gate = g[r * gates + i / (width / gates)];
        EXPECT_NEAR(out[r * width + i],
                    x[r * width + i] / (1 + std::exp(-gate)), 4e-7);
      }
  });
}

TEST(L2Norm, DividesGroupsByTheirLength) {
  const int rows = 5, groups = 3, width = 20;
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "l2_norm",
                  "width = 20, groups = 3, eps = 0.01 : f32");
    Floats x = randomFloats(rows * groups * width, 1);
    // A group of zeros stays zero.
    std::fill_n(x.begin() + width, width, 0.0f);
    Guarded<float> in(x), out(x.size());
    kernel.run({in.data(), out.data()}, {rows}, Split::Random);
    for (size_t g = 0; g < x.size() / width; ++g) {
      double sum = 0.01f;
      for (int i = 0; i < width; ++i)
        sum += double(x[g * width + i]) * x[g * width + i];
      for (int i = 0; i < width; ++i)
        EXPECT_NEAR(out[g * width + i], x[g * width + i] / std::sqrt(sum),
                    3e-7);
    }
  });
}

TEST(Decay, IsExactWhereLittleDecays) {
  // exp(rate) * softplus from 2e-7 to 300: results near 1, and near 0.
  const int width = 61;
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "decay", "width = 61");
    Floats x(width), rate = randomFloats(width, 2), bias(width, 0.5f);
    for (int i = 0; i < width; ++i)
      x[i] = -16.0f + 0.75f * float(i);
    Guarded<float> in(x), rates(rate), biases(bias), out(width);
    kernel.run({in.data(), rates.data(), biases.data(), out.data()}, {1});
    for (int i = 0; i < width; ++i) {
      double amount = std::log1p(std::exp(double(x[i]) + 0.5));
      double want = std::exp(-std::exp(double(rate[i])) * amount);
      EXPECT_NEAR(out[i], want, 2e-7 + 1e-5 * want * (1 - want)) << x[i];
    }
  });
}

TEST(Decay, TakesRatesAsTheyAre) {
  // The rates are -exp(A_log), as GGUF stores them.
  const int width = 61;
  forTargets([&](const TestTarget &target) {
    Kernel log(target, "decay", "width = 61");
    Kernel linear(target, "decay", "width = 61, linear = true");
    Floats rate = randomFloats(width, 2), negated(width, -1.0f);
    for (int i = 0; i < width; i += 2)
      rate[i] = 0;
    Guarded<float> in(randomFloats(width, 5)), bias(Floats(width, 0.5f)),
        rates(rate), minus(negated), out(width), other(width);
    log.run({in.data(), rates.data(), bias.data(), out.data()}, {1});
    linear.run({in.data(), minus.data(), bias.data(), other.data()}, {1});
    for (int i = 0; i < width; ++i) {
      double amount = std::log1p(std::exp(double(in[i]) + 0.5));
      EXPECT_NEAR(other[i], std::exp(-amount), 2e-6);
      // exp(0) is exact.
      if (i % 2 == 0)
        EXPECT_EQ(out[i], other[i]);
    }
  });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

constexpr int kSlotCount = 3, kKept = 4, kTokens = 40;

/// One dispatch: the slot and position of each row, its use of the state, and
/// its token. Tokens from `kTokens` on are rejected drafts.
struct Dispatch {
  Ints slots, positions, pending, keeps, tokens;

  void add(int slot, int position, int pending, int keeps, int token) {
    slots.push_back(slot);
    positions.push_back(position);
    this->pending.push_back(pending);
    this->keeps.push_back(keeps);
    tokens.push_back(token);
  }
};

/// Two slots that go through their tokens in prompt chunks and in rounds of up
/// to kKept - 1 drafts, of which any number is accepted. Both slots have the
/// same tokens, and a third slot is never used.
class Schedule {
public:
  explicit Schedule(uint32_t seed) : random(seed) {}

  bool isDone() const { return at[0] >= kTokens && at[1] >= kTokens; }

  Dispatch next() {
    Dispatch dispatch;
    for (int i : {0, 1})
      if (at[i] < kTokens && pick(4) > 0)
        addRun(dispatch, i);
    return dispatch;
  }

private:
  int pick(int below) { return int(random() % uint32_t(below)); }

  void addRun(Dispatch &dispatch, int i) {
    int slot = i == 0 ? 2 : 0, begin = at[i];
    bool isPrompt = begin < 12;
    int rows = isPrompt ? 1 + pick(7) : 1 + pick(kKept);
    rows = std::min(rows, kTokens - begin);
    int accepted = isPrompt ? rows : 1 + pick(rows);
    for (int j = 0; j < rows; ++j)
      dispatch.add(slot, begin + j, pending[i], isPrompt ? 1 : kKept,
                   j < accepted ? begin + j : kTokens + pick(5));
    for (int dead = pick(3); dead > 0; --dead)
      dispatch.add(slot, -1, pending[i], kKept, 0);
    at[i] += accepted;
    pending[i] = isPrompt ? 1 : accepted;
  }

  std::mt19937 random;
  int at[2] = {0, 0};
  // A run that begins at position 0 begins from zero, whatever the number is.
  int pending[2] = {3, 0};
};

/// Returns the rows of a table for the tokens of a dispatch.
Floats rowsOf(const Floats &table, int width, const Ints &tokens) {
  Floats rows;
  for (int token : tokens)
    rows.insert(rows.end(), table.begin() + token * width,
                table.begin() + (token + 1) * width);
  return rows;
}

/// Runs and checks a kernel with states.
struct Runner {
  int width;
  /// Outputs of all tokens.
  Floats want;
  std::function<Floats(const Dispatch &)> run;
};

void expectSchedule(uint32_t seed, const Runner &runner) {
  Schedule schedule(seed);
  while (!schedule.isDone()) {
    Dispatch dispatch = schedule.next();
    if (dispatch.slots.empty())
      continue;
    Floats got = runner.run(dispatch);
    for (size_t r = 0; r < dispatch.slots.size(); ++r) {
      int token = dispatch.tokens[r];
      bool isPadding = dispatch.positions[r] < 0;
      for (int i = 0; isPadding && i < runner.width; ++i)
        ASSERT_EQ(got[r * size_t(runner.width) + i], 0) << "padding row " << r;
      if (isPadding || token >= kTokens)
        continue;
      for (int i = 0; i < runner.width; ++i)
        ASSERT_EQ(got[r * size_t(runner.width) + i],
                  runner.want[size_t(token) * runner.width + i])
            << "token " << token << ", column " << i;
    }
  }
}

/// Buffers that identify the rows of a dispatch.
struct RunBuffers {
  explicit RunBuffers(const Dispatch &d)
      : slots(d.slots), positions(d.positions), pending(d.pending),
        keeps(d.keeps) {}
  Guarded<int32_t> slots, positions, pending, keeps;

  void appendTo(std::vector<void *> &buffers) {
    for (Guarded<int32_t> *numbers : {&slots, &positions, &pending, &keeps})
      buffers.push_back(numbers->data());
  }
};

/// Returns unwritten memory: its contents must not matter.
Floats unwritten(size_t count) { return Floats(count, NAN); }

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

class CausalConvOf : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Windows, CausalConvOf, testing::Values(2, 4),
                         testing::PrintToStringParamName());

TEST_P(CausalConvOf, IsThatOfTheWholeText) {
  const int window = GetParam(), width = 300;
  Floats x = randomFloats((kTokens + 5) * width, 1),
         weight = randomFloats(window * width, 2);
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "causal_conv",
                  "width = 300, window = " + std::to_string(window) +
                      ", kept = 4, slots = 3");
    // The reference uses the kernel `silu`, because SiLU has bits of its own.
    Floats sums(kTokens * width);
    for (int t = 0; t < kTokens; ++t)
      for (int c = 0; c < width; ++c) {
        float sum = weight[(window - 1) * width + c] * x[t * width + c];
        for (int j = window - 1; j-- > 0;) {
          int from = t - (window - 1) + j;
          sum = std::fma(weight[j * width + c],
                         from < 0 ? 0.0f : x[from * width + c], sum);
        }
        sums[t * width + c] = sum;
      }
    Guarded<float> in(sums), out(sums.size());
    Kernel(target, "silu", "width = 300")
        .run({in.data(), out.data()}, {kTokens});
    for (uint32_t seed = 0; seed < (target.isGpu ? 2u : 20u); ++seed) {
      Guarded<float> state(
          unwritten(size_t(kSlotCount) * (window - 1 + kKept) * width)),
          weights(weight);
      Runner runner{width, out.values(), [&](const Dispatch &d) {
                      RunBuffers runs(d);
                      Guarded<float> rows(rowsOf(x, width, d.tokens)),
                          y(d.slots.size() * width);
                      std::vector<void *> buffers{rows.data(), weights.data(),
                                                  state.data()};
                      runs.appendTo(buffers);
                      buffers.push_back(y.data());
                      kernel.run(buffers, {int64_t(d.slots.size())},
                                 Split::Random);
                      return y.values();
                    }};
      expectSchedule(seed, runner);
      // The slot between the two.
      size_t slot = size_t(window - 1 + kKept) * width;
      for (size_t i = slot; i < 2 * slot; ++i)
        ASSERT_TRUE(std::isnan(state[i]));
    }
  });
}

//===----------------------------------------------------------------------===//
// Delta rule
//===----------------------------------------------------------------------===//

struct DeltaCase {
  const char *name;
  int heads, keyHeads, dk, dv;
  /// Number of decays of a head: one, or one for each of its keys.
  int decays = 1;
};

/// Rows of q, k, v, decay and beta, for all tokens and drafts.
struct DeltaInputs {
  explicit DeltaInputs(const DeltaCase &c)
      : q(randomFloats(count * c.keyHeads * c.dk, 1)),
        k(randomFloats(count * c.keyHeads * c.dk, 2)),
        v(randomFloats(count * c.heads * c.dv, 3)),
        decay(randomFloats(count * c.heads * c.decays, 4)),
        beta(randomFloats(count * c.heads, 5)) {
    for (float &g : decay)
      g = 0.9f + 0.1f * std::fabs(g);
    for (float &b : beta)
      b = std::fabs(b);
    for (size_t row = 0; row < k.size() / c.dk; ++row) {
      float sum = 0;
      for (int i = 0; i < c.dk; ++i)
        sum += k[row * c.dk + i] * k[row * c.dk + i];
      for (int i = 0; i < c.dk; ++i)
        k[row * c.dk + i] /= std::sqrt(sum);
    }
  }

  static constexpr size_t count = kTokens + 5;
  Floats q, k, v, decay, beta;
};

constexpr float kScale = 0.375f;

/// Computes the rule token by token, in T: with the kernel's rounding in f32,
/// or as in the paper in f64.
template <typename T>
std::vector<T> deltaRule(const DeltaCase &c, const DeltaInputs &in) {
  std::vector<T> y(size_t(kTokens) * c.heads * c.dv);
  for (int h = 0; h < c.heads; ++h) {
    int keyHead = h / (c.heads / c.keyHeads);
    std::vector<T> state(size_t(c.dk) * c.dv, T(0));
    for (int t = 0; t < kTokens; ++t) {
      const float *k = &in.k[(t * c.keyHeads + keyHead) * c.dk];
      const float *q = &in.q[(t * c.keyHeads + keyHead) * c.dk];
      const float *decay = &in.decay[(t * c.heads + h) * c.decays];
      auto decayOf = [&](int i) { return T(decay[c.decays > 1 ? i : 0]); };
      T beta = in.beta[t * c.heads + h];
      for (int col = 0; col < c.dv; ++col) {
        T seen = 0, sum = 0;
        for (int i = 0; i < c.dk; ++i) {
          T s = state[i * c.dv + col];
          if (c.decays > 1)
            s = decayOf(i) * s;
          seen = std::fma(T(k[i]), s, seen);
        }
        T v = in.v[(t * c.heads + h) * c.dv + col];
        if (c.decays == 1)
          seen = decayOf(0) * seen;
        T u = beta * (v - seen);
        for (int i = 0; i < c.dk; ++i) {
          T &s = state[i * c.dv + col];
          T left = decayOf(i) * s;
          s = std::fma(T(k[i]), u, left);
          sum = std::fma(T(q[i]), s, sum);
        }
        y[(size_t(t) * c.heads + h) * c.dv + col] = sum * T(kScale);
      }
    }
  }
  return y;
}

std::string configOf(const DeltaCase &c) {
  return "heads = " + std::to_string(c.heads) +
         ", key_heads = " + std::to_string(c.keyHeads) +
         ", dk = " + std::to_string(c.dk) + ", dv = " + std::to_string(c.dv) +
         ", kept = 4, slots = 3, scale = 0.375 : f32, decays = " +
         std::to_string(c.decays);
}

class DeltaRuleOf : public testing::TestWithParam<DeltaCase> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DeltaRuleOf,
                         testing::Values(DeltaCase{"small", 2, 1, 3, 5},
                                         DeltaCase{"shared", 4, 2, 20, 24},
                                         DeltaCase{"wide", 2, 2, 128, 128},
                                         DeltaCase{"channels", 4, 2, 20, 24,
                                                   20}),
                         [](const testing::TestParamInfo<DeltaCase> &info) {
                           return std::string(info.param.name);
                         });

TEST_P(DeltaRuleOf, IsThatOfTheWholeText) {
  const DeltaCase &c = GetParam();
  const int keys = c.keyHeads * c.dk, values = c.heads * c.dv;
  DeltaInputs in(c);
  Floats want = deltaRule<float>(c, in);
  std::vector<double> exact = deltaRule<double>(c, in);
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(want[i], exact[i], 1e-5);
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, "delta_rule", configOf(c));
    for (uint32_t seed = 0; seed < (target.isGpu ? 2u : 12u); ++seed) {
      Guarded<float> memory(unwritten(size_t(kSlotCount) * c.dk * values)),
          kept(unwritten(size_t(kSlotCount) * kKept * c.heads *
                         (c.dk + c.dv + c.decays)));
      Runner runner{values, want, [&](const Dispatch &d) {
                      RunBuffers runs(d);
                      Guarded<float> q(rowsOf(in.q, keys, d.tokens)),
                          k(rowsOf(in.k, keys, d.tokens)),
                          v(rowsOf(in.v, values, d.tokens)),
                          decay(rowsOf(in.decay, c.heads * c.decays, d.tokens)),
                          beta(rowsOf(in.beta, c.heads, d.tokens)),
                          y(d.slots.size() * values);
                      std::vector<void *> buffers{
                          q.data(),    k.data(),      v.data(),   decay.data(),
                          beta.data(), memory.data(), kept.data()};
                      runs.appendTo(buffers);
                      buffers.push_back(y.data());
                      kernel.run(buffers, {int64_t(d.slots.size())},
                                 Split::Random);
                      return y.values();
                    }};
      expectSchedule(seed, runner);
      size_t slot = size_t(c.dk) * values;
      for (size_t i = slot; i < 2 * slot; ++i)
        ASSERT_TRUE(std::isnan(memory[i]));
    }
  });
}

} // namespace
