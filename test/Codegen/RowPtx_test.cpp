//===- RowPtx_test.cpp - Row kernels' code for sm_90 ----------------------===//
//
// Properties that a simulator cannot show. A thread loads several chunks of a
// row before it stores the first one, because no load passes a store. A wide
// row has several blocks. The number of expert blocks covers only the experts
// that may have rows.
//
//===----------------------------------------------------------------------===//

#include "harness/GpuHarness.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

using namespace mtp::codegen::test;

/// Returns the largest number of loads from global memory without a store
/// between them, in the order of the text.
static int loadsAhead(const std::string &ptx) {
  std::istringstream lines(ptx);
  int most = 0, run = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("st.global") != std::string::npos)
      run = 0;
    if (line.find("ld.global") != std::string::npos)
      most = std::max(most, ++run);
  }
  return most;
}

TEST(RowPtx, LoadsChunksBeforeItStores) {
  struct Row {
    std::string kind, config;
    int64_t blocks;
    int loads;
  };
  const Row rows[] = {
      // 48 heads, four of them in a block; two chunks of four vectors each.
      {"rope_qkv_append",
       "q_heads = 32, k_heads = 8, rotation = <dim = 128>, v_width = 1024, "
       "k_offset = 0, "
       "v_offset = 1024, dtype = bf16, page = 64, cache_heads = 8, slots = "
       "8, positions = 4096",
       12, 8},
      {"rope", "heads = 32, rotation = <dim = 128>, positions = 4096", 8, 8},
      {"embed", "width = 4096, vocab = 128256, format = <bf16>", 4, 8},
      {"rms_norm", "width = 4096, eps = 1.0e-5 : f32", 1, 16},
      {"rms_norm", "width = 128, groups = 32, eps = 1.0e-5 : f32", 32, 2},
      {"round_rows", "width = 14336", 14, 8},
      {"round_rows", "width = 4096, norm = true, eps = 1.0e-5 : f32", 1, 16},
      {"swiglu", "width = 14336", 14, 16},
      {"silu", "width = 14336", 14, 8},
      {"sigmoid", "width = 14336", 14, 8},
      {"decay", "width = 14336", 14, 8},
      {"add", "width = 4096", 4, 16},
      {"concat", "a_width = 7168, b_width = 7168", 7, 8},
      {"moe_combine", "width = 7168, top_k = 8, residual = true, shared = true",
       7, 4}};
  for (const Row &row : rows) {
    SCOPED_TRACE(row.kind + ": " + row.config);
    AssembledKernel kernel = assembleKernel(row.kind, row.config);
    EXPECT_EQ(kernel.launch.blocks, row.blocks);
    EXPECT_GE(loadsAhead(kernel.ptx), row.loads);
    expectHalfOfProcessor(kernel);
  }
}

TEST(RowPtx, ExpertsHaveBlocksForPairs) {
  const std::string experts = "experts = 256, top_k = 8, format = <bf16>, "
                              "fragments = true, ";
  AssembledKernel up =
      assembleKernel("moe_gate_up", experts + "k = 7168, inter = 2048");
  EXPECT_EQ(up.launch.rowsPerGroup, 1);
  EXPECT_EQ(up.launch.blocks, 8 * 2048 / 16);
  EXPECT_EQ(up.launch.mostBlocks, 256 * 2048 / 16);
  AssembledKernel down =
      assembleKernel("moe_down", experts + "k = 2048, n = 7168");
  EXPECT_EQ(down.launch.rowsPerGroup, 1);
  EXPECT_EQ(down.launch.blocks, 8 * 7168 / 16);
  EXPECT_EQ(down.launch.mostBlocks, 256 * 7168 / 16);
  // The plan counts in registers and shared memory.
  AssembledKernel plan = assembleKernel("moe_plan", "experts = 256, top_k = 8");
  EXPECT_EQ(plan.launch.blocks, 1);
  EXPECT_EQ(plan.launch.threads, 512);
  EXPECT_NE(plan.ptx.find("shfl.sync"), std::string::npos);
  EXPECT_LE(loadsAhead(plan.ptx), 4);
  for (const AssembledKernel *kernel : {&up, &down, &plan})
    expectHalfOfProcessor(*kernel);
}
