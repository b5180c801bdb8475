//===- AttentionPtx_test.cpp - Attention's code for sm_90 -----------------===//
//
// Properties that a simulator cannot show: the PTX of attention of whole models
// has wide loads and uses no local memory, and ptxas spills no register.
//
//===----------------------------------------------------------------------===//

#include "harness/GpuHarness.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace mtp::codegen::test;

static const std::string grouped =
    "q_heads = 32, kv_heads = 8, dk = 128, dv = 128, page = 64, "
    "entry_width = 2048, v_offset = 1024, cache_heads = 8, slots = 8, "
    "scale = 0.088 : f32, dtype = ";
static const std::string latent =
    "q_heads = 128, kv_heads = 1, dk = 576, dv = 512, page = 64, "
    "entry_width = 576, slots = 8, scale = 0.07 : f32, dtype = ";
static const std::string splits =
    ", split = 512, splits = 64, tasks_per_tile = 4, "
    "split_stride = ";

/// Returns the reason if ptxas is absent, else an empty string.
static std::string expectNoSpills(const std::string &kind,
                                  const std::string &config, bool takesActive) {
  SCOPED_TRACE(kind + ": " + config + (takesActive ? ", live" : ""));
  AssembledKernel kernel = assembleKernel(kind, config, takesActive);
  EXPECT_EQ(kernel.ptx.find(".local"), std::string::npos);
  EXPECT_NE(kernel.ptx.find("griddepcontrol.wait"), std::string::npos);
  if (kind != "attention_combine")
    EXPECT_NE(kernel.ptx.find("ld.global.v4.b32"), std::string::npos);
  if (kind != "attention_combine" && config.find("bf16") != std::string::npos)
    EXPECT_NE(kernel.ptx.find("mma.sync"), std::string::npos);
  expectHalfOfProcessor(kernel);
  return kernel.absence;
}

TEST(AttentionPtx, SpillsNothing) {
  std::string absence;
  auto check = [&](const std::string &kind, const std::string &config) {
    for (bool takesActive : {false, true})
      absence = expectNoSpills(kind, config, takesActive);
  };
  for (const std::string dtype : {"bf16", "f32"}) {
    for (const std::string &shape : {grouped, latent}) {
      check("attention", shape + dtype);
      check("attention", shape + dtype + ", split = 512");
      check("attention_tree", shape + dtype + ", split = 512");
    }
    check("attention_split_kv", grouped + dtype + splits + "5120");
    check("attention_split_kv", latent + dtype + splits + "69632");
    check("attention_combine", "q_heads = 128, kv_heads = 1, dv = 512, "
                               "dtype = " +
                                   dtype +
                                   ", split = 512, splits = 64, "
                                   "split_stride = 69632");
  }
  if (absence.empty())
    return;
  EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << absence;
  GTEST_SKIP() << absence;
}
