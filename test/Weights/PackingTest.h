//===- PackingTest.h - Packed bytes against a plain loop --------*- C++ -*-===//

#ifndef MTP_TEST_WEIGHTS_PACKINGTEST_H
#define MTP_TEST_WEIGHTS_PACKINGTEST_H

#include "compiler/Weights/pack/WeightPacker.h"
#include "test/Weights/TestFiles.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace mtp::test {

/// Returns a value that identifies its place and is not exact in bf16.
inline float valueAt(int64_t row, int64_t col, int64_t salt = 0) {
  return std::sin(float(row * 131 + col * 7 + salt * 1009)) * 3.0f;
}

inline std::vector<float> matrix(int64_t rows, int64_t cols, int64_t salt = 0) {
  std::vector<float> values;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      values.push_back(valueAt(r, c, salt));
  return values;
}

/// A logical matrix: element (n, k) of matrix s.
using Reference = std::function<float(int64_t s, int64_t n, int64_t k)>;

inline void put(std::vector<uint8_t> &out, const WeightFormat &format,
                int64_t index, float value) {
  if (format == kF32) {
    std::memcpy(out.data() + index * 4, &value, 4);
  } else {
    uint16_t half = roundToBF16(value);
    std::memcpy(out.data() + index * 2, &half, 2);
  }
}

/// Packs in the layouts as documented, with a plain loop.
inline std::vector<uint8_t> packPlainly(const WeightRecipe &recipe,
                                        const Reference &at) {
  std::vector<uint8_t> out(size_t(packedBytes(recipe)), 0);
  bool isBF16 = recipe.format == kBF16;
  int64_t k = isBF16 ? recipe.k + recipe.k % 2 : recipe.k;
  int64_t panels = panelCount(recipe), width = recipe.panelWidth;
  for (int64_t s = 0; s < recipe.count; ++s)
    for (int64_t n = 0; n < recipe.n; ++n)
      for (int64_t c = 0; c < recipe.k; ++c) {
        int64_t row = n, panel = n / width;
        if (recipe.layout == WeightLayout::GatedPanels) {
          bool isUp = n >= recipe.n / 2;
          row = isUp ? n - recipe.n / 2 : n;
          panel = 2 * (row / width) + isUp;
        }
        int64_t lane = row % width;
        int64_t inPanel =
            isBF16 ? c / 2 * 2 * width + lane * 2 + c % 2 : c * width + lane;
        if (recipe.fragments) {
          // Blocks of 32 by 32 in tiles of 16 outputs, two fragments each. Of a
          // lane's eight numbers the first two belong to one output, the next
          // two to the output 8 below, and the last four repeat this.
          int64_t e = c % 32, pairs = 2 * (e % 4 / 2) + lane % 16 / 8;
          int64_t thread = lane % 8 * 4 + e / 8;
          inPanel = c / 32 * 1024 + lane / 16 * 512 + e % 8 / 4 * 256 +
                    thread * 8 + pairs * 2 + e % 2;
        }
        int64_t index = (s * panels + panel) * k * width + inPanel;
        if (recipe.layout == WeightLayout::Raw)
          index = (s * recipe.n + n) * recipe.k + c;
        put(out, recipe.format, index, at(s, n, c));
      }
  return out;
}

