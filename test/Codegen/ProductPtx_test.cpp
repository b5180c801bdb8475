//===- ProductPtx_test.cpp - Products' code for sm_90 ---------------------===//
//
// Properties that a simulator cannot show: products on tensor cores load rows
// in pieces of 16 bytes, and ptxas neither spills a register nor takes more
// than half of a processor for a block.
//
//===----------------------------------------------------------------------===//

#include "harness/GpuHarness.h"
#include "harness/Quantized.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

using namespace mtp::codegen::test;

static size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++found;
  return found;
}

/// `words` is the number of loads of 32 bits other than loads of rows: for sums
/// of squares, a bias, the residual, and row numbers.
static std::string expectPieces(const std::string &kind,
                                const std::string &config, size_t words,
                                bool takesActive) {
  SCOPED_TRACE(kind + ": " + config + (takesActive ? ", live" : ""));
  AssembledKernel kernel =
      assembleKernel(kind, config + ", fragments = true", takesActive);
  // Each form has two more loads for the number of active rows.
  EXPECT_LE(count(kernel.ptx, "ld.global.b32"), words + 6 * takesActive);
  EXPECT_GE(count(kernel.ptx, "ld.global.v4.b32"), 6u);
  expectHalfOfProcessor(kernel);
  return kernel.absence;
}

TEST(ProductPtx, LoadsRowsInPieces) {
  std::string absence;
  auto check = [&](const std::string &kind, const std::string &config,
                   size_t words) {
    for (bool takesActive : {false, true})
      absence = expectPieces(kind, config, words, takesActive);
  };
  const std::string norm = ", norm = true, eps = 1.0e-5 : f32";
  for (const std::string format :
       {"format = <bf16>", "format = <int8, group = 64>",
        "format = <int4, group = 64>"}) {
    check("linear", "k = 4096, n = 4096, residual = true, " + format, 3);
    check("linear", "k = 14336, n = 4096, residual = true, " + format, 3);
    // A warp has up to 8 terms of the sum of squares in flight.
    check("linear", "k = 4096, n = 6144, " + format + norm, 27);
    check("linear",
          "k = 4096, n = 28672, activation = swiglu, " + format + norm, 27);
    check("linear",
          "k = 7168, n = 36864, activation = swiglu, " + format + norm, 27);
    check("linear", "k = 7168, n = 4096, activation = swiglu, " + format, 3);
    check("linear_argmax",
          "k = 4096, n = 128256, logits = true, slots = 8, " + format, 6);
    check("moe_gate_up",
          "experts = 256, top_k = 8, k = 7168, inter = 2048, " + format, 24);
    check("moe_down", "experts = 256, top_k = 8, k = 2048, n = 7168, " + format,
          24);
  }
  check("head_linear",
        "heads = 128, k = 128, n = 512, format = <bf16>, x_head_stride = 192",
        0);
  if (absence.empty())
    return;
  EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << absence;
  GTEST_SKIP() << absence;
}

// The output of `prepare_rows` is loaded in pieces of 16 bytes, by ordinary
// loads that the L1 cache keeps. It goes to the sums directly: no row is
// stored, and no barrier is needed for rows.
TEST(ProductPtx, LoadsPreparedRows) {
  std::string absence;
  auto check = [&](const std::string &kind, const std::string &config,
                   size_t words) {
    for (bool takesActive : {false, true}) {
      SCOPED_TRACE(kind + ": " + config + (takesActive ? ", live" : ""));
      AssembledKernel kernel = assembleKernel(
          kind, config + ", fragments = true, prepared = true", takesActive);
      EXPECT_LE(count(kernel.ptx, "ld.global.b32"), words + 6 * takesActive);
      bool isShort = config.find("group = 32") != std::string::npos;
      EXPECT_GE(
          count(kernel.ptx, isShort ? "ld.global.v2.b32" : "ld.global.v4.b32"),
          7u);
      EXPECT_EQ(count(kernel.ptx, "st.shared.v2"), 0u);
      expectHalfOfProcessor(kernel);
      absence = kernel.absence;
    }
  };
  for (const std::string format :
       {"format = <bf16>", "format = <int8, group = 64>",
        "format = <int8, group = 128>"}) {
    check("linear", "k = 14336, n = 4096, residual = true, " + format, 3);
    check("linear", "k = 4096, n = 6144, bias = true, " + format, 3);
    check("linear", "k = 4096, n = 28672, activation = swiglu, " + format, 0);
    for (const std::string k : {"2048", "7168", "11104"})
      check("linear", "k = " + k + ", n = 4096, activation = swiglu, " + format,
            0);
    check("linear_argmax",
          "k = 4096, n = 128256, logits = true, slots = 8, " + format, 6);
  }
  if (absence.empty())
    return;
  EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << absence;
  GTEST_SKIP() << absence;
}