/// Compares the integers of whole panels with those in fragments.
inline void expectSameIntegers(const std::vector<uint8_t> &panels,
                               const std::vector<uint8_t> &fragments,
                               const QuantizedPanel &panel) {
  int64_t octet = panel.bits; // Bytes of eight inputs.
  size_t base = 0;
  auto nibble = [](const uint8_t *at, int64_t i) {
    return at[i % 4] >> (i / 4 * 4) & 15;
  };
  while (base < panels.size())
    for (int64_t first = 0; first < panel.k; first += panel.group) {
      int64_t inputs = std::min(panel.group, panel.k - first);
      for (int64_t tile = 0; tile < 2; ++tile)
        for (int64_t i = 0; i < 16; ++i)
          EXPECT_EQ(std::memcmp(
                        &panels[base + 4 * (16 * tile + i)],
                        &fragments[base + 64 * tile + 8 * (i % 8) + i / 8 * 4],
                        4),
                    0);
      size_t at = base + 128;
      for (int64_t tile = 0; tile < 2; ++tile)
        for (int64_t unit = 0; unit < inputs; unit += 32) {
          bool isAlone = unit % 64 == 0 && unit + 32 == inputs;
          for (int64_t lane = 0; lane < 32; ++lane) {
            size_t from = panel.bits == 8 ? at + 16 * lane
                          : isAlone       ? at + 8 * lane
                                          : at + 16 * lane + unit % 64 / 4;
            for (int64_t half = 0; half < 2; ++half)
              for (int64_t e = 0; e < 8; ++e) {
                int64_t output = 16 * tile + lane / 4 + 8 * half;
                int64_t input = unit + 8 * (lane % 4) + e;
                const uint8_t *word =
                    &panels[base + 128 + input / 8 * octet * 32 + output * 4];
                if (panel.bits == 8)
                  EXPECT_EQ(
                      word[e / 4 * 128 + e % 4] - 128,
                      int8_t(fragments[from + e / 4 * 8 + half * 4 + e % 4]));
                else
                  EXPECT_EQ(nibble(word, e) ^ 8,
                            nibble(&fragments[from + half * 4], e));
              }
          }
          if (panel.bits == 8 || isAlone || unit % 64 == 32)
            at += isAlone && panel.bits == 4 ? 256 : 512;
        }
      base += panel.blockBytes(inputs);
    }
}

class Packing : public testing::Test {
protected:
  /// Packs with several options, all of which must give the plain loop's bytes.
  void expectPacked(const WeightRecipe &recipe, const Reference &at) {
    std::string path = folder.write("model.safetensors", builder.build());
    auto set = WeightSet::openFiles({&path, 1});
    ASSERT_TRUE(set.isOk()) << set.status().toString();
    std::vector<uint8_t> expected = packPlainly(recipe, at);
    for (auto [threads, window] :
         {std::pair(1u, int64_t(1) << 20), {1u, 1}, {3u, 10000}, {2u, 1 << 20}})
      EXPECT_EQ(pack(*set, recipe, {threads, window, {}}), expected)
          << threads << " threads, window " << window;
  }

  std::vector<uint8_t> pack(const WeightSet &set, const WeightRecipe &recipe,
                            PackOptions options) {
    std::vector<uint8_t> bytes;
    int64_t told = 0;
    options.progress = [&](int64_t done, int64_t total) {
      EXPECT_GT(done, told);
      EXPECT_LE(done, total);
      told = done;
    };
    Status status = packWeight(
        set, recipe,
        [&](std::span<const uint8_t> piece) {
          bytes.insert(bytes.end(), piece.begin(), piece.end());
          return okStatus();
        },
        options);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_EQ(told, packedBytes(recipe));
    return bytes;
  }

  Status packError(const WeightRecipe &recipe) {
    std::string path = folder.write("model.safetensors", builder.build());
    auto set = WeightSet::openFiles({&path, 1});
    EXPECT_TRUE(set.isOk()) << set.status().toString();
    return packWeight(*set, recipe, [](auto) { return okStatus(); });
  }

  void expectError(const WeightRecipe &recipe, const std::string &text) {
    Status status = packError(recipe);
    EXPECT_FALSE(status.isOk()) << "expected: " << text;
    EXPECT_NE(status.message().find(text), std::string_view::npos)
        << text << ": " << status.toString();
  }

  TemporaryFolder folder;
  FileBuilder builder;
};

} // namespace mtp::test

#endif // MTP_TEST_WEIGHTS_PACKINGTEST_H