// Formats that tensor cores do not multiply: the instructions of each, no
// spills, and at most half of a processor unless groups are large.
TEST(ProductPtx, MultipliesStoredFormats) {
  std::string absence;
  auto check = [&](const std::string &kind, const std::string &config,
                   const Quantization &format) {
    SCOPED_TRACE(kind + ": " + config + format.config());
    AssembledKernel kernel = assembleKernel(kind, config + format.config());
    EXPECT_GT(
        count(kernel.ptx, format.hasOffset ? "dp4a.u32.s32" : "dp4a.s32.s32"),
        0u);
    EXPECT_EQ(
        count(kernel.ptx, format.hasOffset ? "dp4a.s32.s32" : "dp4a.u32.s32"),
        0u);
    EXPECT_EQ(count(kernel.ptx, "prmt.b32") > 0,
              format.format().info().table != nullptr);
    EXPECT_EQ(count(kernel.ptx, "redux.sync.add") > 0, format.hasOffset);
    EXPECT_EQ(count(kernel.ptx, "cvt.f32.f16") > 0,
              !format.panel(1).hasByteScales() &&
                  format.scales != mtp::WeightScales::F32);
    absence = kernel.absence;
    RecordProperty(kind + " " + format.config(), int(kernel.registers));
    EXPECT_EQ(kernel.spillBytes, 0u);
    // A lane has two groups of up to 128 inputs in registers.
    if (format.group <= 64)
      expectHalfOfProcessor(kernel);
  };
  for (const Quantization &format : kStoredFormats) {
    check("linear", "k = 4096, n = 4096, residual = true, ", format);
    check("linear",
          "k = 4096, n = 28672, activation = swiglu, norm = true, eps = 1.0e-5 "
          ": f32, ",
          format);
    check("moe_gate_up", "experts = 128, top_k = 4, k = 2880, inter = 2880, ",
          format);
    check("moe_down", "experts = 128, top_k = 4, k = 2880, n = 2880, ", format);
  }
  if (absence.empty())
    return;
  EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << absence;
  GTEST_SKIP() << absence;
}

// A row's block loads all data of a thread before it stores any of it.
TEST(ProductPtx, PreparesRowsInPieces) {
  for (const std::string format :
       {"format = <bf16>", "format = <int8, group = 64>"}) {
    SCOPED_TRACE(format);
    AssembledKernel normed = assembleKernel(
        "prepare_rows", "k = 4096, norm = true, eps = 1.0e-5 : f32, " + format);
    AssembledKernel plain =
        assembleKernel("prepare_rows", "k = 14336, " + format);
    // Four octets of a row and its norm's weights; one octet.
    EXPECT_EQ(count(normed.ptx, "ld.global.v4.b32"), 16u);
    EXPECT_EQ(count(plain.ptx, "ld.global.v4.b32"), 2u);
    for (const AssembledKernel &kernel : {normed, plain}) {
      EXPECT_LT(kernel.ptx.rfind("ld.global.v4.b32"),
                kernel.ptx.find("st.global"));
      expectHalfOfProcessor(kernel);
    }
  }
}

// Plain panels keep their sums while a head's other columns are rotated.
TEST(ProductPtx, RotatesBesideAProduct) {
  expectHalfOfProcessor(assembleKernel(
      "head_linear",
      "heads = 4, k = 24, n = 40, format = <f32>, keep_offset = 24, "
      "rotation = <dim = 16, layout = interleaved>, keep_width = 16, "
      "positions = 67, x_stride = 216, x_head_stride = 40, y_stride = 224, "
      "y_head_stride = 56"));
}

/// Counts the bytes and halfwords that are stored directly from float
/// registers. `stores` counts all stores of bytes and halfwords.
static size_t floatsStoredInPart(const std::string &ptx, size_t &stores) {
  static const std::regex ofFloat(R"(\S*\.f32\s+(%r\d+), .*)");
  static const std::regex ofPart(R"(st\.\S*b(8|16)\s+\[.*\], (%\w+);)");
  std::istringstream lines(ptx);
  std::set<std::string> floats;
  size_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    line.erase(0, line.find_first_not_of('\t'));
    if (std::regex_match(line, match, ofPart)) {
      ++stores;
      found += floats.count(match[2]);
    } else if (std::regex_match(line, match, ofFloat)) {
      floats.insert(match[1]);
    }
  }
  return found;
}

// Such a store is correct PTX, but ptxas turns it into a conversion.
TEST(ProductPtx, StoresNoPartOfAFloat) {
  for (const std::string format :
       {"format = <int8, group = 64>", "format = <int4, group = 32>"}) {
    for (const std::string config :
         {"k = 70, n = 33, ",
          "k = 33, n = 96, norm = true, eps = 1.0e-5 : f32, "}) {
      SCOPED_TRACE(config + format);
      size_t stores = 0;
      std::string ptx = assembleKernel("linear", config + format).ptx;
      EXPECT_EQ(floatsStoredInPart(ptx, stores), 0u);
      EXPECT_GE(stores, 8u) << "rows' integers are no longer stored by bytes";
    }
  }
}
